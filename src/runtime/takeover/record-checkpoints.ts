import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { FlowFacts, OncePins } from '../inspect/flow-facts.ts';
import type { Catalog } from '../topics/catalog.ts';
import { recordOnceDone } from '../views/once-pins.ts';
import { answerWithin } from '../worker/answer-within.ts';
import { clearStop } from '../worker/stops.ts';
import { usedGapEntries } from './gaps.ts';
import type { HeldPartition } from './held-partition.ts';

export type RecordOptions = {
  readonly facts: FlowFacts;
  readonly log: Log;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Of a flow that runs once. */
  readonly once: OncePins | undefined;
};

/**
 * After a commit that stands: remembers which incarnation of each topic its checkpoints are of, that accepted gaps are
 * used up, that the flow goes on, and that a flow which runs once is done. Invariant: the catalog never knows of a
 * checkpoint that is not committed.
 */
export async function recordCheckpoints(
  options: RecordOptions,
  reads: readonly HeldPartition[],
): Promise<void> {
  const { facts, catalog, clock, once } = options;
  const fresh = reads.filter(
    ({ unrecorded, acceptedGaps: gaps }) => unrecorded !== undefined || gaps.length > 0,
  );
  const isEnded = reads.some(({ until, committed }) => committed === until);
  await clearStop({ catalog, clock }, facts.flow.name, {
    move: 'committed',
    offsetOf: ({ topic, partition }) =>
      reads.find((one) => one.topic === topic && one.partition === partition)?.committed,
  });
  if (isEnded && once !== undefined) await recordOnce(options, once);
  if (fresh.length === 0) return;
  const entries = fresh.flatMap(({ unrecorded }) =>
    unrecorded === undefined ? [] : [{ kind: 'checkpoint' as const, ...unrecorded }],
  );
  const gaps = fresh.flatMap((read) => read.acceptedGaps);
  await catalog.write([...entries, ...usedGapEntries(catalog, gaps, clock.now())], clock.now());
  for (const read of fresh) {
    read.unrecorded = undefined;
    read.acceptedGaps = [];
  }
}

/** How long the answer about partitions of others is waited for. */
const answerMsMax = 1_000;

/**
 * A flow that runs once is done when every partition, whoever reads it, is committed up to its end. One that another instance
 * has in an open transaction is not yet: whoever ends that one, and could do so no sooner than this commit is over, records it.
 */
async function recordOnce(
  { facts, log, catalog, clock }: RecordOptions,
  once: OncePins,
): Promise<void> {
  for (const [topic, ends] of once.ends) {
    const asking = log.committedOffsets(facts.group, topic, [...ends.keys()]);
    const committed = await answerWithin(clock, answerMsMax, asking);
    const isRead = ends.every((end, partition) => (committed?.get(partition)?.offset ?? 0) >= end);
    if (!isRead) return;
  }
  await recordOnceDone(catalog, facts.flow.name, clock.now());
}
