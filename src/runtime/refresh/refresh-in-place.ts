import { FlowError } from '../../base/errors.ts';
import { groupOf, levelsTopicOf, repartitionTopicOf, sourcesOf } from '../../plan/topology.ts';
import { moveTo } from '../../refresh/alternatives.ts';
import { readDeployedFlow } from '../../refresh/deployed-flow.ts';
import { endOpenOver } from '../takeover/end-open.ts';
import { hasCheckpoints, refuseForeign } from '../topics/check-topics.ts';
import { lockFlows, unlockFlows } from '../topics/locks.ts';
import { emptyAppended } from './refresh-append.ts';
import { awaitNobody } from './refresh-checkpoints.ts';
import { flowsOf, gatherFacts, type RefreshFacts } from './refresh-facts.ts';
import { buryKept } from './refresh-kept.ts';
import { openRefresh } from './refresh-record.ts';
import { refuseLossOf } from './refresh-refusals.ts';
import {
  beginRun,
  endsOf,
  finish,
  forgetSwapProducer,
  locksOf,
  openSwapProducer,
  type RefreshOutcome,
  type RefreshRun,
  type RefreshRunOptions,
  settleTable,
  swapAll,
} from './refresh-run.ts';
import type { SwapResult } from './refresh-swap-options.ts';

/**
 * Empties a table and forgets its checkpoints: the next run fills it again. Invariant: until everything that was asked
 * for is known to be acceptable nothing is touched; from the first tombstone on the flow is locked until the end, so that
 * nobody ever runs on half of it.
 */
export async function refreshInPlace(options: RefreshRunOptions): Promise<RefreshOutcome> {
  const { catalog, clock, pipeline, plan, table, flow } = options;
  await catalog.read();
  const isResumed = openRefresh(catalog, flow.name)?.mode === 'in_place';
  const run = beginRun(options, 'in_place');
  const locks = locksOf(options);
  await lockFlows(catalog, locks, clock.now());
  let isTouched = isResumed;
  try {
    for (const { name } of flowsOf(plan, table))
      await awaitNobody(options, groupOf(pipeline, name));
    await refuseOtherOwner(options);
    if (!isResumed) await refuseUneven(options);
    await settleTable(run);
    const facts = await gatherFacts(options);
    if (!isResumed) await refuseLossOf(run, facts);
    isTouched = true;
    if (run.progress.state === 'emptying') {
      const from = run.progress.record.from ?? endsOf(facts);
      await run.progress.enter('emptying', clock.now(), { from });
    }
    options.onStep?.('emptying the table');
    const result = await run.progress.whileTold(clock, () =>
      facts.isAppended ? empty(run, facts) : swapAll(run, undefined),
    );
    await run.progress.enter('switching', clock.now());
    options.onStep?.('forgetting its checkpoints');
    await forgetCheckpoints(run, facts);
    await finish(run);
    await forgetSwapProducer(options);
    await run.progress.close('done', clock.now(), locks);
    const { generation, allowLoss } = run.progress.record;
    const lost = allowLoss ? result.lost : { keys: 0, rows: 0, levels: 0 };
    const { published, buried, buriedLevels, kept } = result;
    return {
      table: table.name,
      generation,
      mode: 'in_place',
      published,
      buried,
      buriedLevels,
      kept,
      lost,
      ...(facts.untold === undefined ? {} : { untold: facts.untold }),
      deadLetters: 0,
    };
  } catch (error) {
    if (!isTouched) await unlockFlows(catalog, locks, clock.now());
    throw error;
  }
}

/** The topic may be somebody else's: a wrong pipeline name is enough. Where only the catalog was lost it may be emptied. */
async function refuseOtherOwner(options: RefreshRunOptions): Promise<void> {
  const { log, catalog, clock, pipeline, plan, table, flow } = options;
  const found = (await log.describeTopics([table.topic])).get(table.topic);
  if (found === undefined || catalog.get('topic', table.topic) !== undefined) return;
  const reads = [
    ...sourcesOf(plan, flow).map(({ topic }) => topic),
    repartitionTopicOf(pipeline, flow.name),
  ];
  // A flow that the catalog knows wrote another topic: what stands in this one is not from it.
  const before = readDeployedFlow(catalog.get('flow', flow.name)?.value);
  const isMoved = before !== undefined && before.topic !== table.topic;
  const ending = { clock, endOpen: (name: string) => endOpenOver(options, name) };
  const asker = { log, pipeline, ending };
  if (!isMoved && (await hasCheckpoints(asker, { flow: flow.name, reads }))) return;
  await refuseForeign(options, found);
}

/** What the flow keeps beside a topic that was given more partitions lacks them: no run could fill the table after it. */
async function refuseUneven({ log, pipeline, table, flow }: RefreshRunOptions): Promise<void> {
  const own = [repartitionTopicOf(pipeline, flow.name), levelsTopicOf(pipeline, flow.name)];
  const found = await log.describeTopics([table.topic, ...own]);
  const wanted = found.get(table.topic)?.partitions ?? table.partitions;
  const uneven = own.flatMap((name) => {
    const partitions = found.get(name)?.partitions ?? wanted;
    return partitions === wanted ? [] : [{ name, partitions }];
  });
  if (wanted === undefined || uneven.length === 0) return;
  // Nothing of the table is in the topic that it is to move to, and what the flow keeps is of its former one.
  const isMoved = found.get(table.topic) === undefined;
  const names = uneven.map(({ name, partitions = 0 }) => `"${name}" has ${partitions}`).join(', ');
  throw new FlowError(
    'TOPIC_PARTITIONS',
    isMoved
      ? `table "${table.name}" is declared with ${wanted} partitions, and what flow "${flow.name}" keeps beside it has not`
      : `topic "${table.topic}" has ${wanted} partitions, and what flow "${flow.name}" keeps beside it has not`,
    {
      detail: `Topic ${names}: the flow could not fill the table again. The table is as it was.`,
      hint: isMoved
        ? `Restore the number of partitions, or ${moveTo(table.name, 'partitions')}.`
        : uneven.every(({ partitions = 0 }) => partitions < wanted)
          ? `Give ${uneven.length === 1 ? 'that topic' : 'those topics'} ${wanted} partitions, too (kafka-topics.sh --alter --partitions ${wanted}), and start the same command again.`
          : `Give topic "${table.topic}" as many partitions as they have, and start the same command again.`,
    },
  );
}

/** The records of a table that append flows write are deleted. */
async function empty({ options, progress }: RefreshRun, facts: RefreshFacts): Promise<SwapResult> {
  const { log, clock, pipeline, flow, onProgress } = options;
  const { from = [], keepUnrecoverable } = progress.record;
  const isJoin = flow.kind === 'join';
  const producer = keepUnrecoverable || isJoin ? await openSwapProducer(options) : undefined;
  try {
    if (isJoin && producer !== undefined) {
      await buryKept(log, levelsTopicOf(pipeline, flow.name), producer, clock);
    }
    const keeper = keepUnrecoverable ? producer : undefined;
    return await emptyAppended({ log, clock, facts, from, producer: keeper, onProgress });
  } finally {
    await producer?.close();
  }
}

/** Group and catalog lose the checkpoints; what is between the stages belongs to the former generation. */
async function forgetCheckpoints(
  { options }: RefreshRun,
  { repartition }: RefreshFacts,
): Promise<void> {
  const { log, catalog, clock, pipeline, plan, table } = options;
  const flows = flowsOf(plan, table).map(({ name }) => name);
  for (const flow of flows) await log.deleteCheckpoints(groupOf(pipeline, flow));
  if (repartition !== undefined) {
    const ends = repartition.partitions.map(({ partition, end }) => [partition, end] as const);
    await log.deleteRecords(repartition.topic, new Map(ends));
  }
  const entries = (['checkpoint', 'takeover'] as const).flatMap((kind) =>
    catalog
      .all(kind)
      .filter(({ name }) => flows.some((flow) => name.startsWith(`${flow}/`)))
      .map(({ name }) => ({ kind, name, value: undefined })),
  );
  if (entries.length > 0) await catalog.write(entries, clock.now());
}
