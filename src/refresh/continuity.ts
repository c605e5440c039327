/**
 * Whether a flow may go on from its checkpoint of one source partition: facts in, a decision out, nothing done.
 * Source of the rules: data continuity. Never skip silently.
 */
export type CheckpointFacts = {
  readonly flow: string;
  readonly topic: string;
  readonly partition: number;
  /** The committed offset; undefined: the group has none. */
  readonly committed: number | undefined;
  /** Id of the topic that the checkpoint was made on; undefined: none is known to have been made. */
  readonly checkpointTopicId: string | undefined;
  readonly topicId: string;
  /** The flow had checkpoints of this topic before there was this partition. */
  readonly isAdded?: boolean;
  /** The clusters on which both are; undefined where nobody knows. */
  readonly checkpointClusterId?: string | undefined;
  readonly clusterId?: string | undefined;
  /** Of the table whose topic it is, how often it was refreshed: now, and when the checkpoint was made; 0 of any other. */
  readonly generation?: number;
  readonly checkpointGeneration?: number;
  /** First available offset. */
  readonly start: number;
  /** Next offset to be written. */
  readonly end: number;
};

/**
 * - `expired`: retention (or a deletion) has overtaken the checkpoint.
 * - `shrunk`: the log ends before the checkpoint, so it lost what it had.
 * - `recreated`: the topic was deleted and created again under its name.
 * - `moved`: it is a topic of that name on another cluster.
 * - `checkpoint_lost`: there was a checkpoint, and the group has none any more.
 * - `refreshed`: it is the topic of a table that was refreshed fully since, so rows that were read may be no more.
 * - `rows_gone`: the topic to which the flow appends has lost its first records.
 * - `dead_letters_gone`: the topic of its dead letters was deleted and created again.
 */
export type GapKind =
  | 'expired'
  | 'shrunk'
  | 'recreated'
  | 'moved'
  | 'checkpoint_lost'
  | 'refreshed'
  | 'rows_gone'
  | 'dead_letters_gone';

export type Gap = {
  /** What a person names to accept it. */
  readonly id: string;
  readonly kind: GapKind;
  readonly flow: string;
  readonly topic: string;
  readonly partition: number;
  /** First offset that was not processed; undefined where nobody knows. */
  readonly from: number | undefined;
  /** Where the flow goes on when the gap is accepted. */
  readonly to: number;
  /** Records that are gone; undefined where nobody knows. */
  readonly lostRecords: number | undefined;
};

export type CheckpointDecision =
  | { readonly decision: 'go_on'; readonly position: number }
  | { readonly decision: 'gap'; readonly gap: Gap };

/** Invariant: a position is given only where every record between it and the last processed one is there. */
export function decideCheckpoint(facts: CheckpointFacts): CheckpointDecision {
  const { committed, checkpointTopicId, topicId, start, end } = facts;
  if (checkpointTopicId !== undefined && checkpointTopicId !== topicId) {
    return gapOf(facts, isElsewhere(facts) ? 'moved' : 'recreated', topicId.slice(0, 8));
  }
  if (committed === undefined) {
    if (checkpointTopicId !== undefined) return gapOf(facts, 'checkpoint_lost', 'none');
    // Of a partition that came later everything is to be read, as of one whose checkpoint is its first offset.
    if (facts.isAdded === true && start > 0)
      return gapOf({ ...facts, committed: 0 }, 'expired', '0');
    // A first start reads from the earliest offset: a table is a function of its source.
    return { decision: 'go_on', position: start };
  }
  const { generation = 0, checkpointGeneration = 0 } = facts;
  if (checkpointTopicId !== undefined && generation !== checkpointGeneration) {
    return gapOf(facts, 'refreshed', `generation-${generation}`);
  }
  if (committed < start) return gapOf(facts, 'expired', String(committed));
  if (committed > end) return gapOf(facts, 'shrunk', String(committed));
  return { decision: 'go_on', position: committed };
}

function isElsewhere({ checkpointClusterId, clusterId }: CheckpointFacts): boolean {
  return (
    checkpointClusterId !== undefined &&
    clusterId !== undefined &&
    checkpointClusterId !== clusterId
  );
}

function gapOf(facts: CheckpointFacts, kind: GapKind, mark: string): CheckpointDecision {
  const { flow, topic, partition, committed, start, end } = facts;
  // What is behind the checkpoint was not read yet, whatever became of what is before it.
  const goesOn = kind === 'refreshed' ? Math.min(Math.max(committed ?? start, start), end) : start;
  return {
    decision: 'gap',
    gap: {
      id: `${flow}/${topic}/${partition}@${mark}`,
      kind,
      flow,
      topic,
      partition,
      from: committed,
      to: goesOn,
      lostRecords: kind === 'expired' && committed !== undefined ? start - committed : undefined,
    },
  };
}

/** One sentence for a person. */
export function gapText({ kind, topic, partition, from, to, lostRecords }: Gap): string {
  const where = `topic "${topic}", partition ${partition}`;
  switch (kind) {
    case 'expired':
      if (from === 0) {
        return `Nothing of ${where} was read yet, and the log starts at ${to}: ${lostRecords} records are gone.`;
      }
      return `The checkpoint of ${where} is offset ${from}, and the log starts at ${to}: ${lostRecords} records are gone.`;
    case 'shrunk':
      return `The checkpoint of ${where} is offset ${from}, and the log ends before it: it lost records that it had.`;
    case 'recreated':
      return `The ${where} was recreated: its id is another one than when the checkpoint was made, ${from === undefined ? 'and the group has no checkpoint of it any more' : `so offset ${from} means nothing in it`}.`;
    case 'moved':
      return `The ${where} is on another cluster than when the checkpoint was made, ${from === undefined ? 'and the group has no checkpoint of it here' : `so offset ${from} means nothing in it`}.`;
    case 'refreshed':
      return `The table of ${where} was refreshed fully since: rows that were read from it may be no more, or be others now.`;
    case 'rows_gone':
      return `The table's own ${where} started at offset ${from}, and starts at ${to}: ${lostRecords} records of it are gone, by a delete policy or by DeleteRecords.`;
    case 'dead_letters_gone':
      return `The topic of dead letters "${topic}" was deleted and created again: those that were in it are gone.`;
    case 'checkpoint_lost':
      return `The group has lost its checkpoint of ${where}; the log starts at ${to}.`;
  }
}
