import { describe, expect, test } from 'vitest';
import { metricDeclarations } from '../../../src/adapters/prometheus/metric-declarations.ts';

/**
 * What operators of stream processors expect to find: name, type, and the labels that each has to have beside `pipeline`, which
 * every series carries. A metric may have more labels, so that sums over them still answer the question.
 */
const expected = {
  'identity and state': {
    build_info: ['gauge', 'version', 'node_version'],
    info: ['gauge', 'flow', 'kind', 'target'],
    pipeline_state: ['gauge', 'state'],
    freshness_objective_seconds: ['gauge', 'flow'],
  },
  input: {
    input_records_total: ['counter', 'flow', 'source'],
    input_bytes_total: ['counter', 'flow', 'source'],
    dead_letter_records_total: ['counter', 'flow', 'reason'],
  },
  query: {
    query_rows_total: ['counter', 'flow'],
    filtered_rows_total: ['counter', 'flow'],
    late_rows_total: ['counter', 'flow', 'operator'],
    expectation_rows_total: ['counter', 'flow', 'expectation', 'result'],
  },
  'keyed operator': {
    keyed_rows_total: ['counter', 'flow', 'outcome'],
    row_sets_replaced_total: ['counter', 'flow'],
    rows_retracted_total: ['counter', 'flow'],
    row_set_rows: ['histogram', 'flow'],
    row_set_bytes_max: ['gauge', 'flow'],
    record_limit_bytes: ['gauge', 'flow'],
    state_keys: ['gauge', 'flow'],
    state_rows: ['gauge', 'flow'],
    output_records_total: ['counter', 'flow', 'op'],
    output_bytes_total: ['counter', 'flow'],
  },
  progress: {
    source_lag_records: ['gauge', 'flow', 'source'],
    source_lag_seconds: ['gauge', 'flow', 'source'],
    end_to_end_latency_seconds: ['histogram', 'flow'],
    watermark_timestamp_seconds: ['gauge', 'flow'],
    // One loop turns for all flows, and its time is not divided among them.
    stage_seconds_total: ['counter', 'stage'],
  },
  transactions: {
    commit_duration_seconds: ['histogram', 'phase'],
    commits_total: ['counter', 'result'],
    commit_records: ['histogram'],
    last_commit_timestamp_seconds: ['gauge'],
  },
  'membership and client': {
    rebalances_total: ['counter'],
    rebalance_duration_seconds: ['histogram'],
    assigned_partitions: ['gauge', 'flow'],
    kafka_request_duration_seconds: ['histogram', 'api'],
    kafka_request_errors_total: ['counter', 'api', 'error'],
    kafka_throttle_seconds_total: ['counter'],
  },
  'state store': {
    state_store_up: ['gauge', 'store'],
    state_store_operation_duration_seconds: ['histogram', 'store', 'op'],
    state_store_errors_total: ['counter', 'store', 'error'],
    state_store_used_bytes: ['gauge', 'store'],
    state_store_limit_bytes: ['gauge', 'store'],
    state_store_evicted_keys_total: ['counter', 'store'],
  },
  rebuild: {
    state_rebuilds_total: ['counter', 'reason'],
    state_rebuild_records_total: ['counter'],
    state_rebuild_remaining_records: ['gauge'],
  },
  retention: {
    retention_headroom_seconds: ['gauge', 'flow', 'source'],
    retention_headroom_records: ['gauge', 'flow', 'source'],
    compaction_headroom_seconds: ['gauge', 'flow', 'source'],
    retention_lost_records_total: ['counter', 'flow', 'source'],
    full_refresh_loss_records: ['gauge', 'flow', 'source'],
  },
  'refresh and updates': {
    full_refresh_active: ['gauge', 'table'],
    full_refresh_progress_ratio: ['gauge', 'table'],
    full_refresh_start_timestamp_seconds: ['gauge', 'table'],
    full_refreshes_total: ['counter', 'table', 'result'],
    updates_total: ['counter', 'mode', 'result'],
    once_done: ['gauge', 'flow'],
  },
  process: {
    process_memory_limit_bytes: ['gauge'],
    metrics_capped: ['gauge'],
  },
  account: {
    row_account_difference: ['gauge', 'flow'],
    // Instances beyond the largest number of partitions stand idle.
    flow_partitions: ['gauge', 'flow'],
  },
} as const satisfies Record<string, Record<string, readonly [string, ...string[]]>>;

/** Labels with a fixed number of words. */
const counted = [
  ['pipeline_state', 'state', 7],
  ['dead_letter_records_total', 'reason', 6],
  ['expectation_rows_total', 'result', 4],
  ['keyed_rows_total', 'outcome', 7],
  ['output_records_total', 'op', 2],
  ['stage_seconds_total', 'stage', 7],
  ['commits_total', 'result', 3],
  ['state_store_operation_duration_seconds', 'op', 4],
] as const;

const find = (name: string) => metricDeclarations.find((one) => one.name === `tidemark_${name}`);

describe.each(Object.entries(expected))('%s', (_, metrics) => {
  test.each(Object.entries(metrics))('%s is declared: %j', (name, [type, ...labels]) => {
    const metric = find(name);
    expect(metric?.type).toBe(type);
    expect(metric?.labels).toEqual(expect.arrayContaining(labels));
  });
});

test.each(counted)('%s has %s of %i words', (name, label, count) => {
  expect(new Set(find(name)?.values?.[label]).size).toBe(count);
});

test('nothing is labelled by what grows with the data', () => {
  const growing = ['key', 'offset', 'partition', 'topic', 'message', 'pipeline', 'instance', 'pod'];
  for (const { labels } of metricDeclarations) {
    expect(growing.filter((label) => labels.includes(label))).toEqual([]);
  }
});
