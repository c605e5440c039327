import { HttpProblem } from '../adapters/http/http-problem.ts';
import type {
  EventQuery,
  JsonObject,
  RefreshAction,
  ServiceApi,
  Verdict,
} from '../adapters/http/service-api.ts';
import type { Config } from '../config/options.ts';
import { readProvenance, topicIdHex } from '../data/provenance.ts';
import { decodeRowSet } from '../data/row-set.ts';
import { sequenceCodec } from '../data/sequence.ts';
import { formatType } from '../data/type-text.ts';
import { hasJoinedRows } from '../plan/flows/joined-rows.ts';
import {
  type FlowPlan,
  isKeyed,
  isOutside,
  type KeyedFlowPlan,
  type PipelinePlan,
  type TablePlan,
} from '../plan/pipeline-plan.ts';
import { catalogTopicOf, groupOf } from '../plan/topology.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { StateStore } from '../ports/state-store.ts';
import { gapText } from '../refresh/continuity.ts';
import { type CommittedSet, readTableKeys } from '../runtime/inspect/read-table.ts';
import { keyColumnsOf, keyless, parseTableKey } from '../runtime/inspect/table-key.ts';
import { type RecordedGap, recordedGaps } from '../runtime/takeover/gaps.ts';
import { Catalog } from '../runtime/topics/catalog.ts';
import type { Worker } from '../runtime/worker/worker.ts';
import type { FlowProgress, WorkerProgress } from '../runtime/worker/worker-progress.ts';
import type { RecentEvents } from './recent-events.ts';
import { rowSetJson } from './row-set-json.ts';
import type { TopicNames } from './row-source.ts';
import { errorFields } from './run-log.ts';
import type { ServiceHealth } from './service-health.ts';
import { type ServiceMetrics, sourceTopics } from './service-metrics.ts';
import { type RefreshAnswer, TableRefreshes } from './table-refreshes.ts';
import { flowSummary } from './update-summary.ts';
import { outcomeWithin, printed, type StartVerb } from './verb-process.ts';

/** What runs once Kafka and the state store have answered. */
export type RunningParts = {
  readonly worker: Worker;
  readonly log: Log;
  readonly state: StateStore;
};

export type ServiceViewsOptions = {
  readonly pipeline: string;
  readonly config: Config;
  readonly plan: PipelinePlan;
  readonly version: string;
  readonly clock: Clock;
  readonly startedMs: number;
  readonly health: ServiceHealth;
  readonly metrics: ServiceMetrics;
  readonly events: RecentEvents;
  readonly running: () => RunningParts | undefined;
  /** Runs verbs of this program in processes of their own. */
  readonly startVerb: StartVerb;
};

/** Reads of an output topic that are under way at once: each reads a whole partition. */
const logReadsMax = 2;

/**
 * Answers the HTTP interface from what this instance knows. Invariants: it changes nothing by itself, a refresh is the
 * work of a process of its own; rows come from a commit that
 * stands; what another instance owns is read from the output topic, never guessed.
 */
export class ServiceViews implements ServiceApi {
  readonly #options: ServiceViewsOptions;
  readonly #refreshes: TableRefreshes;
  #logReads = 0;
  #catalog: Catalog | undefined;
  /** Readings of the catalog go one after the other. */
  #catalogTurn: Promise<unknown> = Promise.resolve();

  constructor(options: ServiceViewsOptions) {
    this.#options = options;
    const { startVerb, clock, config } = options;
    // An answer is there before the interface gives up waiting for it.
    const patienceMs = config['http.timeoutMs'] * 0.8;
    this.#refreshes = new TableRefreshes({ start: startVerb, clock, patienceMs });
  }

  get #progress(): WorkerProgress | undefined {
    return this.#options.running()?.worker.progress();
  }

  alive(): Verdict {
    const { health, clock } = this.#options;
    return health.alive(this.#progress, clock.monotonic());
  }

  started(): Verdict {
    return this.#options.health.started();
  }

  ready(): Verdict {
    return this.#options.health.ready(this.#progress, this.#options.clock.monotonic());
  }

  async metrics(): Promise<{ contentType: string; text: string }> {
    const { metrics } = this.#options;
    return { contentType: metrics.registry.contentType, text: await metrics.text() };
  }

  pipeline(): JsonObject {
    const { pipeline, config, plan, version, startedMs } = this.#options;
    return {
      pipeline,
      instance: config['instance.name'] ?? '',
      version,
      state: this.#progress?.state ?? 'connecting',
      startedAt: time(startedMs),
      timeZone: plan.timeZone,
      delivery: config.delivery,
      stateStore: config['state.kind'],
      ready: this.ready().reasons.length === 0,
      sources: plan.sources
        .filter(isOutside)
        .map(({ name, topic, format }) => ({ name, topic, format })),
      tables: plan.tables.map(({ name }) => name),
      flows: plan.flows.map(({ name }) => name),
    };
  }

  flows(): readonly JsonObject[] {
    const progress = this.#progress;
    return this.#options.plan.flows.map((flow) =>
      this.#flow(
        flow,
        progress?.flows.find((one) => one.flow === flow.name),
      ),
    );
  }

  flow(name: string): JsonObject | undefined {
    return this.flows().find(({ flow }) => isSame(String(flow), name));
  }

  #flow(flow: FlowPlan, progress: FlowProgress | undefined): JsonObject {
    const { pipeline, plan, health } = this.#options;
    const sources = sourceTopics(plan, flow.name);
    const partitions = (progress?.partitions ?? []).map((one) => ({
      stage: sources.includes(one.topic) ? 'source' : 'table',
      topic: one.topic,
      partition: one.partition,
      position: one.position,
      committed: one.committed,
      stable: one.stable,
      end: one.end,
      lag: Math.max(0, one.stable - one.committed),
    }));
    const failed = progress?.failed;
    const isRestoring = health.restoringPartitions(flow.name) > 0;
    const isWaiting = partitions.length === 0;
    const error = failed === undefined ? undefined : errorFields(failed);
    return {
      flow: flow.name,
      table: flow.target,
      kind: flow.kind,
      group: progress?.group ?? groupOf(pipeline, flow.name),
      state: failed
        ? 'failed'
        : progress?.isPaused === true
          ? 'paused'
          : isRestoring
            ? 'restoring'
            : isWaiting
              ? 'waiting'
              : 'running',
      error: error === undefined ? null : faultOf(error),
      lag: partitions.reduce((sum, { lag }) => sum + lag, 0),
      outputRecords: progress?.outputRecords ?? 0,
      lastBadRow: lastBadRowOf(progress),
      sources,
      partitions,
      account: accountOf(flow.name, progress),
    };
  }

  tables(): readonly JsonObject[] {
    return this.#options.plan.tables.map((table) => this.#table(table));
  }

  table(name: string): JsonObject | undefined {
    return this.tables().find(({ table }) => isSame(String(table), name));
  }

  #table(table: TablePlan): JsonObject {
    const { flows, materializedViews } = this.#options.plan;
    const flow = flows.find(({ target }) => target === table.name);
    // A materialized view has no flow; a REPLACE WHERE flow computes its table as a view is computed.
    const computing = materializedViews.find(
      (one) => one.table === table.name && one.replaceWhere !== undefined,
    );
    return {
      table: table.name,
      topic: table.topic,
      flow: flow?.name ?? computing?.name ?? null,
      output: table.output,
      keys:
        flow !== undefined && isKeyed(flow)
          ? keyColumnsOf(table, flow).map(({ name }) => name)
          : [],
      columns: table.columns.map(({ name, type }) => ({ name, type: formatType(type) })),
      expectations: table.expectations.map(({ name, action, sql }) => ({ name, action, sql })),
      deadLetterTopic: table.deadLetterTopic ?? null,
      refresh: this.#refreshes.of(table.name) ?? null,
    };
  }

  async why(name: string, key: string): Promise<string | undefined> {
    const { plan, startVerb, clock, config } = this.#options;
    const table = plan.tables.find((one) => isSame(one.name, name));
    if (table === undefined) return undefined;
    const patienceMs = config['http.timeoutMs'] * 0.8;
    const run = startVerb(['why', table.name, key]);
    return printed(await outcomeWithin(run, { clock, patienceMs }));
  }

  async refresh(name: string, request: RefreshAction): Promise<RefreshAnswer | undefined> {
    const table = this.#options.plan.tables.find((one) => isSame(one.name, name));
    return table === undefined ? undefined : this.#refreshes.act(table.name, request);
  }

  async rows(name: string, keyText: string): Promise<string | undefined> {
    const { plan } = this.#options;
    const table = plan.tables.find((one) => isSame(one.name, name));
    const flow = plan.flows.find(({ target }) => target === table?.name);
    if (table === undefined || flow === undefined) return undefined;
    if (!isKeyed(flow)) throw keyless(table);
    const key = parseTableKey(keyColumnsOf(table, flow), keyText);
    const parts = this.#running();
    const origins = { topics: topicNames(parts.worker), areJoined: hasJoinedRows(plan, flow) };
    const isWhole = flow.kind === 'replace_using' && table.output === 'row_set' && !flow.distinct;
    const stored = isWhole ? await parts.worker.peek(flow.name, key) : undefined;
    if (stored !== undefined) {
      const set = storedSet(flow, key, stored);
      return rowSetJson({ key: key.toString(), set, table, flow, origins }, { readFrom: 'state' });
    }
    const set = await this.#readLog(parts.log, table, flow, key);
    return rowSetJson({ key: key.toString(), set, table, flow, origins }, { readFrom: 'log' });
  }

  async #readLog(
    log: Log,
    table: TablePlan,
    flow: KeyedFlowPlan,
    key: Buffer,
  ): Promise<CommittedSet | undefined> {
    if (this.#logReads >= logReadsMax) {
      throw new HttpProblem('OVERLOADED', 'too many output topics are being read', {
        hint: 'Ask the instance that owns the partition: it answers from its state.',
        headers: { 'retry-after': '1' },
      });
    }
    this.#logReads += 1;
    try {
      return (await readTableKeys({ log, table, flow }, [key]))[0];
    } finally {
      this.#logReads -= 1;
    }
  }

  #running(): RunningParts {
    const parts = this.#options.running();
    if (parts !== undefined) return parts;
    throw new HttpProblem('STARTING', 'Kafka or the state store is waited for', {
      headers: { 'retry-after': '5' },
    });
  }

  gaps(): Promise<readonly JsonObject[]> {
    const found = this.#catalogTurn.then(async () => {
      const { log } = this.#running();
      this.#catalog ??= new Catalog(log, catalogTopicOf(this.#options.pipeline));
      await this.#catalog.read();
      return recordedGaps(this.#catalog)
        .sort((a, b) => a.detectedAtMs - b.detectedAtMs)
        .map(gapJson);
    });
    this.#catalogTurn = found.catch(() => undefined);
    return found;
  }

  events(query: EventQuery): readonly JsonObject[] {
    return this.#options.events.find(query);
  }

  async close(): Promise<void> {
    await this.#catalogTurn;
    await this.#catalog?.close();
  }
}

function isSame(name: string, other: string): boolean {
  return name.toLowerCase() === other.toLowerCase();
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}

/** As the HTTP interface names the parts of an error. */
function faultOf(fields: Readonly<Record<string, unknown>>): JsonObject {
  const { error, ...others } = fields;
  return { ...others, message: error };
}

/** P127: a flow that sets rows aside must not look as if all were well. */
function lastBadRowOf(progress: FlowProgress | undefined): JsonObject | null {
  const rows = (progress?.partitions ?? []).flatMap(({ lastBadRow }) => lastBadRow ?? []);
  const [last] = rows.sort((a, b) => b.atMs - a.atMs);
  if (last === undefined) return null;
  const { atMs, ...row } = last;
  return { ...row, at: time(atMs) };
}

function accountOf(flow: string, progress: FlowProgress | undefined): JsonObject {
  const counters = (progress?.partitions ?? []).map(({ committedCounters }) => committedCounters);
  const { flow: _, ...account } = flowSummary(flow, counters, progress?.appends === true);
  return account;
}

function topicNames(worker: Worker): TopicNames {
  const sources = worker.facts.flatMap((facts) => facts.sources);
  return new Map(sources.map(({ topic, topicId }) => [topicIdHex(topicId), topic]));
}

/** The row-set of an entry that holds whole rows; undefined: the key has none. */
function storedSet(
  { sequenceType }: KeyedFlowPlan,
  key: Buffer,
  { partition, entry }: { readonly partition: number; readonly entry: Buffer | undefined },
): CommittedSet | undefined {
  const found = entry === undefined ? undefined : decodeRowSet(entry);
  if (found === undefined || found.rows.length === 0) return undefined;
  const { bytes, start, end } = found.sequence;
  return {
    partition,
    key: key.toString('utf8'),
    sequence: sequenceCodec(sequenceType).text(bytes, start, end),
    rows: found.rows.map(({ row, provenance }) => ({
      json: row.bytes.toString('utf8', row.start, row.end),
      sources: [readProvenance(provenance.bytes, provenance.start)],
    })),
  };
}

function gapJson(gap: RecordedGap): JsonObject {
  const { id, kind, flow, topic, partition, from, to, lostRecords } = gap;
  return {
    id,
    kind,
    flow,
    topic,
    partition,
    from: from ?? null,
    to,
    lostRecords: lostRecords ?? null,
    text: gapText(gap),
    detectedAt: time(gap.detectedAtMs),
    acceptedAt: gap.acceptedAtMs === undefined ? null : time(gap.acceptedAtMs),
    refreshedAt: gap.refreshedAtMs === undefined ? null : time(gap.refreshedAtMs),
  };
}
