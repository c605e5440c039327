import type { RequestListener } from '../adapters/kafka/connection.ts';
import { memoryLimitBytes } from '../adapters/prometheus/memory-limit.ts';
import { kafkaApis } from '../adapters/prometheus/metric-declarations.ts';
import { MetricRegistry } from '../adapters/prometheus/metric-registry.ts';
import { deadLetterReasons } from '../base/dead-letter-reason.ts';
import { isKeyed, type PipelinePlan } from '../plan/pipeline-plan.ts';
import type { CommitPhases } from '../ports/log.ts';
import { refreshFigures } from '../refresh/refresh-progress.ts';
import { isOver } from '../refresh/refresh-states.ts';
import { type FlowFacts, feedOf } from '../runtime/inspect/flow-facts.ts';
import type { Readable } from '../runtime/inspect/readable-watch.ts';
import type { RefreshRecord } from '../runtime/refresh/refresh-record.ts';
import type { RuntimeEvent } from '../runtime/runtime-events.ts';
import type { PartitionProgress } from '../runtime/takeover/held-partition.ts';
import type { FlowFigures } from '../runtime/worker/flow-tally.ts';
import { stages } from '../runtime/worker/stage-times.ts';
import type { FlowProgress, WorkerProgress } from '../runtime/worker/worker-progress.ts';
import type { WorkerState } from '../runtime/worker/worker-states.ts';
import type { Replaced } from '../task/key/keyed-task.ts';
import {
  type FlowCounters,
  tableOutcomes as outcomes,
  type TableCounters,
  unexplained,
} from '../task/row-account.ts';
import { CommittedGrowth, type Growth } from './committed-growth.ts';
import type { ServiceHealth } from './service-health.ts';
import type { Waiting } from './source-watch.ts';
import type { StateSize } from './state-watch.ts';

export type ServiceMetricsOptions = {
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  readonly version: string;
  readonly health: ServiceHealth;
  readonly startedMs: number;
  /** Undefined while Kafka and the state store are waited for. */
  readonly progress: () => WorkerProgress | undefined;
  readonly facts: () => readonly FlowFacts[];
  /** What waits in a source of a flow; undefined while nobody watches. */
  readonly waiting: (flow: string, source: string) => Waiting | undefined;
  /** What can't be read again of the partitions of this instance; absent: nobody measures. */
  readonly readable?: () => readonly Readable[];
  readonly now: () => number;
  /** Milliseconds of the clock that only goes forward. */
  readonly monotonic: () => number;
  readonly hasProcessMetrics: boolean;
  readonly store: 'redis' | 'embedded';
  readonly mode: UpdateMode;
  readonly freshnessObjectiveMs: number;
};

export type UpdateMode = 'triggered' | 'continuous';

const workerStates: readonly WorkerState[] = [
  'created',
  'starting',
  'running',
  'recovering',
  'stopping',
  'stopped',
  'failed',
];
const updateModes = ['triggered', 'continuous'] as const;
const updateResults = ['started', 'completed', 'failed'] as const;
const commitPhases = ['total', 'flush', 'send_offsets', 'end_txn'] as const;
const commitResults = ['ok', 'aborted', 'fenced'] as const;
const rebuildReasons = ['empty', 'foreign', 'behind'] as const;
const requestErrors = ['BROKER_TIMEOUT', 'BROKER_UNAVAILABLE'] as const;
/** What becomes of a row that violates an expectation. */
const violations = { warn: 'warned', drop: 'dropped', fail: 'failed' } as const;
const refreshResults = ['done', 'cancelled'] as const;
const remedies = ['retry', 'rejoin', 'rebuild-state', 'stop'] as const;
const statusClasses = ['2xx', '4xx', '5xx'];

/**
 * Turns what the runtime tells into metrics. Invariants: rows and records are counted when their commit stands, so a
 * replay counts nothing twice; every series that the plan allows is there from the start, with 0.
 */
export class ServiceMetrics {
  readonly registry: MetricRegistry;
  readonly #options: ServiceMetricsOptions;
  readonly #growth = new CommittedGrowth();
  #fencings = 0;
  readonly #recordBytesMax = new Map<string, number>();
  readonly #stageMs = new Map<string, number>();
  #evictedKeys: number | undefined;
  /** Table → start and state of its refresh, as last seen. */
  readonly #refreshes = new Map<string, string>();
  #hasLooked = false;
  /** Flows whose next assignment comes from a recovery. */
  readonly #recovering = new Set<string>();

  constructor(options: ServiceMetricsOptions) {
    this.#options = options;
    const { pipeline, hasProcessMetrics, version, startedMs } = options;
    this.registry = new MetricRegistry({ pipeline, hasProcessMetrics });
    const { registry } = this;
    registry.set('tidemark_build_info', { version, node_version: process.version }, 1);
    registry.set('tidemark_last_commit_timestamp_seconds', {}, startedMs / 1000);
    registry.set('tidemark_process_memory_limit_bytes', {}, memoryLimitBytes());
    for (const name of [
      'tidemark_kafka_throttle_seconds_total',
      'tidemark_fencings_total',
      'tidemark_fenced_instances_total',
    ] as const) {
      registry.count(name, {}, 0);
    }
    for (const mode of updateModes) {
      for (const result of updateResults) {
        const isThis = mode === options.mode && result === 'started';
        registry.count('tidemark_updates_total', { mode, result }, isThis ? 1 : 0);
      }
    }
    for (const result of commitResults) registry.count('tidemark_commits_total', { result }, 0);
    for (const phase of commitPhases) {
      registry.start('tidemark_commit_duration_seconds', { phase });
    }
    for (const stage of stages) registry.count('tidemark_stage_seconds_total', { stage }, 0);
    for (const api of kafkaApis) {
      registry.start('tidemark_kafka_request_duration_seconds', { api });
      for (const error of [...requestErrors, 'other']) {
        registry.count('tidemark_kafka_request_errors_total', { api, error }, 0);
      }
    }
    for (const remedy of remedies) registry.count('tidemark_recoveries_total', { remedy }, 0);
    for (const status of statusClasses)
      registry.count('tidemark_http_requests_total', { status }, 0);
    for (const { name } of options.plan.flows) this.#startFlow(name);
    for (const { name: table } of options.plan.tables) {
      this.#showRefresh(table, undefined);
      for (const result of refreshResults) {
        registry.count('tidemark_full_refreshes_total', { table, result }, 0);
      }
    }
  }

  #startFlow(flow: string): void {
    const { registry } = this;
    const plan = this.#options.plan.flows.find(({ name }) => name === flow);
    const table = this.#options.plan.tables.find(({ name }) => name === plan?.target);
    registry.set('tidemark_info', { flow, target: table?.name ?? '', kind: plan?.kind ?? '' }, 1);
    const objective = this.#options.freshnessObjectiveMs / 1000;
    registry.set('tidemark_freshness_objective_seconds', { flow }, objective);
    if (plan?.once === true) registry.set('tidemark_once_done', { flow }, 0);
    for (const source of sourceTopics(this.#options.plan, flow)) this.#countSource(flow, source);
    for (const { name } of table?.expectations ?? []) {
      this.#countExpectation(flow, name, { passed: 0, failed: 0 });
    }
    for (const outcome of outcomes) {
      registry.count('tidemark_keyed_rows_total', { flow, outcome }, 0);
    }
    registry.count('tidemark_rebalances_total', { flow }, 0);
    registry.start('tidemark_end_to_end_latency_seconds', { flow });
    registry.start('tidemark_row_set_rows', { flow });
    if (plan?.kind === 'replace_using') this.#countReplaced(flow, { sets: 0, rows: 0 });
    for (const op of ['upsert', 'delete']) {
      registry.count('tidemark_output_records_total', { flow, op }, 0);
    }
    registry.count('tidemark_output_bytes_total', { flow }, 0);
    for (const reason of rebuildReasons) {
      registry.count('tidemark_state_rebuilds_total', { flow, reason }, 0);
    }
    registry.count('tidemark_state_rebuild_records_total', { flow }, 0);
  }

  hear(event: RuntimeEvent, nowMs: number): void {
    const { registry } = this;
    const progress = this.#options.progress();
    switch (event.event) {
      case 'committed':
        registry.count('tidemark_commits_total', { result: 'ok' });
        this.#showPhases(event.durationMs, event.phases);
        for (const figures of event.flows) this.#countFigures(figures, nowMs);
        registry.observe('tidemark_commit_records', {}, event.records);
        registry.set('tidemark_last_commit_timestamp_seconds', {}, nowMs / 1000);
        if (progress !== undefined) this.#count(this.#growth.committed(progress));
        break;
      case 'assigned': {
        const { flow } = event;
        // After a fault the partitions are taken once more, and the group has nothing to do with it.
        if (!this.#recovering.delete(flow)) {
          registry.count('tidemark_rebalances_total', { flow });
          registry.observe('tidemark_rebalance_duration_seconds', {}, event.durationMs / 1000);
        }
        const found = progress?.flows.find((one) => one.flow === flow);
        if (found !== undefined) this.#count(this.#growth.assigned(found));
        break;
      }
      case 'recovering':
        registry.count('tidemark_recoveries_total', { remedy: event.error.remedy });
        registry.count('tidemark_commits_total', {
          result: event.error.code === 'PRODUCER_FENCED' ? 'fenced' : 'aborted',
        });
        for (const { name } of this.#options.plan.flows) this.#recovering.add(name);
        if (progress !== undefined) {
          this.#growth.doubted(progress, event.error.code === 'TASK_MIGRATED');
        }
        break;
      case 'fencing':
        registry.count('tidemark_fenced_instances_total', {});
        break;
      case 'restored':
        registry.count('tidemark_state_rebuilds_total', { flow: event.flow, reason: event.cause });
        registry.count('tidemark_state_rebuild_records_total', { flow: event.flow }, event.records);
        registry.observe('tidemark_state_rebuild_duration_seconds', {}, event.durationMs / 1000);
        break;
      case 'gap': {
        const { flow, gap } = event;
        const labels = { flow, source: gap.topic };
        registry.count('tidemark_retention_lost_records_total', labels, gap.lostRecords ?? 0);
        break;
      }
      default:
        break;
    }
  }

  #showPhases(durationMs: number, phases: CommitPhases | undefined): void {
    const show = (phase: (typeof commitPhases)[number], ms: number): void =>
      this.registry.observe('tidemark_commit_duration_seconds', { phase }, ms / 1000);
    show('total', durationMs);
    if (phases === undefined) return;
    show('flush', phases.flush);
    show('send_offsets', phases.sendOffsets);
    show('end_txn', phases.endTransaction);
  }

  #countFigures(figures: FlowFigures, nowMs: number): void {
    const { registry } = this;
    const { flow, inputBytes, upserts, deletes, outputBytes, recordBytesMax } = figures;
    for (const [source, bytes] of inputBytes) {
      registry.count('tidemark_input_bytes_total', { flow, source }, bytes);
    }
    registry.count('tidemark_output_records_total', { flow, op: 'upsert' }, upserts);
    registry.count('tidemark_output_records_total', { flow, op: 'delete' }, deletes);
    registry.count('tidemark_output_bytes_total', { flow }, outputBytes);
    if (figures.replaced.sets > 0) this.#countReplaced(flow, figures.replaced);
    for (const [rows, count] of figures.setRows) {
      registry.observe('tidemark_row_set_rows', { flow }, rows, count);
    }
    for (const { timestampMs, count } of figures.times) {
      const age = Math.max(0, nowMs - timestampMs) / 1000;
      registry.observe('tidemark_end_to_end_latency_seconds', { flow }, age, count);
    }
    const largest = Math.max(recordBytesMax, this.#recordBytesMax.get(flow) ?? 0);
    this.#recordBytesMax.set(flow, largest);
    registry.set('tidemark_row_set_bytes_max', { flow }, largest);
  }

  #countReplaced(flow: string, { sets, rows }: Replaced): void {
    this.registry.count('tidemark_row_sets_replaced_total', { flow }, sets);
    this.registry.count('tidemark_rows_retracted_total', { flow }, rows);
  }

  /** The run is over. */
  ended(result: 'completed' | 'failed'): void {
    this.registry.count('tidemark_updates_total', { mode: this.#options.mode, result });
  }

  /** Flows that run once and have, as of a look at the catalog; others may run once more. */
  onceDone(done: ReadonlySet<string>): void {
    for (const { name: flow, once } of this.#options.plan.flows) {
      if (once !== true) continue;
      this.registry.set('tidemark_once_done', { flow }, done.has(flow) ? 1 : 0);
    }
  }

  /** How far full refreshes are, as of a look at the catalog. */
  refreshed(records: readonly RefreshRecord[]): void {
    for (const record of records) {
      const { table, state, startedAtMs } = record;
      this.#showRefresh(table, record);
      const now = `${startedAtMs} ${state}`;
      const before = this.#refreshes.get(table);
      this.#refreshes.set(table, now);
      // What had ended before the first look is not counted.
      if (!this.#hasLooked || before === now) continue;
      const result = refreshResults.find((one) => one === state);
      if (result !== undefined) {
        this.registry.count('tidemark_full_refreshes_total', { table, result });
      }
    }
    this.#hasLooked = true;
  }

  /** Tables of which this instance has partitions that it could look at. */
  #showReadable(): void {
    const measured = this.#options.readable?.() ?? [];
    for (const { name: table } of this.#options.plan.tables) {
      const parts = measured.filter((one) => one.table === table);
      if (parts.length === 0) continue;
      const sum = (of: 'rows' | 'lost' | 'atRisk'): number =>
        parts.reduce((total, one) => total + one[of], 0);
      const [rows, lost] = [sum('rows'), sum('lost')];
      this.registry.set('tidemark_table_unreadable_rows', { table }, lost);
      const flow = keyedFlowOf(this.#options.plan, table);
      if (flow !== undefined) this.registry.set('tidemark_state_rows', { flow }, rows);
      const ratio = rows === 0 ? 1 : (rows - lost - sum('atRisk')) / rows;
      this.registry.set('tidemark_table_readable_ratio', { table }, ratio);
    }
  }

  #showRefresh(table: string, record: RefreshRecord | undefined): void {
    const { registry } = this;
    const isActive = record !== undefined && !isOver(record.state);
    registry.set('tidemark_full_refresh_active', { table }, isActive ? 1 : 0);
    const read = record?.read ?? 0;
    const share =
      record?.state === 'done' ? 1 : Math.min(1, read / Math.max(1, record?.toRead ?? 0));
    registry.set('tidemark_full_refresh_progress_ratio', { table }, share);
    const left = isActive ? refreshFigures(record).secondsLeft : undefined;
    registry.set('tidemark_full_refresh_remaining_seconds', { table }, left ?? 0);
    const startedAt = (record?.startedAtMs ?? 0) / 1000;
    registry.set('tidemark_full_refresh_start_timestamp_seconds', { table }, startedAt);
  }

  /** A request to Kafka is over. */
  readonly requested: RequestListener = ({ api: name, durationMs, throttleMs, error }) => {
    const { registry } = this;
    const api = kafkaApis.find((known) => known === name) ?? 'other';
    registry.observe('tidemark_kafka_request_duration_seconds', { api }, durationMs / 1000);
    registry.count('tidemark_kafka_throttle_seconds_total', {}, throttleMs / 1000);
    if (error === undefined) return;
    const known = requestErrors.find((code) => code === error.code) ?? 'other';
    registry.count('tidemark_kafka_request_errors_total', { api, error: known });
  };

  /** How large the state is, as of a look. */
  sized({ usage, keys }: StateSize): void {
    const { registry } = this;
    const { store } = this.#options;
    registry.set('tidemark_state_store_used_bytes', { store }, usage.usedBytes);
    registry.set('tidemark_state_store_limit_bytes', { store }, usage.limitBytes);
    const before = this.#evictedKeys ?? usage.evictedKeys;
    // A store that was restarted counts from 0 again.
    const evicted = usage.evictedKeys < before ? usage.evictedKeys : usage.evictedKeys - before;
    registry.count('tidemark_state_store_evicted_keys_total', { store }, evicted);
    this.#evictedKeys = usage.evictedKeys;
    for (const [flow, count] of keys) registry.set('tidemark_state_keys', { flow }, count);
  }

  /** An answer of the HTTP interface. */
  answered(httpStatus: number): void {
    const status = `${Math.floor(httpStatus / 100)}xx`;
    this.registry.count('tidemark_http_requests_total', { status });
  }

  #count(grown: readonly Growth[]): void {
    for (const { flow, topic, counters } of grown) {
      if ('records' in counters) this.#countSource(flow, topic, counters);
      else this.#countTable(flow, counters);
    }
  }

  #countSource(flow: string, source: string, grown?: FlowCounters): void {
    const { registry } = this;
    const labels = { flow, source };
    registry.count('tidemark_input_records_total', labels, grown?.records ?? 0);
    registry.count('tidemark_input_bytes_total', labels, 0);
    registry.count('tidemark_retention_lost_records_total', labels, 0);
    registry.count('tidemark_decoded_records_total', labels, grown?.decoded ?? 0);
    registry.count('tidemark_tombstone_records_total', labels, grown?.tombstones ?? 0);
    for (const reason of deadLetterReasons) {
      const count = grown?.reasons[reason] ?? 0;
      registry.count('tidemark_dead_letter_records_total', { ...labels, reason }, count);
    }
    const skipped = { ...labels, reason: 'skipped' };
    registry.count('tidemark_dead_letter_records_total', skipped, grown?.skipped ?? 0);
    registry.count('tidemark_query_rows_total', labels, grown?.rows ?? 0);
    registry.count('tidemark_filtered_rows_total', labels, grown?.filtered ?? 0);
    registry.count('tidemark_dropped_rows_total', labels, grown?.dropped ?? 0);
    const operator = this.#isJoin(flow) ? 'join' : 'watermark';
    registry.count('tidemark_late_rows_total', { ...labels, operator }, grown?.late ?? 0);
    registry.count('tidemark_handed_on_rows_total', labels, grown?.handedOn ?? 0);
    for (const { name, ...counts } of grown?.expectations ?? []) {
      this.#countExpectation(flow, name, counts);
    }
  }

  #countExpectation(
    flow: string,
    expectation: string,
    counts: { readonly passed: number; readonly failed: number },
  ): void {
    const violated = violations[this.#actionOf(flow, expectation)];
    for (const [result, rows] of [
      ['passed', counts.passed],
      [violated, counts.failed],
    ] as const) {
      this.registry.count('tidemark_expectation_rows_total', { flow, expectation, result }, rows);
    }
  }

  #isJoin(flow: string): boolean {
    return this.#options.plan.flows.some(({ name, kind }) => name === flow && kind === 'join');
  }

  #actionOf(flow: string, expectation: string): keyof typeof violations {
    const { flows, tables } = this.#options.plan;
    const target = flows.find(({ name }) => name === flow)?.target;
    const table = tables.find(({ name }) => name === target);
    return table?.expectations.find(({ name }) => name === expectation)?.action ?? 'warn';
  }

  #countTable(flow: string, grown: TableCounters): void {
    for (const outcome of outcomes) {
      this.registry.count('tidemark_keyed_rows_total', { flow, outcome }, grown[outcome]);
    }
  }

  /** The exposition, with every gauge as it stands now. */
  text(): Promise<string> {
    const { registry } = this;
    const { health, progress: progressNow } = this.#options;
    const progress = progressNow();
    for (const state of workerStates) {
      registry.set('tidemark_pipeline_state', { state }, progress?.state === state ? 1 : 0);
    }
    registry.set(
      'tidemark_ready',
      {},
      health.ready(progress, this.#options.monotonic()).reasons.length === 0 ? 1 : 0,
    );
    if (progress !== undefined) {
      registry.count('tidemark_fencings_total', {}, progress.fencings - this.#fencings);
      this.#fencings = progress.fencings;
      for (const stage of stages) {
        const spentMs = progress.stageMs[stage];
        const seconds = Math.max(0, spentMs - (this.#stageMs.get(stage) ?? 0)) / 1000;
        registry.count('tidemark_stage_seconds_total', { stage }, seconds);
        this.#stageMs.set(stage, spentMs);
      }
      for (const flow of progress.flows) this.#showFlow(flow);
      this.#showStages(progress.flows);
    }
    this.#showReadable();
    return registry.text();
  }

  #showFlow(progress: FlowProgress): void {
    const { registry } = this;
    const { health, facts: factsNow } = this.#options;
    const { flow, failed, isPaused } = progress;
    registry.set('tidemark_flow_failed', { flow }, failed === undefined ? 0 : 1);
    registry.set('tidemark_flow_paused', { flow }, isPaused ? 1 : 0);
    const { eventTimeMs } = progress;
    if (eventTimeMs !== undefined) {
      registry.set('tidemark_watermark_timestamp_seconds', { flow }, eventTimeMs / 1000);
    }
    const restoring = health.restoringPartitions(flow);
    registry.set('tidemark_restoring_partitions', { flow }, restoring);
    registry.set(
      'tidemark_state_rebuild_remaining_records',
      { flow },
      health.restoreRemaining(flow),
    );
    const facts = factsNow().find((one) => one.flow.name === flow);
    if (facts !== undefined) this.#showPartitions(progress, facts);
  }

  /** Several flows may feed one table stage, so what is between the stages is told by table. */
  #showStages(flows: readonly FlowProgress[]): void {
    const between = new Map<string, number>();
    for (const { flow, partitions } of flows) {
      const facts = this.#options.facts().find((one) => one.flow.name === flow);
      if (facts === undefined || feedOf(facts) === undefined) continue;
      let rows = between.get(facts.table.name) ?? 0;
      for (const { committedCounters } of partitions) {
        if ('handedOn' in committedCounters) rows += committedCounters.handedOn;
        else rows -= committedCounters.rows - committedCounters.replayed;
      }
      between.set(facts.table.name, rows);
    }
    for (const [table, rows] of between) {
      this.registry.set('tidemark_stage_difference_rows', { table }, rows);
    }
  }

  #showPartitions({ flow, partitions }: FlowProgress, facts: FlowFacts): void {
    const { registry } = this;
    const lag = new Map<string, number>(facts.sources.map(({ topic }) => [topic, 0]));
    const gone = new Map<string, number>();
    const held = new Map<string, number>();
    const assigned = { source: 0, table: 0 };
    let difference = 0;
    for (const partition of partitions) {
      const { topic, stable, end, committed, committedCounters } = partition;
      gone.set(topic, (gone.get(topic) ?? 0) + unreadable(partition));
      lag.set(topic, (lag.get(topic) ?? 0) + Math.max(0, stable - committed));
      held.set(topic, (held.get(topic) ?? 0) + Math.max(0, end - stable));
      assigned[topic === facts.repartition?.topic ? 'table' : 'source'] += 1;
      difference += unexplained(committedCounters);
    }
    for (const { topic: source } of facts.sources) {
      registry.set('tidemark_source_lag_records', { flow, source }, lag.get(source) ?? 0);
      registry.set('tidemark_source_held_records', { flow, source }, held.get(source) ?? 0);
      const loss = gone.get(source) ?? 0;
      registry.set('tidemark_full_refresh_loss_records', { flow, source }, loss);
      this.#showWaiting(flow, source);
    }
    registry.set(
      'tidemark_table_lag_records',
      { flow },
      lag.get(facts.repartition?.topic ?? '') ?? 0,
    );
    const existing = {
      source: facts.sources.reduce((sum, one) => sum + one.partitions, 0),
      table: facts.repartition?.partitions ?? 0,
    };
    for (const stage of ['source', 'table'] as const) {
      registry.set('tidemark_assigned_partitions', { flow, stage }, assigned[stage]);
      registry.set('tidemark_flow_partitions', { flow, stage }, existing[stage]);
    }
    registry.set('tidemark_row_account_difference', { flow }, difference);
    registry.set('tidemark_record_limit_bytes', { flow }, facts.outputRecordBytesMax);
  }

  #showWaiting(flow: string, source: string): void {
    const { registry } = this;
    const waiting = this.#options.waiting(flow, source);
    if (waiting === undefined) return;
    const { oldestMs, headroomSeconds, headroomRecords, heldSinceMs, lostRecords } = waiting;
    const { compactionSeconds } = waiting;
    if (waiting.standingRecords !== undefined) {
      registry.set('tidemark_source_lag_records', { flow, source }, waiting.standingRecords);
    }
    const heldMs = heldSinceMs === undefined ? 0 : Math.max(0, this.#options.now() - heldSinceMs);
    registry.set('tidemark_source_held_seconds', { flow, source }, heldMs / 1000);
    const ageMs = oldestMs === undefined ? 0 : Math.max(0, this.#options.now() - oldestMs);
    registry.set('tidemark_source_lag_seconds', { flow, source }, ageMs / 1000);
    if (headroomSeconds !== undefined) {
      const headroom = lostRecords > 0 ? 0 : headroomSeconds;
      registry.set('tidemark_retention_headroom_seconds', { flow, source }, headroom);
    }
    if (compactionSeconds !== undefined) {
      registry.set('tidemark_compaction_headroom_seconds', { flow, source }, compactionSeconds);
    }
    if (headroomRecords !== undefined) {
      registry.set('tidemark_retention_headroom_records', { flow, source }, headroomRecords);
    }
  }
}

/** Whose table stage a table has: of several flows, the one that has its name. */
function keyedFlowOf({ flows }: PipelinePlan, table: string): string | undefined {
  const into = flows.filter((flow) => flow.target === table && isKeyed(flow));
  return (into.find(({ name }) => name === table) ?? into[0])?.name;
}

/** The topics that a flow reads, each once. */
export function sourceTopics(plan: PipelinePlan, flow: string): readonly string[] {
  const names = new Set(
    plan.flows.find(({ name }) => name === flow)?.branches.map(({ source }) => source),
  );
  const topics = plan.sources.filter(({ name }) => names.has(name)).map(({ topic }) => topic);
  return [...new Set(topics)];
}

/** Records that were read from a source partition, and of which there are fewer left between its start and the checkpoint. */
function unreadable({ committed, logStart, committedCounters }: PartitionProgress): number {
  if (!('records' in committedCounters) || logStart === undefined) return 0;
  return Math.max(0, committedCounters.records - Math.max(0, committed - logStart));
}
