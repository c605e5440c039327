import { deadLetterReasons } from '../../base/dead-letter-reason.ts';

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
  | 'refresh'
  | 'transactions'
  | 'membership and recovery'
  | 'Kafka requests'
  | 'state store'
  | 'restore'
  | 'HTTP'
  | 'process';

const durationBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
] as const;

/** Those that a running service sends; whatever else there is counts as other. */
export const kafkaApis = [
  'Fetch',
  'Produce',
  'TxnOffsetCommit',
  'OffsetCommit',
  'AddPartitionsToTxn',
  'AddOffsetsToTxn',
  'EndTxn',
  'InitProducerId',
  'ListOffsets',
  'OffsetFetch',
  'Metadata',
  'JoinGroup',
  'SyncGroup',
  'Heartbeat',
  'other',
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
    name: 'tidemark_info',
    type: 'gauge',
    group: 'identity and state',
    labels: ['flow', 'target', 'kind'],
    help: 'Always 1; the labels tell which table a flow keeps, and how.',
  },
  {
    name: 'tidemark_freshness_objective_seconds',
    type: 'gauge',
    group: 'identity and state',
    labels: ['flow'],
    help: 'Age up to which a record that waits is no reason to worry: freshness.objectiveMs. Alerts and dashboards judge tidemark_source_lag_seconds by it.',
  },
  {
    name: 'tidemark_updates_total',
    type: 'counter',
    group: 'identity and state',
    labels: ['mode', 'result'],
    values: { mode: ['triggered', 'continuous'], result: ['started', 'completed', 'failed'] },
    help: 'Updates of the pipeline by this process: triggered is a run with --once, continuous one that goes on until it is stopped. The end is told in the last moments of a process only, so that a scrape mostly sees what was started.',
  },
  {
    name: 'tidemark_once_done',
    type: 'gauge',
    group: 'identity and state',
    labels: ['flow'],
    help: 'Of a flow that runs once: 1 when all of it is committed, whoever did it; looked up every 10 s.',
  },
  {
    name: 'tidemark_pipeline_state',
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
    name: 'tidemark_flow_paused',
    type: 'gauge',
    group: 'identity and state',
    labels: ['flow'],
    help: '1 for a flow that stands still because somebody paused it.',
  },
  {
    name: 'tidemark_input_records_total',
    type: 'counter',
    group: 'input',
    labels: ['flow', 'source'],
    help: 'Records of the source that were read and committed: decoded + tombstones + dead letters.',
  },
  {
    name: 'tidemark_input_bytes_total',
    type: 'counter',
    group: 'input',
    labels: ['flow', 'source'],
    help: 'Bytes that were fetched from the source, uncompressed, and whose records are committed.',
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
    labels: ['flow', 'source', 'reason'],
    values: { reason: [...deadLetterReasons, 'skipped'] },
    help: 'Records that could not be read or computed and went to the dead-letter topic, or that somebody stepped over: deserialize (no record of the format), schema (a value does not fit its column), key_null, sequence_null, expression (an error while computing), skipped (`checkpoint skip`).',
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
    name: 'tidemark_late_rows_total',
    type: 'counter',
    group: 'query',
    labels: ['flow', 'source', 'operator'],
    values: { operator: ['watermark', 'join'] },
    help: 'Rows whose time was behind the watermark of their flow when they were read; they are kept, but for a join of two streams that lets rows go: behind the watermark of their own partition they are left out of it.',
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
    values: { result: ['passed', 'warned', 'dropped', 'failed'] },
    help: 'Rows that an expectation was checked on: passed, or by what a violation does to the row: warned (it is kept), dropped (it is left out), failed (the flow stops, so that none of them is ever committed and counted).',
  },
  {
    name: 'tidemark_keyed_rows_total',
    type: 'counter',
    group: 'keyed rows',
    labels: ['flow', 'outcome'],
    values: {
      outcome: ['new', 'replacing', 'tied', 'superseded', 'duplicate', 'distinct', 'limited'],
    },
    help: 'What became of each row at its key: new (the first of the key), replacing (opened a higher sequence), tied (joined the held sequence), superseded (lower sequence, ignored), duplicate (the same row once more), distinct (equal to a held row of a SELECT DISTINCT), limited (beyond LIMIT, ignored).',
  },
  {
    name: 'tidemark_row_sets_replaced_total',
    type: 'counter',
    group: 'keyed rows',
    labels: ['flow'],
    help: 'Row-sets that stood in the table and gave way to a higher sequence. A set that came and went within one commit never stood.',
  },
  {
    name: 'tidemark_rows_retracted_total',
    type: 'counter',
    group: 'keyed rows',
    labels: ['flow'],
    help: 'Rows that were in the table and are not any more, since a higher sequence has replaced their row-set.',
  },
  {
    name: 'tidemark_output_records_total',
    type: 'counter',
    group: 'keyed rows',
    labels: ['flow', 'op'],
    values: { op: ['upsert', 'delete'] },
    help: 'Records that this instance committed to the output topic; op is delete for tombstones.',
  },
  {
    name: 'tidemark_output_bytes_total',
    type: 'counter',
    group: 'keyed rows',
    labels: ['flow'],
    help: 'Bytes of these records: key, value and headers, before compression.',
  },
  {
    name: 'tidemark_row_set_rows',
    type: 'histogram',
    group: 'keyed rows',
    labels: ['flow'],
    buckets: [0, 1, 2, 5, 10, 50, 100, 1000, 10000],
    help: 'Rows of a key each time that its row-set was written; 0 where it became empty.',
  },
  {
    name: 'tidemark_row_set_bytes_max',
    type: 'gauge',
    group: 'keyed rows',
    labels: ['flow'],
    help: 'The largest record that this instance has written to the output topic. Of a table with whole row-sets it is the largest row-set.',
  },
  {
    name: 'tidemark_record_limit_bytes',
    type: 'gauge',
    group: 'keyed rows',
    labels: ['flow'],
    help: 'The largest record that the output topic takes.',
  },
  {
    name: 'tidemark_state_keys',
    type: 'gauge',
    group: 'keyed rows',
    labels: ['flow'],
    help: 'Keys that the state of the partitions of this instance holds, as of the last look, 10 s ago at most.',
  },
  {
    name: 'tidemark_state_rows',
    type: 'gauge',
    group: 'keyed rows',
    labels: ['flow'],
    help: 'Rows of the table on the partitions of this instance, as of the last look at its output topic, a minute ago at most; of more than 20,000 keys in a partition an estimate from an even sample. Not there until the topic was read to its end.',
  },
  {
    name: 'tidemark_row_account_difference',
    type: 'gauge',
    group: 'keyed rows',
    labels: ['flow'],
    help: 'Rows and records that the committed account of the flow on this instance cannot explain. Anything but 0 is a fault of Tidemark.',
  },
  {
    name: 'tidemark_stage_difference_rows',
    type: 'gauge',
    group: 'keyed rows',
    labels: ['table'],
    help: 'Rows that the flows of the table have handed on, less those that have reached its keys, by the committed accounts of the partitions of this instance: what is on its way between the stages. Summed over the instances it is 0 once tidemark_table_lag_records is; another number then means lost or repeated rows, or a checkpoint that was moved or lost since: then `tidemark status` names the partitions that have lost their account.',
  },
  {
    name: 'tidemark_source_lag_records',
    type: 'gauge',
    group: 'progress',
    labels: ['flow', 'source'],
    help: 'Offsets between the checkpoint and the last stable offset, summed over the partitions of this instance; never negative, and 0 once everything was read: what control records take up behind the last record counts for nothing. Of a flow that has failed, all of its partitions, told by the instance that failed last.',
  },
  {
    name: 'tidemark_source_held_records',
    type: 'gauge',
    group: 'progress',
    labels: ['flow', 'source'],
    help: 'Offsets between the last stable offset and the end of the log, summed over the partitions of this instance: what an open transaction of a producer holds back. No lag counts it.',
  },
  {
    name: 'tidemark_source_held_seconds',
    type: 'gauge',
    group: 'progress',
    labels: ['flow', 'source'],
    help: 'For how long the last stable offset of a partition of this instance has stood still with records behind it, the longest over the partitions, by looks 5 s apart since the instance has had the partition; 0: nothing is held back, or something is let go again and again.',
  },
  {
    name: 'tidemark_source_lag_seconds',
    type: 'gauge',
    group: 'progress',
    labels: ['flow', 'source'],
    help: 'Age of the oldest record that is not committed, by its own timestamp, on the partitions of this instance; 0 when none has waited since the last look, 5 s ago. Of a flow that has failed, on all of its partitions.',
  },
  {
    name: 'tidemark_watermark_timestamp_seconds',
    type: 'gauge',
    group: 'progress',
    labels: ['flow'],
    help: 'Of a flow with a watermark: the event time that all partitions of this instance have reached, before the delay is taken off. Not there until each has shown a time.',
  },
  {
    name: 'tidemark_end_to_end_latency_seconds',
    type: 'histogram',
    group: 'progress',
    labels: ['flow'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600],
    help: 'From the timestamp of a source record to the commit of its result, for each row of a keyed flow and each record of an append flow. Rows of records older than an hour count as just over an hour.',
  },
  {
    name: 'tidemark_stage_seconds_total',
    type: 'counter',
    group: 'progress',
    labels: ['stage'],
    values: { stage: ['wait_source', 'query', 'store', 'merge', 'emit', 'wait_sink', 'takeover'] },
    help: 'Time of the main loop by what it did: waited for records, decoded and queried, waited for the state store, merged, made output records, waited for the brokers to take them, joined groups and took partitions over.',
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
    help: 'Time until retention may delete the oldest record that is not committed, by time, or by size at the pace at which the log start has moved lately; the shortest over the partitions of this instance; the whole retention time when none waits; 0 when some were deleted unread; +Inf when the topic keeps its records. Of a flow that has failed, over all of its partitions.',
  },
  {
    name: 'tidemark_compaction_headroom_seconds',
    type: 'gauge',
    group: 'retention',
    labels: ['flow', 'source'],
    help: 'Of a compacted source: time until compaction may take the oldest record that is not committed, where a newer one has its record key (`min.compaction.lag.ms` less its age), the shortest over the partitions of this instance; 0: any moment; +Inf when none waits. A version is gone then, which need not be the one with the lower sequence.',
  },
  {
    name: 'tidemark_retention_headroom_records',
    type: 'gauge',
    group: 'retention',
    labels: ['flow', 'source'],
    help: 'Offsets between the log start and the checkpoint, the fewest over the partitions of this instance. 0 while records wait: retention has reached what was not read.',
  },
  {
    name: 'tidemark_retention_lost_records_total',
    type: 'counter',
    group: 'retention',
    labels: ['flow', 'source'],
    help: 'Offsets that were gone before the flow had read them, by the gaps that this instance found. A gap is counted by the instance that finds it first.',
  },
  {
    name: 'tidemark_full_refresh_loss_records',
    type: 'gauge',
    group: 'retention',
    labels: ['flow', 'source'],
    help: 'Records that the flow has read and that the source no longer has, on the partitions of this instance: what a full refresh now could not read again. At least so many; transaction markers of the source hide some. Rows are told by `tidemark refresh TABLE --plan`.',
  },
  {
    name: 'tidemark_table_readable_ratio',
    type: 'gauge',
    group: 'retention',
    labels: ['table'],
    help: 'Share of the rows of the table whose records can still be read from the sources for certain, on the partitions of this instance; looked at every minute, of a large table by an even sample of its keys; 1 of an empty one.',
  },
  {
    name: 'tidemark_table_unreadable_rows',
    type: 'gauge',
    group: 'retention',
    labels: ['table'],
    help: 'Rows of the table that a full refresh would lose, since none of their records can be read any more, on the partitions of this instance; looked at every minute.',
  },
  {
    name: 'tidemark_full_refresh_active',
    type: 'gauge',
    group: 'refresh',
    labels: ['table'],
    help: '1 while a full refresh of the table is under way, or was interrupted.',
  },
  {
    name: 'tidemark_full_refresh_progress_ratio',
    type: 'gauge',
    group: 'refresh',
    labels: ['table'],
    help: 'Share of the records that the last full refresh has read, of those that it has to; 0 before it knows, 1 at its end.',
  },
  {
    name: 'tidemark_full_refresh_remaining_seconds',
    type: 'gauge',
    group: 'refresh',
    labels: ['table'],
    help: 'Time that the refresh needs yet to read its sources, at the rate it has had so far; 0 while there is none, or its rate is not known.',
  },
  {
    name: 'tidemark_full_refresh_start_timestamp_seconds',
    type: 'gauge',
    group: 'refresh',
    labels: ['table'],
    help: 'Start of the full refresh that is under way, or of the last one; 0 when there was none.',
  },
  {
    name: 'tidemark_full_refreshes_total',
    type: 'counter',
    group: 'refresh',
    labels: ['table', 'result'],
    values: { result: ['done', 'cancelled'] },
    help: 'Full refreshes that ended since this instance looks at them, whoever ran them; each instance counts all of them.',
  },
  {
    name: 'tidemark_commits_total',
    type: 'counter',
    group: 'transactions',
    labels: ['result'],
    values: { result: ['ok', 'aborted', 'fenced'] },
    help: 'Ends of transactions: ok stands; aborted was given up on a fault, and its records are read again; fenced was ended by another instance of the same name.',
  },
  {
    name: 'tidemark_commit_duration_seconds',
    type: 'histogram',
    group: 'transactions',
    labels: ['phase'],
    values: { phase: ['total', 'flush', 'send_offsets', 'end_txn'] },
    buckets: durationBuckets,
    help: 'Time of a commit that stands: total from collecting the effects to the end of the transaction, and of that what it took to send the records, to send the offsets, and to end the transaction.',
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
    name: 'tidemark_rebalances_total',
    type: 'counter',
    group: 'membership and recovery',
    labels: ['flow'],
    help: 'Times that the group gave this instance its partitions of the flow, the first one included.',
  },
  {
    name: 'tidemark_rebalance_duration_seconds',
    type: 'histogram',
    group: 'membership and recovery',
    labels: [],
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
    help: 'From the end of the work on the partitions before to the first record of those after, restores included.',
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
    name: 'tidemark_kafka_request_duration_seconds',
    type: 'histogram',
    group: 'Kafka requests',
    labels: ['api'],
    values: { api: kafkaApis },
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 30],
    help: 'Time of a request to a broker. Fetch waits at the broker for up to half a second when there is nothing to read.',
  },
  {
    name: 'tidemark_kafka_request_errors_total',
    type: 'counter',
    group: 'Kafka requests',
    labels: ['api', 'error'],
    values: { api: kafkaApis, error: ['BROKER_TIMEOUT', 'BROKER_UNAVAILABLE', 'other'] },
    help: 'Requests to brokers that got no answer. What an answer refuses counts as a recovery.',
  },
  {
    name: 'tidemark_kafka_throttle_seconds_total',
    type: 'counter',
    group: 'Kafka requests',
    labels: [],
    help: 'Time that brokers asked this client to wait because of a quota.',
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
    labels: ['store', 'error'],
    values: {
      store: ['redis', 'embedded'],
      error: ['STATE_UNAVAILABLE', 'TASK_CORRUPTED', 'TASK_MIGRATED', 'other'],
    },
    help: 'Calls of the state store that failed, by error code.',
  },
  {
    name: 'tidemark_state_store_used_bytes',
    type: 'gauge',
    group: 'state store',
    labels: ['store'],
    values: { store: ['redis', 'embedded'] },
    help: 'Memory that Redis uses for all of its users, or size of the files of the embedded store.',
  },
  {
    name: 'tidemark_state_store_limit_bytes',
    type: 'gauge',
    group: 'state store',
    labels: ['store'],
    values: { store: ['redis', 'embedded'] },
    help: 'Memory that the store may use; 0 when it has no limit.',
  },
  {
    name: 'tidemark_state_store_evicted_keys_total',
    type: 'counter',
    group: 'state store',
    labels: ['store'],
    values: { store: ['redis', 'embedded'] },
    help: 'Keys that the store has evicted since this instance looks at it. Each may have been the state of a partition, which is then built anew.',
  },
  {
    name: 'tidemark_restoring_partitions',
    type: 'gauge',
    group: 'restore',
    labels: ['flow'],
    help: 'Partitions whose state is being brought to the end of the output topic.',
  },
  {
    name: 'tidemark_state_rebuild_remaining_records',
    type: 'gauge',
    group: 'restore',
    labels: ['flow'],
    help: 'Offsets of the output topic that the restores under way still have to read.',
  },
  {
    name: 'tidemark_state_rebuilds_total',
    type: 'counter',
    group: 'restore',
    labels: ['flow', 'reason'],
    values: { reason: ['empty', 'foreign', 'behind'] },
    help: 'Restores of a partition that were completed: its state was empty, or of another topic, or stood below the end of the output topic.',
  },
  {
    name: 'tidemark_state_rebuild_records_total',
    type: 'counter',
    group: 'restore',
    labels: ['flow'],
    help: 'Records of output topics that completed restores have read.',
  },
  {
    name: 'tidemark_state_rebuild_duration_seconds',
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
    name: 'tidemark_metrics_capped',
    type: 'gauge',
    group: 'process',
    labels: [],
    help: '1 when there are more series than one process exposes (20,000): further flows, sources, tables and expectations are counted under the name other, and their gauges are left out.',
  },
  {
    name: 'tidemark_process_memory_limit_bytes',
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
