import { FlowError } from '../../base/errors.ts';

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

  /** One call from this client to the cluster and its answer. */
  async through<T>(work: () => T | Promise<T>): Promise<T> {
    if (!this.#isFree) await this.#turn();
    if (this.closed) throw new FlowError('BROKER_UNAVAILABLE', 'the client is closed');
    try {
      return await work();
    } finally {
      if (!this.#isFree) await this.#turn();
    }
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
