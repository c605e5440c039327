import type { SourcePartitionFacts } from './retention.ts';

/** What is known of one topic that a table kept its rows or its levels in. */
export type KeptTopicFacts = {
  readonly topic: string;
  /** As the catalog knows it; undefined: it does not. */
  readonly knownId: string | undefined;
  /** As the log has it; undefined: it is not there. */
  readonly topicId: string | undefined;
};

/** A partition that rows came from which may not be there any more. */
export type UntoldPartition = Pick<
  SourcePartitionFacts,
  'topic' | 'partition' | 'logStart' | 'end'
> & {
  readonly committed: number | null;
  readonly reason: 'expired' | 'truncated' | 'elsewhere' | 'at_risk';
};

/** Why nobody can tell which rows a full refresh would lose. */
export type UntoldLoss = {
  readonly topic: string;
  readonly state: 'missing' | 'recreated';
  /** Whether something is in the topic of the rows now, which can be kept. */
  readonly holdsRows: boolean;
  readonly sources: readonly UntoldPartition[];
};

/**
 * What a refresh would lose is read from what the table holds; where that is gone, only the sources can answer. Invariant:
 * undefined where every record that was ever read is there still, or nothing ever was; a log that starts behind offset 0 is
 * taken to have lost records that were read, since nothing tells where the flow began.
 */
export function untoldLoss(
  kept: readonly KeptTopicFacts[],
  sources: readonly (SourcePartitionFacts & { readonly isBegun: boolean })[],
  holdsRows: boolean,
): UntoldLoss | undefined {
  const gone = kept.find(({ knownId, topicId }) =>
    topicId === undefined ? true : knownId !== undefined && knownId !== topicId,
  );
  if (gone === undefined) return undefined;
  const parts = sources.flatMap((one): UntoldPartition[] => {
    const reason = one.isBegun ? missingOf(one) : undefined;
    if (reason === undefined) return [];
    const { topic, partition, logStart, end, committed = null } = one;
    return [{ topic, partition, logStart, end, committed, reason }];
  });
  if (parts.length === 0) return undefined;
  const { topic, topicId } = gone;
  const state = topicId === undefined ? 'missing' : 'recreated';
  return { topic, state, holdsRows, sources: parts };
}

function missingOf({
  isAnew,
  committed = 0,
  end,
  logStart,
  isCompacted,
}: SourcePartitionFacts): UntoldPartition['reason'] | undefined {
  if (isAnew === true) return 'elsewhere';
  if (committed > end) return 'truncated';
  if (logStart > 0) return 'expired';
  return isCompacted ? 'at_risk' : undefined;
}

const partsMax = 3;

/** Whole sentences for a person. */
export function untoldText({ topic, state, sources }: UntoldLoss): string {
  const what = state === 'missing' ? 'is gone' : 'was deleted and created again';
  const parts = sources.slice(0, partsMax).map(partText);
  const more = sources.length - parts.length;
  return `Topic "${topic}" ${what}, so nobody knows which rows it held, and not all that they came from is there: ${parts.join('; ')}${more > 0 ? `; and ${more} more partitions` : ''}.`;
}

function partText({ topic, partition, logStart, end, committed, reason }: UntoldPartition): string {
  const place = `${topic}/${partition}`;
  const read = committed === null ? '' : `, and the flow has read up to ${committed}`;
  switch (reason) {
    case 'expired':
      return `the log of ${place} starts at ${logStart}${read}`;
    case 'truncated':
      return `the log of ${place} ends at ${end}${read}`;
    case 'elsewhere':
      return `the topic of ${place} was deleted and created again`;
    case 'at_risk':
      return `${place} may have been compacted`;
  }
}
