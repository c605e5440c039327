import { type CommittedRecord, MemoryLog } from '../adapters/memory/memory-log.ts';
import { FlowError } from '../base/errors.ts';
import type { FlowPlan, PipelinePlan, TablePlan } from '../plan/pipeline-plan.ts';
import { Catalog } from '../runtime/catalog.ts';
import type { RuntimeEvent } from '../runtime/runtime-events.ts';
import { checkAccount } from './check-account.ts';
import { checkDeadLetters } from './check-dead-letters.ts';
import { checkEnds } from './check-liveness.ts';
import { checkMemory } from './check-memory.ts';
import { checkMonotone } from './check-monotone.ts';
import { checkOffsets } from './check-offsets.ts';
import { checkResult } from './check-result.ts';
import { Faults } from './faults.ts';
import { OutputFold } from './fold-output.ts';
import { FragileState } from './fragile-state.ts';
import { LeapingClock } from './leaping-clock.ts';
import { Random } from './random.ts';
import { readAccount } from './read-account.ts';
import { reference } from './reference.ts';
import {
  errorText,
  isOfTheWorld,
  SimulatedInstance,
  type SimulatedSite,
} from './simulated-instance.ts';
import { type Disturbance, drawScenario, drawStall, type Scenario } from './simulation-scenario.ts';
import { planShape, type ShapeFlow, type SimulationShape } from './simulation-shapes.ts';
import { Workload } from './simulation-workload.ts';

export type SimulationOptions = {
  /** This shape, whatever the seed draws. */
  readonly shape?: SimulationShape;
  /** Told what happens, line by line, with the virtual time. */
  readonly trace?: (line: string) => void;
};

export type SimulationReport = {
  readonly seed: number;
  readonly shape: string;
  readonly records: number;
  /** Processes that were started. */
  readonly processes: number;
  readonly crashes: number;
  /** What went wrong, one line each; none: the seed passed. */
  readonly faults: readonly string[];
};

const pipelineName = 'sim';
/** Of virtual time, once nothing fails any more. */
const patienceMs = 1_800_000;
const lookIntervalMs = 100;
const podNames = ['pod-0', 'pod-1', 'pod-2', 'pod-3'];
/** Instances that a world starts at most; more: none of them stays alive. */
const startsMax = 200;
/** Each partition may find its gap in a takeover of its own. */
const gapRoundsMax = 10;
/** Faults that are told of one seed. */
const faultsMax = 20;

/**
 * One world from a seed: records arrive while processes start, crash, stall and lose their state, and in
 * the end nothing fails any more. Then the output must be what the definition says, and every state that a reader
 * could have seen on the way must have been right. Invariant: the seed decides everything.
 */
export function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationReport> {
  return new Simulation(seed, options).run();
}

/** One flow with everything that a check of it needs. */
type FlowUnderTest = {
  readonly shape: ShapeFlow;
  readonly plan: FlowPlan;
  readonly table: TablePlan;
  readonly group: string;
  readonly repartitionTopic: string;
};

class Simulation {
  readonly #seed: number;
  readonly #random: Random;
  readonly #scenario: Scenario;
  readonly #plan: PipelinePlan;
  readonly #flows: readonly FlowUnderTest[];
  readonly #clock = new LeapingClock();
  readonly #log: MemoryLog;
  readonly #workload: Workload;
  readonly #site: SimulatedSite;
  readonly #trace: ((line: string) => void) | undefined;
  readonly #complaints = new Set<string>();
  #instances: SimulatedInstance[] = [];
  #started = 0;
  #crashes = 0;
  /** Somebody set checkpoints back: rows come again, and counters start anew. */
  #isRewound = false;
  readonly #furthest = new Map<string, number>();
  /** Errors that stop a flow by right, by flow. */
  readonly #expectedStops = new Map<string, readonly string[]>();
  readonly #stopped = new Map<string, FlowError>();
  #areGapsAccepted = false;
  /** Recoveries since they were counted last. */
  #recoveries: FlowError[] = [];

  constructor(seed: number, options: SimulationOptions) {
    const random = new Random(seed);
    const scenario = drawScenario(random, options.shape);
    this.#seed = seed;
    this.#random = random;
    this.#scenario = scenario;
    this.#trace = options.trace;
    const planned = planShape(scenario.shape, scenario.output);
    const { tablePartitions } = scenario;
    this.#plan = {
      ...planned,
      tables: planned.tables.map((table) => ({
        ...table,
        partitions: tablePartitions ?? table.partitions,
      })),
    };
    this.#flows = scenario.shape.flows.map((shape) => flowUnderTest(shape, this.#plan));
    this.#log = new MemoryLog({
      clock: this.#clock,
      transactionTimeoutMs: scenario.transactionTimeoutMs,
    });
    this.#workload = new Workload({ ...scenario, log: this.#log, random });
    const faults = new Faults(random, scenario.mood);
    this.#site = {
      plan: this.#plan,
      pipeline: pipelineName,
      log: this.#log,
      state: new FragileState(faults),
      clock: this.#clock,
      faults,
      settings: scenario.settings,
      sliceRecordsMax: scenario.sliceRecordsMax,
      drawStallMs: () => drawStall(random, scenario),
    };
  }

  async run(): Promise<SimulationReport> {
    const { shape, partitions, rounds } = this.#scenario;
    this.#note(() => `scenario ${JSON.stringify({ ...this.#scenario, shape: shape.name })}`);
    for (const topic of shape.topics) this.#log.createTopic(topic, partitions);
    await this.#workload.learnTopics();
    const middle = this.#random.below(2 * rounds);
    try {
      for (let round = 0; round < rounds; round += 1) {
        await this.#round();
        if (round === middle) this.#checkPromises();
      }
      await this.#end();
    } catch (error) {
      this.#complain(`the simulation broke off: ${errorText(error)}`);
    } finally {
      this.#clock.stop();
    }
    return {
      seed: this.#seed,
      shape: shape.name,
      records: this.#workload.records,
      processes: this.#started,
      crashes: this.#crashes,
      faults: [...this.#complaints].slice(0, faultsMax),
    };
  }

  async #round(): Promise<void> {
    const random = this.#random;
    const { roundRecordsMax, processesMax, disturbancePermille, disturbances } = this.#scenario;
    await this.#workload.produce(random.below(roundRecordsMax));
    this.#forgetGone();
    const isAlone = this.#instances.length === 0;
    if (isAlone || (this.#instances.length < processesMax && random.chance(400))) this.#begin();
    await this.#clock.sleep(random.below(random.chance(150) ? 10_000 : 1_000));
    if (random.chance(disturbancePermille)) {
      const disturbance = random.pick(disturbances);
      if (disturbance !== undefined) await this.#disturb(disturbance);
    }
    this.#checkMemory();
  }

  // What happens to the world

  #begin(options: { once?: boolean; acceptGaps?: readonly string[] } = {}): SimulatedInstance {
    this.#started += 1;
    // A pod that comes back has the name of the one before it, which may still be a zombie.
    const taken = this.#instances.filter(({ isGone }) => !isGone).map(({ name }) => name);
    const free = podNames.filter((name) => !taken.includes(name));
    const name = (this.#random.chance(50) ? podNames[0] : this.#random.pick(free)) ?? 'pod-0';
    this.#note(() => `${name} starts`);
    const instance = new SimulatedInstance(this.#site, {
      name,
      once: options.once ?? false,
      acceptGaps: options.acceptGaps ?? [],
      onEvent: (event) => this.#heard(name, event),
    });
    void instance.process.crashed.then(() => {
      this.#crashes += 1;
      this.#note(() => `${name} is gone`);
    });
    void instance.fate.then((end) => {
      if (end.fate === 'failed') this.#failed(name, end.error);
      else this.#note(() => `${name} has stopped`);
    });
    this.#instances.push(instance);
    return instance;
  }

  #heard(name: string, event: RuntimeEvent): void {
    this.#note(() => `${name} ${eventText(event)}`);
    if (event.event === 'flow_failed') this.#stopped.set(event.flow, event.error);
    if (event.event === 'recovering') this.#recoveries.push(event.error);
  }

  /** Faults of the world end a process; so does a stop that is expected; anything else is a fault of ours. */
  #failed(name: string, error: unknown): void {
    this.#note(() => `${name} failed: ${errorText(error)}`);
    if (isOfTheWorld(error)) return;
    const expected = [...this.#expectedStops.values()].flat();
    if (error instanceof FlowError && expected.includes(error.code)) return;
    this.#complain(`${name} failed: ${errorText(error)}`);
  }

  #forgetGone(): void {
    this.#instances = this.#instances.filter(({ isGone }) => !isGone);
  }

  async #disturb(disturbance: Disturbance): Promise<void> {
    const random = this.#random;
    const instance = random.pick(this.#instances);
    this.#note(() => `disturbance: ${disturbance}`);
    switch (disturbance) {
      case 'crash':
        instance?.process.crash();
        return;
      case 'end':
        instance?.stop();
        return;
      case 'stall':
        instance?.process.stall(drawStall(random, this.#scenario));
        return;
      case 'fence':
        if (instance !== undefined) await this.#log.fence(`${pipelineName}-${instance.name}`);
        return;
      case 'skew':
        instance?.process.skew(random.below(172_800_000) - 86_400_000);
        return;
      case 'compact':
        this.#log.compact(`${pipelineName}.catalog`);
        for (const { topic } of this.#plan.tables) {
          this.#log.compact(topic, { dropTombstones: random.chance(300) });
        }
        return;
      case 'retention':
        await this.#passRetention();
        return;
      case 'purge':
        await this.#purge();
        return;
      case 'rewind':
        await this.#rewind();
        return;
    }
  }

  /** Retention takes what every flow has read: nobody may notice. */
  async #passRetention(): Promise<void> {
    for (const topic of this.#scenario.shape.topics) {
      const before = new Map<number, number>();
      for (let partition = 0; partition < this.#scenario.partitions; partition += 1) {
        const readers = this.#readersOf(topic);
        const offsets = readers.map(({ group }) => this.#committed(group, topic, partition) ?? 0);
        before.set(partition, Math.min(...offsets));
      }
      await this.#log.deleteRecords(topic, before);
    }
  }

  /** What lies behind the checkpoint between the stages is deleted, as the service does with large topics. */
  async #purge(): Promise<void> {
    for (const { group, repartitionTopic } of this.#flows) {
      const count = this.#log.partitionCountNow(repartitionTopic);
      const before = new Map<number, number>();
      for (let partition = 0; partition < count; partition += 1) {
        before.set(partition, this.#committed(group, repartitionTopic, partition) ?? 0);
      }
      if (count > 0) await this.#log.deleteRecords(repartitionTopic, before);
    }
  }

  /** Somebody sets a checkpoint back while nobody works on it: rows come again that were merged long ago. */
  async #rewind(): Promise<void> {
    for (const instance of this.#instances) instance.process.crash();
    this.#forgetGone();
    // Until the last transaction is over and the groups are empty.
    const { transactionTimeoutMs, settings } = this.#scenario;
    await this.#clock.sleep(transactionTimeoutMs + settings.sessionTimeoutMs * 3);
    const producer = await this.#log.openProducer(undefined);
    for (const { shape, group, repartitionTopic } of this.#flows) {
      for (const topic of topicsOf(shape, repartitionTopic)) {
        const offsets = [];
        for (let partition = 0; partition < this.#log.partitionCountNow(topic); partition += 1) {
          const committed = this.#log.committedNow(group, topic, partition);
          const { start } = this.#log.rangeNow(topic, partition);
          if (committed === undefined || committed.offset <= start) continue;
          const offset = start + this.#random.below(committed.offset - start + 1);
          this.#furthest.set(
            `${group}/${topic}/${partition}`,
            this.#reached(group, topic, partition) ?? 0,
          );
          offsets.push({ ...committed, topic, partition, offset });
        }
        if (offsets.length === 0) continue;
        const member = { group, memberId: '', instanceId: undefined, generation: -1 };
        await producer.commit([{ member, offsets }]);
        this.#isRewound = true;
      }
    }
    await producer.close();
  }

  // How it ends

  async #end(): Promise<void> {
    const { ending, hasEpilogue } = this.#scenario;
    const isCalmAllAlong = this.#site.faults.isCalm && this.#scenario.disturbancePermille === 0;
    if (ending === 'retention') await this.#takeUnread();
    if (ending === 'recreated') await this.#recreate();
    if (ending === 'cut') this.#cutOutput();
    this.#site.faults.calm();
    this.#note(() => 'all is calm');
    this.#forgetGone();
    await this.#catchUp(ending === 'once');
    if (isCalmAllAlong) this.#checkRecoveries('all the time');
    if (hasEpilogue && ending === 'caught_up') await this.#epilogue();
    await this.#stopAll();
    if (this.#complaints.size === 0) await this.#check();
  }

  async #catchUp(isOnce: boolean): Promise<void> {
    const last = isOnce ? await this.#beginOnce() : this.#begin();
    const gaps = this.#expectedStops.size > 0;
    const done = isOnce ? last.fate : this.#untilCaughtUp();
    await this.#inTime('it never caught up', done);
    if (gaps) this.#checkStops();
    if (gaps && this.#scenario.ending !== 'cut') await this.#acceptGaps();
  }

  /** One update that reads what is there and ends by itself; the others end before it or go on beside it. */
  async #beginOnce(): Promise<SimulatedInstance> {
    if (this.#random.chance(500)) await this.#stopAll();
    return this.#begin({ once: true });
  }

  /** Until every flow is at its end, or has stopped as it must. */
  async #untilCaughtUp(): Promise<void> {
    while (!this.#flows.every((flow) => this.#hasStopped(flow) || this.#isCaughtUp(flow))) {
      this.#forgetGone();
      if (this.#instances.length === 0) {
        // Whoever looks after pods starts them again.
        if (this.#started > startsMax) throw new Error('no instance stays alive');
        this.#begin();
      }
      await this.#clock.sleep(lookIntervalMs);
    }
  }

  #hasStopped({ plan }: FlowUnderTest): boolean {
    return this.#stopped.has(plan.name) && this.#expectedStops.has(plan.name);
  }

  /** Whether every checkpoint of a flow is at the end of its log. */
  #isCaughtUp({ plan, shape, group, repartitionTopic }: FlowUnderTest): boolean {
    // Behind a gap no checkpoint may come to the end by itself.
    if (this.#expectedStops.has(plan.name) && !this.#areGapsAccepted) return false;
    return topicsOf(shape, repartitionTopic).every((topic) => this.#isAtEnd(group, topic));
  }

  #isAtEnd(group: string, topic: string): boolean {
    const count = this.#log.partitionCountNow(topic);
    for (let partition = 0; partition < count; partition += 1) {
      const { end } = this.#log.rangeNow(topic, partition);
      if ((this.#committed(group, topic, partition) ?? 0) < end) return false;
    }
    return count > 0;
  }

  /**
   * Nothing fails any more, and everything is taken over anew, so that what was lost before is found: whoever still has
   * to recover does so without need.
   */
  async #epilogue(): Promise<void> {
    await this.#stopAll();
    this.#begin();
    for (const topic of this.#scenario.shape.topics) {
      for (let partition = 0; partition < this.#scenario.partitions; partition += 1) {
        this.#workload.produceTo(topic, partition);
      }
    }
    await this.#inTime('it never caught up again', this.#untilCaughtUp());
    this.#recoveries = [];
    await this.#workload.produce(this.#scenario.roundRecordsMax);
    await this.#inTime('it never caught up with the last records', this.#untilCaughtUp());
    this.#checkRecoveries('in the end');
  }

  async #stopAll(): Promise<void> {
    const alive = this.#instances.filter(({ isGone }) => !isGone);
    for (const instance of alive) instance.stop();
    const ends = alive.map(({ fate, process }) => Promise.race([fate, process.crashed]));
    await this.#inTime('it did not stop', Promise.all(ends));
    this.#forgetGone();
  }

  async #inTime(what: string, work: Promise<unknown>): Promise<void> {
    for (const fault of await checkEnds(this.#clock, patienceMs, what, work)) {
      this.#complain(`${fault}: ${this.#behind().join(', ')}`);
    }
  }

  /** What is not read to its end. */
  #behind(): string[] {
    return this.#flows.flatMap(({ shape, group, repartitionTopic }) =>
      topicsOf(shape, repartitionTopic)
        .filter((topic) => !this.#isAtEnd(group, topic))
        .map((topic) => `${group} has not read ${topic}`),
    );
  }

  // Gaps

  #crashAll(): void {
    for (const instance of this.#instances) instance.process.crash();
    this.#forgetGone();
  }

  /** Retention overtakes a checkpoint: whoever reads that source has to stop, and must not go on with a gap. */
  async #takeUnread(): Promise<void> {
    this.#crashAll();
    const topic = this.#random.pick(this.#scenario.shape.topics) ?? '';
    const partition = this.#random.below(this.#scenario.partitions);
    for (let made = 0; made < 3; made += 1) this.#workload.produceTo(topic, partition);
    const { end } = this.#log.rangeNow(topic, partition);
    const start = end - this.#random.below(2);
    for (const { plan, group } of this.#readersOf(topic)) {
      const from = this.#committed(group, topic, partition);
      if (from === undefined) {
        // It has never read anything: it starts with what is there.
        this.#workload.lose(
          plan.name,
          (at) => at.topic === topic && at.partition === partition && at.offset < start,
        );
      } else if (from < start) {
        const reached = this.#reached(group, topic, partition) ?? 0;
        this.#expectedStops.set(plan.name, ['OFFSET_OUT_OF_RANGE']);
        this.#workload.lose(
          plan.name,
          (at) =>
            at.topic === topic &&
            at.partition === partition &&
            at.offset >= reached &&
            at.offset < start,
        );
      }
    }
    await this.#log.deleteRecords(topic, new Map([[partition, start]]));
    this.#note(() => `retention takes ${topic}/${partition} below ${start}`);
  }

  async #recreate(): Promise<void> {
    this.#crashAll();
    const topic = this.#random.pick(this.#scenario.shape.topics) ?? '';
    const description = (await this.#log.describeTopics([topic])).get(topic);
    const former = description?.topicId.replaceAll('-', '') ?? '';
    const known = await this.#readCatalog();
    for (const { plan, group } of this.#readersOf(topic)) {
      const from = Array.from({ length: this.#scenario.partitions }, (_, partition) =>
        this.#reached(group, topic, partition),
      );
      // A checkpoint is known to be of the former topic only once that was recorded, right after the commit.
      const isRecorded = from.some(
        (_, partition) =>
          known.get('checkpoint', `${plan.name}/${topic}/${partition}`) !== undefined,
      );
      if (isRecorded) this.#expectedStops.set(plan.name, ['TOPIC_RECREATED']);
      this.#workload.lose(
        plan.name,
        (at, topicId) =>
          at.topic === topic && topicId === former && at.offset >= (from[at.partition] ?? 0),
      );
    }
    // The counters went with the checkpoints.
    this.#isRewound = true;
    this.#log.deleteTopic(topic);
    this.#log.createTopic(topic, this.#scenario.partitions);
    await this.#workload.learnTopics();
    for (let made = 0; made < 5; made += 1) {
      this.#workload.produceTo(topic, this.#random.below(this.#scenario.partitions));
    }
    this.#note(() => `${topic} is deleted and created again`);
  }

  /** A broker loses the end of an output topic: where the state knows of it, the flow must not go on without it. */
  #cutOutput(): void {
    this.#crashAll();
    for (const { plan, table } of this.#flows) {
      const partition = this.#random.below(Math.max(1, this.#log.partitionCountNow(table.topic)));
      const task = { pipeline: pipelineName, flow: plan.name, generation: 0, partition };
      const mark = this.#site.state.store.image(task)?.mark;
      if (mark === undefined || mark.offset === 0) continue;
      const end = this.#random.below(mark.offset);
      this.#log.truncate(table.topic, partition, end);
      this.#expectedStops.set(plan.name, ['OFFSET_OUT_OF_RANGE']);
      this.#note(() => `${table.topic}/${partition} is cut at ${end}`);
    }
  }

  #checkStops(): void {
    for (const [flow, codes] of this.#expectedStops) {
      const code = this.#stopped.get(flow)?.code;
      if (code === undefined || !codes.includes(code)) {
        this.#complain(
          `flow "${flow}" should have stopped with ${codes.join(' or ')}, not ${code}`,
        );
      }
    }
  }

  /** The flows have stopped, as they must; now somebody takes the gaps into account, one after the other, and they go on. */
  async #acceptGaps(): Promise<void> {
    this.#areGapsAccepted = true;
    for (let attempt = 0; attempt < gapRoundsMax; attempt += 1) {
      await this.#stopAll();
      const catalog = await this.#readCatalog();
      const ids = catalog.all('gap').map(({ name }) => name);
      this.#note(() => `somebody accepts ${ids.join(' ')}`);
      this.#stopped.clear();
      this.#begin({ acceptGaps: ids });
      await this.#inTime('it never caught up behind the gap', this.#untilCaughtUp());
      if (this.#stopped.size === 0) return;
    }
    this.#complain('it found gap after gap');
  }

  async #readCatalog(): Promise<Catalog> {
    const catalog = new Catalog(this.#log, `${pipelineName}.catalog`);
    if (this.#log.partitionCountNow(catalog.topic) > 0) await catalog.read();
    return catalog;
  }

  // Checks

  #checkMemory(): void {
    const { settings, sliceRecordsMax } = this.#scenario;
    const commitRecordsMax = settings.commitRecordsMax ?? 0;
    for (const { name, progress } of this.#instances.map((one) => ({
      name: one.name,
      progress: one.progress(),
    }))) {
      if (progress === undefined) continue;
      const { cacheBytesMax } = settings;
      // Whether a commit is due is asked after each slice.
      const transactionKeysMax = commitRecordsMax + sliceRecordsMax;
      const check = { instance: name, progress, cacheBytesMax, transactionKeysMax };
      for (const fault of checkMemory(check)) this.#complain(fault);
    }
  }

  /** Whoever had to recover though nothing was wrong waits for something that it need not wait for, or forgets it. */
  #checkRecoveries(when: string): void {
    for (const { code, message } of this.#recoveries) {
      // Somebody starts, somebody leaves: that is nothing wrong.
      if (code === 'TASK_MIGRATED' || code === 'PRODUCER_FENCED') continue;
      this.#complain(`nothing failed ${when}, and yet: ${code}: ${message}`);
    }
  }

  /** What checkpoints promise, at a moment in the middle of everything. */
  #checkPromises(): void {
    for (const flow of this.#flows) {
      const fold = new OutputFold(flow.table.output);
      for (const record of this.#log.readSettled(flow.table.topic)) fold.add(record);
      this.#checkOffsets(flow, fold);
    }
  }

  #checkOffsets(
    { shape, table, group, plan, repartitionTopic }: FlowUnderTest,
    output: OutputFold,
  ): void {
    const { rows } = this.#workload.expectationOf(shape, []);
    const faults = checkOffsets({
      flow: plan.name,
      rows,
      output,
      repartition: this.#log.readSettled(repartitionTopic),
      committed: (topic, partition) => this.#committed(group, topic, partition),
      repartitionTopic,
      isEmptiable: plan.kind === 'replace_using' && plan.emptyWhen !== undefined,
    });
    for (const fault of faults) this.#complain(`${fault} (table ${table.name})`);
  }

  async #check(): Promise<void> {
    const isExact = this.#scenario.settings.delivery === 'exactly_once';
    for (const flow of this.#flows) {
      const { plan, table, shape } = flow;
      if (this.#hasStopped(flow)) continue;
      const names = table.expectations.map(({ name }) => name);
      const expected = this.#workload.expectationOf(shape, names);
      const records = this.#log.readCommitted(table.topic);
      const fold = new OutputFold(table.output);
      const seen = checkMonotone(records, table.output, Number, compareNumbers, fold);
      // Without transactions the rows of a key become visible one by one.
      if (isExact || table.output === 'row_set') this.#complainAll(plan.name, seen);
      const rows = reference(expected.rows, compareNumbers);
      this.#complainAll(plan.name, checkResult(fold, table.output, rows));
      const account = await readAccount(this.#log, this.#plan, pipelineName, plan);
      const isCounted = isExact && !this.#isRewound;
      const { counters } = expected;
      this.#complainAll(
        plan.name,
        checkAccount({ flow: plan.name, account, expected: counters, isExact: isCounted }),
      );
      const letters = this.#deadLetters(table);
      this.#complainAll(
        plan.name,
        checkDeadLetters(plan.name, letters, expected.deadLetters, isCounted),
      );
    }
  }

  #deadLetters({ deadLetterTopic }: TablePlan): readonly CommittedRecord[] {
    return deadLetterTopic === undefined ? [] : this.#log.readCommitted(deadLetterTopic);
  }

  // Small things

  #readersOf(topic: string): readonly FlowUnderTest[] {
    return this.#flows.filter(({ shape }) => shape.branches.some((one) => one.topic === topic));
  }

  #committed(group: string, topic: string, partition: number): number | undefined {
    return this.#log.committedNow(group, topic, partition)?.offset;
  }

  /** The furthest checkpoint that was ever set back, or the one that stands: what is below was read. */
  #reached(group: string, topic: string, partition: number): number | undefined {
    const committed = this.#committed(group, topic, partition);
    const furthest = this.#furthest.get(`${group}/${topic}/${partition}`);
    return furthest === undefined ? committed : Math.max(furthest, committed ?? 0);
  }

  #complainAll(flow: string, faults: readonly string[]): void {
    for (const fault of faults) this.#complain(`flow "${flow}": ${fault}`);
  }

  #complain(fault: string): void {
    this.#note(() => `FAULT ${fault}`);
    this.#complaints.add(fault);
  }

  #note(text: () => string): void {
    this.#trace?.(`${String(this.#clock.monotonic()).padStart(8)} ${text()}`);
  }
}

function flowUnderTest(shape: ShapeFlow, plan: PipelinePlan): FlowUnderTest {
  const flow = plan.flows.find(({ name }) => name === shape.name);
  const table = plan.tables.find(({ name }) => name === shape.name);
  if (flow === undefined || table === undefined) {
    throw new FlowError('PIPELINE_INVALID', `the plan has no flow and table "${shape.name}"`);
  }
  const group = `${pipelineName}.${flow.name}`;
  return { shape, plan: flow, table, group, repartitionTopic: `${group}.repartition` };
}

/** What a flow has checkpoints of. */
function topicsOf({ branches }: ShapeFlow, repartitionTopic: string): string[] {
  return [...new Set(branches.map(({ topic }) => topic)), repartitionTopic];
}

function compareNumbers(a: number, b: number): number {
  return a - b;
}

function eventText(event: RuntimeEvent): string {
  const { event: name, ...rest } = event;
  const facts = Object.entries(rest).map(
    ([key, value]) => `${key}=${value instanceof Error ? errorText(value) : JSON.stringify(value)}`,
  );
  return `${name} ${facts.join(' ')}`;
}
