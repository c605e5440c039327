import type {
  StateKey,
  StateMark,
  StateSession,
  StateStore,
  StateTaskId,
  StateView,
  StateWrite,
} from '../ports/state-store.ts';
import type { FragileState } from './fragile-state.ts';
import type { SimulatedProcess } from './simulated-process.ts';

/** A state store as one simulated process reaches it: it keeps the contract, forgets and answers late. */
export class SimulatedStateStore implements StateStore {
  readonly #state: FragileState;
  readonly #process: SimulatedProcess;

  constructor(state: FragileState, process: SimulatedProcess) {
    this.#state = state;
    this.#process = process;
  }

  check(): Promise<void> {
    return callStore(this.#process, () => this.#state.store.check());
  }

  async open(task: StateTaskId, epoch: number): Promise<StateSession> {
    const session = await callStore(this.#process, () => {
      this.#state.mayForget(task);
      return this.#state.store.open(task, epoch);
    });
    return new SimulatedStateSession(session, task, this.#state, this.#process);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class SimulatedStateSession implements StateSession {
  readonly #session: StateSession;
  readonly #task: StateTaskId;
  readonly #state: FragileState;
  readonly #process: SimulatedProcess;

  constructor(
    session: StateSession,
    task: StateTaskId,
    state: FragileState,
    process: SimulatedProcess,
  ) {
    this.#session = session;
    this.#task = task;
    this.#state = state;
    this.#process = process;
  }

  mark(): Promise<StateMark | undefined> {
    return this.#call(() => this.#session.mark());
  }

  read(keys: readonly StateKey[]): Promise<StateView> {
    return this.#call(() => this.#session.read(keys));
  }

  write(write: StateWrite): Promise<void> {
    return this.#call(() => this.#session.write(write));
  }

  clear(): Promise<void> {
    return this.#call(() => this.#session.clear());
  }

  async *scan(): AsyncGenerator<readonly (readonly [StateKey, Buffer])[]> {
    for await (const piece of this.#session.scan()) {
      await this.#process.step();
      yield piece;
    }
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  #call<T>(work: () => Promise<T>): Promise<T> {
    return callStore(this.#process, () => {
      this.#state.mayForget(this.#task);
      return work();
    });
  }
}

function callStore<T>(process: SimulatedProcess, work: () => Promise<T>): Promise<T> {
  return process.call('STATE_UNAVAILABLE', 'STATE_UNAVAILABLE', work);
}
