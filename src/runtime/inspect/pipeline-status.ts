import { flowOfBuilt } from '../../plan/bind/names.ts';
import { countedExpectations } from '../../plan/counted-expectations.ts';
import type { FlowPlan, PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { catalogTopicOf, hasStage, sourcesOf } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CommittedOffset, Log, OffsetRange, TopicDescription } from '../../ports/log.ts';
import { readDeployedFlow } from '../../refresh/deployed-flow.ts';
import { compactionMs, deletionMs, type Headroom, headroom } from '../../refresh/headroom.ts';
import { isOver } from '../../refresh/refresh-states.ts';
import {
  type FlowCounters,
  parseFlowMetadata,
  parseTableMetadata,
  type TableCounters,
} from '../../task/row-account.ts';
import { type RefreshRecord, refreshesOf } from '../refresh/refresh-record.ts';
import { generationOf, markOfCheckpoint } from '../takeover/generation.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import { Catalog, type KnownCatalog } from '../topics/catalog.ts';
import { onceEnd, readPins } from '../views/once-pins.ts';
import { TimelyAnswers } from '../worker/answer-within.ts';
import { lostAccounts } from '../worker/lost-accounts.ts';
import { pausesOf } from '../worker/pauses.ts';
import { firstTimes } from '../worker/record-times.ts';
import { isPassed, type Stop, stopOf } from '../worker/stops.ts';
import { isOfNow, type Readable } from './readable-watch.ts';

export type FlowStatus = {
  readonly flow: string;
  readonly table: string;
  readonly kind: FlowPlan['kind'];
  readonly group: string;
  /** Since when somebody has it stand still. */
  readonly pausedSinceMs: number | undefined;
  /** Why it stood when it was tried last; undefined: nothing is known to keep it from going on. */
  readonly stop: Stop | undefined;
  /** The source topics in the order of the query, then the repartition topic where the flow has two stages. */
  readonly topics: readonly TopicStatus[];
  /** The topic that it writes, where that is not there. */
  readonly missingOutput: string | undefined;
  /**
   * Rows that were handed on to the second stage and did not arrive, or the other way round, though nothing is on its way.
   * Of AUTO CDC flows the one that merges tells it for all that feed it. undefined: something is on its way, or moved while
   * it was looked at, or the flow has no second stage of its own.
   */
  readonly betweenStages: number | undefined;
  /** Partitions that have lost their account with their checkpoint: between the stages nothing can be compared. */
  readonly lostAccounts: readonly string[];
  /** Flows that handed rows on and are no longer in the pipeline: nor can it where their accounts are missing. */
  readonly formerFeeds: readonly string[];
};

export type TopicStatus = {
  readonly stage: 'source' | 'repartition';
  readonly topic: string;
  readonly exists: boolean;
  /**
   * Whether nobody can say where its checkpoints stand: a transaction is open that may move them, perhaps of an instance that is
   * gone. Of its partitions what does not hang on them is told, and no lag.
   */
  readonly isHeld: boolean;
  readonly partitions: readonly PartitionStatus[];
};

export type PartitionStatus = {
  readonly partition: number;
  /** undefined: the flow has no checkpoint here yet. */
  readonly committed: number | undefined;
  readonly logStart: number;
  /** The last stable offset: where a committed reader stops. */
  readonly end: number;
  /** Offsets between the last stable offset and the high watermark: behind an open transaction of a producer. */
  readonly held: number;
  /** Offsets between the checkpoint and the end; records of transactions count their control records, too. */
  readonly lag: number;
  /** undefined: there is no checkpoint, or its metadata is not ours. */
  readonly counters: FlowCounters | TableCounters | undefined;
  /** The instance that took the partition over last, whether or not it still runs. */
  readonly instance: string | undefined;
  /** Of a source: how long the oldest record that waits will still be there. */
  readonly headroom: Headroom | undefined;
};

/**
 * Tells from the log alone how far each flow is: neither the service nor its state store has to run.
 * Invariant: nothing is created, written or joined, and an open transaction holds up no answer for longer than a bound.
 */
export class StatusReader {
  readonly #plan: PipelinePlan;
  readonly #pipeline: string;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #answers: TimelyAnswers;
  #catalog: Catalog | undefined;

  constructor(plan: PipelinePlan, pipeline: string, log: Log, clock: Clock) {
    this.#plan = plan;
    this.#pipeline = pipeline;
    this.#log = log;
    this.#clock = clock;
    this.#answers = new TimelyAnswers(clock);
  }

  async read(): Promise<readonly FlowStatus[]> {
    this.#answers.begin();
    await this.#readCatalog();
    const flows: FlowStatus[] = [];
    for (const flow of this.#plan.flows) flows.push(await this.#flow(flow));
    return flows;
  }

  /** Full refreshes that are under way, or were interrupted, as of the last reading. */
  refreshes(): readonly RefreshRecord[] {
    return refreshesOf(this.#catalog).filter(({ state }) => !isOver(state));
  }

  /** What a full refresh of each table would lose of the rows that it has now, as running instances measured it last. */
  readable(): readonly Readable[] {
    return (this.#catalog?.all('readable') ?? [])
      .map(({ value }) => value as unknown as Readable)
      .filter((one) => isOfNow(this.#catalog, this.#plan, one));
  }

  /** Why a materialized view stands; undefined: nothing is known to keep it from being computed. */
  viewStop(view: string): Stop | undefined {
    return stopOf(this.#catalog, view);
  }

  /** As of the last reading; undefined: the pipeline never ran. */
  get catalog(): KnownCatalog | undefined {
    return this.#catalog;
  }

  /** A pipeline that never ran has no catalog. */
  async #readCatalog(): Promise<void> {
    const topic = catalogTopicOf(this.#pipeline);
    if (this.#catalog === undefined) {
      if (!(await this.#log.describeTopics([topic])).has(topic)) return;
      this.#catalog = new Catalog(this.#log, topic);
    }
    await this.#catalog.read();
  }

  async #flow(flow: FlowPlan): Promise<FlowStatus> {
    const table = this.#plan.tables.find(({ name }) => name === flow.target);
    const names = new Set(flow.branches.map(({ source }) => source));
    const sources = this.#plan.sources.filter(({ name }) => names.has(name));
    const sourceTopics = [...new Set(sources.map(({ topic }) => topic))];
    const repartition = `${this.#pipeline}.${flow.name}.repartition`;
    const hasStages = hasStage(flow);
    const described = await this.#log.describeTopics([
      ...sourceTopics,
      ...(hasStages ? [repartition] : []),
      ...(table === undefined ? [] : [table.topic]),
    ]);
    const readStage = () =>
      this.#topic({ stage: 'repartition', topic: repartition, flow, table, described });
    const before = hasStages ? await readStage() : undefined;
    const topics: TopicStatus[] = [];
    for (const topic of sourceTopics) {
      topics.push(await this.#topic({ stage: 'source', topic, flow, table, described }));
    }
    const feeds = hasStages ? this.#otherFeeds(flow) : [];
    const fed: { readonly feed: FlowPlan; readonly topics: readonly TopicStatus[] }[] = [];
    for (const feed of feeds) {
      fed.push({ feed, topics: await this.#sourceTopics(feed, table) });
    }
    const after = hasStages ? await readStage() : undefined;
    const own = before === undefined ? topics : [...topics, before];
    const stop = stopOf(this.#catalog, flow.name);
    const stopPartition = own
      .find(({ topic }) => topic === stop?.place?.topic)
      ?.partitions.find(({ partition }) => partition === stop?.place?.partition);
    const pauses = this.#catalog === undefined ? [] : pausesOf(this.#catalog);
    const lost = new Set(
      [{ feed: flow, topics: own }, ...fed].flatMap((one) => [
        ...lostAccounts(this.#catalog, one.feed),
        ...this.#unmarked(one.feed, one.topics),
      ]),
    );
    const formerFeeds = hasStages ? this.#formerFeeds(flow) : [];
    const isComparable = lost.size === 0 && formerFeeds.length === 0;
    return {
      flow: flow.name,
      table: flow.target,
      kind: flow.kind,
      group: this.#group(flow),
      pausedSinceMs: pauses.find((one) => one.flow === flow.name)?.sinceMs,
      stop: stop === undefined || isPassed(stop, stopPartition?.committed) ? undefined : stop,
      topics: own,
      missingOutput: table === undefined || described.has(table.topic) ? undefined : table.topic,
      lostAccounts: [...lost],
      formerFeeds,
      betweenStages:
        before === undefined || after === undefined || !isComparable
          ? undefined
          : betweenStages([...topics, ...fed.flatMap((one) => one.topics)], before, after),
    };
  }

  /** The AUTO CDC flows that hand on to the stage of this one: what arrives there is not one flow's. */
  #otherFeeds(flow: FlowPlan): readonly FlowPlan[] {
    if (flow.kind !== 'auto_cdc') return [];
    return this.#plan.flows.filter((one) => one !== flow && one.target === flow.target);
  }

  async #sourceTopics(flow: FlowPlan, table: TablePlan | undefined): Promise<TopicStatus[]> {
    const names = new Set(sourcesOf(this.#plan, flow).map(({ topic }) => topic));
    const described = await this.#log.describeTopics([...names]);
    const topics: TopicStatus[] = [];
    for (const topic of names) {
      topics.push(await this.#topic({ stage: 'source', topic, flow, table, described }));
    }
    return topics;
  }

  /** What they handed on counts where it arrived, until a full refresh begins the table without them. */
  #formerFeeds(flow: FlowPlan): readonly string[] {
    if (flow.kind !== 'auto_cdc') return [];
    const catalog = this.#catalog;
    const begun = catalog?.get('generation', flow.name)?.offset ?? -1;
    const generation = generationOf(catalog, flow.name);
    const present = new Set(this.#plan.flows.map(({ name }) => name));
    return (catalog?.all('flow') ?? []).flatMap(({ name, value, offset }) => {
      const isFeed = readDeployedFlow(value)?.target === flow.target;
      // What a refresh builds feeds a stage of its own.
      if (!isFeed || present.has(name) || flowOfBuilt(name) !== name) return [];
      return offset > begun || generationOf(catalog, name) === generation ? [name] : [];
    });
  }

  /** Checkpoints that the catalog knows and the group does not have: the flow finds out when it runs next. */
  #unmarked(flow: FlowPlan, topics: readonly TopicStatus[]): string[] {
    return topics.flatMap(({ topic, isHeld, partitions }) =>
      (isHeld ? [] : partitions).flatMap(({ partition, committed }) => {
        const place = partitionKey(topic, partition);
        const mark = markOfCheckpoint(this.#catalog, flow.name, { topic, partition });
        return committed === undefined && mark !== undefined ? [place] : [];
      }),
    );
  }

  #group(flow: FlowPlan): string {
    return `${this.#pipeline}.${flow.name}`;
  }

  async #topic({ stage, topic, flow, table, described }: TopicToRead): Promise<TopicStatus> {
    const description = described.get(topic);
    if (description === undefined) {
      return { stage, topic, exists: false, isHeld: false, partitions: [] };
    }
    const numbers = Array.from({ length: description.partitions }, (_, partition) => partition);
    // Checkpoints first: an end that is read later is never behind them.
    const known = await this.#answers.of(
      this.#log.committedOffsets(this.#group(flow), topic, numbers),
    );
    const isHeld = known === undefined;
    const committed = known ?? new Map<number, CommittedOffset>();
    const ranges = await this.#log.offsetRanges(topic, numbers);
    const expectations = countedExpectations(flow, table);
    const pins = this.#catalog === undefined ? undefined : readPins(flow, this.#catalog);
    // What comes later is none of a flow that runs once.
    const lastOf = (partition: number, { stable }: OffsetRange): number =>
      pins?.isDone === true ? 0 : (onceEnd(pins, topic, partition) ?? stable);
    const from = (partition: number, { start }: OffsetRange): number =>
      Math.max(committed.get(partition)?.offset ?? start, start);
    const waiting = [...ranges].flatMap(([partition, range]) =>
      !isHeld && stage === 'source' && from(partition, range) < lastOf(partition, range)
        ? [{ partition, start: from(partition, range), stable: range.stable }]
        : [],
    );
    const oldest = await firstTimes(this.#log, topic, waiting);
    const retentionMs = deletionMs(description.configs);
    // Of a table whose rows are replaced it takes versions that count no more.
    const isReplaced = sourcesOf(this.#plan, flow).some(
      (source) => source.topic === topic && source.replaced !== undefined,
    );
    const compactedMs = isReplaced ? undefined : compactionMs(description.configs);
    const nowMs = this.#clock.now();
    const partitions = numbers.flatMap((partition): PartitionStatus[] => {
      const range = ranges.get(partition);
      if (range === undefined) return [];
      const checkpoint = committed.get(partition);
      const takeover = this.#catalog?.get(
        'takeover',
        `${flow.name}/${partitionKey(topic, partition)}`,
      );
      const instance = takeover?.value['instance'];
      return [
        {
          partition,
          committed: checkpoint?.offset,
          logStart: range.start,
          end: range.stable,
          held: range.end - range.stable,
          lag: isHeld ? 0 : Math.max(0, lastOf(partition, range) - from(partition, range)),
          counters:
            checkpoint === undefined
              ? undefined
              : stage === 'source'
                ? parseFlowMetadata(checkpoint.metadata, expectations)
                : parseTableMetadata(checkpoint.metadata),
          instance: typeof instance === 'string' ? instance : undefined,
          headroom:
            stage === 'source' && !isHeld
              ? headroom({
                  retentionMs,
                  compactionMs: compactedMs,
                  oldestMs: oldest.get(partition),
                  nowMs,
                  committed: checkpoint?.offset,
                  logStart: range.start,
                })
              : undefined,
        },
      ];
    });
    return { stage, topic, exists: true, isHeld, partitions };
  }

  async close(): Promise<void> {
    await this.#catalog?.close();
  }
}

/**
 * Judged only where the second stage stood still, with nothing before it, while the first was looked at: rows and the
 * checkpoint of the source come in one transaction, so whatever was handed on meanwhile would show in `after`.
 */
function betweenStages(
  sources: readonly TopicStatus[],
  before: TopicStatus,
  after: TopicStatus,
): number | undefined {
  if ([...sources, before, after].some(({ isHeld }) => isHeld)) return undefined;
  const isSame = after.partitions.every(({ partition, committed, end, lag }) => {
    const was = before.partitions.find((one) => one.partition === partition);
    return lag === 0 && was?.committed === committed && was?.end === end;
  });
  if (!isSame) return undefined;
  let difference = 0;
  for (const { partitions } of [...sources, before]) {
    for (const { counters } of partitions) {
      if (counters === undefined) continue;
      difference += 'records' in counters ? counters.handedOn : counters.replayed - counters.rows;
    }
  }
  return difference;
}

type TopicToRead = {
  readonly stage: TopicStatus['stage'];
  readonly topic: string;
  readonly flow: FlowPlan;
  readonly table: TablePlan | undefined;
  readonly described: ReadonlyMap<string, TopicDescription>;
};
