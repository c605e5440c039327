import { type MemoryStateImage, MemoryStateStore } from '../adapters/memory/memory-state-store.ts';
import type { StateTaskId } from '../ports/state-store.ts';
import type { Faults } from './faults.ts';

/**
 * A state store that forgets: all of it, one task of it, or the last while of one task, as a cache
 * that restarts, a flush by hand and a failover to a lagging replica do. Invariant: a task's entries,
 * mark and epoch go together.
 */
export class FragileState {
  readonly store = new MemoryStateStore();
  readonly #faults: Faults;
  readonly #images = new Map<string, MemoryStateImage>();

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  /** Called around every use of a task's state. */
  mayForget(task: StateTaskId): void {
    if (this.#faults.strikes('loseState')) this.store.flush();
    if (this.#faults.strikes('loseTask')) this.store.restore(task, undefined);
    const name = JSON.stringify(task);
    if (this.#faults.strikes('rollBackTask')) this.store.restore(task, this.#images.get(name));
    // Images are taken now and then, so that a later roll-back goes some way back.
    if (this.#faults.below(10) === 0) this.#images.set(name, this.store.image(task));
  }
}
