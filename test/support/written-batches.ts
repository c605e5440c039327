import type { StateKey, StateTaskId, StateWrite } from '../../src/ports/state-store.ts';
import { packedEntries } from './packed-entries.ts';

export const writtenTask: StateTaskId = {
  pipeline: 'shop',
  flow: 'orders',
  generation: 0,
  partition: 3,
};

/** Before this many batches the state is cleared, again and again. */
export const clearEvery = 41;

/** The batch with a number; the same in each process. Every seventh is big enough to be cut by a kill. */
export function batchOf(number: number): StateWrite {
  let seed = number * 7_919 + 13;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % below;
  };
  const count = number % 7 === 0 ? 4_000 : 1 + random(60);
  const keys = new Set<StateKey>();
  while (keys.size < count) keys.add(`key-${random(8_000)}`);
  const entries = [...keys].map((key) =>
    random(5) === 0 ? undefined : Buffer.from(`${number} ${key} `.repeat(1 + random(40))),
  );
  return {
    entries: packedEntries([...keys], entries),
    mark: { topicId: 'topic-1', offset: number },
  };
}

/** The state after the batch with a number, as texts. */
export function stateAfter(number: number): Map<StateKey, string> {
  const state = new Map<StateKey, string>();
  for (let each = number - (number % clearEvery); each <= number; each++) {
    const { entries } = batchOf(each);
    for (let index = 0; index < entries.count; index++) {
      const key = entries.key(index);
      const entry = entries.value(index);
      if (entry === undefined) state.delete(key);
      else state.set(key, entry.toString('latin1'));
    }
  }
  return state;
}
