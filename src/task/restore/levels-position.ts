import type { StateKey } from '../../ports/state-store.ts';

/** How far a levels topic is in the state. */
export type LevelsPosition = { readonly topicId: string; readonly offset: number };

/** Keys of rows are JSON objects, so no row ever has this one. */
export const levelsPositionKey: StateKey = 'levels';

/**
 * The entry beside the rows that says how far the levels topic is in the state. Invariant: it is written with
 * the levels themselves in one write, and lost with them, so it never tells more than the state holds.
 */
export function encodeLevelsPosition(position: LevelsPosition): Buffer {
  return Buffer.from(JSON.stringify([position.topicId, position.offset]), 'utf8');
}

/** Undefined when there is none, or none of this topic. */
export function levelsOffset(entry: Buffer | undefined, topicId: string): number | undefined {
  if (entry === undefined) return undefined;
  const parsed: unknown = JSON.parse(entry.toString('utf8'));
  if (!Array.isArray(parsed) || parsed[0] !== topicId) return undefined;
  return Number.isSafeInteger(parsed[1]) ? (parsed[1] as number) : undefined;
}
