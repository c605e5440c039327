import { MemoryLog } from '../../adapters/memory/memory-log.ts';
import { FlowError } from '../../base/errors.ts';
import { oncePerPair } from '../../base/once-per.ts';
import type { FlowPlan, PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { catalogTopicOf } from '../../plan/topology.ts';
import type { RuntimeEvent } from '../../runtime/runtime-events.ts';
import { generationOf } from '../../runtime/takeover/generation.ts';
import { Catalog } from '../../runtime/topics/catalog.ts';
import type { Random } from '../random.ts';
import { Faults } from './faults.ts';
import { FragileState } from './fragile-state.ts';
import { LeapingClock } from './leaping-clock.ts';
import { inputsOf, type ShapeFlow } from './shape-parts.ts';
import {
  errorText,
  isOfTheWorld,
  SimulatedInstance,
  type SimulatedSite,
} from './simulated-instance.ts';
import { Outages } from './simulated-outages.ts';
import type { SimulatedRefresh } from './simulated-refresh.ts';
import { drawStall, type Scenario } from './simulation-scenario.ts';
import { planShape } from './simulation-shapes.ts';
import { Workload } from './simulation-workload.ts';

/** One flow with everything that a check of it needs. */
export type FlowUnderTest = {
  readonly shape: ShapeFlow;
  readonly plan: FlowPlan;
  readonly table: TablePlan;
  readonly group: string;
  /** Where the rows of all flows that feed one table stage meet, and whose checkpoint is of it. */
  readonly stageGroup: string;
  readonly repartitionTopic: string;
  /** What it has checkpoints of. */
  readonly topics: readonly string[];
};

/** Told what happens, line by line, with the virtual time. */
export type Trace = (line: string) => void;

export const simulatedPipeline = 'sim';
const lookIntervalMs = 100;
const podNames = ['pod-0', 'pod-1', 'pod-2', 'pod-3'];
/** Instances that a world starts at most; more: none of them stays alive. */
const startsMax = 200;

/**
 * The log, the state store, the producers and the processes of one seed. Invariant: the seed decides everything, and
 * what is wrong is collected here as complaints, each once.
 */
export class SimulatedWorld {
  readonly random: Random;
  readonly scenario: Scenario;
  readonly plan: PipelinePlan;
  readonly flows: readonly FlowUnderTest[];
  readonly clock = new LeapingClock();
  readonly log: MemoryLog;
  readonly workload: Workload;
  readonly site: SimulatedSite;
  readonly complaints = new Set<string>();
  instances: SimulatedInstance[] = [];
  started = 0;
  crashes = 0;
  /** Transactions that somebody else had open on a table. */
  foreigners = 0;
  /** Somebody set checkpoints back: rows come again, and counters start anew. */
  isRewound = false;
  /** The one that has not come to its end yet. */
  refresh: SimulatedRefresh | undefined;
  /** One of them has emptied its table, as it was asked to: readers see that, and letters may come twice. */
  isEmptied = false;
  /** Refreshes that were begun. */
  refreshes = 0;
  /** Errors that stop a flow by right, by flow. */
  readonly expectedStops = new Map<string, readonly string[]>();
  readonly stopped = new Map<string, FlowError>();
  areGapsAccepted = false;
  /** What was deleted and created again while everything went on; undefined: nothing. */
  torn: string | undefined;
  /** Recoveries since they were counted last. */
  recoveries: FlowError[] = [];
  /** Flow → topic → up to where it reads its partitions; absent: it did not begin, or goes on for ever. */
  readonly pins = new Map<string, ReadonlyMap<string, readonly number[]>>();
  /** "topic/partition" → its end when the first process started. */
  readonly endsAtStart = new Map<string, number>();
  readonly #retired = new Set<string>();
  readonly #done = new Set<string>();
  readonly #furthest = new Map<string, number>();
  readonly #trace: Trace | undefined;

  constructor(random: Random, scenario: Scenario, trace: Trace | undefined) {
    this.random = random;
    this.scenario = scenario;
    this.#trace = trace;
    this.plan = planShape(scenario.shape, scenario.output, scenario.tablePartitions);
    this.flows = scenario.shape.flows.map((shape) => flowUnderTest(shape, this.plan));
    this.log = new MemoryLog({
      clock: this.clock,
      transactionTimeoutMs: scenario.transactionTimeoutMs,
    });
    this.workload = new Workload({ ...scenario, log: this.log, random });
    const faults = new Faults(random, scenario.mood);
    this.site = {
      plan: this.plan,
      pipeline: simulatedPipeline,
      log: this.log,
      state: new FragileState(faults),
      clock: this.clock,
      faults,
      outages: new Outages(this.clock),
      settings: scenario.settings,
      sliceRecordsMax: scenario.sliceRecordsMax,
      drawStallMs: () => drawStall(random, scenario),
    };
  }

  // Processes

  begin(options: { once?: boolean; acceptGaps?: readonly string[] } = {}): SimulatedInstance {
    if (this.started === 0) this.#noteEnds();
    this.started += 1;
    // A pod that comes back has the name of the one before it, which may still be a zombie. An update has one of its own.
    const taken = this.instances.filter(({ isGone }) => !isGone).map(({ name }) => name);
    const names = podNames.filter((name) => !this.#retired.has(name));
    const free = names.filter((name) => !taken.includes(name));
    const isTwin = this.random.chance(50) && options.once !== true;
    const spare = options.once === true ? 'update' : 'pod-0';
    const name = (isTwin ? names[0] : this.random.pick(free)) ?? spare;
    this.note(() => `${name} starts`);
    const instance = new SimulatedInstance(this.site, {
      name,
      token: String(this.started),
      once: options.once ?? false,
      acceptGaps: options.acceptGaps ?? [],
      onEvent: (event) => this.#heard(name, event),
    });
    void instance.process.crashed.then(() => {
      this.crashes += 1;
      this.note(() => `${name} is gone`);
    });
    void instance.fate.then((end) => {
      if (end.fate === 'failed') {
        this.#failed(name, end.error, instance.progress() === undefined, options.once === true);
      } else this.note(() => `${name} has stopped`);
    });
    this.instances.push(instance);
    return instance;
  }

  /** No further process has this name. */
  retire(name: string): void {
    if (this.#retired.size + 2 < podNames.length) this.#retired.add(name);
  }

  #noteEnds(): void {
    for (const topic of this.scenario.shape.topics) {
      for (let partition = 0; partition < this.scenario.partitions; partition += 1) {
        this.endsAtStart.set(`${topic}/${partition}`, this.log.rangeNow(topic, partition).end);
      }
    }
  }

  #heard(name: string, event: RuntimeEvent): void {
    this.note(() => `${name} ${eventText(event)}`);
    if (event.event === 'flow_failed') this.stopped.set(event.flow, event.error);
    if (event.event === 'recovering') this.recoveries.push(event.error);
  }

  /** Faults of the world end a process; so does a stop that is expected; anything else is a fault of ours. */
  #failed(name: string, error: unknown, isAtStart: boolean, isOnce: boolean): void {
    this.note(() => `${name} failed: ${errorText(error)}`);
    if (isOfTheWorld(error)) return;
    if (error instanceof FlowError && this.#isTorn(error)) {
      // A start that is refused is one of all flows. Where a topic is away for a moment the next one tells more.
      if (isAtStart && error.code !== 'TOPIC_MISSING') {
        const { views = [] } = this.scenario.shape;
        const names = [
          ...this.flows.map(({ plan }) => plan.name),
          ...views.map(({ name }) => name),
        ];
        for (const stands of names) this.stopped.set(stands, error);
      }
      return;
    }
    // It saw the topics before they grew, and started next to one that saw them after: it starts again.
    const { growsInRound } = this.scenario;
    if (growsInRound !== undefined && codeOf(error) === 'TOPIC_PARTITIONS') return;
    const expected = [...this.expectedStops.values()].flat();
    if (error instanceof FlowError && expected.includes(error.code)) return;
    // An update ends where a command holds its table; so does the one that goes before a flow that runs once.
    if (this.refreshes > 0 && codeOf(error) === 'TABLE_LOCKED' && (isOnce || this.#hasOnce)) return;
    this.complain(`${name} failed: ${errorText(error)}`);
  }

  get #hasOnce(): boolean {
    const { flows, views = [] } = this.scenario.shape;
    return [...flows, ...views].some((one) => one.isOnce === true);
  }

  forgetGone(): void {
    this.instances = this.instances.filter(({ isGone }) => !isGone);
  }

  crashAll(): void {
    for (const instance of this.instances) instance.process.crash();
    this.forgetGone();
  }

  /** Until every flow is at its end, or has stopped as it must. */
  async untilCaughtUp(): Promise<void> {
    const isDone = (flow: FlowUnderTest): boolean =>
      this.hasStopped(flow) || (this.#isCaughtUp(flow) && this.isReadable(flow));
    for (;;) {
      await this.learnPins();
      if (this.flows.every(isDone) && this.#areViewsCurrent()) return;
      this.forgetGone();
      if (this.instances.length === 0) {
        // Whoever looks after pods starts them again.
        if (this.started > startsMax) throw new Error('no instance stays alive');
        this.begin();
      }
      await this.clock.sleep(lookIntervalMs);
    }
  }

  hasStopped({ plan }: FlowUnderTest): boolean {
    const stop = this.stopped.get(plan.name);
    return stop !== undefined && (this.expectedStops.has(plan.name) || this.#isTorn(stop));
  }

  /** Whether a flow, or one that writes what it reads, has stopped: its rows end there. */
  isCutOff(flow: FlowPlan): boolean {
    if (this.stopped.has(flow.name)) return true;
    const tables = flow.branches.map(
      ({ source }) => this.plan.sources.find(({ name }) => name === source)?.table,
    );
    return this.plan.flows.some(
      (one) => one !== flow && tables.includes(one.target) && this.isCutOff(one),
    );
  }

  /** From here on any flow may stop for what was deleted and created again. */
  tear(what: string): void {
    this.torn = what;
    // Where checkpoints went with a topic, counters did, too.
    if (what !== 'view' && what !== 'letters') this.isRewound = true;
  }

  #isTorn({ code }: FlowError): boolean {
    if (this.torn === undefined) return false;
    return tornCodes.includes(code) || (this.torn === 'catalog' && code === 'TOPIC_CONFIG');
  }

  /** Whether every checkpoint of a flow is at the end of its log. */
  #isCaughtUp(flow: FlowUnderTest): boolean {
    const { plan, topics } = flow;
    // Behind a gap no checkpoint may come to the end by itself.
    if (this.expectedStops.has(plan.name) && !this.areGapsAccepted) return false;
    return topics.every((topic) => this.#isAtEnd(flow, topic));
  }

  /** Reads how far the flows go that do not go on for ever. */
  async learnPins(): Promise<void> {
    const once = this.flows.filter(({ shape }) => shape.isOnce === true);
    if (once.length === 0) return;
    const catalog = await this.readCatalog();
    for (const { plan } of once) {
      const value = catalog.get('once', plan.name)?.value;
      // A refresh has it run once more.
      if (value === undefined || value['generation'] !== generationOf(catalog, plan.name)) {
        this.pins.delete(plan.name);
        this.#done.delete(plan.name);
        continue;
      }
      const ends = value['ends'] as Readonly<Record<string, readonly number[]>>;
      this.pins.set(plan.name, new Map(Object.entries(ends)));
      if (value['isDone'] === true) this.#done.add(plan.name);
    }
  }

  /** Whether a flow does not read an offset, since there was nothing yet when it started. */
  isBeyond(
    { plan, shape }: FlowUnderTest,
    topic: string,
    partition: number,
    offset: number,
  ): boolean {
    if (shape.isOnce !== true) return false;
    const pin = this.pins.get(plan.name)?.get(topic)?.[partition];
    return pin !== undefined && offset >= pin;
  }

  /** Whether nothing of a partition is read from an offset on: all that the flow is to read was read before. */
  isDoneAt(flow: FlowUnderTest, topic: string, partition: number, offset: number): boolean {
    return this.#done.has(flow.plan.name) || this.isBeyond(flow, topic, partition, offset);
  }

  /**
   * Whether each view was computed over everything that its input has. Of flows that stopped it has what there is to read:
   * nobody takes their tables over, so that what a dead process left open there ends by itself only (simulation seed
   * 91418608).
   */
  #areViewsCurrent(): boolean {
    const { views = [] } = this.scenario.shape;
    return views.every((view) => {
      const { name, isOnce } = view;
      const stop = this.stopped.get(name);
      if (stop !== undefined && this.#isTorn(stop)) return true;
      const group = `${simulatedPipeline}.${name}`;
      // Whatever came into its input since: it was computed.
      if (isOnce === true) {
        return this.committed(group, catalogTopicOf(simulatedPipeline), 0) !== undefined;
      }
      if (!this.#isOfPresentTopic(group, name)) return false;
      return inputsOf(view).every((input) => this.#isComputedFrom(group, input));
    });
  }

  /** What a topic held that was there before has to be computed anew, though nothing has come into the inputs since. */
  #isOfPresentTopic(group: string, name: string): boolean {
    const found = this.log.committedNow(group, catalogTopicOf(simulatedPipeline), 0);
    return found?.metadata.includes(`"topicId":"${this.log.topicIdNow(name)}"`) === true;
  }

  #isComputedFrom(group: string, input: string): boolean {
    const isLeft = this.flows.some((flow) => flow.table.name === input && this.hasStopped(flow));
    const count = this.log.partitionCountNow(input);
    for (let partition = 0; partition < count; partition += 1) {
      const { stable, end } = this.log.rangeNow(input, partition);
      const read = this.committed(group, input, partition);
      if (read === undefined || read < (isLeft ? stable : end)) return false;
    }
    return true;
  }

  /** Whether no transaction that somebody left open keeps readers from what a flow has written. */
  isReadable({ table }: FlowUnderTest): boolean {
    return [table.topic, table.deadLetterTopic].every((topic) => {
      if (topic === undefined) return true;
      const count = this.log.partitionCountNow(topic);
      for (let partition = 0; partition < count; partition += 1) {
        const { stable, end } = this.log.rangeNow(topic, partition);
        if (stable < end) return false;
      }
      return true;
    });
  }

  #isAtEnd({ plan, group, repartitionTopic }: FlowUnderTest, topic: string): boolean {
    const { name, once } = plan;
    const count = this.log.partitionCountNow(topic);
    const isPinned = once === true && topic !== repartitionTopic;
    const pins = this.pins.get(name)?.get(topic);
    if (isPinned && pins === undefined) return false;
    if (isPinned && this.#done.has(name)) return true;
    for (let partition = 0; partition < count; partition += 1) {
      const end = isPinned ? (pins?.[partition] ?? 0) : this.log.rangeNow(topic, partition).end;
      if ((this.committed(group, topic, partition) ?? 0) < end) return false;
    }
    return count > 0;
  }

  /** What is not read to its end. */
  behind(): string[] {
    return this.flows
      .flatMap((flow) => [
        ...flow.topics
          .filter((topic) => !this.#isAtEnd(flow, topic))
          .map((topic) => `${flow.group} has not read ${topic}`),
        ...(this.isReadable(flow) ? [] : [`readers of ${flow.table.topic} are held up`]),
      ])
      .concat(this.#areViewsCurrent() ? [] : ['a view is behind']);
  }

  // Checkpoints

  committed(group: string, topic: string, partition: number): number | undefined {
    return this.log.committedNow(group, topic, partition)?.offset;
  }

  /** The furthest checkpoint that was ever set back, or the one that stands: what is below was read. */
  reached(group: string, topic: string, partition: number): number | undefined {
    const committed = this.committed(group, topic, partition);
    const furthest = this.#furthest.get(`${group}/${topic}/${partition}`);
    return furthest === undefined ? committed : Math.max(furthest, committed ?? 0);
  }

  /** Called before a checkpoint is set back. */
  keepReached(group: string, topic: string, partition: number): void {
    this.#furthest.set(
      `${group}/${topic}/${partition}`,
      this.reached(group, topic, partition) ?? 0,
    );
  }

  /** Who reads a topic by itself. */
  readersOf(topic: string): readonly FlowUnderTest[] {
    return this.flows.filter(({ topics }) => topics.includes(topic));
  }

  async readCatalog(): Promise<Catalog> {
    const catalog = new Catalog(this.log, catalogTopicOf(simulatedPipeline));
    if (this.log.partitionCountNow(catalog.topic) > 0) await catalog.read();
    return catalog;
  }

  // What is told

  complain(fault: string): void {
    this.note(() => `FAULT ${fault}`);
    this.complaints.add(fault);
  }

  readonly note = (text: () => string): void => {
    this.#trace?.(`${String(this.clock.monotonic()).padStart(8)} ${text()}`);
  };
}

const flowUnderTest = oncePerPair((shape: ShapeFlow, plan: PipelinePlan): FlowUnderTest => {
  const flow = plan.flows.find(({ name }) => name === shape.name);
  const table = plan.tables.find(({ name }) => name === shape.table);
  if (flow === undefined || table === undefined) {
    throw new FlowError('PIPELINE_INVALID', `the plan has no flow and table "${shape.name}"`);
  }
  const group = `${simulatedPipeline}.${flow.name}`;
  const stageGroup = flow.kind === 'auto_cdc' ? `${simulatedPipeline}.${flow.target}` : group;
  const repartitionTopic = `${stageGroup}.repartition`;
  const isStage = flow.kind !== 'append' && group === stageGroup;
  const sources = new Set(shape.branches.map(({ topic, via }) => via ?? topic));
  const topics = [...sources, ...(isStage ? [repartitionTopic] : [])];
  return { shape, plan: flow, table, group, stageGroup, repartitionTopic, topics };
});

export function eventText(event: RuntimeEvent): string {
  const { event: name, ...rest } = event;
  const facts = Object.entries(rest).map(
    ([key, value]) => `${key}=${value instanceof Error ? errorText(value) : JSON.stringify(value)}`,
  );
  return `${name} ${facts.join(' ')}`;
}

/** With which whoever meets a topic that was deleted and created again may stop. */
const tornCodes: readonly string[] = ['TOPIC_RECREATED', 'TOPIC_MISSING', 'DEFINITION_MISSING'];

function codeOf(error: unknown): string | undefined {
  return error instanceof FlowError ? error.code : undefined;
}
