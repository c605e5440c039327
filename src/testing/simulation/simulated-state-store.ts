import { FlowError } from '../../base/errors.ts';
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
import type { Misfortune } from './faults.ts';
import type { FragileState } from './fragile-state.ts';
import type { CallKind, SimulatedProcess } from './simulated-process.ts';

const reading: CallKind = {
  place: 'state_read',
  answer: 'state_read_answer',
  service: 'state',
  unavailable: 'STATE_UNAVAILABLE',
  unknown: 'STATE_UNAVAILABLE',
};

const writing: CallKind = {
  ...reading,
  place: 'state_write',
  answer: 'state_write_answer',
};

/** A state store as one simulated process reaches it: it keeps the contract, forgets and answers late. */
export class SimulatedStateStore implements StateStore {
  readonly #state: FragileState;
  readonly #process: SimulatedProcess;

  constructor(state: FragileState, process: SimulatedProcess) {
    this.#state = state;
    this.#process = process;
  }

  check(): Promise<void> {
    return this.#process.call(reading, () => this.#state.store.check());
  }

  async open(task: StateTaskId, epoch: number): Promise<StateSession> {
    const session = await this.#process.call(
      reading,
      () => this.#state.store.open(task, epoch),
      (misfortune) => this.#state.meet(misfortune, task),
    );
    return new SimulatedStateSession(session, task, this.#state, this.#process);
  }

  forget(task: StateTaskId, epoch: number): Promise<void> {
    return this.#process.call(
      writing,
      () => this.#state.store.forget(task, epoch),
      (misfortune) => this.#state.meet(misfortune, task),
    );
  }

  usage(): Promise<StateUsage> {
    return this.#process.call(reading, () => this.#state.store.usage());
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
    return this.#process.call(reading, () => this.#session.mark(), this.#meet);
  }

  read(keys: readonly StateKey[]): Promise<StateView> {
    return this.#process.call(reading, () => this.#session.read(keys), this.#meet);
  }

  write(write: StateWrite): Promise<void> {
    let isBroken = false;
    const work = async (): Promise<void> => {
      if (isBroken) {
        await this.#state.writeHalf(this.#session, this.#task, write);
        throw new FlowError('STATE_UNAVAILABLE', 'the simulated write broke off');
      }
      await this.#session.write(write);
      this.#state.remember(this.#task);
    };
    return this.#process.call(writing, work, (misfortune) => {
      isBroken = misfortune === 'half_write';
      this.#meet(misfortune);
    });
  }

  clear(): Promise<void> {
    return this.#process.call(writing, () => this.#session.clear(), this.#meet);
  }

  async *scan(): AsyncGenerator<readonly (readonly [StateKey, Buffer])[]> {
    for await (const piece of this.#session.scan()) {
      await this.#process.pause('state_read_answer');
      yield piece;
    }
  }

  keyCount(): Promise<number> {
    return this.#process.call(reading, () => this.#session.keyCount(), this.#meet);
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  readonly #meet = (misfortune: Misfortune): void => this.#state.meet(misfortune, this.#task);
}
