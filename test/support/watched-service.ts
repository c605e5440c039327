import { type HttpServer, startHttpServer } from '../../src/adapters/http/http-server.ts';
import { serviceRoutes } from '../../src/adapters/http/service-routes.ts';
import type { MemoryLog } from '../../src/adapters/memory/memory-log.ts';
import { MemoryStateStore } from '../../src/adapters/memory/memory-state-store.ts';
import { measureStateStore } from '../../src/adapters/prometheus/measured-state-store.ts';
import { systemClock } from '../../src/adapters/system/system-clock.ts';
import { LastToStop } from '../../src/cli/last-to-stop.ts';
import { RecentEvents } from '../../src/cli/recent-events.ts';
import { ServiceHealth } from '../../src/cli/service-health.ts';
import { ServiceMetrics } from '../../src/cli/service-metrics.ts';
import { type RunningParts, ServiceViews } from '../../src/cli/service-views.ts';
import { SourceWatch } from '../../src/cli/source-watch.ts';
import { traceListener } from '../../src/cli/trace-listener.ts';
import type { StartVerb } from '../../src/cli/verb-process.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { parseColumnsText } from '../../src/data/type-text.ts';
import type { PipelinePlan } from '../../src/plan/pipeline-plan.ts';
import { planPipeline } from '../../src/plan/plan-pipeline.ts';
import type { Log } from '../../src/ports/log.ts';
import type { StateStore } from '../../src/ports/state-store.ts';
import type { Tracer } from '../../src/ports/tracer.ts';
import type { Readable } from '../../src/runtime/inspect/readable-watch.ts';
import type { RuntimeEvent } from '../../src/runtime/runtime-events.ts';
import { defaultWorkerSettings, startWorker } from '../../src/runtime/worker/start-worker.ts';
import { until } from './service-process.ts';

export const watchedSql = `CREATE STREAMING TABLE cur (
  CONSTRAINT positive EXPECT (qty > 0) ON VIOLATION DROP ROW
) WITH (dead_letter_topic = 'bad')
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, item, qty, seq FROM STREAM(orders) WHERE item <> 'skip';`;

export function watchedPlan(sql = watchedSql): PipelinePlan {
  const schemas = new Map([
    ['orders', parseColumnsText('region STRING, item STRING, qty INT, seq BIGINT')],
  ]);
  const { plan, faults } = planPipeline([{ file: 'cur.sql', text: sql }], { schemas });
  if (plan === undefined) throw new Error(faults.map(({ message }) => message).join('; '));
  return plan;
}

export type WatchedOptions = {
  readonly memory: MemoryLog;
  readonly state?: StateStore;
  readonly plan?: PipelinePlan;
  readonly instance?: string;
  readonly readyLagMax?: number;
  readonly readable?: () => readonly Readable[];
  readonly startVerb?: StartVerb;
  readonly httpTimeoutMs?: number;
  readonly tracer?: Tracer;
};

const noVerb: StartVerb = ([verb]) => {
  throw new Error(`nobody runs the verb ${verb}`);
};

/**
 * A worker on a log in memory with all that `run` puts around it, but for the process: metrics, health, events, HTTP.
 */
export class WatchedService {
  readonly plan: PipelinePlan;
  readonly health: ServiceHealth;
  readonly metrics: ServiceMetrics;
  readonly events = new RecentEvents();
  readonly views: ServiceViews;
  readonly log: Log;
  readonly #options: WatchedOptions;
  readonly state: StateStore;
  watch: SourceWatch | undefined;
  running: RunningParts | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #server: HttpServer | undefined;

  constructor(options: WatchedOptions) {
    this.#options = options;
    this.plan = options.plan ?? watchedPlan();
    this.log = options.memory.connect();
    const progress = () => this.running?.worker.progress();
    this.health = new ServiceHealth(
      {
        flows: this.plan.flows.map(({ name }) => name),
        deadAfterMs: 10_000,
        readyLagMax: options.readyLagMax ?? Number.POSITIVE_INFINITY,
      },
      systemClock.monotonic(),
    );
    this.metrics = new ServiceMetrics({
      pipeline: 'p',
      plan: this.plan,
      version: '1.2.3',
      health: this.health,
      startedMs: systemClock.now(),
      progress,
      facts: () => this.running?.worker.facts ?? [],
      waiting: (flow, source) => this.watch?.waiting(flow, source),
      readable: options.readable ?? (() => []),
      now: () => systemClock.now(),
      monotonic: () => systemClock.monotonic(),
      hasProcessMetrics: false,
      store: 'embedded',
      mode: 'continuous',
      freshnessObjectiveMs: 60_000,
    });
    this.state = measureStateStore(
      options.state ?? new MemoryStateStore(),
      'embedded',
      this.metrics.registry,
    );
    this.views = new ServiceViews({
      pipeline: 'p',
      config: loadConfig({
        file: undefined,
        environment: {},
        flags: new Map([
          ['pipeline.name', 'p'],
          ['instance.name', options.instance ?? '0'],
          ['http.timeoutMs', String(options.httpTimeoutMs ?? 5_000)],
        ]),
      }),
      plan: this.plan,
      version: '1.2.3',
      clock: systemClock,
      startedMs: systemClock.now(),
      health: this.health,
      metrics: this.metrics,
      events: this.events,
      running: () => this.running,
      startVerb: options.startVerb ?? noVerb,
    });
  }

  hear(event: RuntimeEvent): void {
    this.health.hear(event, systemClock.monotonic());
    this.metrics.hear(event, systemClock.now());
    this.events.hear(event, systemClock.now());
    const { tracer } = this.#options;
    if (tracer === undefined) return;
    const outputTopic = (flow: string): string => flow;
    traceListener({ tracer, clock: systemClock, transactionalId: 'p-0', outputTopic })(event);
  }

  async start(): Promise<this> {
    const worker = await startWorker({
      plan: this.plan,
      log: this.log,
      state: this.state,
      clock: systemClock,
      listener: (event) => this.hear(event),
      tracer: this.#options.tracer,
      replicationFactor: -1,
      settings: {
        ...defaultWorkerSettings,
        pipeline: 'p',
        instance: this.#options.instance ?? '0',
        token: this.#options.instance ?? '0',
        commitIntervalMs: 5,
        retryDelayMinMs: 1,
        retriesMax: 50,
      },
    });
    this.running = { worker, log: this.log, state: this.state };
    this.watch = new SourceWatch({
      log: this.log,
      clock: systemClock,
      progress: () => worker.progress(),
      facts: worker.facts,
      lastToStop: new LastToStop(this.log, 'p', this.#options.instance ?? '0'),
    });
    this.#ended = worker.run().catch((error: unknown) => error);
    return this;
  }

  /** Serves on a free port of the loopback address, and gives the base of its URLs. */
  async serve(): Promise<string> {
    this.#server = await startHttpServer({
      host: '127.0.0.1',
      port: 0,
      routes: serviceRoutes(this.views, '1.2.3'),
      token: () => undefined,
      handlerTimeoutMs: 5_000,
      requestsPerSecondMax: 1_000,
      onAnswer: (status) => this.metrics.answered(status),
      onBug: (error) => {
        throw error;
      },
    });
    return `http://127.0.0.1:${this.#server.port}`;
  }

  /** Until everything that this instance reads is committed, and something was. */
  async caughtUp(records: number): Promise<void> {
    await until(
      'the worker has caught up',
      async () => {
        await Promise.resolve();
        const progress = this.running?.worker.progress();
        const partitions = progress?.flows.flatMap((flow) => flow.partitions) ?? [];
        const read = partitions.reduce(
          (sum, { committedCounters: counters }) =>
            sum + ('records' in counters ? counters.records : 0),
          0,
        );
        const rows = partitions.map(({ committedCounters: counters }) =>
          'records' in counters ? counters.handedOn : -counters.rows,
        );
        return read >= records && rows.reduce((sum, one) => sum + one, 0) === 0;
      },
      { withinMs: 15_000, everyMs: 10 },
    );
  }

  /** The value of each series as it is exposed now. */
  async scrape(): Promise<ReadonlyMap<string, number>> {
    return parseExposition(await this.metrics.text());
  }

  async stop(): Promise<unknown> {
    await this.#server?.close();
    await this.watch?.close();
    this.running?.worker.stop();
    const failure = await this.#ended;
    await this.views.close().catch(() => undefined);
    await this.log.close();
    return failure;
  }
}

/** Series without the label of the pipeline → value. */
export function parseExposition(text: string): ReadonlyMap<string, number> {
  const series = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const at = line.lastIndexOf(' ');
    const name = line
      .slice(0, at)
      .replace(/,?pipeline="p"/, '')
      .replace('{,', '{')
      .replace('{}', '');
    const text = line.slice(at + 1);
    series.set(name, text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text));
  }
  return series;
}
