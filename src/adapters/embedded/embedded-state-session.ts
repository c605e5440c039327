import { FlowError } from '../../base/errors.ts';
import { isSameMark, markText } from '../../data/state-mark.ts';
import type {
  StateKey,
  StateMark,
  StateSession,
  StateView,
  StateWrite,
} from '../../ports/state-store.ts';
import type { TaskLog } from './task-log.ts';

const scanPieceEntries = 1_000;
const scanPieceBytes = 1 << 20;

/** The log of a task while the store is open. */
export type TaskLogHolder = {
  readonly name: string;
  log: TaskLog | undefined;
};

/**
 * One owner's view of a task's log. Invariant: nothing changes the log unless its epoch is the session's own and
 * it stands where the session saw it last; since all calls are synchronous, check and change are one step.
 */
export class EmbeddedStateSession implements StateSession {
  readonly #holder: TaskLogHolder;
  readonly #epoch: number;
  readonly #onClose: () => void;
  #seen: StateMark | undefined;

  constructor(holder: TaskLogHolder, epoch: number, onClose: () => void) {
    this.#holder = holder;
    this.#epoch = epoch;
    this.#onClose = onClose;
    this.#seen = holder.log?.mark;
  }

  mark(): Promise<StateMark | undefined> {
    return attempt(() => {
      this.#seen = this.#log().mark;
      return this.#seen;
    });
  }

  read(keys: readonly StateKey[]): Promise<StateView> {
    return attempt(() => {
      const log = this.#log();
      const entries = log.read(keys);
      this.#seen = log.mark;
      return { mark: log.mark, entries };
    });
  }

  write(write: StateWrite): Promise<void> {
    return attempt(() => {
      const log = this.#ownLog();
      this.#checkGoesOn(log, write.mark);
      log.write(write);
      this.#seen = write.mark;
    });
  }

  clear(): Promise<void> {
    return attempt(() => {
      this.#ownLog().clear();
      this.#seen = undefined;
    });
  }

  async *scan(): AsyncGenerator<readonly (readonly [StateKey, Buffer])[]> {
    let next: number | undefined = 0;
    while (next !== undefined) {
      const piece = this.#ownLog().scan(next, scanPieceEntries, scanPieceBytes);
      next = piece.next;
      if (piece.entries.length > 0) yield piece.entries;
      await Promise.resolve();
    }
  }

  keyCount(): Promise<number> {
    return attempt(() => this.#log().size);
  }

  close(): Promise<void> {
    return attempt(() => this.#onClose());
  }

  #log(): TaskLog {
    const { log } = this.#holder;
    if (log === undefined) {
      throw new FlowError('STATE_UNAVAILABLE', 'the state store is closed');
    }
    return log;
  }

  #ownLog(): TaskLog {
    const log = this.#log();
    if (log.epoch !== this.#epoch) {
      throw new FlowError(
        'TASK_CORRUPTED',
        `the state of task "${this.#holder.name}" is no longer ours`,
        { detail: `Its epoch is ${log.epoch}, ours is ${this.#epoch}.` },
      );
    }
    return log;
  }

  #checkGoesOn(log: TaskLog, target: StateMark): void {
    const goesOn =
      log.mark === undefined
        ? this.#seen === undefined && log.size === 0
        : isSameMark(log.mark, this.#seen) || isSameMark(log.mark, target);
    if (!goesOn) {
      throw new FlowError(
        'TASK_CORRUPTED',
        `the state of task "${this.#holder.name}" stands elsewhere than this session left it`,
        {
          detail: `It stands at ${markText(log.mark)}, and was last seen at ${markText(this.#seen)}.`,
        },
      );
    }
  }
}

/** Runs something synchronous so that what it throws becomes a rejection, as the port has it. */
function attempt<Result>(run: () => Result): Promise<Result> {
  return new Promise((resolve) => {
    resolve(run());
  });
}
