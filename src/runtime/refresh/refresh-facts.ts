import { FlowError } from '../../base/errors.ts';
import { topicIdHex } from '../../data/provenance.ts';
import type {
  FlowPlan,
  PipelinePlan,
  SiftFlowPlan,
  SourcePlan,
  TablePlan,
} from '../../plan/pipeline-plan.ts';
import {
  groupOf,
  hasStage,
  levelsTopicOf,
  repartitionTopicOf,
  sourcesOf,
} from '../../plan/topology.ts';
import type { Log, OffsetRange, TopicDescription } from '../../ports/log.ts';
import { readDeployedFlow } from '../../refresh/deployed-flow.ts';
import {
  type HeldRecords,
  isAllThere,
  isCompactedPolicy,
  retentionLimit,
  SourceBounds,
  type SourcePartitionFacts,
} from '../../refresh/retention.ts';
import { type KeptTopicFacts, type UntoldLoss, untoldLoss } from '../../refresh/untold-loss.ts';
import type { SwapRange } from '../inspect/flow-facts.ts';
import { generationOf, markedFirst, markOfCheckpoint, swapsOf } from '../takeover/generation.ts';
import { type SkippedRecord, skippedOf } from '../takeover/skips.ts';
import type { Catalog } from '../topics/catalog.ts';
import { readHeld } from '../worker/held-records.ts';
import { type EdgeTimes, edgeTimes } from '../worker/record-times.ts';

export type FactsOptions = {
  readonly log: Log;
  /** undefined: the pipeline never ran. */
  readonly catalog: Catalog | undefined;
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  readonly table: TablePlan;
  /** Tables that are refreshed together with it: what is read from them is what their own sources have. */
  readonly together?: ReadonlySet<string> | undefined;
  /** Nothing is read but offsets: no times, and of a table that lost a part not what it has still. */
  readonly isGlance?: boolean;
};

/** One partition that a flow reads or writes, with its checkpoint. */
export type StagePartition = OffsetRange & {
  readonly partition: number;
  readonly committed: number | undefined;
};

export type OwnTopic = {
  readonly topic: string;
  readonly topicId: string;
  readonly partitions: readonly StagePartition[];
};

/** All that a decision about a table needs to know, as of one moment. */
export type RefreshFacts = {
  readonly table: TablePlan;
  /** Those that write the table, first the one that merges: one, or several of append or of AUTO CDC. */
  readonly flows: readonly FlowPlan[];
  /** What refreshes wrote into the output topic. */
  readonly swaps: readonly SwapRange[];
  /** How often the table was refreshed. */
  readonly generation: number;
  /** Records a second that its last refresh has read; undefined: there was none, or it was too short to tell. */
  readonly measuredRate: number | undefined;
  /** Whether the records that are there are single rows with a number. */
  readonly isNumbered: boolean;
  /** Whether each record is a row that nothing replaces. */
  readonly isAppended: boolean;
  /** Whether each record tells the changes that its rows are put together from (AUTO CDC). */
  readonly isChanging: boolean;
  /** Whether a table that had one row a key gets its history with the next refresh (SCD type 1 before, 2 now). */
  readonly becomesHistory: boolean;
  /** Whether it is made anew of a join of streams, whose rows do not say where they come from. */
  readonly isJoined: boolean;
  readonly sources: readonly SourcePartitionFacts[];
  readonly bounds: SourceBounds;
  /** What tables among the sources have still; undefined: they are whole, or nobody knows. */
  readonly held: HeldRecords | undefined;
  /** undefined where the topic does not exist. */
  readonly output: OwnTopic | undefined;
  readonly levels: OwnTopic | undefined;
  readonly repartition: OwnTopic | undefined;
  /** Why what would be lost can not be read from what the table holds; undefined: it can, or its sources have all. */
  readonly untold: UntoldLoss | undefined;
  /** What its flows step over, now as after the refresh. */
  readonly skipped: readonly SkippedRecord[];
};

/** Asks the log for everything; nothing is created, written or joined. */
export async function gatherFacts(options: FactsOptions): Promise<RefreshFacts> {
  const { log, catalog, pipeline, plan, table, together = new Set(), isGlance = false } = options;
  const flows = flowsOf(plan, table);
  const [flow] = flows;
  refuseSink(table);
  const before = readDeployedFlow(catalog?.get('flow', flow.name)?.value);
  const group = groupOf(pipeline, flow.name);
  const read = readSources(plan, flows, together);
  const sources = read.map(({ source }) => source);
  const own = {
    output: table.topic,
    levels: levelsTopicOf(pipeline, flow.name),
    repartition: repartitionTopicOf(pipeline, flow.name),
  };
  const described = await log.describeTopics([
    ...new Set([...sources.map(({ topic }) => topic), ...Object.values(own)]),
  ]);
  const ownTopic = (name: string) => describeOwn(log, group, described.get(name));
  const known = (
    await Promise.all(
      read.map(async ({ source, flow: reader }) => {
        const description = described.get(source.topic);
        const options = { source, description, isGlance };
        const parts = await sourceFacts(log, groupOf(pipeline, reader), options);
        return parts.map((part) => {
          const mark = checkpointTopicId(catalog, reader, part);
          const isBegun = mark !== undefined || (part.committed ?? 0) > 0;
          const firstRead = firstReadOf(catalog, reader, part);
          const isAnew = mark !== undefined && mark !== part.topicId;
          return { ...part, firstRead, isAnew, isBegun };
        });
      }),
    )
  ).flat();
  const isJoined = read.some(({ flow: reader }) =>
    plan.flows.some(({ name, kind }) => name === reader && kind === 'join'),
  );
  const held = isGlance ? undefined : await readHeld(log, known);
  const output = await ownTopic(own.output);
  // What a join keeps is no level: nothing of it is lost that its sides do not have.
  const levels = flow.kind === 'join' ? undefined : await ownTopic(own.levels);
  // A table that moves to another topic leaves its rows where they are.
  const isElsewhere = before !== undefined && before.topic !== table.topic;
  const keptLevels = flow.kind === 'join' ? undefined : { topic: own.levels, found: levels };
  const kept = keptTopics(catalog, { topic: own.output, found: output }, keptLevels);
  const holdsRows = output?.partitions.some(({ start, stable }) => stable > start) ?? false;
  return {
    table,
    flows,
    swaps: swapsOf(catalog, flow.name),
    generation: Math.max(...flows.map(({ name }) => generationOf(catalog, name))),
    measuredRate: measuredRate(catalog, flow),
    isNumbered: (before?.topic === table.topic ? before.output : table.output) === 'rows',
    isAppended: table.output === 'append',
    isChanging: flow.kind === 'auto_cdc',
    becomesHistory:
      before?.definition.changes?.scdType === 1 && flow.definition.changes?.scdType === 2,
    sources: known,
    bounds: boundsOf({ flows, sources: known, held, isJoined }),
    held,
    isJoined,
    output,
    levels,
    repartition: await ownTopic(own.repartition),
    untold: isElsewhere ? undefined : untoldLoss(kept, known, holdsRows),
    skipped: flows.flatMap(({ name }) => skippedOf(catalog, name, known)),
  };
}

type KeptTopic = { readonly topic: string; readonly found: OwnTopic | undefined };

/** Every table has a topic of rows; whether one of levels ever was, only the catalog knows. */
function keptTopics(
  catalog: Catalog | undefined,
  rows: KeptTopic,
  levels: KeptTopic | undefined,
): readonly KeptTopicFacts[] {
  const facts = ({ topic, found }: KeptTopic): KeptTopicFacts => {
    const id = catalog?.get('topic', topic)?.value['topicId'];
    return { topic, knownId: typeof id === 'string' ? id : undefined, topicId: found?.topicId };
  };
  const ofLevels = levels === undefined ? [] : [facts(levels)];
  return [facts(rows), ...ofLevels.filter(({ knownId }) => knownId !== undefined)];
}

function measuredRate(catalog: Catalog | undefined, { name }: FlowPlan): number | undefined {
  const known = catalog?.get('refresh', name)?.value['recordsPerSecond'];
  return typeof known === 'number' && known > 0 ? known : undefined;
}

/** The topic that the checkpoint of a source partition was made with, which may be another one by now. */
function checkpointTopicId(
  catalog: Catalog | undefined,
  reader: string,
  { topic, partition }: SourcePartitionFacts,
): string | undefined {
  const mark = markOfCheckpoint(catalog, reader, { topic, partition });
  const known = mark?.['topicId'];
  return typeof known === 'string' ? topicIdHex(known) : undefined;
}

function firstReadOf(
  catalog: Catalog | undefined,
  reader: string,
  { topic, partition, topicId }: SourcePartitionFacts,
): number | undefined {
  const mark = markOfCheckpoint(catalog, reader, { topic, partition });
  const known = mark?.['topicId'];
  return typeof known === 'string' && topicIdHex(known) === topicId
    ? markedFirst(mark, known)
    : undefined;
}

function boundsOf({
  flows,
  sources,
  held,
  isJoined,
}: Pick<RefreshFacts, 'flows' | 'sources' | 'held' | 'isJoined'>): SourceBounds {
  const branches = flows.length === 1 ? flows[0]?.branches : [];
  const joined = !isJoined ? undefined : isAllThere(sources) ? 'readable' : 'at_risk';
  return new SourceBounds(sources, branches, held, joined);
}

/**
 * The bounds with the ends as they are by now: while the flows run, what was read after the facts were gathered may come
 * from records that are younger than they.
 */
export async function boundsNow(
  log: Log,
  { flows, sources, held, isJoined }: RefreshFacts,
): Promise<SourceBounds> {
  const ends = new Map<string, number>();
  for (const topic of new Set(sources.map((source) => source.topic))) {
    const numbers = sources.filter((one) => one.topic === topic).map(({ partition }) => partition);
    for (const [partition, { stable }] of await log.offsetRanges(topic, [...new Set(numbers)])) {
      ends.set(`${topic}/${partition}`, stable);
    }
  }
  const later = sources.map((one) => ({
    ...one,
    end: Math.max(one.end, ends.get(`${one.topic}/${one.partition}`) ?? 0),
  }));
  return boundsOf({ flows, sources: later, held, isJoined });
}

function refuseSink(table: TablePlan): void {
  if (table.isSink !== true) return;
  throw new FlowError('NOT_SUPPORTED', `"${table.name}" is a sink, and a sink is not refreshed`, {
    detail:
      'Its topic lies outside of the pipeline: what others have read from it cannot be taken back.',
    hint: 'Write a sink of another topic with a flow of a new name: it starts from the beginning.',
  });
}

/** The flows that write a table, of which there is at least one; first the one whose stage merges what all of them give. */
export function flowsOf(plan: PipelinePlan, table: TablePlan): readonly [FlowPlan, ...FlowPlan[]] {
  const all = plan.flows.filter(({ target }) => target === table.name);
  const stage = all.find(hasStage);
  const [flow, ...others] =
    stage === undefined ? all : [stage, ...all.filter((one) => one !== stage)];
  if (flow !== undefined) return [flow, ...others];
  throw new FlowError('USAGE', `no flow writes table "${table.name}"`);
}

/** The flows that let rows of a table through (DISTINCT, LIMIT): its own, or those that it reads. */
export function siftsOf(plan: PipelinePlan, table: TablePlan): readonly SiftFlowPlan[] {
  const read = flowsOf(plan, table).flatMap((flow) =>
    sourcesOf(plan, flow).map((source) => source.table),
  );
  return plan.flows.flatMap((flow) =>
    flow.kind === 'sift' && [table.name, ...read].includes(flow.target) ? [flow] : [],
  );
}

type ReadSource = { readonly source: SourcePlan; readonly flow: string };

/** What the rows of a table are read from again, each source once: a table that is refreshed, too, is what its own are. */
function readSources(
  plan: PipelinePlan,
  flows: readonly FlowPlan[],
  together: ReadonlySet<string>,
): readonly ReadSource[] {
  const found = new Map<string, ReadSource>();
  const open = [...flows];
  for (let flow = open.shift(); flow !== undefined; flow = open.shift()) {
    for (const source of sourcesOf(plan, flow)) {
      const table = plan.tables.find(({ name }) => name === source.table);
      if (table !== undefined && together.has(table.name)) open.push(...flowsOf(plan, table));
      else if (!found.has(source.name)) found.set(source.name, { source, flow: flow.name });
    }
  }
  return [...found.values()];
}

export function numbersTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, partition) => partition);
}

async function describeOwn(
  log: Log,
  group: string,
  topic: TopicDescription | undefined,
): Promise<OwnTopic | undefined> {
  if (topic === undefined) return undefined;
  const { name, topicId } = topic;
  const numbers = numbersTo(topic.partitions);
  // Checkpoints first: an end that is read later is never behind them.
  const committed = await log.committedOffsets(group, name, numbers);
  const ranges = await log.offsetRanges(name, numbers);
  const partitions = numbers.flatMap((partition) => {
    const range = ranges.get(partition);
    return range === undefined
      ? []
      : [{ ...range, partition, committed: committed.get(partition)?.offset }];
  });
  return { topic: name, topicId, partitions };
}

async function sourceFacts(
  log: Log,
  group: string,
  {
    source,
    description,
    isGlance,
  }: {
    readonly source: SourcePlan;
    readonly description: TopicDescription | undefined;
    readonly isGlance: boolean;
  },
): Promise<readonly SourcePartitionFacts[]> {
  if (description === undefined) {
    throw new FlowError('TOPIC_MISSING', `source topic "${source.topic}" does not exist`, {
      detail: `Source "${source.name}" reads it. Without it no row of the table can be read again.`,
      hint: 'Create the topic again before anything else.',
    });
  }
  const topic = await describeOwn(log, group, description);
  const { configs } = description;
  const times = isGlance
    ? new Map<number, EdgeTimes>()
    : await edgeTimes(log, source.topic, topic?.partitions ?? []);
  return (topic?.partitions ?? []).map(({ partition, start, stable, committed }) => ({
    source: source.name,
    topic: source.topic,
    topicId: topicIdHex(description.topicId),
    partition,
    logStart: start,
    end: stable,
    committed,
    fromMs: times.get(partition)?.fromMs,
    toMs: times.get(partition)?.toMs,
    // A refresh computes a batch query anew, from what its sources have by then: nothing is sure.
    // What compaction takes from a table whose rows are replaced are versions that count no more.
    isCompacted:
      source.batch !== undefined ||
      (source.replaced === undefined && isCompactedPolicy(configs.get('cleanup.policy'))),
    retentionMs: retentionLimit(configs.get('retention.ms')),
    retentionBytes: retentionLimit(configs.get('retention.bytes')),
    isTable: source.table !== undefined,
  }));
}
