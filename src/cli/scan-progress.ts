import type { ReadProgress } from '../runtime/worker/read-partition.ts';
import type { Invocation } from './command.ts';

const progressIntervalMs = 500;

/** One line on a terminal that is written over; nothing elsewhere. */
export class ScanProgress {
  readonly #invocation: Invocation;
  #nextMs = 0;

  constructor(invocation: Invocation) {
    this.#invocation = invocation;
  }

  show({ partition, partitions, position, end }: ReadProgress, verb = 'scanning'): void {
    const { terminal } = this.#invocation;
    if (!terminal.isTerminal || Date.now() < this.#nextMs) return;
    this.#nextMs = Date.now() + progressIntervalMs;
    terminal.err(
      `\r\u001b[K${verb} partition ${partition + 1} of ${partitions}: offset ${position} of ${end}`,
    );
  }

  end(): void {
    const { terminal } = this.#invocation;
    if (terminal.isTerminal) terminal.err('\r\u001b[K');
  }
}
