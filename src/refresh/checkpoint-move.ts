import { FlowError } from '../base/errors.ts';

/** A checkpoint of one partition as it stands, and what the log has around it. */
export type CheckpointRow = {
  readonly stage: 'source' | 'repartition';
  readonly topic: string;
  readonly partition: number;
  /** First available offset. */
  readonly start: number;
  /** Where a committed reader stops. */
  readonly end: number;
  /** undefined: there is none. */
  readonly committed: number | undefined;
  /** Whether its metadata is not what Tidemark writes. */
  readonly isDamaged: boolean;
};

export type MoveTarget =
  | { readonly to: 'earliest' }
  | { readonly to: 'latest' }
  /** Of every source partition. */
  | { readonly to: 'offset'; readonly offset: number }
  /** "topic/partition" → offset; the others stay. */
  | { readonly to: 'offsets'; readonly offsets: ReadonlyMap<string, number> }
  /** "topic/partition" → the first offset at or after the time. */
  | { readonly to: 'time'; readonly offsets: ReadonlyMap<string, number> };

export type CheckpointMove = {
  readonly topic: string;
  readonly partition: number;
  readonly from: number | undefined;
  readonly offset: number;
  /** Records that are read again. */
  readonly again: number;
  /** Records that are there and are never read. */
  readonly skipped: number;
  /** Its damaged metadata is written anew, with counters that start at zero. */
  readonly isRepaired: boolean;
};

/**
 * Where each checkpoint goes. Invariant: an offset that the log does not have is refused; what is between the stages
 * moves only where it is named, since no source record stands for it, or where its checkpoint was lost: to the first row that is there.
 */
export function decideMoves(
  rows: readonly CheckpointRow[],
  target: MoveTarget,
): readonly CheckpointMove[] {
  if (target.to === 'offsets') refuseUnknown(rows, target.offsets);
  return rows.flatMap((row) => {
    const offset = goalOf(row, target) ?? row.committed;
    if (offset === undefined) return [];
    if (offset < row.start || offset > row.end) throw outside(row, offset, target);
    const isRepaired = row.isDamaged;
    if (offset === row.committed && !isRepaired) return [];
    const from = Math.max(row.committed ?? row.start, row.start);
    return [
      {
        topic: row.topic,
        partition: row.partition,
        from: row.committed,
        offset,
        again: Math.max(0, from - offset),
        skipped: Math.max(0, offset - from),
        isRepaired,
      },
    ];
  });
}

function goalOf(row: CheckpointRow, target: MoveTarget): number | undefined {
  const named = `${row.topic}/${row.partition}`;
  if (target.to === 'offsets') return target.offsets.get(named);
  if (row.stage === 'repartition') return row.committed ?? row.start;
  if (target.to === 'earliest') return row.start;
  if (target.to === 'latest') return row.end;
  if (target.to === 'offset') return target.offset;
  // The end as it was asked for with the time may lie before or behind the one of the facts.
  return Math.max(row.start, Math.min(target.offsets.get(named) ?? row.end, row.end));
}

function refuseUnknown(rows: readonly CheckpointRow[], offsets: ReadonlyMap<string, number>): void {
  const names = rows.map(({ topic, partition }) => `${topic}/${partition}`);
  const unknown = [...offsets.keys()].find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new FlowError('USAGE', `the flow does not read "${unknown}"`, {
    hint: `It reads: ${names.join(', ')}.`,
  });
}

function outside(
  { topic, partition, start, end }: CheckpointRow,
  offset: number,
  { to }: MoveTarget,
) {
  return new FlowError(
    'USAGE',
    `offset ${offset} of ${topic}/${partition} is outside of the log, which has ${start} to ${end}`,
    {
      hint:
        to === 'offset'
          ? 'Name each partition: --to TOPIC/PARTITION@OFFSET,…'
          : 'Choose an offset that is there, or --to earliest.',
    },
  );
}

export type MoveTotals = {
  readonly again: number;
  readonly skipped: number;
  readonly repaired: number;
};

export function moveTotals(moves: readonly CheckpointMove[]): MoveTotals {
  return moves.reduce(
    (sum, move) => ({
      again: sum.again + move.again,
      skipped: sum.skipped + move.skipped,
      repaired: sum.repaired + (move.isRepaired ? 1 : 0),
    }),
    { again: 0, skipped: 0, repaired: 0 },
  );
}
