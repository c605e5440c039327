import type { Slice } from '../../ports/log.ts';
import type { StateKey } from '../../ports/state-store.ts';
import { letThrough } from '../sift-task.ts';
import type { RestoredKey } from './restore-changes.ts';

/** The rows that DISTINCT let through, from the records that say so; what LIMIT counts stands in the account. */
export function restoreSifted({ records }: Slice): readonly RestoredKey[] {
  const keys = new Set<StateKey>();
  while (records.next()) {
    const { bytes, keyStart, keyEnd } = records;
    if (keyEnd >= 0) keys.add(bytes.toString('latin1', keyStart, keyEnd));
  }
  return [...keys].map((key) => ({ key, entry: letThrough }));
}
