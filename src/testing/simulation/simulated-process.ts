import type { MemoryClient } from '../../adapters/memory/memory-client.ts';
import { type ErrorCode, FlowError } from '../../base/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ambush, Faults, Misfortune, Place } from './faults.ts';
import type { Outages } from './simulated-outages.ts';

export type SimulatedProcessOptions = {
  readonly clock: Clock;
  readonly faults: Faults;
  /** How long a stall lasts, drawn anew for each. */
  readonly drawStallMs: () => number;
  /** When whole services are away. */
  readonly outages?: Outages;
  /** Fences the process's transactional id, as another instance would. */
  readonly fence?: () => Promise<void>;
};

/** One kind of call to the outside. */
export type CallKind = {
  readonly place: Place;
  readonly answer: Place;
  /** Whom it asks. */
  readonly service: 'broker' | 'state';
  /** What is told when the service is away. */
  readonly unavailable: ErrorCode;
  /** What is told when nobody knows whether the call did its work. */
  readonly unknown: ErrorCode;
};

const longDelayMsMax = 50;
const slowMsMax = 10_000;

/**
 * One process of a simulated world: every call it makes to the outside may be slow, fail, stop the
 * process for a while or be its last. Invariant: after a crash none of its calls is ever answered and
 * none has an effect, so its code stands still for ever, as that of a process that is gone.
 */
export class SimulatedProcess {
  readonly clock: Clock;
  readonly #options: SimulatedProcessOptions;
  #client: MemoryClient | undefined;
  #isCrashed = false;
  #skewMs = 0;
  #stalled: Promise<void> | undefined;
  #ambush: Ambush | undefined;
  #lastsMs: number | undefined;
  #reportCrash: () => void = () => undefined;
  /** Resolves when the process crashes. */
  readonly crashed: Promise<void>;

  constructor(options: SimulatedProcessOptions) {
    this.#options = options;
    const { clock } = options;
    this.crashed = new Promise((resolve) => {
      this.#reportCrash = resolve;
    });
    this.clock = {
      now: () => clock.now() + this.#skewMs,
      monotonic: () => clock.monotonic(),
      sleep: async (ms) => {
        await clock.sleep(ms);
        if (!this.#isFree) await this.#alive();
      },
    };
  }

  get isCrashed(): boolean {
    return this.#isCrashed;
  }

  /** The connection that dies with this process. */
  attach(client: MemoryClient): void {
    this.#client = client;
  }

  crash(): void {
    this.exit();
    this.#reportCrash();
  }

  /** Its end in good order: whatever was left to itself in it is over, too (simulation seed 45072). */
  exit(): void {
    this.#isCrashed = true;
    this.#client?.kill();
  }

  stall(ms: number): void {
    if (this.#stalled !== undefined || this.#isCrashed) return;
    this.#client?.stall();
    this.#stalled = this.#options.clock.sleep(ms).then(() => {
      this.#stalled = undefined;
      this.#client?.resume();
    });
  }

  /** What befalls the process when it passes a place next; undefined: nothing lies in wait any more. */
  lieInWait(ambush: Ambush | undefined): void {
    this.#ambush = ambush;
  }

  #strike(place: Place): Misfortune | undefined {
    const ambush = this.#ambush;
    if (ambush?.place !== place) return this.#options.faults.strike(place);
    this.#ambush = undefined;
    this.#lastsMs = ambush.lastsMs;
    return ambush.misfortune;
  }

  /** Whether what is fetched of the partition does not arrive yet. */
  isSilent(topic: string, partition: number): boolean {
    return this.#options.outages?.isSilent(topic, partition) ?? false;
  }

  /** Somebody sets the clock on the wall, forwards or back. */
  skew(ms: number): void {
    this.#skewMs += ms;
  }

  /**
   * One call to the outside, with what befalls it before it is made and before its answer is read. `onState` meets
   * what befalls the state store.
   */
  async call<T>(
    kind: CallKind,
    work: () => Promise<T>,
    onState?: (misfortune: Misfortune) => void,
  ): Promise<T> {
    const before = this.before(kind, onState);
    if (before !== undefined) await before;
    let answer: T;
    try {
      answer = await work();
    } catch (error) {
      if (!this.#isFree) await this.#alive();
      throw error;
    }
    const after = this.after(kind, onState);
    if (after !== undefined) await after;
    return answer;
  }

  /** Before a call is made. Undefined: nothing befalls it. */
  before(kind: CallKind, onState?: (misfortune: Misfortune) => void): Promise<void> | undefined {
    const misfortune = this.#strike(kind.place) ?? this.#away(kind.service, 'refuse');
    if (misfortune === undefined && this.#isFree) return undefined;
    return this.#meet(misfortune, kind, onState);
  }

  /** Before its answer is read. Undefined: nothing befalls it. */
  after(kind: CallKind, onState?: (misfortune: Misfortune) => void): Promise<void> | undefined {
    const misfortune = this.#strike(kind.answer) ?? this.#away(kind.service, 'lose_answer');
    if (misfortune === undefined && this.#isFree) return undefined;
    return this.#meet(misfortune, kind, onState);
  }

  /** A point at which the others may run, and this process may stop or end. Undefined: it goes on at once. */
  pause(place: Place): Promise<void> | undefined {
    const isPoll = place === 'poll';
    const misfortune = this.#strike(place) ?? (isPoll ? this.#away('broker', 'refuse') : undefined);
    return misfortune === undefined && this.#isFree ? undefined : this.#meet(misfortune);
  }

  #away<M extends Misfortune>(service: CallKind['service'], misfortune: M): M | undefined {
    const { outages } = this.#options;
    if (outages === undefined) return undefined;
    const isAway = service === 'broker' ? outages.isBrokerAway : outages.isStateAway;
    return isAway ? misfortune : undefined;
  }

  get #isFree(): boolean {
    return this.#stalled === undefined && !this.#isCrashed;
  }

  async #meet(
    misfortune: Misfortune | undefined,
    kind?: CallKind,
    onState?: (misfortune: Misfortune) => void,
  ): Promise<void> {
    if (!this.#isFree) await this.#alive();
    const { clock, faults, drawStallMs, fence } = this.#options;
    switch (misfortune) {
      case undefined:
        return;
      case 'crash':
        this.crash();
        break;
      case 'stall':
        this.stall(this.#lastsMs ?? drawStallMs());
        this.#lastsMs = undefined;
        break;
      case 'delay':
        await clock.sleep(faults.below(longDelayMsMax));
        break;
      case 'slow':
        await clock.sleep(this.#lastsMs ?? faults.below(slowMsMax));
        this.#lastsMs = undefined;
        break;
      case 'refuse':
        throw failure(kind?.unavailable ?? 'BROKER_UNAVAILABLE', 'the simulated service is away');
      case 'time_out':
        throw failure('BROKER_TIMEOUT', 'the simulated call was never made');
      case 'lose_answer':
        throw failure(kind?.unknown ?? 'BROKER_TIMEOUT', 'the simulated answer was lost');
      case 'fence':
        await fence?.();
        break;
      default:
        onState?.(misfortune);
    }
    if (!this.#isFree) await this.#alive();
  }

  /** Passes at once while the process runs, waits while it is stopped, and never passes after its end. */
  async #alive(): Promise<void> {
    while (this.#stalled !== undefined) await this.#stalled;
    if (this.#isCrashed) await new Promise(() => {});
  }
}

function failure(code: ErrorCode, message: string): FlowError {
  return new FlowError(code, message);
}
