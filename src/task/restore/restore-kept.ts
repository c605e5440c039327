import { readHeaders } from '../../data/record-headers.ts';
import type { RecordCursor, Slice } from '../../ports/log.ts';
import type { StateKey } from '../../ports/state-store.ts';
import type { RestoredKey } from './restore-changes.ts';

/**
 * The last word of a join's changelog on each key of a slice: its records are the entries of the state. What a former
 * generation kept counts no more.
 */
export function restoreKept({ records }: Slice, generation: number): readonly RestoredKey[] {
  const keys = new Map<StateKey, RestoredKey>();
  while (records.next()) {
    const { bytes, keyStart, keyEnd, valueStart, valueEnd } = records;
    const key = bytes.toString('latin1', keyStart, keyEnd);
    const isKept = valueEnd >= 0 && generationOf(records) === generation;
    const entry = isKept ? Buffer.from(bytes.subarray(valueStart, valueEnd)) : undefined;
    keys.set(key, { key, entry });
  }
  return [...keys.values()];
}

function generationOf({ bytes, headersStart, headersEnd }: RecordCursor): number | undefined {
  for (const { key, value } of readHeaders(bytes, headersStart, headersEnd)) {
    if (key === 'tm-gen' && value !== null) return Number(value.toString('latin1'));
  }
  return undefined;
}
