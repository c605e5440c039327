import { FlowError } from '../../base/errors.ts';
import type { PipelinePlan } from '../../plan/pipeline-plan.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { StateStore } from '../../ports/state-store.ts';
import type { Tracer } from '../../ports/tracer.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import { acceptGaps } from '../takeover/gaps.ts';
import { prepareTopics } from '../topics/prepare-topics.ts';
import { stoppedWhile } from '../views/once-result.ts';
import { onceUpstream } from '../views/once-upstream.ts';
import { ViewUpdates } from '../views/view-updates.ts';
import { pausesOf } from './pauses.ts';
import { Worker } from './worker.ts';
import type { WorkerSettings } from './worker-settings.ts';

export type StartWorkerOptions = {
  readonly plan: PipelinePlan;
  readonly settings: WorkerSettings;
  readonly log: Log;
  readonly state: StateStore;
  readonly clock: Clock;
  readonly listener: RuntimeListener;
  readonly tracer?: Tracer | undefined;
  readonly replicationFactor: number;
  /** Ids of gaps that somebody takes into account. */
  readonly acceptGaps?: readonly string[];
  /** Whether somebody asked for the end before the worker was there to be told. */
  readonly isStopped?: () => boolean;
};

/** What every worker has where nobody says otherwise. */
export const defaultWorkerSettings: Omit<WorkerSettings, 'pipeline' | 'instance' | 'token'> = {
  delivery: 'exactly_once',
  once: false,
  commitIntervalMs: 100,
  viewIntervalMs: 10_000,
  commitRecordsMax: 50_000,
  commitBytesMax: 64 * 1024 * 1024,
  pendingBytesMax: 16 * 1024 * 1024,
  cacheBytesMax: 64 * 1024 * 1024,
  shuffle: 'memory',
  sessionTimeoutMs: 6_000,
  rebalanceTimeoutMs: 60_000,
  staticMembership: false,
  leavesOnStop: true,
  retryDelayMinMs: 200,
  retryDelayMaxMs: 5_000,
  retriesMax: Number.POSITIVE_INFINITY,
};

/**
 * A join that lets rows go does so once: what it gives out with them has to stand or fall with the rows that it forgets.
 */
function refuseForgetful({ flows }: PipelinePlan, delivery: WorkerSettings['delivery']): void {
  const flow = flows.find((one) => one.kind === 'join' && one.join.times !== undefined);
  if (flow === undefined || delivery === 'exactly_once') return;
  throw new FlowError(
    'NOT_SUPPORTED',
    `flow "${flow.name}" joins streams by their times, which needs delivery exactly_once`,
    {
      detail:
        'Without transactions rows could be forgotten whose partners, or whose lack of any, were never written.',
      hint: 'Set delivery to exactly_once, or join without watermarks.',
    },
  );
}

/** How often it is looked whether an update before the start was told to end. */
const stopLookMs = 100;

/** One update of a part of the pipeline, before the whole of it starts. */
async function bringUpToDate(
  plan: PipelinePlan,
  options: StartWorkerOptions,
  isStopped: () => boolean,
): Promise<void> {
  const { clock, settings } = options;
  const worker = await startWorker({ ...options, plan, settings: { ...settings, once: true } });
  let isOver = false;
  const running = worker.run().finally(() => {
    isOver = true;
  });
  const watching = (async () => {
    while (!isOver && !isStopped()) await Promise.race([ended(running), clock.sleep(stopLookMs)]);
    worker.stop();
  })();
  try {
    await running;
  } finally {
    await watching;
  }
  if (isStopped()) throw stoppedWhile('the tables that a once flow reads were brought up to date');
}

/** Whatever its outcome is. */
function ended(running: Promise<void>): Promise<void> {
  return running.catch(() => undefined);
}

/** Checks topics and state store and gives a worker that is ready to `run`. */
export async function startWorker(options: StartWorkerOptions): Promise<Worker> {
  const { plan, settings, log, state, clock, listener, replicationFactor } = options;
  if (plan.flows.length + plan.materializedViews.length === 0) {
    throw new FlowError('PIPELINE_INVALID', 'the pipeline has no flow and no materialized view', {
      detail: 'There is nothing to run.',
      hint: 'Are these the right files? A table gets its rows by CREATE STREAMING TABLE … FLOW …, or by CREATE FLOW … AS INSERT INTO … .',
    });
  }
  refuseForgetful(plan, settings.delivery);
  await state.check();
  const isStopped = options.isStopped ?? (() => false);
  const { pipeline, once: isTriggered } = settings;
  const upstream = await onceUpstream(plan, { log, clock, pipeline, isTriggered });
  if (upstream !== undefined) await bringUpToDate(upstream, options, isStopped);
  const { flows, views, catalog } = await prepareTopics({
    plan,
    pipeline: settings.pipeline,
    instance: settings.instance,
    log,
    listener,
    replicationFactor,
    clock,
    isStopped,
  });
  try {
    const { instance } = settings;
    await acceptGaps(catalog, options.acceptGaps ?? [], { instance, nowMs: clock.now() });
  } catch (error) {
    await catalog.close();
    throw error;
  }
  const paused = new Set(pausesOf(catalog).map(({ flow }) => flow));
  const going = flows.filter(({ flow }) => !paused.has(flow.name));
  const due = settings.once ? views.filter(({ view }) => !paused.has(view.name)) : views;
  const updates =
    due.length === 0
      ? undefined
      : new ViewUpdates({ views: due, log, catalog, clock, listener, settings });
  // An update has an end, which a flow that stands still would never reach.
  if (settings.once && paused.size > 0 && going.length + due.length === 0) {
    await catalog.close();
    throw new FlowError('USAGE', 'every flow is paused', {
      detail: `Paused: ${[...paused].join(', ')}.`,
      hint: 'Let them go on: tidemark resume FLOW.',
    });
  }
  const worker = new Worker({
    settings,
    flows: settings.once ? going : flows,
    views: updates,
    catalog,
    log,
    state,
    clock,
    listener,
    tracer: options.tracer,
  });
  worker.setPaused(paused);
  return worker;
}
