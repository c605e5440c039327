import { type OpenedTracer, openTracer } from '../adapters/otel/open-tracer.ts';
import { systemClock } from '../adapters/system/system-clock.ts';
import { FlowError } from '../base/errors.ts';
import { type ComposedService, composeService, type ServiceOptions } from '../compose.ts';
import { requireOptions } from '../config/load-config.ts';
import type { Config } from '../config/options.ts';
import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import type { RuntimeListener } from '../runtime/runtime-events.ts';
import { PauseWatch, pausesOf } from '../runtime/worker/pauses.ts';
import type { Worker } from '../runtime/worker/worker.ts';
import type { Command, ExitCode, Invocation, Terminal } from './command.ts';
import { takeInstanceName } from './instance-name.ts';
import { pipelineFlag, pipelinePaths, toldPipeline } from './pipeline-files.ts';
import { type ServiceLog, serviceLog, tellConfig } from './run-log.ts';
import { ProgressMeter } from './run-progress.ts';
import { selectTables } from './select-tables.ts';
import { openServiceFront, type ServiceFront } from './service-front.ts';
import { planStep, traceListener } from './trace-listener.ts';
import { summaryText, updateSummary } from './update-summary.ts';
import { version } from './version.ts';

const progressIntervalMs = 1000;
const progressLogIntervalMs = 30_000;

export const run: Command = {
  name: 'run',
  summary: 'run the pipeline: the service itself, or one triggered update with --once',
  arguments: 'FILE…',
  example:
    'tidemark run bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092 --once',
  flags: {
    ...pipelineFlag,
    once: {
      type: 'boolean',
      doc: 'Process what is there now, up to the offsets at the start, then exit 0.',
    },
    table: {
      type: 'string',
      multiple: true,
      value: 'TABLE',
      doc: 'Only the flows that write this table, or this materialized view. May be given several times.',
    },
    'accept-gap': {
      type: 'string',
      multiple: true,
      value: 'ID',
      doc: 'Go on although records are gone: the id that the error and `tidemark gaps` print.',
    },
  },
  usesConfig: true,
  isUnattended: true,
  run: async (invocation) => {
    const paths = pipelinePaths(invocation);
    const startedAtMs = systemClock.now();
    const startedMs = systemClock.monotonic();
    const plan = (await toldPipeline(invocation, paths))?.plan;
    if (plan === undefined) return 3;
    const selected = selectTables(plan, invocation.texts('table'));
    const planned = { startedAtMs, durationMs: systemClock.monotonic() - startedMs };
    return runService(invocation, selected, { paths, planned });
  },
};

async function runService(
  invocation: Invocation,
  plan: PipelinePlan,
  { paths: files, planned }: { readonly paths: readonly string[]; readonly planned: Planned },
): Promise<ExitCode> {
  const given = invocation.config();
  const once = invocation.isSet('once');
  requireOptions(given, ['pipeline.name', 'kafka.brokers']);
  const taken = takeInstanceName(given, once);
  try {
    const config = { ...given, 'instance.name': taken.name };
    const log = serviceLog(config);
    tellConfig(log, config);
    if (taken.isSecond) {
      log.info(
        {},
        `another process of this host runs the pipeline: this one goes by "${taken.name}"; instance.name gives a name that stays`,
      );
    }
    const front = await openServiceFront({ config, plan, once, log, files });
    try {
      return await runShown(invocation, plan, { config, log, once, front, planned });
    } finally {
      await front.close();
    }
  } finally {
    taken.release();
  }
}

type ShownRun = {
  readonly config: Config;
  readonly log: ServiceLog;
  readonly once: boolean;
  readonly front: ServiceFront;
  readonly planned: Planned;
};

/** When the pipeline was planned, and how long that took. */
type Planned = { readonly startedAtMs: number; readonly durationMs: number };

async function runShown(
  invocation: Invocation,
  plan: PipelinePlan,
  { config, log, once, front, planned }: ShownRun,
): Promise<ExitCode> {
  const { terminal } = invocation;
  const startedMs = systemClock.monotonic();
  let stopAsked = false;
  let worker: Worker | undefined;
  let reportStop: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => {
    reportStop = resolve;
  });
  terminal.onStop(() => {
    stopAsked = true;
    log.info({}, 'told to stop: what is open is committed first');
    reportStop();
    front.stopping();
    worker?.stop();
  });
  const tracing = await openTracing(config, plan, terminal.environment);
  tracing?.tracer.step(planStep(plan, planned));
  const service = await composeUnlessStopped(() => stopAsked, {
    config,
    plan,
    once,
    acceptGaps: invocation.texts('accept-gap'),
    listener: (event) => {
      log.listener(event);
      front.hear(event);
      tracing?.listener(event);
    },
    onTrouble: log.trouble,
    wrapState: (store) => front.measure(store),
    onRequest: (request) => front.requested(request),
    tracer: tracing?.tracer,
  });
  if (service === undefined) {
    log.info({}, 'stopped before it had started');
    return once ? 1 : 0;
  }
  ({ worker } = service);
  front.attach(service, tracing?.tracer);
  if (stopAsked) worker.stop();
  const pauses = once ? undefined : watchPauses(service, log);
  const stopProgress = showProgress(invocation, worker, log.info);
  try {
    await worker.run();
    if (stopAsked) log.info({}, 'stopped');
    front.ended('completed');
    if (once) {
      const named = new Set([...plan.flows, ...plan.materializedViews].map(({ name }) => name));
      const paused = pausesOf(worker.catalog).flatMap(({ flow }) =>
        named.has(flow) ? [flow] : [],
      );
      const tookMs = systemClock.monotonic() - startedMs;
      const done = worker.isUpdateOver;
      const summary = updateSummary(worker.progress(), tookMs, { paused, done });
      if (invocation.json) invocation.printJson(summary);
      else terminal.out(summaryText(summary));
      // Whoever scheduled it must not take it for an update that is done.
      if (!done) return 1;
    }
    return 0;
  } catch (error) {
    front.ended('failed');
    const stays = !once && config['retry.afterFailure'] === 'stay' && front.isServing;
    if (stays && !stopAsked && needsSomebody(error)) {
      front.stays();
      log.info(
        {},
        'no flow can go on before somebody acts: staying, not ready, until it is stopped',
      );
      await stopped;
    }
    throw terminal.isTerminal || once ? error : loggable(error);
  } finally {
    stopProgress();
    pauses?.close();
    // At once: what looks on may wait for a broker that does not answer, until its log is closed.
    await Promise.all([front.close(), service.close()]);
    await tracing?.close();
  }
}

/** Another start would end the same. */
function needsSomebody(error: unknown): boolean {
  return error instanceof FlowError && (error.remedy === 'stop' || error.remedy === 'fix-input');
}

/** The last words of a service go to the same place as its log, and have no content of a row either. */
function loggable(error: unknown): unknown {
  if (!(error instanceof FlowError)) return error;
  const { code, message, logDetail: detail, hint, cause } = error;
  return new FlowError(code, message, {
    cause,
    ...(detail === undefined ? {} : { detail }),
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Undefined: nobody traces. */
async function openTracing(
  config: Config,
  plan: PipelinePlan,
  environment: Terminal['environment'],
): Promise<(OpenedTracer & { readonly listener: RuntimeListener }) | undefined> {
  if (!config['traces.enabled']) return undefined;
  const pipeline = config['pipeline.name'] ?? '';
  const instance = config['instance.name'] ?? '';
  const opened = await openTracer({
    serviceName: `tidemark ${pipeline}`,
    instance,
    version,
    endpoint: config['traces.endpoint'],
    share: config['traces.perThousand'] / 1000,
    propagates: config['traces.propagate'],
    store: config['state.kind'],
    environment,
  });
  const topics = new Map(
    plan.flows.map(({ name, target }) => [
      name,
      plan.tables.find((table) => table.name === target)?.topic ?? target,
    ]),
  );
  const listener = traceListener({
    tracer: opened.tracer,
    clock: systemClock,
    transactionalId: config.delivery === 'exactly_once' ? `${pipeline}-${instance}` : undefined,
    outputTopic: (flow) => topics.get(flow) ?? flow,
  });
  return { ...opened, listener };
}

function watchPauses({ worker }: ComposedService, { info }: ServiceLog): PauseWatch {
  let told = 0;
  const watch = new PauseWatch({ catalog: worker.catalog, clock: systemClock }, (flows) => {
    if (flows.size > 0 || told > 0) {
      info({ paused: [...flows] }, flows.size === 0 ? 'every flow goes on' : 'flows are paused');
    }
    told = flows.size;
    worker.setPaused(flows);
  });
  void watch.run();
  return watch;
}

/** Undefined: whoever asked for the end did so while Kafka or Redis was waited for. */
async function composeUnlessStopped(
  isStopped: () => boolean,
  options: Omit<ServiceOptions, 'isStopped'>,
): Promise<ComposedService | undefined> {
  try {
    return await composeService({ ...options, isStopped });
  } catch (error) {
    if (isStopped() && error instanceof FlowError && error.remedy === 'retry') return undefined;
    throw error;
  }
}

/** One line that is written over on a terminal, a log line now and then elsewhere. */
function showProgress(
  { terminal }: Invocation,
  worker: Worker,
  info: (fields: Readonly<Record<string, unknown>>, text: string) => void,
): () => void {
  const meter = new ProgressMeter(systemClock.monotonic());
  const intervalMs = terminal.isTerminal ? progressIntervalMs : progressLogIntervalMs;
  const timer = setInterval(() => {
    const figures = meter.take(worker.progress(), systemClock.monotonic());
    if (terminal.isTerminal) {
      const { state, records, lag, recordsPerSecond } = figures;
      terminal.err(
        `\r\u001b[K${state}: ${records} records, lag ${lag}, ${recordsPerSecond} records/s`,
      );
    } else {
      info({ ...figures }, 'progress');
    }
  }, intervalMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    if (terminal.isTerminal) terminal.err('\r\u001b[K');
  };
}
