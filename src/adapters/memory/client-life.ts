import { FlowError } from '../../base/errors.ts';

/** What befalls a call on its way to the cluster and its answer on the way back; undefined: nothing, it goes on at once. */
export type Toll = {
  readonly before: () => Promise<void> | undefined;
  readonly after: () => Promise<void> | undefined;
};

/** What may befall the calls of a client, by what they ask for. */
export type Tolls = {
  readonly asking: Toll;
  readonly checkpoints: Toll;
  readonly commit: Toll;
};

/**
 * Whether the process behind a client runs. Invariant: a killed client is never answered again and
 * changes nothing; a stalled one is answered after it went on, however late.
 */
export class ClientLife {
  #state: 'running' | 'stalled' | 'killed' | 'closed' = 'running';
  #goOn: (() => void)[] = [];

  get killed(): boolean {
    return this.#state === 'killed';
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  kill(): void {
    this.#state = 'killed';
    this.#goOn = [];
  }

  close(): void {
    if (this.#state !== 'killed') this.#state = 'closed';
  }

  stall(): void {
    if (this.#state === 'running') this.#state = 'stalled';
  }

  resume(): void {
    if (this.#state !== 'stalled') return;
    this.#state = 'running';
    const waiting = this.#goOn;
    this.#goOn = [];
    for (const goOn of waiting) goOn();
  }

  /**
   * One call from this client to the cluster and its answer. Where nothing stands in the way, it is done when this returns:
   * calls are many, and each turn of a promise less is felt. `arrived` is told when the cluster has answered.
   */
  through<T>(work: () => T | Promise<T>, toll?: Toll, arrived?: () => void): Promise<T> {
    const before = toll?.before();
    if (before !== undefined || !this.#isFree) return this.#late(before, work, toll, arrived);
    let answer: T | Promise<T>;
    try {
      if (this.closed) throw closed();
      answer = work();
    } catch (error) {
      if (!this.#isFree) return this.#answered(Promise.reject(error), toll, arrived);
      arrived?.();
      return Promise.reject(error);
    }
    if (answer instanceof Promise || !this.#isFree) return this.#answered(answer, toll, arrived);
    arrived?.();
    const after = toll?.after();
    return after === undefined ? Promise.resolve(answer) : this.#afterwards(answer, after);
  }

  async #late<T>(
    before: Promise<void> | undefined,
    work: () => T | Promise<T>,
    toll: Toll | undefined,
    arrived: (() => void) | undefined,
  ): Promise<T> {
    await before;
    if (!this.#isFree) await this.#turn();
    if (this.closed) throw closed();
    // What it throws goes the way of an answer.
    return this.#answered(new Promise<T>((resolve) => resolve(work())), toll, arrived);
  }

  async #answered<T>(
    answer: T | Promise<T>,
    toll: Toll | undefined,
    arrived: (() => void) | undefined,
  ): Promise<T> {
    let value: T;
    try {
      value = await answer;
    } finally {
      if (!this.#isFree) await this.#turn();
      arrived?.();
    }
    await toll?.after();
    return value;
  }

  async #afterwards<T>(answer: T, after: Promise<void>): Promise<T> {
    await after;
    return answer;
  }

  get #isFree(): boolean {
    return this.#state === 'running' || this.#state === 'closed';
  }

  #turn(): Promise<void> {
    if (this.#state === 'killed') return new Promise(() => {});
    return new Promise((resolve) => {
      this.#goOn.push(resolve);
    });
  }
}

function closed(): FlowError {
  return new FlowError('BROKER_UNAVAILABLE', 'the client is closed');
}
