import { FlowError } from '../../base/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { ViewFacts } from '../../runtime/views/view-facts.ts';
import { readViewState } from '../../runtime/views/view-runner.ts';
import { defaultWorkerSettings, startWorker } from '../../runtime/worker/start-worker.ts';
import { TriggeredUpdate } from '../../runtime/worker/triggered-update.ts';
import type { Worker } from '../../runtime/worker/worker.ts';
import type { WorkerSettings } from '../../runtime/worker/worker-settings.ts';
import type { PipelineUnderTest, StartPipeline } from './pipeline-runner.ts';

/** How often a test looks whether its pipeline has caught up. */
const lookIntervalMs = 20;

/**
 * The runtime itself as tests drive it. Invariant: nothing of a worker is replaced; only its settings are
 * those of a short life.
 */
export function pipelineStarter(settings: Partial<WorkerSettings> = {}): StartPipeline {
  return (plan, log, state, { pipeline, instance, clock }) => {
    let worker: Worker | undefined;
    let running: Promise<void> | undefined;
    let failure: unknown;
    let isKilled = false;
    const failed = (): void => {
      if (failure !== undefined) throw failure;
    };
    const underTest: PipelineUnderTest = {
      start: async () => {
        worker = await startWorker({
          plan,
          log,
          state,
          clock,
          // The worker goes on with its other flows: what ends a test is told at once.
          listener: (event) => {
            if (event.event === 'flow_failed' && !isKilled) failure ??= event.error;
          },
          replicationFactor: -1,
          settings: {
            ...defaultWorkerSettings,
            commitIntervalMs: 20,
            viewIntervalMs: 50,
            retryDelayMinMs: 10,
            retriesMax: 50,
            ...settings,
            pipeline,
            instance,
            token: instance,
          },
        });
        running = worker.run().catch((error: unknown) => {
          if (!isKilled) failure ??= error;
        });
      },
      untilCaughtUp: async () => {
        if (worker === undefined) throw new FlowError('USAGE', 'the pipeline was not started');
        const { facts } = worker;
        const update = new TriggeredUpdate(facts, log, clock, () => undefined);
        await update.start();
        for (;;) {
          failed();
          if ((await update.isReached()) && (await areCurrent(log, worker.viewFacts))) return;
          await clock.sleep(lookIntervalMs);
        }
      },
      stop: async () => {
        worker?.stop();
        await running;
        failed();
      },
      kill: () => {
        isKilled = true;
        worker?.stop();
      },
    };
    return underTest;
  };
}

async function areCurrent(log: Log, views: readonly ViewFacts[]): Promise<boolean> {
  for (const facts of views) {
    const { state } = await readViewState(log, facts);
    if (state !== 'current') return false;
  }
  return true;
}
