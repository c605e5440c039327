import { readFileSync, statSync } from 'node:fs';
import { type HttpServer, startHttpServer } from '../adapters/http/http-server.ts';
import { serviceRoutes } from '../adapters/http/service-routes.ts';
import type { RequestListener } from '../adapters/kafka/connection.ts';
import { measureStateStore } from '../adapters/prometheus/measured-state-store.ts';
import { systemClock } from '../adapters/system/system-clock.ts';
import { FlowError } from '../base/errors.ts';
import type { Config } from '../config/options.ts';
import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import type { StateStore } from '../ports/state-store.ts';
import type { Tracer } from '../ports/tracer.ts';
import { ReadableWatch } from '../runtime/inspect/readable-watch.ts';
import type { RuntimeEvent } from '../runtime/runtime-events.ts';
import type { Worker } from '../runtime/worker/worker.ts';
import { InterruptedRefreshes } from './interrupted-refreshes.ts';
import { LastToStop } from './last-to-stop.ts';
import { RecentEvents } from './recent-events.ts';
import { RefreshSpans } from './refresh-spans.ts';
import { RefreshWatch } from './refresh-watch.ts';
import type { ServiceLog } from './run-log.ts';
import { ServiceHealth } from './service-health.ts';
import { ServiceMetrics } from './service-metrics.ts';
import { type RunningParts, ServiceViews } from './service-views.ts';
import { SourceWatch } from './source-watch.ts';
import { StateWatch } from './state-watch.ts';
import { VerbProcesses } from './verb-process.ts';
import { version } from './version.ts';

export type ServiceFrontOptions = {
  readonly config: Config;
  readonly plan: PipelinePlan;
  readonly once: boolean;
  readonly log: ServiceLog;
  /** The files of the pipeline. */
  readonly files: readonly string[];
};

/** What a run shows of itself while it runs. */
export type ServiceFront = {
  hear(event: RuntimeEvent): void;
  /** A request to Kafka is over. */
  requested: RequestListener;
  /** Wraps the state store, so that its calls are measured. */
  measure(store: StateStore): StateStore;
  attach(parts: RunningParts, tracer?: Tracer): void;
  stopping(): void;
  /** The run is over, one way or the other. */
  ended(result: 'completed' | 'failed'): void;
  /** Whether anybody can ask. */
  readonly isServing: boolean;
  /** No flow goes on any more, and the process stays to be asked. */
  stays(): void;
  /** May be called twice. */
  close(): Promise<void>;
};

/** Nothing is shown, and nothing is counted. */
const noFront: ServiceFront = {
  hear: () => undefined,
  requested: () => undefined,
  measure: (store) => store,
  attach: () => undefined,
  stopping: () => undefined,
  ended: () => undefined,
  isServing: false,
  stays: () => undefined,
  close: () => Promise.resolve(),
};

/**
 * Serves probes, metrics and the HTTP interface from before the first connection to Kafka until after the last commit,
 * so that whoever looks is always told what is waited for.
 */
export async function openServiceFront(options: ServiceFrontOptions): Promise<ServiceFront> {
  const { config, plan, once, log } = options;
  const enabled = config['http.enabled'];
  if (enabled === 'false' || (enabled === 'auto' && once)) return noFront;
  let running: RunningParts | undefined;
  let watch: SourceWatch | undefined;
  let stateWatch: StateWatch | undefined;
  let refreshWatch: RefreshWatch | undefined;
  let interrupted: InterruptedRefreshes | undefined;
  let readable: ReadableWatch | undefined;
  const startedMs = systemClock.now();
  const pipeline = config['pipeline.name'] ?? '';
  const readyLagMax = config['http.readyLagMax'];
  const health = new ServiceHealth(
    {
      flows: plan.flows.map(({ name }) => name),
      deadAfterMs: config['http.deadAfterMs'],
      readyLagMax: readyLagMax < 0 ? Number.POSITIVE_INFINITY : readyLagMax,
    },
    systemClock.monotonic(),
  );
  const metrics = new ServiceMetrics({
    pipeline,
    plan,
    version,
    health,
    startedMs,
    progress: () => running?.worker.progress(),
    facts: () => running?.worker.facts ?? [],
    waiting: (flow, source) => watch?.waiting(flow, source),
    readable: () => readable?.figures() ?? [],
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic(),
    hasProcessMetrics: true,
    store: config['state.kind'],
    mode: once ? 'triggered' : 'continuous',
    freshnessObjectiveMs: config['freshness.objectiveMs'],
  });
  const events = new RecentEvents();
  const verbs = new VerbProcesses(config, options.files);
  const views = new ServiceViews({
    pipeline,
    config,
    plan,
    version,
    clock: systemClock,
    startedMs,
    health,
    metrics,
    events,
    running: () => running,
    startVerb: verbs.start,
  });
  const routes = serviceRoutes(views, version);
  const server = await listen(options, {
    routes,
    onAnswer: (status) => metrics.answered(status),
  });
  if (server === undefined) return noFront;
  let closing: Promise<void> | undefined;
  log.info({ host: config['http.host'], port: server.port }, 'serving HTTP');
  return {
    hear: (event) => {
      try {
        health.hear(event, systemClock.monotonic());
        metrics.hear(event, systemClock.now());
        events.hear(event, systemClock.now());
      } catch (error) {
        // What looks on must not stop what it looks at.
        log.bug(error, 'an event could not be counted');
      }
    },
    requested: (request) => {
      if (request.error === undefined) health.answered(systemClock.monotonic());
      metrics.requested(request);
    },
    measure: (store) => measureStateStore(store, config['state.kind'], metrics.registry),
    attach: (parts, tracer) => {
      running = parts;
      const { worker } = parts;
      watch = new SourceWatch({
        log: parts.log,
        clock: systemClock,
        progress: () => worker.progress(),
        facts: worker.facts,
        lastToStop: new LastToStop(parts.log, pipeline, config['instance.name'] ?? ''),
      });
      stateWatch = new StateWatch({
        store: parts.state,
        keyCounts: () => worker.keyCounts(),
        onSize: (size) => metrics.sized(size),
      });
      stateWatch.start();
      interrupted = new InterruptedRefreshes({
        catalog: worker.catalog,
        clock: systemClock,
        plan,
        instance: config['instance.name'] ?? '',
        start: verbs.start,
        say: (fields, text) => log.info(fields, text),
      });
      const spans =
        tracer === undefined
          ? undefined
          : new RefreshSpans({
              tracer,
              tellsOf: (table) => ownPartitions(worker, table).includes(0),
            });
      refreshWatch = new RefreshWatch({
        catalog: worker.catalog,
        onceFlows: plan.flows.filter((flow) => flow.once === true),
        onLook: ({ refreshes, onceDone }) => {
          metrics.refreshed(refreshes);
          metrics.onceDone(onceDone);
          spans?.look(refreshes);
          interrupted?.look(refreshes).catch((error: unknown) => {
            log.bug(error, 'an interrupted refresh could not be finished');
          });
        },
      });
      refreshWatch.start((error) => log.bug(error, 'the refreshes could not be looked at'));
      watch.start((error) => log.bug(error, 'the sources could not be looked at'));
      readable = new ReadableWatch({
        log: parts.log,
        clock: systemClock,
        catalog: worker.catalog,
        pipeline,
        plan,
        ownPartitions: (table) => ownPartitions(worker, table),
      });
      readable.start((error) => log.bug(error, 'the tables could not be looked at'));
    },
    stopping: () => health.stopping(),
    ended: (result) => metrics.ended(result),
    isServing: true,
    stays: () => health.stays(),
    close: () => {
      closing ??= server.close().then(async () => {
        await watch?.close().catch(() => undefined);
        await stateWatch?.close();
        interrupted?.close();
        await refreshWatch?.close().catch(() => undefined);
        await readable?.close().catch(() => undefined);
        await views.close().catch(() => undefined);
        await verbs.close();
      });
      return closing;
    },
  };
}

/** A table stage owns the output of its partitions; what append flows write is told of by whoever reads their first source. */
function ownPartitions(worker: Worker, table: string): readonly number[] {
  const [first] = worker.facts.filter((one) => one.table.name === table);
  if (first === undefined) return [];
  const held =
    worker.progress().flows.find(({ flow }) => flow === first.flow.name)?.partitions ?? [];
  if (first.repartition !== undefined) {
    const { topic } = first.repartition;
    return held.flatMap((one) => (one.topic === topic ? [one.partition] : []));
  }
  const [source] = first.sources;
  const isFirst = held.some(({ topic, partition }) => topic === source?.topic && partition === 0);
  return isFirst
    ? Array.from({ length: first.output.partitions }, (_, partition) => partition)
    : [];
}

/**
 * Undefined: the port is taken, and nobody insists on it. An update beside a service, as in the pod of one, finds its settings and
 * the port taken, and is none the worse for it.
 */
async function listen(
  { config, log, once }: ServiceFrontOptions,
  service: Pick<Parameters<typeof startHttpServer>[0], 'routes' | 'onAnswer'>,
): Promise<HttpServer | undefined> {
  try {
    return await startHttpServer({
      ...service,
      host: config['http.host'],
      port: config['http.port'],
      token: tokenReader(config),
      handlerTimeoutMs: config['http.timeoutMs'],
      requestsPerSecondMax: config['http.requestsPerSecondMax'],
      onBug: (error) => log.bug(error, 'an answer of the HTTP interface failed'),
    });
  } catch (error) {
    if (!(error instanceof FlowError) || (config['http.enabled'] !== 'auto' && !once)) throw error;
    log.trouble(
      `${error.message}; the run goes on without it. ${error.detail ?? ''} http.port = 0 takes any that is free.`,
    );
    return undefined;
  }
}

/** The token as its file has it now. While the file cannot be read, the last one stands. */
function tokenReader(config: Config): () => string | undefined {
  const path = config['http.tokenFile'];
  let token = config['http.token'];
  let readAtMs = -1;
  return () => {
    if (path !== undefined) {
      try {
        const { mtimeMs } = statSync(path);
        if (mtimeMs !== readAtMs) {
          token = readFileSync(path, 'utf8').trim();
          readAtMs = mtimeMs;
        }
      } catch {
        // A secret that is mounted anew is away for a moment.
      }
    }
    return token === '' ? undefined : token;
  };
}
