import type { StateEntries } from '../data/state-entries.ts';

/**
 * The keyed state of table tasks: a cache of the compacted output topic, never more. Contract:
 * 1. `open(epoch)` marks the store with the session's epoch, and rejects with TASK_MIGRATED under a higher one.
 * 2. A write is refused with TASK_CORRUPTED unless the session's own epoch mark still stands in the store, checked
 *    in the same atomic step; no half write may ever look whole.
 * 3. Every read gives, atomically with the entries, the mark at which the state stands.
 * 4. A mark that is missing, or other than expected, means: rebuild from the changelog. A missing key means
 *    "never seen" only under the right mark.
 * 5. Nothing vanishes key by key: entries and mark are lost together or not at all.
 * 6. Every command has a deadline; STATE_UNAVAILABLE after it, never "no such key". The outcome of a write is
 *    then unknown; the same write may be repeated.
 * 7. A write goes on from the mark that the session saw last (when it opened, read, wrote or cleared), and is
 *    refused with TASK_CORRUPTED where the store stands elsewhere (an older image came back between the read and
 *    the write), or holds entries without a mark (clear first).
 * 8. The keys of one write are distinct. Entries are changed by neither side once they were handed over.
 */
export interface StateStore {
  /** Refuses a store whose settings break the contract (such as key-wise eviction), naming the setting. */
  check(): Promise<void>;
  open(task: StateTaskId, epoch: number): Promise<StateSession>;
  /**
   * Removes a task that no session of this store has open, with its epoch mark, as if it had never been; rejects with
   * TASK_MIGRATED under a higher epoch.
   */
  forget(task: StateTaskId, epoch: number): Promise<void>;
  usage(): Promise<StateUsage>;
  close(): Promise<void>;
}

/** What the store needs, all of its users together. */
export type StateUsage = {
  readonly usedBytes: number;
  /** 0: there is no limit. */
  readonly limitBytes: number;
  /** Since the store was started. A state that is being evicted is lost task by task and built anew. */
  readonly evictedKeys: number;
};

/** Names one table task for ever: it depends on pipeline, flow, generation and partition only. */
export type StateTaskId = {
  readonly pipeline: string;
  readonly flow: string;
  readonly generation: number;
  readonly partition: number;
};

/** Every record of a topic below `offset`, and none other. The topic's id is part of it, since a recreated topic starts its offsets anew. */
export type TopicPosition = { readonly topicId: string; readonly offset: number };

/**
 * Where the state stands in the output topic, and in that of the levels that outlive their rows; absent: nothing was read of
 * those. Both are one mark: an image that came back may differ in the levels alone (simulation seed 623908).
 */
export type StateMark = TopicPosition & { readonly levels?: TopicPosition | undefined };

/** A key's canonical bytes, as latin1 text, so that they can be a Map key: one character a byte. */
export type StateKey = string;

export type StateView = {
  readonly mark: StateMark | undefined;
  /** By position of the request; undefined: never seen (under the right mark). */
  readonly entries: readonly (Buffer | undefined)[];
};

export type StateWrite = {
  /** A key that is gone is deleted. The encoding of the others is the task's (`data/row-set.ts`). */
  readonly entries: StateEntries;
  readonly mark: StateMark;
};

export interface StateSession {
  /** The mark alone. */
  mark(): Promise<StateMark | undefined>;
  read(keys: readonly StateKey[]): Promise<StateView>;
  write(write: StateWrite): Promise<void>;
  /** Empties the task's state and removes the mark, keeping the session's epoch; refused as a write is. */
  clear(): Promise<void>;
  /**
   * Every entry, in no order, in bounded pieces; for `state scrub`, `get` and `dump`. An entry may come twice
   * while the state grows. Rejects with TASK_CORRUPTED when the session's epoch mark is gone.
   */
  scan(): AsyncIterable<readonly (readonly [StateKey, Buffer])[]>;
  /** How many entries there are, without reading them. */
  keyCount(): Promise<number>;
  close(): Promise<void>;
}
