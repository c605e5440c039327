/**
 * The one declaration of every metric of the service. From it come the registry, docs/metrics.md and the check
 * that rules and dashboards name nothing else. Invariants: units are base units; a label has a bounded set of
 * values (a flow, a source topic, a word of a list), never a key, an offset, a partition or the text of an error.
 */
export type MetricDeclaration = {
  readonly name: `tidemark_${string}`;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly group: MetricGroup;
  readonly labels: readonly string[];
  /** Labels whose values are words of a fixed list. */
  readonly values?: Readonly<Record<string, readonly string[]>>;
  readonly buckets?: readonly number[];
  readonly help: string;
};

export type MetricGroup =
  | 'identity and state'
  | 'input'
  | 'query'
  | 'keyed rows'
  | 'progress'
  | 'retention'
  | 'transactions'
  | 'membership and recovery'
  | 'state store'
  | 'restore'
  | 'HTTP'
  | 'process';

const durationBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
] as const;

const declared = [
  {
    name: 'tidemark_build_info',
    type: 'gauge',
    group: 'identity and state',
    labels: ['version', 'node_version'],
    help: 'Always 1; the labels tell the build.',
  },
  {
    name: 'tidemark_flow_info',
    type: 'gauge',
    group: 'identity and state',
    labels: ['flow', 'table', 'kind'],
    help: 'Always 1; the labels tell which table a flow keeps, and how.',
  },
  {
    name: 'tidemark_worker_state',
    type: 'gauge',
    group: 'identity and state',
    labels: ['state'],
    values: {
      state: ['created', 'starting', 'running', 'recovering', 'stopping', 'stopped', 'failed'],
    },
    help: '1 for the state in which this instance is, 0 for the others.',
  },
  {
    name: 'tidemark_ready',
    type: 'gauge',
    group: 'identity and state',
    labels: [],
    help: '1 while /readyz answers 200.',
  },
  {
    name: 'tidemark_flow_failed',
    type: 'gauge',
    group: 'identity and state',
    labels: ['flow'],
    help: '1 for a flow that stopped on an error which only a person can resolve.',
  },
  {
    name: 'tidemark_input_records_total',
    type: 'counter',
    group: 'input',
    labels: ['flow', 'source'],
    help: 'Records of the source that were read and committed: decoded + tombstones + dead letters.',
  },
  {
    name: 'tidemark_decoded_records_total',
    type: 'counter',
    group: 'input',
    labels: ['flow', 'source'],
    help: 'Records that were decoded and gave their rows to the query.',
  },
  {
    name: 'tidemark_tombstone_records_total',
    type: 'counter',
    group: 'input',
    labels: ['flow', 'source'],
    help: 'Records with a null value, which are skipped.',
  },
  {
    name: 'tidemark_dead_letter_records_total',
    type: 'counter',
    group: 'input',
    labels: ['flow', 'source'],
    help: 'Records that could not be read or computed and went to the dead-letter topic.',
  },
  {
    name: 'tidemark_query_rows_total',
    type: 'counter',
    group: 'query',
    labels: ['flow', 'source'],
    help: 'Rows that came out of the records, after EXPLODE: filtered + dropped + handed on.',
  },
  {
    name: 'tidemark_filtered_rows_total',
    type: 'counter',
    group: 'query',
    labels: ['flow', 'source'],
    help: 'Rows that WHERE took away.',
  },
  {
    name: 'tidemark_dropped_rows_total',
    type: 'counter',
    group: 'query',
    labels: ['flow', 'source'],
    help: 'Rows that an expectation with ON VIOLATION DROP ROW took away.',
  },
  {
    name: 'tidemark_handed_on_rows_total',
    type: 'counter',
    group: 'query',
    labels: ['flow', 'source'],
    help: 'Rows that went on to the table stage.',
  },
  {
    name: 'tidemark_expectation_rows_total',
    type: 'counter',
    group: 'query',
    labels: ['flow', 'expectation', 'result'],
    values: { result: ['passed', 'failed'] },
    help: 'Rows that an expectation was checked on.',
  },
  {
    name: 'tidemark_keyed_rows_total',
    type: 'counter',
    group: 'keyed rows',
    labels: ['flow', 'outcome'],
    values: { outcome: ['new', 'replacing', 'tied', 'superseded', 'duplicate', 'distinct'] },
    help: 'What became of each row at its key: new (the first of the key), replacing (opened a higher sequence), tied (joined the held sequence), superseded (lower sequence, ignored), duplicate (the same row once more), distinct (equal to a held row of a SELECT DISTINCT).',
  },
  {
    name: 'tidemark_output_records_total',
    type: 'counter',
    group: 'keyed rows',
    labels: ['flow'],
    help: 'Records that this instance committed to output topics, tombstones of numbered rows included.',
  },
  {
    name: 'tidemark_row_account_difference',
    type: 'gauge',
    group: 'keyed rows',
    labels: ['flow'],
    help: 'Rows and records that the committed account of the flow on this instance cannot explain. Anything but 0 is a fault of Tidemark.',
  },
  {
    name: 'tidemark_source_lag_records',
    type: 'gauge',
    group: 'progress',
    labels: ['flow', 'source'],
    help: 'Offsets between the checkpoint and the last stable offset, summed over the partitions of this instance; never negative, and 0 once everything was read: what control records take up behind the last record counts for nothing.',
  },
  {
    name: 'tidemark_source_lag_seconds',
    type: 'gauge',
    group: 'progress',
    labels: ['flow', 'source'],
    help: 'Age of the oldest record that is not committed, by its own timestamp, on the partitions of this instance; 0 when none has waited since the last look, 5 s ago.',
  },
  {
    name: 'tidemark_table_lag_records',
    type: 'gauge',
    group: 'progress',
    labels: ['flow'],
    help: 'The same between the two stages: rows that were handed on and not yet merged, on the partitions of this instance.',
  },
  {
    name: 'tidemark_assigned_partitions',
    type: 'gauge',
    group: 'progress',
    labels: ['flow', 'stage'],
    values: { stage: ['source', 'table'] },
    help: 'Partitions that this instance works on.',
  },
  {
    name: 'tidemark_flow_partitions',
    type: 'gauge',
    group: 'progress',
    labels: ['flow', 'stage'],
    values: { stage: ['source', 'table'] },
    help: 'Partitions that the flow has on all instances together. More instances than the larger number stand idle.',
  },
  {
    name: 'tidemark_retention_headroom_seconds',
    type: 'gauge',
    group: 'retention',
    labels: ['flow', 'source'],
    help: 'Time until retention may delete the oldest record that is not committed, the shortest over the partitions of this instance; the whole retention time when none waits; +Inf when the topic keeps its records.',
  },
  {
    name: 'tidemark_retention_headroom_records',
    type: 'gauge',
    group: 'retention',
    labels: ['flow', 'source'],
    help: 'Offsets between the log start and the checkpoint, the fewest over the partitions of this instance. 0 while records wait: retention has reached what was not read.',
  },
  {
    name: 'tidemark_commits_total',
    type: 'counter',
    group: 'transactions',
    labels: [],
    help: 'Commits that stand.',
  },
  {
    name: 'tidemark_commit_duration_seconds',
    type: 'histogram',
    group: 'transactions',
    labels: [],
    buckets: durationBuckets,
    help: 'Time of a commit that stands, from collecting the effects to the end of the transaction.',
  },
  {
    name: 'tidemark_commit_records',
    type: 'histogram',
    group: 'transactions',
    labels: [],
    buckets: [0, 1, 10, 100, 500, 1000, 5000, 10000, 50000],
    help: 'Records of source topics in one commit.',
  },
  {
    name: 'tidemark_last_commit_timestamp_seconds',
    type: 'gauge',
    group: 'transactions',
    labels: [],
    help: 'When the last commit was made; the start of the instance before the first one.',
  },
  {
    name: 'tidemark_takeovers_total',
    type: 'counter',
    group: 'membership and recovery',
    labels: ['flow', 'cause'],
    values: { cause: ['rebalance', 'recovery'] },
    help: 'Times that this instance got its partitions of the flow: from the group, or once more after a fault.',
  },
  {
    name: 'tidemark_recoveries_total',
    type: 'counter',
    group: 'membership and recovery',
    labels: ['remedy'],
    values: { remedy: ['retry', 'rejoin', 'rebuild-state', 'stop'] },
    help: 'Times that the instance went back to its checkpoint, by what the fault demanded.',
  },
  {
    name: 'tidemark_fencings_total',
    type: 'counter',
    group: 'membership and recovery',
    labels: [],
    help: 'Times that another producer took over the transactional id of this instance.',
  },
  {
    name: 'tidemark_fenced_instances_total',
    type: 'counter',
    group: 'membership and recovery',
    labels: [],
    help: 'Transactions of other instances that this one ended because they held up readers.',
  },
  {
    name: 'tidemark_state_store_up',
    type: 'gauge',
    group: 'state store',
    labels: ['store'],
    values: { store: ['redis', 'embedded'] },
    help: '1 while the state store answers; 0 after a call that it did not answer in time.',
  },
  {
    name: 'tidemark_state_store_operation_duration_seconds',
    type: 'histogram',
    group: 'state store',
    labels: ['store', 'op'],
    values: { store: ['redis', 'embedded'], op: ['open', 'read', 'write', 'clear'] },
    buckets: durationBuckets,
    help: 'Time of one call of the state store, failed ones included.',
  },
  {
    name: 'tidemark_state_store_keys_total',
    type: 'counter',
    group: 'state store',
    labels: ['store', 'op'],
    values: { store: ['redis', 'embedded'], op: ['read', 'write'] },
    help: 'Keys in the calls of the state store.',
  },
  {
    name: 'tidemark_state_store_errors_total',
    type: 'counter',
    group: 'state store',
    labels: ['store', 'code'],
    values: {
      store: ['redis', 'embedded'],
      code: ['STATE_UNAVAILABLE', 'TASK_CORRUPTED', 'TASK_MIGRATED', 'other'],
    },
    help: 'Calls of the state store that failed, by error code.',
  },
  {
    name: 'tidemark_restoring_partitions',
    type: 'gauge',
    group: 'restore',
    labels: ['flow'],
    help: 'Partitions whose state is being brought to the end of the output topic.',
  },
  {
    name: 'tidemark_restore_remaining_records',
    type: 'gauge',
    group: 'restore',
    labels: ['flow'],
    help: 'Offsets of the output topic that the restores under way still have to read.',
  },
  {
    name: 'tidemark_restores_total',
    type: 'counter',
    group: 'restore',
    labels: ['flow'],
    help: 'Restores of a partition that were completed.',
  },
  {
    name: 'tidemark_restored_records_total',
    type: 'counter',
    group: 'restore',
    labels: ['flow'],
    help: 'Records of output topics that completed restores have read.',
  },
  {
    name: 'tidemark_restore_duration_seconds',
    type: 'histogram',
    group: 'restore',
    labels: [],
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600],
    help: 'Time of one completed restore.',
  },
  {
    name: 'tidemark_http_requests_total',
    type: 'counter',
    group: 'HTTP',
    labels: ['status'],
    values: { status: ['2xx', '4xx', '5xx'] },
    help: 'Answers of the HTTP interface, by class of status.',
  },
  {
    name: 'tidemark_memory_limit_bytes',
    type: 'gauge',
    group: 'process',
    labels: [],
    help: 'Memory limit of the container; 0 when there is none.',
  },
] as const satisfies readonly MetricDeclaration[];

export const metricDeclarations: readonly MetricDeclaration[] = declared;

type Declared = (typeof declared)[number];

type NamesOf<Type extends MetricDeclaration['type']> = Extract<Declared, { type: Type }>['name'];

export type CounterName = NamesOf<'counter'>;
export type GaugeName = NamesOf<'gauge'>;
export type HistogramName = NamesOf<'histogram'>;
export type MetricName = Declared['name'];

/** Exactly the labels that the metric was declared with. */
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<Extract<Declared, { name: Name }>['labels'][number], string>
>;
