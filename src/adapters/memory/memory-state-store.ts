import { FlowError } from '../../base/errors.ts';
import { isSameMark, markText } from '../../data/state-mark.ts';
import { NewerOwnerError } from '../../ports/newer-owner.ts';
import type {
  StateKey,
  StateMark,
  StateSession,
  StateStore,
  StateTaskId,
  StateUsage,
  StateView,
  StateWrite,
} from '../../ports/state-store.ts';
import { stateTaskName } from '../../ports/state-task-name.ts';

const scanPieceKeys = 1_000;

type TaskState = {
  epoch: number;
  mark: StateMark | undefined;
  entries: Map<StateKey, Buffer>;
};

/** What one task's state was at some moment; undefined: there was none. */
export type MemoryStateImage = TaskState | undefined;

/**
 * The state store as plain maps of this process: for trying a pipeline out, for its tests, and as the base of
 * a simulated store. Invariant: a task's epoch, mark and entries are one object, so that they are lost together.
 */
export class MemoryStateStore implements StateStore {
  readonly #tasks = new Map<string, TaskState>();

  check(): Promise<void> {
    return Promise.resolve();
  }

  open(task: StateTaskId, epoch: number): Promise<StateSession> {
    return attempt(() => {
      const name = nameOf(task);
      const state = this.#ownedBy(name, epoch);
      if (state === undefined) {
        this.#tasks.set(name, { epoch, mark: undefined, entries: new Map() });
      } else {
        state.epoch = epoch;
      }
      return new MemoryStateSession(this.#tasks, name, epoch);
    });
  }

  forget(task: StateTaskId, epoch: number): Promise<void> {
    return attempt(() => {
      const name = nameOf(task);
      this.#ownedBy(name, epoch);
      this.#tasks.delete(name);
    });
  }

  #ownedBy(name: string, epoch: number): TaskState | undefined {
    const state = this.#tasks.get(name);
    if (state !== undefined && state.epoch > epoch) {
      throw new NewerOwnerError(name, state.epoch, epoch);
    }
    return state;
  }

  usage(): Promise<StateUsage> {
    let usedBytes = 0;
    for (const { entries } of this.#tasks.values()) {
      for (const [key, entry] of entries) usedBytes += key.length + entry.length;
    }
    return Promise.resolve({ usedBytes, limitBytes: 0, evictedKeys: 0 });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Loses everything, as a server that restarts without a disk does; sessions stay open. */
  flush(): void {
    this.#tasks.clear();
  }

  image(task: StateTaskId): MemoryStateImage {
    return copyOf(this.#tasks.get(nameOf(task)));
  }

  /** Puts an older image back, as a failover to a lagging replica does. */
  restore(task: StateTaskId, image: MemoryStateImage): void {
    const copy = copyOf(image);
    if (copy === undefined) {
      this.#tasks.delete(nameOf(task));
    } else {
      this.#tasks.set(nameOf(task), copy);
    }
  }
}

class MemoryStateSession implements StateSession {
  readonly #tasks: ReadonlyMap<string, TaskState>;
  readonly #name: string;
  readonly #epoch: number;
  #seen: StateMark | undefined;

  constructor(tasks: ReadonlyMap<string, TaskState>, name: string, epoch: number) {
    this.#tasks = tasks;
    this.#name = name;
    this.#epoch = epoch;
    this.#seen = tasks.get(name)?.mark;
  }

  mark(): Promise<StateMark | undefined> {
    this.#seen = this.#tasks.get(this.#name)?.mark;
    return Promise.resolve(this.#seen);
  }

  read(keys: readonly StateKey[]): Promise<StateView> {
    const state = this.#tasks.get(this.#name);
    this.#seen = state?.mark;
    const entries = keys.map((key) => state?.entries.get(key));
    return Promise.resolve({ mark: this.#seen, entries });
  }

  write(write: StateWrite): Promise<void> {
    return attempt(() => {
      const state = this.#own();
      this.#checkGoesOn(state, write.mark);
      const { entries } = write;
      for (let index = 0; index < entries.count; index += 1) {
        const key = entries.key(index);
        const entry = entries.value(index);
        if (entry === undefined) {
          state.entries.delete(key);
        } else {
          // A copy: what is handed over is often a part of a big buffer that would be kept alive by it.
          state.entries.set(key, Buffer.from(entry));
        }
      }
      state.mark = write.mark;
      this.#seen = write.mark;
    });
  }

  clear(): Promise<void> {
    return attempt(() => {
      const state = this.#own();
      state.entries = new Map();
      state.mark = undefined;
      this.#seen = undefined;
    });
  }

  async *scan(): AsyncGenerator<readonly (readonly [StateKey, Buffer])[]> {
    let piece: (readonly [StateKey, Buffer])[] = [];
    for (const entry of this.#own().entries) {
      piece.push(entry);
      if (piece.length === scanPieceKeys) {
        yield piece;
        await Promise.resolve();
        this.#own();
        piece = [];
      }
    }
    if (piece.length > 0) yield piece;
  }

  keyCount(): Promise<number> {
    return Promise.resolve(this.#tasks.get(this.#name)?.entries.size ?? 0);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Rule 2: the state, if it still carries the epoch of this session. */
  #own(): TaskState {
    const state = this.#tasks.get(this.#name);
    if (state?.epoch !== this.#epoch) {
      throw new FlowError('TASK_CORRUPTED', `the state of task "${this.#name}" is no longer ours`, {
        detail: `Its epoch is ${state?.epoch ?? 'missing'}, ours is ${this.#epoch}.`,
      });
    }
    return state;
  }

  /** Rule 7. */
  #checkGoesOn(state: TaskState, target: StateMark): void {
    const goesOn =
      state.mark === undefined
        ? this.#seen === undefined && state.entries.size === 0
        : isSameMark(state.mark, this.#seen) || isSameMark(state.mark, target);
    if (!goesOn) {
      throw new FlowError(
        'TASK_CORRUPTED',
        `the state of task "${this.#name}" stands elsewhere than this session left it`,
        {
          detail: `It stands at ${markText(state.mark)}, and was last seen at ${markText(this.#seen)}.`,
        },
      );
    }
  }
}

function nameOf(task: StateTaskId): string {
  return stateTaskName(task).join('.');
}

function copyOf(state: TaskState | undefined): TaskState | undefined {
  return state === undefined ? undefined : { ...state, entries: new Map(state.entries) };
}

/** Runs something synchronous so that what it throws becomes a rejection, as the port has it. */
function attempt<Result>(run: () => Result): Promise<Result> {
  return new Promise((resolve) => {
    resolve(run());
  });
}
