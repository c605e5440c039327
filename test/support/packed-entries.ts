import { StateEntries } from '../../src/data/state-entries.ts';

/** Entries of a write, by position of their keys; undefined: the key is gone. */
export function packedEntries(
  keys: readonly string[],
  values: readonly (Buffer | undefined)[],
): StateEntries {
  return StateEntries.of(keys.map((key, index) => [key, values[index]] as const));
}
