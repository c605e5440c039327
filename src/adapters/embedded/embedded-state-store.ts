import { existsSync, realpathSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FlowError } from '../../base/errors.ts';
import { NewerOwnerError } from '../../ports/newer-owner.ts';
import type { StateSession, StateStore, StateTaskId, StateUsage } from '../../ports/state-store.ts';
import { stateTaskName } from '../../ports/state-task-name.ts';
import { DirectoryLock } from './directory-lock.ts';
import { EmbeddedStateSession, type TaskLogHolder } from './embedded-state-session.ts';
import { makeDirectory } from './make-directory.ts';
import { fileError, TailCache, unusableDirectory } from './segment-file.ts';
import { TaskLog } from './task-log.ts';

export type EmbeddedStateStoreOptions = {
  readonly directory: string;
  /** Memory for the entries that were written last, over all tasks. */
  readonly cacheBytes?: number | undefined;
  readonly segmentBytesMin?: number | undefined;
  readonly segmentBytesMax?: number | undefined;
};

/** More of them was no faster: what is older comes from the page cache of the system. */
const cacheBytesDefault = 8 << 20;
const segmentBytesMinDefault = 4 << 20;
const segmentBytesMaxDefault = 64 << 20;

/** Opens the state store in a directory of this machine; rejects with STATE_UNAVAILABLE while another process has it. */
export function openEmbeddedStateStore(options: EmbeddedStateStoreOptions): Promise<StateStore> {
  return new Promise((resolve) => {
    try {
      makeDirectory(options.directory);
      const directory = realpathSync(options.directory);
      resolve(new EmbeddedStateStore({ ...options, directory }));
    } catch (error) {
      throw unusableDirectory(error, options.directory);
    }
  });
}

type OpenTask = TaskLogHolder & {
  readonly loading: Promise<TaskLog>;
  sessions: number;
};

/**
 * State in files, one log a task. Invariant: a task's log is open once at most, shared by its sessions, and the
 * directory belongs to this process alone.
 */
class EmbeddedStateStore implements StateStore {
  readonly #options: EmbeddedStateStoreOptions;
  readonly #lock: DirectoryLock;
  readonly #cache: TailCache;
  readonly #tasks = new Map<string, OpenTask>();
  #isClosed = false;

  constructor(options: EmbeddedStateStoreOptions) {
    this.#options = options;
    this.#lock = DirectoryLock.take(options.directory);
    this.#cache = new TailCache(options.cacheBytes ?? cacheBytesDefault);
  }

  check(): Promise<void> {
    return new Promise((resolve) => {
      const probe = join(this.#options.directory, 'probe');
      try {
        writeFileSync(probe, 'probe');
        unlinkSync(probe);
      } catch (error) {
        throw fileError(error, this.#options.directory);
      }
      resolve();
    });
  }

  async open(task: StateTaskId, epoch: number): Promise<StateSession> {
    const opened = this.#openTask(task);
    opened.sessions++;
    let isOpen = true;
    const leave = (): void => {
      if (isOpen) this.#leave(opened);
      isOpen = false;
    };
    try {
      const log = await opened.loading;
      if (this.#isClosed) throw closedError();
      if (log.epoch > epoch) throw new NewerOwnerError(opened.name, log.epoch, epoch);
      log.takeOver(epoch);
      return new EmbeddedStateSession(opened, epoch, leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  async forget(task: StateTaskId, epoch: number): Promise<void> {
    const directory = this.#directoryOf(task);
    if (!existsSync(directory)) return;
    const session = await this.open(task, epoch);
    await session.clear().finally(() => session.close());
    if (this.#tasks.has(taskName(task))) return;
    try {
      rmSync(directory, { recursive: true, force: true });
    } catch (error) {
      throw fileError(error, directory);
    }
  }

  /** The files on disk, superseded entries included: what the directory needs. */
  usage(): Promise<StateUsage> {
    let usedBytes = 0;
    for (const { log } of this.#tasks.values()) usedBytes += log?.fileBytes ?? 0;
    return Promise.resolve({ usedBytes, limitBytes: 0, evictedKeys: 0 });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const tasks = [...this.#tasks.values()];
    this.#tasks.clear();
    await Promise.allSettled(tasks.map((task) => task.loading));
    for (const task of tasks) {
      task.log?.close();
      task.log = undefined;
    }
    this.#lock.release();
  }

  #openTask(task: StateTaskId): OpenTask {
    if (this.#isClosed) throw closedError();
    const name = taskName(task);
    const known = this.#tasks.get(name);
    if (known !== undefined) return known;
    const loading = TaskLog.open({
      directory: this.#directoryOf(task),
      cache: this.#cache,
      segmentBytesMin: this.#options.segmentBytesMin ?? segmentBytesMinDefault,
      segmentBytesMax: this.#options.segmentBytesMax ?? segmentBytesMaxDefault,
    });
    const opened: OpenTask = { name, log: undefined, loading, sessions: 0 };
    this.#tasks.set(name, opened);
    loading.then(
      (log) => {
        opened.log = log;
      },
      () => undefined,
    );
    return opened;
  }

  #directoryOf(task: StateTaskId): string {
    const [pipeline, flow, generation, partition] = stateTaskName(task);
    return join(this.#options.directory, pipeline, flow, `${generation}.${partition}`);
  }

  #leave(task: OpenTask): void {
    if (--task.sessions > 0 || this.#tasks.get(task.name) !== task) return;
    this.#tasks.delete(task.name);
    task.log?.close();
    task.log = undefined;
  }
}

function taskName(task: StateTaskId): string {
  return stateTaskName(task).join('.');
}

function closedError(): FlowError {
  return new FlowError('STATE_UNAVAILABLE', 'the state store is closed');
}
