import { FlowError } from '../../base/errors.ts';
import { changeColumns } from '../../plan/flows/cdc-plan.ts';
import type { FlowPlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { levelsTopicOf } from '../../plan/topology.ts';
import type { LogProducer } from '../../ports/log.ts';
import { type DeployedFlow, deployedFlow, readDeployedFlow } from '../../refresh/deployed-flow.ts';
import type { LossCounts } from '../../refresh/loss.ts';
import type { RefreshMode } from '../../refresh/refresh-request.ts';
import { isUntouched, type RefreshState } from '../../refresh/refresh-states.ts';
import { changeMerge } from '../../task/change-merge.ts';
import type { SwapRange } from '../inspect/flow-facts.ts';
import { refreshedGapEntries } from '../takeover/gaps.ts';
import { checkpointMark, swapsOf, tableGeneration, writersOf } from '../takeover/generation.ts';
import { logStarts } from '../takeover/log-starts.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import { fenceOthers } from '../takeover/takeover.ts';
import type { CatalogChange } from '../topics/catalog.ts';
import type { LockFacts } from '../topics/locks.ts';
import { forgetWriter, nameWriter } from '../topics/named-writers.ts';
import { refuseOtherWriter } from '../topics/table-writer.ts';
import { stuckAfterMs } from '../worker/answer-within.ts';
import type { ReadProgress } from '../worker/read-partition.ts';
import { type SwapAppendedOptions, swapAppended } from './refresh-append.ts';
import type { ChangeForm } from './refresh-changes.ts';
import { eventEntry, type OutsideOptions, settleCheckpoints } from './refresh-checkpoints.ts';
import { flowsOf, gatherFacts, numbersTo, type RefreshFacts, siftsOf } from './refresh-facts.ts';
import {
  definitionDigest,
  openRefresh,
  RefreshProgress,
  type RefreshRecord,
  refreshToken,
  takesAll,
} from './refresh-record.ts';
import { swapTable } from './refresh-swap.ts';
import type { SwapOptions, SwapResult } from './refresh-swap-options.ts';

export type RefreshRunOptions = Omit<OutsideOptions, 'token'> & {
  readonly table: TablePlan;
  /** The one that writes the table; of several the first of `flowsOf`. */
  readonly flow: FlowPlan;
  /** Tables that are refreshed by the same command. */
  readonly together?: ReadonlySet<string> | undefined;
  /** Those of them that read it and whose turn comes later: their flows are held from its swap on. */
  readonly below?: readonly RefreshRunOptions[] | undefined;
  /** A table that it reads was refreshed by the same command, so its flow stays held whatever comes of this attempt. */
  readonly isHeld?: boolean | undefined;
  readonly allowLoss: boolean;
  readonly keepUnrecoverable: boolean;
  /** It is built and measured, and never becomes the table. What would be lost is told, not refused. */
  readonly isShadow?: boolean | undefined;
  readonly heldBytesMax?: number;
  /** Records that are tried with the present definition before a table is emptied; absent: all. */
  readonly tryRecordsMax?: number | undefined;
  /** How long instances are waited for that read for the flow. */
  readonly waitMs?: number | undefined;
  /** Told of each step, in words for a person. */
  readonly onStep?: (text: string) => void;
  readonly onProgress?: (progress: ReadProgress) => void;
};

export type RefreshOutcome = {
  readonly table: string;
  readonly generation: number;
  readonly mode: RefreshMode;
  readonly published: number;
  readonly buried: number;
  /** Those of them that are about the level of a key without rows. */
  readonly buriedLevels: number;
  /** What can't be read again and stays. */
  readonly kept: LossCounts;
  readonly lost: LossCounts;
  /** Why nobody could count what else was lost, which was accepted. */
  readonly untold?: NonNullable<RefreshFacts['untold']>;
  /** Records of the sources that the new generation could not read, and has set aside. */
  readonly deadLetters: number;
  /** It was only built: the figures are what would have been written and lost. */
  readonly isShadow?: true;
};

/** What one refresh of one table holds on to. */
export type RefreshRun = {
  readonly options: RefreshRunOptions;
  readonly progress: RefreshProgress;
  /** The definition that the table was written with; undefined: it never was. */
  readonly before: DeployedFlow | undefined;
  readonly after: DeployedFlow;
};

const messageBytesDefault = 1_048_588;
const pollMs = 100;

/** A refresh of the flow from its beginning, or from where the last attempt stood. */
export function beginRun(options: RefreshRunOptions, mode: RefreshMode): RefreshRun {
  const { catalog, clock, plan, table, flow, keepUnrecoverable, isShadow = false } = options;
  const allowLoss = isShadow ? !keepUnrecoverable : options.allowLoss;
  refuseOtherWriter(catalog, plan, table);
  const open = openRefresh(catalog, flow.name);
  if (open !== undefined && open.mode !== mode && !isUntouched(open.state)) {
    throw new FlowError('TABLE_LOCKED', `a refresh of table "${table.name}" was interrupted`, {
      detail: `It was a refresh ${open.mode === 'in_place' ? 'in place' : 'beside the table'}, and it stands at "${open.state}".`,
      hint: `Finish it first: tidemark refresh ${table.name}${open.mode === 'in_place' ? ' --in-place' : ''}`,
    });
  }
  if (isShadow && open !== undefined && open.isShadow !== true) {
    throw new FlowError('TABLE_LOCKED', `a refresh of table "${table.name}" is under way`, {
      hint: `Let the same command finish it, or give it up while it builds: tidemark refresh ${table.name} --cancel`,
    });
  }
  const nowMs = clock.now();
  const first: RefreshState = mode === 'beside' ? 'building' : 'emptying';
  const isResumed = open?.mode === mode;
  const record: RefreshRecord = {
    flow: flow.name,
    table: table.name,
    mode,
    state: isResumed ? open.state : first,
    generation: isResumed
      ? open.generation
      : tableGeneration(catalog, writersOf(plan, table.topic)) + 1,
    // What may be lost was decided when the table was still whole.
    allowLoss: isResumed && !isUntouched(open.state) ? open.allowLoss : allowLoss,
    keepUnrecoverable:
      isResumed && !isUntouched(open.state) ? open.keepUnrecoverable : keepUnrecoverable,
    startedAtMs: isResumed ? open.startedAtMs : nowMs,
    from: isResumed ? open.from : undefined,
    changedAtMs: nowMs,
    definition: definitionDigest(flowsOf(plan, table), table),
    ...(isShadow ? { isShadow } : {}),
  };
  if (isResumed && !isUntouched(open.state) && open.definition !== record.definition) {
    throw new FlowError(
      'DEFINITION_CHANGED',
      `the refresh of table "${table.name}" was begun with another definition`,
      {
        detail: `It stands at "${open.state}": records of the table are being replaced by those of that definition.`,
        hint: 'Start the same command once more with the files that it was begun with.',
      },
    );
  }
  return {
    options,
    progress: new RefreshProgress(catalog, record),
    before: readDeployedFlow(catalog.get('flow', flow.name)?.value),
    after: deployedFlow(flow, table),
  };
}

/** The locks of a refresh: the same for every attempt, so that the next one goes on where one was interrupted. */
export function locksOf({
  plan,
  table,
  command,
}: Pick<RefreshRunOptions, 'plan' | 'table' | 'command'>): readonly LockFacts[] {
  return flowsOf(plan, table).map(({ name: flow }) => ({
    flow,
    command,
    token: refreshToken(flow),
    untilMs: undefined,
  }));
}

/** Where the output topic ends, one offset a partition: whatever a refresh writes comes behind it. */
export function endsOf({ output }: RefreshFacts): readonly number[] {
  return (output?.partitions ?? []).map(({ end }) => end);
}

/** Ends whatever a dead instance left open over the table and its checkpoints. */
export async function settleTable({ options }: RefreshRun): Promise<void> {
  const { pipeline, table, flow } = options;
  await settleRead(options);
  await settleTopics(options, [table.topic, levelsTopicOf(pipeline, flow.name)]);
}

/** The same over what tells which records were read, and which of them were set aside. */
export async function settleRead(options: RefreshRunOptions): Promise<void> {
  const { plan, table } = options;
  for (const { name } of flowsOf(plan, table)) await settleCheckpoints(options, name);
  if (table.deadLetterTopic !== undefined) await settleTopics(options, [table.deadLetterTopic]);
}

async function settleTopics(
  { log, catalog, clock, listener }: RefreshRunOptions,
  names: readonly string[],
): Promise<void> {
  for (const { name, partitions } of (await log.describeTopics(names)).values()) {
    const started = clock.monotonic();
    const goals = await log.offsetRanges(name, numbersTo(partitions));
    let isFenced = false;
    for (;;) {
      const now = await log.offsetRanges(name, numbersTo(partitions));
      if ([...goals].every(([at, { end }]) => (now.get(at)?.stable ?? 0) >= end)) break;
      if (!isFenced && clock.monotonic() - started >= stuckAfterMs) {
        isFenced = true;
        const reason = `it may hold topic "${name}"`;
        await fenceOthers({ catalog, log, listener }, reason);
      }
      await clock.sleep(pollMs);
    }
  }
}

type SwapWriter = Pick<RefreshRunOptions, 'log' | 'catalog' | 'clock' | 'pipeline' | 'flow'>;

/** What writes into a table that is refreshed. It is entered, so that whoever finds what it left open can end that. */
export async function openSwapProducer(options: SwapWriter): Promise<LogProducer> {
  const { log, catalog, clock } = options;
  await nameWriter(catalog, swapWriterId(options), clock.now());
  return log.openProducer(swapWriterId(options));
}

/** Once all that it wrote is committed. */
export async function forgetSwapProducer(options: SwapWriter): Promise<void> {
  await forgetWriter(options.catalog, swapWriterId(options), options.clock.now());
}

function swapWriterId({ pipeline, flow }: SwapWriter): string {
  return `${pipeline}-refresh.${flow.name}.swap`;
}

/** Whoever is held up by a dead one may fence this one, too: it begins again where that left it. */
const swapsMax = 3;

/** Makes the table what the fresh topics are, as it stands now. */
export async function swapAll(
  run: RefreshRun,
  fresh: FreshTopics | undefined,
): Promise<SwapResult> {
  for (let attempt = 1; ; attempt += 1) {
    const facts = await gatherFacts(run.options);
    try {
      return await swap(run, facts, fresh);
    } catch (error) {
      const isFenced = error instanceof FlowError && error.code === 'PRODUCER_FENCED';
      if (!isFenced || attempt === swapsMax) throw error;
    }
  }
}

export type FreshTopics = NonNullable<SwapOptions['fresh']>;

/** Makes the table what the fresh topics are; without any, empty but for what is kept. */
export async function swap(
  run: RefreshRun,
  facts: RefreshFacts,
  fresh: FreshTopics | undefined,
  measureOnly = false,
): Promise<SwapResult> {
  const producer = measureOnly ? undefined : await openSwapProducer(run.options);
  try {
    const { output } = fresh ?? {};
    if (facts.isAppended && output !== undefined) {
      return await swapAppended(appendedOptions(run, facts, output, producer));
    }
    return await swapTable(await swapOptions(run, facts, fresh, producer));
  } finally {
    await producer?.close();
  }
}

function appendedOptions(
  { options: { log, clock, plan, table, onProgress }, progress: { record } }: RefreshRun,
  facts: RefreshFacts,
  fresh: string,
  producer: LogProducer | undefined,
): SwapAppendedOptions {
  const { from = endsOf(facts), keepUnrecoverable: keeps, allowLoss } = record;
  // A joined row does not say where its two rows are: whether it comes again only the new generation can tell.
  const isLossAllowed = allowLoss && !facts.isJoined;
  const isDistinct = siftsOf(plan, table).some(({ distinct }) => distinct);
  return {
    log,
    clock,
    facts,
    from,
    fresh,
    keeps,
    isLossAllowed,
    isDistinct,
    producer,
    onProgress,
  };
}

async function swapOptions(
  { options, progress, before }: RefreshRun,
  facts: RefreshFacts,
  fresh: FreshTopics | undefined,
  producer: LogProducer | undefined,
): Promise<SwapOptions> {
  const { log, clock, table, flow } = options;
  // A table that moves to another topic leaves its old rows where they are.
  const isElsewhere = before !== undefined && before.topic !== table.topic;
  const output = isElsewhere ? undefined : facts.output;
  const described = (await log.describeTopics([table.topic])).get(table.topic);
  const limit = Number(described?.configs.get('max.message.bytes'));
  return {
    log,
    clock,
    table: table.name,
    partitions: output?.partitions.length ?? 0,
    distinct: flow.kind === 'replace_using' && flow.distinct,
    sequenceType: before?.sequenceType ?? deployedFlow(flow, table).sequenceType,
    changes: changeForm(options, before),
    recordBytesMax: limit > 0 ? limit : messageBytesDefault,
    live: {
      output: output?.topic,
      levels: facts.levels?.topic,
      isNumbered: (before?.output ?? table.output) === 'rows',
      swaps: facts.swaps,
    },
    fresh,
    generation: progress.record.generation,
    bounds: facts.bounds,
    takesAll: takesAll(progress.record),
    keeps: progress.record.keepUnrecoverable,
    producer,
    heldBytesMax: options.heldBytesMax,
    onProgress: options.onProgress,
  };
}

/** undefined: no AUTO CDC flows write the table. */
function changeForm(
  { plan, table, flow }: RefreshRunOptions,
  before: DeployedFlow | undefined,
): ChangeForm | undefined {
  if (flow.kind !== 'auto_cdc') return undefined;
  const names = changeColumns(flow, table).map(({ name }) => name);
  const known = new Set((before?.columns ?? table.columns).map(({ name }) => name));
  const ignored = new Set(
    flowsOf(plan, table).flatMap((one) => (one.kind === 'auto_cdc' ? one.ignoreNull : [])),
  );
  return {
    merge: changeMerge(names, flow.tracked),
    historyNames: table.columns.slice(names.length).map(({ name }) => name),
    newColumns: names.filter((name, position) => !known.has(name) && !ignored.has(position)),
  };
}

/** The table is in its new generation, of the present definition. */
export async function finish(
  { options, progress }: RefreshRun,
  checkpoints: readonly {
    readonly flow: string;
    readonly topic: string;
    readonly partition: number;
    readonly topicId: string;
    readonly first: number | undefined;
  }[] = [],
  /** What else holds for the new generation. */
  entries: readonly CatalogChange[] = [],
): Promise<void> {
  const { catalog, clock, plan, table, flow, command } = options;
  const { generation, mode, allowLoss, keepUnrecoverable } = progress.record;
  const nowMs = clock.now();
  const sources = await options.log.describeTopics([
    ...new Set(checkpoints.map(({ topic }) => topic)),
  ]);
  const swaps = [...swapsOf(catalog, flow.name), ...(await swapRanges(options, progress.record))];
  await catalog.write(
    [
      ...entries,
      ...(await topicEntries(options)),
      ...checkpoints.map(({ flow: reader, topic, partition, topicId, first }) => ({
        kind: 'checkpoint' as const,
        name: `${reader}/${partitionKey(topic, partition)}`,
        value: checkpointMark(
          topicId,
          sources.get(topic)?.partitions,
          { generation: tableGeneration(catalog, writersOf(plan, topic)), of: generation },
          first,
        ),
      })),
      ...flowsOf(plan, table).flatMap((one) => [
        { kind: 'flow' as const, name: one.name, value: deployedFlow(one, table) },
        { kind: 'generation' as const, name: one.name, value: { generation, swaps } },
        // Whatever it stood at was of the former generation.
        { kind: 'stop' as const, name: one.name, value: undefined },
      ]),
      ...refreshedGapEntries(
        catalog,
        flowsOf(plan, table).map(({ name }) => name),
        nowMs,
      ),
      eventEntry({
        flow: flow.name,
        what: 'refreshed',
        nowMs,
        command,
        facts: { generation, mode, allowLoss, keepUnrecoverable },
      }),
    ],
    nowMs,
  );
}

/** The table is what its topics hold now: whatever they were before, they are known from here on. */
export async function topicEntries({
  log,
  catalog,
  pipeline,
  table,
  flow,
}: Pick<RefreshRunOptions, 'log' | 'catalog' | 'pipeline' | 'table'> & {
  readonly flow: { readonly name: string };
}): Promise<readonly CatalogChange[]> {
  const roles = [
    ['output', table.topic],
    ['levels', levelsTopicOf(pipeline, flow.name)],
  ] as const;
  const described = await log.describeTopics(roles.map(([, name]) => name));
  const entries: CatalogChange[] = [];
  for (const [role, name] of roles) {
    const found = described.get(name);
    if (found === undefined && catalog.get('topic', name) === undefined) continue;
    const value = found && {
      role,
      flow: flow.name,
      partitions: found.partitions,
      topicId: found.topicId,
      ...(await logStarts(log, name, found.partitions)),
    };
    entries.push({ kind: 'topic', name, value });
  }
  return entries;
}

async function swapRanges(
  { log, table }: RefreshRunOptions,
  { from, mode, keepUnrecoverable }: RefreshRecord,
): Promise<readonly SwapRange[]> {
  // What is appended is never read as what a refresh has put in another's place.
  const isMoved = table.output === 'append' && mode === 'beside';
  if (from === undefined || from.length === 0 || isMoved) return [];
  const ranges = await log.offsetRanges(table.topic, numbersTo(from.length));
  return from.map((start, partition) => ({
    partition,
    from: start,
    to: ranges.get(partition)?.stable ?? start,
    isStart: mode === 'in_place' && !keepUnrecoverable,
  }));
}
