import type { RuntimeEvent } from '../runtime/runtime-events.ts';
import type { WorkerProgress } from '../runtime/worker/worker-progress.ts';
import { countText } from './count-text.ts';

export type Health = { readonly reasons: readonly string[] };

export type ServiceHealthOptions = {
  readonly flows: readonly string[];
  /** How long the main loop may stand still before the process is taken for dead. */
  readonly deadAfterMs: number;
  /** Lag up to which a flow counts as caught up after a takeover. */
  readonly readyLagMax: number;
};

/** An idle instance hears of Kafka every few seconds, by its heartbeats if by nothing else. */
const kafkaSilentMs = 15_000;

type FlowHealth = {
  isAssigned: boolean;
  /** Since the flow got its partitions last. */
  hasCaughtUp: boolean;
  /** Partition → offsets that are still to be read; undefined: not known yet. */
  readonly restoring: Map<number, number | undefined>;
};

/**
 * What probes are told. Invariants: the process is dead only when its loop stands still, never because Kafka or
 * Redis is away, nor while a restore makes progress; it has started once the groups were joined, whatever remains to
 * be restored; it is ready only while Kafka answers and every flow runs, is restored, and has caught up once since it got its partitions.
 */
export class ServiceHealth {
  readonly #options: ServiceHealthOptions;
  readonly #flows: ReadonlyMap<string, FlowHealth>;
  #hasStarted = false;
  #isStopping = false;
  /** The loop has ended, and the process stays to tell why. */
  #stays = false;
  #lastTurns = -1;
  #lastSignMs: number;
  /** undefined: nobody tells of requests. */
  #lastAnswerMs: number | undefined;
  /** What the worker recovers from. */
  #trouble: string | undefined;

  constructor(options: ServiceHealthOptions, nowMs: number) {
    this.#options = options;
    this.#lastSignMs = nowMs;
    this.#flows = new Map(
      options.flows.map((flow) => [
        flow,
        { isAssigned: false, hasCaughtUp: false, restoring: new Map() },
      ]),
    );
  }

  hear(event: RuntimeEvent, nowMs: number): void {
    this.#lastSignMs = nowMs;
    switch (event.event) {
      case 'restoring':
        this.#hasStarted = true;
        this.#flows.get(event.flow)?.restoring.set(event.partition, undefined);
        break;
      case 'restore_progress':
        this.#flows.get(event.flow)?.restoring.set(event.partition, event.remaining);
        break;
      case 'restored':
        this.#flows.get(event.flow)?.restoring.delete(event.partition);
        break;
      case 'assigned': {
        this.#hasStarted = true;
        this.#trouble = undefined;
        const flow = this.#flows.get(event.flow);
        if (flow === undefined) break;
        flow.isAssigned = true;
        flow.hasCaughtUp = false;
        flow.restoring.clear();
        break;
      }
      case 'recovering':
        this.#trouble = `${event.error.code}: ${event.error.message}`;
        for (const flow of this.#flows.values()) {
          flow.isAssigned = false;
          flow.restoring.clear();
        }
        break;
      case 'flow_failed':
        // Waiting longer for its start would change nothing.
        this.#hasStarted = true;
        this.#flows.get(event.flow)?.restoring.clear();
        break;
      default:
        break;
    }
  }

  /** A request to Kafka was answered. */
  answered(nowMs: number): void {
    this.#lastAnswerMs = nowMs;
  }

  stopping(): void {
    this.#isStopping = true;
  }

  /** The loop has ended for good: what is left of the process is there to be asked. */
  stays(): void {
    this.#stays = true;
  }

  alive(progress: WorkerProgress | undefined, nowMs: number): Health {
    if (progress === undefined || progress.turns !== this.#lastTurns) {
      this.#lastTurns = progress?.turns ?? -1;
      this.#lastSignMs = nowMs;
    }
    if (this.#stays) return { reasons: [] };
    const silentMs = nowMs - this.#lastSignMs;
    if (silentMs <= this.#options.deadAfterMs) return { reasons: [] };
    return { reasons: [`the main loop has stood still for ${Math.round(silentMs / 1000)} s`] };
  }

  started(): Health {
    return { reasons: this.#hasStarted ? [] : ['the consumer groups are not joined yet'] };
  }

  /** Has to be asked now and then (a probe does), since catching up is seen only when somebody looks. */
  ready(progress: WorkerProgress | undefined, nowMs: number): Health {
    if (progress === undefined) return { reasons: ['Kafka or the state store is waited for'] };
    if (this.#isStopping) return { reasons: ['the instance is stopping'] };
    const silence = this.#silence(nowMs);
    if (progress.state === 'running') {
      return {
        reasons: [...silence, ...progress.flows.flatMap((flow) => this.#flowReasons(flow))],
      };
    }
    const restoring = progress.flows.filter(({ flow }) => this.restoringPartitions(flow) > 0);
    return {
      reasons: [
        `the worker is ${progress.state}`,
        ...(this.#trouble === undefined ? [] : [this.#trouble]),
        ...silence,
        ...progress.flows.flatMap(({ flow, failed }) =>
          failed === undefined ? [] : [`flow "${flow}" has failed: ${failed.code}`],
        ),
        ...restoring.map(({ flow }) => `flow "${flow}" restores its state`),
      ],
    };
  }

  #silence(nowMs: number): readonly string[] {
    if (this.#lastAnswerMs === undefined) return [];
    const silentMs = nowMs - this.#lastAnswerMs;
    if (silentMs <= kafkaSilentMs) return [];
    return [`Kafka has not answered for ${Math.round(silentMs / 1000)} s`];
  }

  #flowReasons({ flow, failed, partitions }: WorkerProgress['flows'][number]): readonly string[] {
    const health = this.#flows.get(flow);
    if (failed !== undefined) return [`flow "${flow}" has failed: ${failed.code}`];
    if (health === undefined || !health.isAssigned) return [`flow "${flow}" is not assigned yet`];
    if (health.restoring.size > 0) return [`flow "${flow}" restores its state`];
    if (health.hasCaughtUp) return [];
    // Before the log has answered, a lag of 0 means nothing.
    const isKnown = partitions.every(({ logStart }) => logStart !== undefined);
    const lag = partitions.reduce(
      (sum, { stable, committed }) => sum + Math.max(0, stable - committed),
      0,
    );
    health.hasCaughtUp = isKnown && lag <= this.#options.readyLagMax;
    if (health.hasCaughtUp) return [];
    return isKnown
      ? [`flow "${flow}" catches up: ${countText(lag, 'record')} behind`]
      : [`flow "${flow}" waits for the log to say where its sources start and end`];
  }

  restoringPartitions(flow: string): number {
    return this.#flows.get(flow)?.restoring.size ?? 0;
  }

  restoreRemaining(flow: string): number {
    let remaining = 0;
    for (const one of this.#flows.get(flow)?.restoring.values() ?? []) remaining += one ?? 0;
    return remaining;
  }
}
