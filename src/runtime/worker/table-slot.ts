import { FlowError } from '../../base/errors.ts';
import { isSameMark, markText } from '../../data/state-mark.ts';
import type { RecordSink } from '../../ports/log.ts';
import type { StateKey, StateMark, StateSession, StateWrite } from '../../ports/state-store.ts';
import type { KeyedTask, TableEffects } from '../../task/key/keyed-task.ts';
import type { RowSlice } from '../../task/memory-shuffle.ts';
import type { StageTimes } from './stage-times.ts';

export type TableSlotOptions = {
  readonly task: KeyedTask;
  readonly partition: number;
  readonly session: StateSession;
  readonly mark: StateMark;
  readonly levelsTopicId: string | undefined;
  readonly stages?: StageTimes | undefined;
};

/** Where a commit ended in the topics that the state follows; undefined: nothing was written there. */
export type FollowedEnds = {
  readonly output: number | undefined;
  readonly levels: number | undefined;
};

/** The entry of a key; undefined: it was never seen. */
export type StoredEntry = { readonly partition: number; readonly entry: Buffer | undefined };

/** Upper bound of keys in one read of the state store. */
const readKeysMax = 20_000;

/**
 * A table task with its session of the state store. Invariant: a row is merged only with state that
 * stands at the mark which this session wrote last; anything else is TASK_CORRUPTED.
 */
export class TableSlot {
  readonly task: KeyedTask;
  readonly partition: number;
  readonly #session: StateSession;
  readonly #topicId: string;
  readonly #levelsTopicId: string | undefined;
  readonly #stages: StageTimes | undefined;
  #mark: StateMark;
  #isBroken = false;
  /** The read that was begun last, judged. */
  #reading: Promise<void> | undefined;
  /** The write that is under way: awaited before anything else touches the session. */
  #writing: Promise<void> | undefined;
  /** What `peek` has found: the state was lost, or an older image of it came back. */
  #corrupted: FlowError | undefined;
  /** Why the last write failed. */
  #writeFailure: { readonly error: unknown } | undefined;

  constructor({ task, partition, session, mark, levelsTopicId, stages }: TableSlotOptions) {
    this.task = task;
    this.partition = partition;
    this.#session = session;
    this.#topicId = mark.topicId;
    this.#levelsTopicId = levelsTopicId;
    this.#stages = stages;
    this.#mark = mark;
  }

  /** Merges one slice of rows. */
  async merge(slice: RowSlice, sink: RecordSink, nowMs: number): Promise<void> {
    const keys = this.load(slice);
    const reading = (): Promise<readonly (Buffer | undefined)[]> => this.entriesOf(keys);
    const entries =
      keys.length > 0 ? await (this.#stages?.wait('store', reading) ?? reading()) : [];
    if (this.task.needsAllKeys) await this.#takeAll();
    this.finish(entries, sink, nowMs);
    const due = this.task.keysDue?.();
    if (due === undefined) return;
    const released = await this.entriesOf(due);
    this.#timed(() => this.task.release?.(released, sink, nowMs));
  }

  /** The first step of a merge: the keys whose entries `finish` has to be given. */
  load(slice: RowSlice): readonly StateKey[] {
    return this.#timed(() => this.task.keysOf(slice));
  }

  async entriesOf(keys: readonly StateKey[]): Promise<readonly (Buffer | undefined)[]> {
    if (keys.length === 0) return [];
    // A commit that comes to stand while this waits begins a write: the read would find the mark before it
    // (simulation seed 1942).
    do await this.settle();
    while (this.#writing !== undefined);
    return this.#read(keys);
  }

  finish(entries: readonly (Buffer | undefined)[], sink: RecordSink, nowMs: number): void {
    this.#timed(() => this.task.process(entries, sink, nowMs));
  }

  #timed<Result>(work: () => Result): Result {
    return this.#stages === undefined ? work() : this.#stages.run('merge', work);
  }

  /** How many keys the state holds, as of the last write; a level that outlives its rows counts as a key. */
  keyCount(): Promise<number> {
    return this.#session.keyCount();
  }

  /** A row concerns keys that it does not name: the task gets to know all of them. */
  async #takeAll(): Promise<void> {
    await this.settle();
    for await (const piece of this.#session.scan()) this.task.takeKeys(piece);
    // The mark was right before, and nobody else writes; an image that came back meanwhile is seen here.
    await this.#read([]);
  }

  async #read(keys: readonly StateKey[]): Promise<readonly (Buffer | undefined)[]> {
    const reading = readAt(this.#session, keys, this.#mark);
    this.#reading = reading.then(
      () => undefined,
      () => {
        this.#isBroken = true;
      },
    );
    return reading;
  }

  /**
   * Lets the state follow a commit. It is not waited for here, so that the next slices are fetched and
   * decoded meanwhile; `settle` waits.
   */
  follow(effects: TableEffects, { output, levels }: FollowedEnds): void {
    const { entries } = effects;
    if (this.#isBroken || entries.count === 0 || output === undefined) return;
    const topicId = this.#levelsTopicId;
    const position =
      levels === undefined || topicId === undefined
        ? this.#mark.levels
        : { topicId, offset: levels };
    this.#mark = { topicId: this.#topicId, offset: output, levels: position };
    if (this.#corrupted !== undefined) return;
    this.#writing = this.#writeAfterRead({ entries, mark: this.#mark });
    this.#writing.catch((error: unknown) => {
      this.#writeFailure ??= { error };
    });
  }

  /** Throws why the state does not follow any more, also where no record comes that would need it. */
  check(): void {
    if (this.#corrupted !== undefined) throw this.#corrupted;
    if (this.#writeFailure !== undefined) throw this.#writeFailure.error;
  }

  /**
   * A read that is under way is judged first: it may find that an older image of the state came back, and on top of
   * that the entries of this commit would look whole (simulation seed 20285).
   */
  async #writeAfterRead(write: StateWrite): Promise<void> {
    await this.#reading;
    if (this.#isBroken) return;
    await this.#session.write(write);
    write.entries.release();
  }

  async settle(): Promise<void> {
    if (this.#corrupted !== undefined) throw this.#corrupted;
    const writing = this.#writing;
    if (writing === undefined) return;
    await writing;
    if (this.#writing === writing) this.#writing = undefined;
  }

  /**
   * One key's entry for somebody who asks from outside, between the calls of the task. A state that stands elsewhere
   * than it should is no answer, and nothing is written on top of it: the session has seen the wrong mark and would
   * go on from there. The next `settle` fails with it.
   */
  async peek(key: Buffer): Promise<StoredEntry> {
    try {
      const [entry] = await readAt(this.#session, [key.toString('latin1')], this.#mark);
      return { partition: this.partition, entry };
    } catch (error) {
      if (error instanceof FlowError && error.code === 'TASK_CORRUPTED') this.#corrupted = error;
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#writing?.catch(() => undefined);
    await this.#session.close();
  }
}

/**
 * Reads entries that have to stand at a mark. Anything else is TASK_CORRUPTED: the store was lost, or an older
 * image of it came back (simulation seed 4523).
 */
export async function readAt(
  session: StateSession,
  keys: readonly StateKey[],
  mark: StateMark,
): Promise<readonly (Buffer | undefined)[]> {
  const entries: (Buffer | undefined)[] = [];
  for (let at = 0; at < Math.max(keys.length, 1); at += readKeysMax) {
    const view = await session.read(keys.slice(at, at + readKeysMax));
    if (!isSameMark(view.mark, mark)) {
      throw new FlowError('TASK_CORRUPTED', 'the state does not stand where this task left it', {
        detail: `Expected ${markText(mark)}, found ${markText(view.mark)}.`,
      });
    }
    for (const entry of view.entries) entries.push(entry);
  }
  return entries;
}
