import type { Clock } from '../../ports/clock.ts';
import type { CommittedOffset, Log } from '../../ports/log.ts';
import type { FlowFacts } from '../inspect/flow-facts.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import { tellHeld } from '../views/once-pins.ts';
import type { FlowRunner } from './flow-runner.ts';
import { PendingAnswer } from './pending-answer.ts';

type Goal = { readonly topic: string; readonly offsets: ReadonlyMap<number, number> };

type Checkpoints = ReadonlyMap<number, CommittedOffset>;

/** How often the checkpoints of other instances are looked at. */
const lookIntervalMs = 50;
/** Checkpoints that the transaction of a dead instance holds are not waited for: they may have to be taken over here. */
const answerMsMax = 100;

/**
 * Decides when a triggered update is done: every source partition is committed up to where it stood at the
 * start, then every repartition partition up to where it stood after that, whoever owns them. Table goes by table: what
 * a flow has to read of a table is known only when all flows that write that table are done.
 */
export class TriggeredUpdate {
  readonly #flows: readonly FlowFacts[];
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #listener: RuntimeListener;
  readonly #sourceGoals = new Map<string, Goal[]>();
  readonly #repartitionGoals = new Map<string, Goal>();
  /** Flows whose goals in tables of the pipeline are taken. */
  readonly #chained = new Set<string>();
  readonly #done = new Set<string>();
  /** Questions for checkpoints that are not answered yet, by group and topic. */
  readonly #asked = new Map<string, PendingAnswer<Checkpoints>>();
  #nextMs = 0;

  constructor(flows: readonly FlowFacts[], log: Log, clock: Clock, listener: RuntimeListener) {
    this.#listener = listener;
    this.#flows = flows;
    this.#log = log;
    this.#clock = clock;
  }

  async start(): Promise<void> {
    for (const facts of this.#flows) {
      const goals: Goal[] = [];
      for (const { topic, partitions, isTable } of facts.sources) {
        if (!isTable) goals.push(await this.#sourceGoal(facts, topic, partitions));
      }
      this.#sourceGoals.set(facts.flow.name, goals);
    }
  }

  /** A flow that runs once has its end; one that ran has none left. */
  async #sourceGoal({ flow, once }: FlowFacts, topic: string, partitions: number): Promise<Goal> {
    const ends = once?.ends.get(topic);
    if (once === undefined || ends === undefined) {
      return this.#goal(topic, partitions, 'stable', flow.name);
    }
    return { topic, offsets: new Map(once.isDone ? [] : [...ends.entries()]) };
  }

  async #goal(
    topic: string,
    count: number,
    bound: 'stable' | 'end',
    teller?: string,
  ): Promise<Goal> {
    const partitions = Array.from({ length: count }, (_, partition) => partition);
    const ranges = await this.#log.offsetRanges(topic, partitions);
    if (teller !== undefined) {
      // What it holds back is left to the next update.
      tellHeld(this.#listener, { flow: teller, topic, isAwaited: false }, ranges);
    }
    return {
      topic,
      offsets: new Map([...ranges].map(([partition, range]) => [partition, range[bound]])),
    };
  }

  async isDone(runners: readonly FlowRunner[]): Promise<boolean> {
    let isDone = true;
    // One that has failed writes no more: what it has written is all that its readers get.
    const isSettled = (flow: string): boolean =>
      this.#done.has(flow) || !runners.some(({ facts }) => facts.flow.name === flow);
    for (const runner of runners) {
      const { name } = runner.facts.flow;
      if (this.#done.has(name)) continue;
      if (!(await this.#hasGoals(runner.facts, isSettled))) {
        isDone = false;
        continue;
      }
      if (runner.isDirty || !this.#isDueFor(runner) || !(await this.#isFlowDone(runner.facts))) {
        isDone = false;
      } else {
        this.#done.add(name);
      }
    }
    return isDone;
  }

  /** Whether every flow's checkpoint is there, whoever works on it. */
  async isReached(): Promise<boolean> {
    let isReached = true;
    for (const facts of this.#flows) {
      const { name } = facts.flow;
      if (this.#done.has(name)) continue;
      if (!(await this.#hasGoals(facts, (flow) => this.#done.has(flow)))) {
        isReached = false;
      } else if (await this.#isFlowDone(facts)) {
        this.#done.add(name);
      } else {
        isReached = false;
      }
    }
    return isReached;
  }

  /** Whether it is known how far a flow has to read; the goals in the tables that it reads are taken as soon as they are. */
  async #hasGoals(facts: FlowFacts, isSettled: (flow: string) => boolean): Promise<boolean> {
    const { name } = facts.flow;
    if (this.#chained.has(name)) return true;
    const tables = facts.sources.filter(({ isTable }) => isTable);
    const writers = this.#flows.filter(
      ({ flow, output }) =>
        flow.name !== name &&
        (isFeedOf(facts, flow) || tables.some(({ topic }) => topic === output.topic)),
    );
    if (!writers.every(({ flow }) => isSettled(flow.name))) return false;
    const goals = [...(this.#sourceGoals.get(name) ?? [])];
    for (const { topic, partitions } of tables) {
      // The same as between the stages: up to the high watermark.
      goals.push(await this.#goal(topic, partitions, 'end'));
    }
    this.#sourceGoals.set(name, goals);
    this.#chained.add(name);
    return true;
  }

  /** The groups' checkpoints are asked for only when this worker's own part is done. */
  #isDueFor(runner: FlowRunner): boolean {
    const goals = [...(this.#sourceGoals.get(runner.facts.flow.name) ?? [])];
    const repartition = this.#repartitionGoals.get(runner.facts.flow.name);
    if (repartition !== undefined) goals.push(repartition);
    for (const { topic, partition, committed } of runner.progress()) {
      const goal = goals.find((one) => one.topic === topic)?.offsets.get(partition);
      if (goal !== undefined && committed < goal) return false;
    }
    if (this.#clock.monotonic() < this.#nextMs) return false;
    this.#nextMs = this.#clock.monotonic() + lookIntervalMs;
    return true;
  }

  async #isFlowDone(facts: FlowFacts): Promise<boolean> {
    const { name } = facts.flow;
    for (const goal of this.#sourceGoals.get(name) ?? []) {
      if (!(await this.#isReached(facts.group, goal))) return false;
    }
    if (facts.repartition === undefined) return true;
    let repartition = this.#repartitionGoals.get(name);
    if (repartition === undefined) {
      // Up to the high watermark: the open transaction of an instance that stalled may hold the last stable
      // offset below rows that are committed (simulation seed 2540).
      const { topic, partitions } = facts.repartition;
      repartition = await this.#goal(topic, partitions, 'end');
      this.#repartitionGoals.set(name, repartition);
    }
    return this.#isReached(facts.group, repartition);
  }

  async #isReached(group: string, { topic, offsets }: Goal): Promise<boolean> {
    const committed = await this.#checkpoints(group, topic, [...offsets.keys()]);
    if (committed === undefined) return false;
    for (const [partition, goal] of offsets) {
      if (goal > 0 && (committed.get(partition)?.offset ?? 0) < goal) {
        const isEmpty = await this.#isEmpty(topic, partition, goal);
        if (!isEmpty) return false;
      }
    }
    return true;
  }

  /** undefined: not known yet. One question at a time, whose answer may be an older one: the next look has a later one. */
  async #checkpoints(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<Checkpoints | undefined> {
    const name = `${group}/${topic}`;
    const asked = this.#asked.get(name) ?? new PendingAnswer<Checkpoints>();
    this.#asked.set(name, asked);
    return asked.within(this.#clock, answerMsMax, () =>
      this.#log.committedOffsets(group, topic, partitions),
    );
  }

  /** A partition whose records are all gone has nothing to commit. */
  async #isEmpty(topic: string, partition: number, goal: number): Promise<boolean> {
    const range = (await this.#log.offsetRanges(topic, [partition])).get(partition);
    return range !== undefined && range.start >= goal;
  }
}

/** Whether a flow sends its changes to the table stage of the other one. */
function isFeedOf({ flow: stage, repartition }: FlowFacts, flow: FlowFacts['flow']): boolean {
  return stage.kind === 'auto_cdc' && repartition !== undefined && flow.target === stage.target;
}
