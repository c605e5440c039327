import {
  type MemoryStateImage,
  MemoryStateStore,
} from '../../adapters/memory/memory-state-store.ts';
import type { StateSession, StateTaskId, StateWrite } from '../../ports/state-store.ts';
import type { Faults, Misfortune } from './faults.ts';

/** Images that are kept of a task, so that a roll-back goes some way back. */
const imagesMax = 4;

/**
 * A state store that forgets: all of it, one task of it, the last while of one task, or the rest of a write, as a
 * cache that restarts, a flush by hand, a failover to a lagging replica and a connection that breaks do. Invariant: a
 * task's entries, mark and epoch go together, and a write that stopped half way leaves no mark.
 */
export class FragileState {
  readonly store = new MemoryStateStore();
  readonly #faults: Faults;
  /** By the text of the task's name. */
  readonly #images = new Map<string, MemoryStateImage[]>();

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  /** What befalls the store at a use of a task's state. */
  meet(misfortune: Misfortune, task: StateTaskId): void {
    switch (misfortune) {
      case 'lose_state':
        this.store.flush();
        return;
      case 'lose_task':
        this.store.restore(task, undefined);
        return;
      case 'roll_back': {
        const images = this.#images.get(JSON.stringify(task)) ?? [];
        this.store.restore(task, images[this.#faults.below(images.length)]);
        return;
      }
      default:
    }
  }

  /** Called after a write: now and then an image is taken. */
  remember(task: StateTaskId): void {
    if (!this.#faults.has('roll_back') || this.#faults.below(2) === 0) return;
    const name = JSON.stringify(task);
    const images = this.#images.get(name) ?? [];
    if (images.length === 0) this.#images.set(name, images);
    if (images.length === imagesMax) images.shift();
    images.push(this.store.image(task));
  }

  /** A write that the store accepts, and that breaks off before its end. */
  async writeHalf(session: StateSession, task: StateTaskId, write: StateWrite): Promise<void> {
    const image = this.store.image(task);
    await session.write(write);
    if (image === undefined) return;
    const { entries } = write;
    for (let index = 0; index < Math.ceil(entries.count / 2); index += 1) {
      const key = entries.key(index);
      const entry = entries.value(index);
      if (entry === undefined) image.entries.delete(key);
      else image.entries.set(key, Buffer.from(entry));
    }
    this.store.restore(task, { ...image, mark: undefined });
  }
}
