import { builtFlowOf } from '../../plan/bind/names.ts';
import { countedExpectations } from '../../plan/counted-expectations.ts';
import type { FlowPlan, PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import {
  groupOf,
  hasStage,
  levelsTopicOf,
  repartitionTopicOf,
  sourcesOf,
} from '../../plan/topology.ts';
import type { CommittedOffset } from '../../ports/log.ts';
import type { StateStore } from '../../ports/state-store.ts';
import { flowChanges } from '../../refresh/changes.ts';
import { deployedFlow, readDeployedFlow } from '../../refresh/deployed-flow.ts';
import { parseFlowMetadata } from '../../task/row-account.ts';
import { generationOf, markedFirst, markOfCheckpoint, swapsOf } from '../takeover/generation.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import { pastFormerEpochs } from '../takeover/past-former-epochs.ts';
import { type SkippedRecord, skipsOf } from '../takeover/skips.ts';
import type { CatalogChange } from '../topics/catalog.ts';
import { lockName } from '../topics/locks.ts';
import { readPins } from '../views/once-pins.ts';
import { eachWaiting } from '../worker/each-waiting.ts';
import { awaitNobody } from './refresh-checkpoints.ts';
import type { SourceEnds } from './refresh-drain.ts';
import { flowsOf, numbersTo } from './refresh-facts.ts';
import {
  handLetters,
  type NewLetters,
  newLetters,
  placeOfLetter,
  settledLetters,
} from './refresh-letters.ts';
import {
  type FreshTopics,
  finish,
  openSwapProducer,
  type RefreshRun,
  type RefreshRunOptions,
} from './refresh-run.ts';
import { waitingIn } from './rows-of-places.ts';

export type BuiltOptions = RefreshRunOptions & {
  readonly state: StateStore;
  readonly replicationFactor: number;
};

type SourceCheckpoints = {
  readonly topic: string;
  readonly partitions: readonly number[];
  readonly committed: ReadonlyMap<number, CommittedOffset>;
};

/** Longer than a session usually lasts: an attempt that was killed is a member until then. */
const waitMsDefault = 60_000;

/** A partition of a source as a flow reads it, by the incarnation of its topic. */
function recordsOf({
  flow,
  topic,
  topicId,
  partition,
}: Pick<SkippedRecord, 'flow' | 'topic' | 'topicId' | 'partition'>): string {
  return `${flow}/${partitionKey(topic, partition)} ${topicId}`;
}

/**
 * What a refresh builds beside the table: groups, topics, state and catalog entries under names of their own, for every
 * flow that writes the table. Invariant: nothing of it has a name that the live generation uses, so that all of it can go
 * without a trace.
 */
export class BuiltGeneration {
  readonly #options: BuiltOptions;
  readonly #run: RefreshRun;
  /** Those that write the live table, first the one that merges. */
  readonly #flows: readonly FlowPlan[];
  /** Of the flow that merges. */
  readonly name: string;

  constructor(options: BuiltOptions, run: RefreshRun) {
    this.#options = options;
    this.#run = run;
    this.#flows = flowsOf(options.plan, options.table);
    this.name = builtFlowOf(options.flow.name);
  }

  get #output(): string {
    return `${groupOf(this.#options.pipeline, this.name)}.output`;
  }

  /** What it can not read is the table's only from the swap on: until then it may be given up. */
  get letters(): string {
    return `${groupOf(this.#options.pipeline, this.name)}.dead_letters`;
  }

  get #names(): readonly string[] {
    return this.#flows.map(({ name }) => builtFlowOf(name));
  }

  get #groups(): readonly string[] {
    return this.#names.map((name) => groupOf(this.#options.pipeline, name));
  }

  /** Topics that the flows read. */
  get sourceTopics(): ReadonlySet<string> {
    const { plan } = this.#options;
    const sources = this.#flows.flatMap((flow) => sourcesOf(plan, flow));
    return new Set(sources.map(({ topic }) => topic));
  }

  /** Of which the new generation becomes the table; its partitions are those of the live one. */
  plan(partitions: number | undefined): PipelinePlan {
    const { plan } = this.#options;
    return {
      ...plan,
      tables: [{ ...this.#table, partitions }],
      flows: this.#flows.map((flow) => this.#built(flow)),
      // They go on reading the live tables, and whoever updates the pipeline computes them.
      materializedViews: [],
    };
  }

  /** The stage of AUTO CDC flows has the name of their table. */
  get #table(): TablePlan {
    const { table, flow } = this.#options;
    const name = flow.kind === 'auto_cdc' ? this.name : table.name;
    const deadLetterTopic = table.deadLetterTopic === undefined ? undefined : this.letters;
    // What the swap brings into the live table are changes of its keys, also where the built one had none of them before.
    return { ...table, name, topic: this.#output, deadLetterTopic, marksFirst: false };
  }

  #built(flow: FlowPlan): FlowPlan {
    return { ...flow, name: builtFlowOf(flow.name), target: this.#table.name };
  }

  /** Whether what an attempt before has built is of this definition: one of which the catalog knows nothing may be of any. */
  mayGoOn(): boolean {
    const { catalog } = this.#options;
    return this.#flows.every((flow) => {
      const found = readDeployedFlow(catalog.get('flow', builtFlowOf(flow.name))?.value);
      if (found === undefined) return false;
      return flowChanges(found, deployedFlow(this.#built(flow), this.#table)).length === 0;
    });
  }

  async prepare(): Promise<void> {
    const { log, catalog, clock } = this.#options;
    const { generation } = this.#run.progress.record;
    await catalog.write(
      this.#flows.flatMap(({ name: flow }) => {
        const built = builtFlowOf(flow);
        return [
          { kind: 'generation' as const, name: built, value: { generation } },
          // Records that the flow steps over are no more readable for its next generation.
          ...catalog
            .all('skip')
            .filter(({ name }) => name.startsWith(`${flow}/`))
            .map(({ name, value }) => ({
              kind: 'skip' as const,
              name: `${built}${name.slice(flow.length)}`,
              value: value['flow'] === undefined ? value : { ...value, flow: built },
            })),
        ];
      }),
      clock.now(),
    );
    // An attempt that was killed is a member that would count until its session has timed out.
    for (const group of this.#groups) await log.removeMembers(group);
  }

  /** Whether a flow of that name is part of it. */
  has(name: string): boolean {
    return this.#names.includes(name);
  }

  /** Records of the sources that it has not read yet. A flow that runs once reads no further than to its pins. */
  async lag(): Promise<number> {
    const { log } = this.#options;
    let lag = 0;
    for (const flow of this.#flows) {
      if (flow.kind !== 'append' && flow.once === true) continue;
      for (const { topic, partitions, committed } of await this.#checkpoints(flow, true)) {
        for (const [at, { start, stable }] of await log.offsetRanges(topic, partitions)) {
          lag += Math.max(0, stable - (committed.get(at)?.offset ?? start));
        }
      }
    }
    return lag;
  }

  /** Where the flows stand in the topics that they read; of several in one the first place. */
  async ends(): Promise<SourceEnds> {
    const ends = new Map<string, Map<number, number>>();
    for (const flow of this.#flows) {
      for (const { topic, partitions, committed } of await this.#checkpoints(flow, true)) {
        const known = ends.get(topic) ?? new Map<number, number>();
        ends.set(topic, known);
        for (const partition of partitions) {
          const offset = committed.get(partition)?.offset ?? 0;
          known.set(partition, Math.min(offset, known.get(partition) ?? offset));
        }
      }
    }
    return ends;
  }

  /** Whether rows that the sources were read for are still between the stages: they are in no checkpoint, and in no table. */
  async hasWaiting(): Promise<boolean> {
    const { log, pipeline } = this.#options;
    let hasAny = false;
    for (const { name } of this.#flows.filter(hasStage)) {
      const built = builtFlowOf(name);
      const found = await log.describeTopics([repartitionTopicOf(pipeline, built)]);
      for (const { name: topic, partitions } of found.values()) {
        await eachWaiting(log, groupOf(pipeline, built), { topic, partitions }, () => {
          hasAny = true;
        });
      }
    }
    return hasAny;
  }

  /** Records that it could not read, as its checkpoints count them; those that somebody had it step over are no letters. */
  async deadLetters(): Promise<number> {
    const { table } = this.#options;
    let count = 0;
    for (const flow of this.#flows) {
      const expectations = countedExpectations(flow, table);
      for (const { committed } of await this.#checkpoints(flow, true)) {
        for (const { metadata } of committed.values()) {
          const { deadLettered = 0, skipped = 0 } = parseFlowMetadata(metadata, expectations) ?? {};
          count += deadLettered - skipped;
        }
      }
    }
    return count;
  }

  /** Those of them whose records the live generation has read, and has not set aside or has rows of. */
  async newLetters(): Promise<NewLetters> {
    const { log, catalog, pipeline, table, flow: merging } = this.#options;
    if (table.deadLetterTopic === undefined) return { count: 0, first: [] };
    const read = await this.#passed(false);
    return newLetters({
      log,
      catalog,
      pipeline,
      from: this.letters,
      to: table.deadLetterTopic,
      live: {
        topics: [table.topic, levelsTopicOf(pipeline, merging.name)],
        swaps: swapsOf(catalog, merging.name),
        waiting: waitingIn(pipeline, this.#flows.find(hasStage) ?? merging),
      },
      built: { topics: [this.#output, levelsTopicOf(pipeline, this.name)] },
      isRead: (letter) => letter.offset < (read.get(recordsOf(letter)) ?? 0),
    });
  }

  /** Up to where the flows have read each partition, by the incarnation of its topic. */
  async #passed(isBuilt: boolean): Promise<ReadonlyMap<string, number>> {
    const { catalog } = this.#options;
    const passed = new Map<string, number>();
    for (const { name: flow, ...plan } of this.#flows) {
      const reader = isBuilt ? builtFlowOf(flow) : flow;
      for (const { topic, committed } of await this.#checkpoints(
        { ...plan, name: flow },
        isBuilt,
      )) {
        for (const [partition, { offset }] of committed) {
          const mark = markOfCheckpoint(catalog, reader, { topic, partition });
          const topicId = String(mark?.['topicId']);
          passed.set(recordsOf({ flow, topic, topicId, partition }), offset);
        }
      }
    }
    return passed;
  }

  /** Where a flow stands in each of its sources. */
  async #checkpoints(flow: FlowPlan, isBuilt: boolean): Promise<readonly SourceCheckpoints[]> {
    const { log, plan, pipeline } = this.#options;
    const group = groupOf(pipeline, isBuilt ? builtFlowOf(flow.name) : flow.name);
    const found: SourceCheckpoints[] = [];
    for (const topic of new Set(sourcesOf(plan, flow).map((source) => source.topic))) {
      const count = (await log.describeTopics([topic])).get(topic)?.partitions ?? 0;
      const partitions = numbersTo(count);
      const committed = await log.committedOffsets(group, topic, partitions);
      found.push({ topic, partitions, committed });
    }
    return found;
  }

  async topics(): Promise<FreshTopics> {
    const { log, pipeline, table } = this.#options;
    const levels = levelsTopicOf(pipeline, this.name);
    const found = await log.describeTopics([levels]);
    return {
      output: this.#output,
      levels: found.has(levels) ? levels : undefined,
      isNumbered: table.output === 'rows',
      swaps: [],
    };
  }

  /** A clause that empties keys may be new to the table. */
  async makeLevels(partitions: number): Promise<void> {
    const { log, catalog, clock, pipeline, flow, replicationFactor } = this.#options;
    const fresh = await this.topics();
    if (fresh.levels === undefined) return;
    const name = levelsTopicOf(pipeline, flow.name);
    await log.createTopics([
      {
        name,
        partitions,
        replicationFactor,
        configs: { 'cleanup.policy': 'compact', 'retention.ms': '-1' },
      },
    ]);
    if (catalog.get('topic', name) !== undefined) return;
    const value = { role: 'levels', flow: flow.name, partitions };
    await catalog.write([{ kind: 'topic', name, value }], clock.now());
  }

  /** Every flow goes on from where the new generation stands, of the definition that it was built with. */
  async handOver(): Promise<void> {
    const { catalog, flow } = this.#options;
    await catalog.read();
    // Where the catalog knows the generation already, an attempt was interrupted while it cleaned up.
    if (generationOf(catalog, flow.name) === this.#run.progress.record.generation) return;
    await this.#handLetters();
    const settled = await this.#settled();
    const checkpoints = [];
    for (const one of this.#flows) checkpoints.push(...(await this.#commit(one)));
    await finish(this.#run, checkpoints, [...this.#pins(), ...settled]);
  }

  /** The dead letters whose records it has read, and of which it made none itself. */
  async #settled(): Promise<readonly CatalogChange[]> {
    const { log, catalog, pipeline, table } = this.#options;
    if (table.deadLetterTopic === undefined) return [];
    const to = await this.#passed(true);
    const from = new Map<string, number>();
    for (const { topic, partitions } of (
      await Promise.all(this.#flows.map((flow) => this.#checkpoints(flow, true)))
    ).flat()) {
      for (const [partition, { start }] of await log.offsetRanges(topic, partitions)) {
        from.set(partitionKey(topic, partition), start);
      }
    }
    const skipped = new Set(
      this.#flows.flatMap(({ name }) => skipsOf(catalog, name).map(placeOfLetter)),
    );
    return settledLetters({
      log,
      catalog,
      pipeline,
      from: this.letters,
      to: table.deadLetterTopic,
      generation: this.#run.progress.record.generation,
      isRead: (letter) => {
        const start = from.get(partitionKey(letter.topic, letter.partition)) ?? 0;
        const isThere = letter.offset >= start && letter.offset < (to.get(recordsOf(letter)) ?? 0);
        return isThere && !skipped.has(placeOfLetter(letter));
      },
    });
  }

  async #handLetters(): Promise<void> {
    const { log, catalog, clock, pipeline, table, replicationFactor } = this.#options;
    if (table.deadLetterTopic === undefined) return;
    await handLetters({
      log,
      clock,
      catalog,
      pipeline,
      from: this.letters,
      to: table.deadLetterTopic,
      replicationFactor,
      openProducer: () => openSwapProducer(this.#options),
    });
  }

  async #commit(flow: FlowPlan) {
    const { log, catalog, pipeline, plan } = this.#options;
    const offsets = [];
    const checkpoints = [];
    const markOf = (topic: string, partition: number) =>
      markOfCheckpoint(catalog, builtFlowOf(flow.name), { topic, partition });
    const group = groupOf(pipeline, builtFlowOf(flow.name));
    const own = hasStage(flow) ? repartitionTopicOf(pipeline, flow.name) : undefined;
    const built = repartitionTopicOf(pipeline, builtFlowOf(flow.name));
    const sources = new Set(sourcesOf(plan, flow).map(({ topic }) => topic));
    const topics = [...sources, ...(own === undefined ? [] : [own])];
    for (const [name, { topicId, partitions }] of await log.describeTopics(topics)) {
      const isOwn = name === own;
      const numbers = numbersTo(partitions);
      const known = await log.committedOffsets(group, isOwn ? built : name, numbers);
      const ranges = isOwn ? await log.offsetRanges(name, numbers) : undefined;
      for (const [partition, { offset, metadata }] of known) {
        // Between the stages nothing of the former generation is taken over, only the account of the new one.
        const end = ranges?.get(partition)?.end;
        offsets.push({ topic: name, partition, offset: end ?? offset, metadata });
        const first = markedFirst(markOf(name, partition), topicId);
        checkpoints.push({ flow: flow.name, topic: name, partition, topicId, first });
      }
      if (ranges !== undefined) {
        const ends = [...ranges].map(([partition, { end }]) => [partition, end] as const);
        await log.deleteRecords(name, new Map(ends));
      }
    }
    if (offsets.length > 0) await log.commitCheckpoint(groupOf(pipeline, flow.name), offsets);
    return checkpoints;
  }

  /**
   * Whether a flow that runs once began only after the refresh did, and has read further than the new generation will: without
   * what it has read in between that would lack rows (simulation seed 712861 with refreshes).
   */
  isPinnedBefore(): boolean {
    const { catalog } = this.#options;
    return this.#flows.some((flow) => {
      const live = readPins(flow, catalog);
      const built = readPins({ ...flow, name: builtFlowOf(flow.name) }, catalog);
      if (live === undefined || built === undefined) return false;
      return [...live.ends].some(([topic, ends]) =>
        ends.some((end, partition) => end > (built.ends.get(topic)?.[partition] ?? 0)),
      );
    });
  }

  /** A flow that runs once has run with the new generation, and does not again. */
  #pins() {
    const { catalog } = this.#options;
    return this.#flows.flatMap(({ name }) => {
      const pins = catalog.get('once', builtFlowOf(name))?.value;
      return pins === undefined ? [] : [{ kind: 'once' as const, name, value: pins }];
    });
  }

  /** Removes what was built: topics, groups, what the catalog says of it, and its state. */
  async cleanUp(): Promise<void> {
    const { log, catalog, clock, state, pipeline, waitMs, onStep } = this.#options;
    const names = [
      this.#output,
      ...this.#names.flatMap((name) => [
        repartitionTopicOf(pipeline, name),
        levelsTopicOf(pipeline, name),
      ]),
      this.letters,
    ];
    const partitions = (await log.describeTopics(names)).get(this.#output)?.partitions ?? 0;
    const onWait = (members: number): void =>
      onStep?.(
        `waiting until ${members === 1 ? 'one attempt that was killed is' : `${members} attempts that were killed are`} forgotten`,
      );
    for (const group of this.#groups) {
      await log.removeMembers(group);
      await awaitNobody({ log, clock, waitMs: waitMs ?? waitMsDefault, onWait }, group);
      await log.deleteCheckpoints(group);
    }
    await catalog.read();
    const entries = [
      ...names.map((name) => ({ kind: 'topic' as const, name })),
      ...this.#names.flatMap((built) => [
        ...(['flow', 'generation', 'once', 'stop'] as const).map((kind) => ({ kind, name: built })),
        // Left by an attempt that was killed right after it had begun to swap.
        { kind: 'lock' as const, name: lockName({ flow: built, token: 'swap' }) },
        ...(['checkpoint', 'takeover', 'skip', 'static'] as const).flatMap((kind) =>
          catalog
            .all(kind)
            .filter(({ name }) => name.startsWith(`${built}/`))
            .map(({ name }) => ({ kind, name })),
        ),
      ]),
    ];
    const epoch = await catalog.write(
      entries.map((entry) => ({ ...entry, value: undefined })),
      clock.now(),
    );
    const { generation } = this.#run.progress.record;
    for (const flow of this.#names) {
      for (const partition of numbersTo(partitions)) {
        const id = { pipeline, flow, generation, partition };
        await pastFormerEpochs({ log, catalog }, epoch, (own) => state.forget(id, own));
      }
    }
    // Last of all: they tell how many states there are.
    await log.deleteTopics(names);
  }
}
