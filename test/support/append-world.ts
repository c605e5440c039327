import type { CommittedRecord } from '../../src/adapters/memory/memory-log.ts';
import type { PipelinePlan } from '../../src/plan/pipeline-plan.ts';
import { planPipeline } from '../../src/plan/plan-pipeline.ts';
import type { Log } from '../../src/ports/log.ts';
import type { RuntimeListener } from '../../src/runtime/runtime-events.ts';
import { defaultWorkerSettings, startWorker } from '../../src/runtime/worker/start-worker.ts';
import type { Worker } from '../../src/runtime/worker/worker.ts';
import type { WorkerSettings } from '../../src/runtime/worker/worker-settings.ts';
import { PipelineWorld } from '../../src/testing/pipeline/pipeline-world.ts';
import { pipelineStarter } from '../../src/testing/pipeline/start-pipeline.ts';

export function planned(sql: string): PipelinePlan {
  const { plan, faults } = planPipeline([{ file: 'test.sql', text: sql }]);
  if (plan !== undefined) return plan;
  throw new Error(faults.map(({ code, message }) => `${code}: ${message}`).join('\n'));
}

export function worldOf(sql: string, partitions = 2, sliceRecordsMax?: number): PipelineWorld {
  return new PipelineWorld({
    plan: planned(sql),
    partitions,
    sliceRecordsMax,
    start: pipelineStarter(),
  });
}

/** A worker on the world's own log (or on a view of it), with settings that the world's processes do not have. */
export function workerOf(
  world: PipelineWorld,
  sql: string | PipelinePlan,
  settings: Partial<WorkerSettings>,
  log: Log = world.log.connect(),
  listener: RuntimeListener = () => undefined,
): Promise<Worker> {
  return startWorker({
    plan: typeof sql === 'string' ? planned(sql) : sql,
    log,
    state: world.state,
    clock: world.clock,
    listener,
    replicationFactor: -1,
    settings: {
      ...defaultWorkerSettings,
      pipeline: 'test',
      instance: 'one',
      token: 'one',
      commitIntervalMs: 20,
      retriesMax: 20,
      ...settings,
    },
  });
}

export function valuesOf(records: readonly CommittedRecord[]): string[] {
  return records.map(({ value }) => value?.toString('utf8') ?? 'null').sort();
}

export function headerOf(record: CommittedRecord, name: string): string | undefined {
  return record.headers.find(({ key }) => key === name)?.value?.toString('utf8');
}

/** Feeds a topic in portions while a process is killed again and again, then lets one come to the end. */
export async function killedRun(
  world: PipelineWorld,
  portions: readonly (() => void)[],
): Promise<void> {
  for (const [index, portion] of portions.entries()) {
    portion();
    const process = await world.startProcess('one');
    // Later each time, so that the cut falls into another step of a commit.
    await world.clock.sleep(7 + index * 9);
    world.kill(process);
  }
  const process = await world.startProcess('one');
  await world.untilCaughtUp(process);
  await world.stop(process);
}
