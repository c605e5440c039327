type Pins = { readonly value: Readonly<Record<string, unknown>>; readonly offset: number };

/**
 * Whether pins of a flow that runs once (`once-pins.ts`) change nothing, since others stand: those that were written
 * first for a generation hold, whoever wakes up later and writes what he saw before (simulation seed 2991).
 * Invariant: it looks at nothing but the records, so every reader has the same pins stand.
 */
export function isOverruled(standing: Pins | undefined, later: Pins): boolean {
  if (standing === undefined) return false;
  const [before, after] = [standing, later].map(({ value }) => Number(value['generation']));
  if (before !== after) return Number(after) < Number(before);
  return writtenAt(standing) < writtenAt(later);
}

/** Where they were written first: who writes them again says so, for compaction keeps only the last record. */
export function writtenAt({ value, offset }: Pins): number {
  return typeof value['since'] === 'number' ? value['since'] : offset;
}
