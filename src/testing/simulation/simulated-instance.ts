import type { MemoryLog } from '../../adapters/memory/memory-log.ts';
import { FlowError } from '../../base/errors.ts';
import type { PipelinePlan } from '../../plan/pipeline-plan.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RuntimeEvent } from '../../runtime/runtime-events.ts';
import { defaultWorkerSettings, startWorker } from '../../runtime/worker/start-worker.ts';
import type { Worker } from '../../runtime/worker/worker.ts';
import type { WorkerProgress } from '../../runtime/worker/worker-progress.ts';
import type { WorkerSettings } from '../../runtime/worker/worker-settings.ts';
import type { Faults } from './faults.ts';
import type { FragileState } from './fragile-state.ts';
import { SimulatedLog } from './simulated-log.ts';
import type { Outages } from './simulated-outages.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { SimulatedStateStore } from './simulated-state-store.ts';

/** What all instances of a world share. */
export type SimulatedSite = {
  readonly plan: PipelinePlan;
  readonly pipeline: string;
  readonly log: MemoryLog;
  readonly state: FragileState;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly outages: Outages;
  readonly settings: Partial<WorkerSettings>;
  readonly sliceRecordsMax: number;
  readonly drawStallMs: () => number;
};

export type InstanceOptions = {
  readonly name: string;
  /** Of no other instance of its world. */
  readonly token: string;
  readonly once: boolean;
  readonly acceptGaps: readonly string[];
  readonly onEvent: (event: RuntimeEvent) => void;
};

/** How the life of an instance ended. Never a rejection: what went wrong is told. */
export type Fate =
  | { readonly fate: 'stopped' }
  | { readonly fate: 'failed'; readonly error: unknown };

/**
 * A whole instance of the service in a simulated process: nothing of the runtime is replaced. Invariant: an
 * instance whose worker has ended is gone, as a pod is that exits.
 */
export class SimulatedInstance {
  readonly name: string;
  readonly process: SimulatedProcess;
  /** Settles when the worker came to its end by itself or by a stop; never after a crash. */
  readonly fate: Promise<Fate>;
  #worker: Worker | undefined;
  #isStopping = false;

  constructor(site: SimulatedSite, options: InstanceOptions) {
    this.name = options.name;
    const { log, state, clock, faults, drawStallMs, sliceRecordsMax } = site;
    this.process = new SimulatedProcess({
      clock,
      faults,
      outages: site.outages,
      drawStallMs,
      fence: () => log.fence(`${site.pipeline}-${options.name}`),
    });
    this.fate = this.#live(
      site,
      options,
      new SimulatedLog(log, this.process, sliceRecordsMax),
      new SimulatedStateStore(state, this.process),
    );
  }

  /** Crashed, failed or at its end. */
  get isGone(): boolean {
    return this.process.isCrashed;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Undefined before its worker is there. */
  progress(): WorkerProgress | undefined {
    return this.#worker?.progress();
  }

  stop(): void {
    this.#isStopping = true;
    this.#worker?.stop();
  }

  async #live(
    { plan, pipeline, settings }: SimulatedSite,
    { name, token, once, acceptGaps, onEvent }: InstanceOptions,
    log: SimulatedLog,
    state: SimulatedStateStore,
  ): Promise<Fate> {
    try {
      const worker = await startWorker({
        plan,
        log,
        state,
        clock: this.process.clock,
        listener: onEvent,
        replicationFactor: -1,
        acceptGaps,
        isStopped: () => this.#isStopping,
        settings: { ...defaultWorkerSettings, ...settings, pipeline, instance: name, token, once },
      });
      this.#worker = worker;
      if (this.#isStopping) worker.stop();
      await worker.run();
      this.process.exit();
      return { fate: 'stopped' };
    } catch (error) {
      this.process.crash();
      return { fate: 'failed', error };
    }
  }
}

/** What the service retries or starts anew for; whoever looks after pods starts it again. */
export function isOfTheWorld(error: unknown): boolean {
  return error instanceof FlowError && error.remedy !== 'stop' && error.remedy !== 'fix-input';
}

export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof FlowError) return `${error.code}: ${error.message} (${error.detail ?? ''})`;
  return error.stack ?? error.message;
}
