import { type ErrorCode, FlowError } from '../../base/errors.ts';

/**
 * What the sender of a request has to do about an error code of a broker:
 * `retry` the same request a little later; `metadata`: look up the partition's leader first;
 * `coordinator`: look up the coordinator first; `fail`: give the error to the caller.
 */
export type ErrorAction = 'retry' | 'metadata' | 'coordinator' | 'fail';

type KafkaError = {
  readonly name: string;
  readonly text: string;
  readonly code: ErrorCode;
  readonly action: ErrorAction;
};

/**
 * Every error code that a broker can send to this adapter, and what it means to us. It is the only place that
 * knows: whoever meets a code asks here, and a code that is missing fails as BROKER_UNAVAILABLE.
 */
const kafkaErrors: ReadonlyMap<number, KafkaError> = new Map(
  (
    [
      [-1, 'UNKNOWN_SERVER_ERROR', 'the broker failed', 'BROKER_UNAVAILABLE', 'retry'],
      [1, 'OFFSET_OUT_OF_RANGE', 'the offset is outside of the log', 'OFFSET_OUT_OF_RANGE', 'fail'],
      [2, 'CORRUPT_MESSAGE', 'a batch is damaged', 'RECORD_CORRUPT', 'fail'],
      [
        3,
        'UNKNOWN_TOPIC_OR_PARTITION',
        'the topic or partition is not there',
        'TOPIC_MISSING',
        'metadata',
      ],
      [5, 'LEADER_NOT_AVAILABLE', 'the partition has no leader', 'BROKER_UNAVAILABLE', 'metadata'],
      [6, 'NOT_LEADER_OR_FOLLOWER', 'the leader has moved', 'BROKER_UNAVAILABLE', 'metadata'],
      [7, 'REQUEST_TIMED_OUT', 'the broker gave up waiting', 'BROKER_TIMEOUT', 'retry'],
      [8, 'BROKER_NOT_AVAILABLE', 'the broker is not available', 'BROKER_UNAVAILABLE', 'metadata'],
      [
        9,
        'REPLICA_NOT_AVAILABLE',
        'the replica is not available',
        'BROKER_UNAVAILABLE',
        'metadata',
      ],
      [
        10,
        'MESSAGE_TOO_LARGE',
        'the records are larger than the topic takes',
        'RECORD_TOO_LARGE',
        'fail',
      ],
      [
        12,
        'OFFSET_METADATA_TOO_LARGE',
        'the checkpoint metadata is too large',
        'RECORD_TOO_LARGE',
        'fail',
      ],
      [13, 'NETWORK_EXCEPTION', 'the connection broke', 'BROKER_UNAVAILABLE', 'metadata'],
      [
        14,
        'COORDINATOR_LOAD_IN_PROGRESS',
        'the coordinator is loading',
        'BROKER_UNAVAILABLE',
        'retry',
      ],
      [
        15,
        'COORDINATOR_NOT_AVAILABLE',
        'there is no coordinator',
        'BROKER_UNAVAILABLE',
        'coordinator',
      ],
      [16, 'NOT_COORDINATOR', 'the coordinator has moved', 'BROKER_UNAVAILABLE', 'coordinator'],
      [17, 'INVALID_TOPIC_EXCEPTION', 'the topic name is not valid', 'TOPIC_CONFIG', 'fail'],
      [
        18,
        'RECORD_LIST_TOO_LARGE',
        'the batch is larger than a segment',
        'RECORD_TOO_LARGE',
        'fail',
      ],
      [19, 'NOT_ENOUGH_REPLICAS', 'too few replicas are in sync', 'BROKER_UNAVAILABLE', 'retry'],
      [
        20,
        'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
        'too few replicas are in sync',
        'BROKER_UNAVAILABLE',
        'retry',
      ],
      [22, 'ILLEGAL_GENERATION', 'the member is of an earlier generation', 'TASK_MIGRATED', 'fail'],
      [
        23,
        'INCONSISTENT_GROUP_PROTOCOL',
        'the group is used by something else',
        'CONFIG_INVALID',
        'fail',
      ],
      [24, 'INVALID_GROUP_ID', 'the group id is not valid', 'CONFIG_INVALID', 'fail'],
      [25, 'UNKNOWN_MEMBER_ID', 'the member is not in the group', 'TASK_MIGRATED', 'fail'],
      [
        26,
        'INVALID_SESSION_TIMEOUT',
        'the session timeout is outside of the broker’s bounds',
        'CONFIG_INVALID',
        'fail',
      ],
      [27, 'REBALANCE_IN_PROGRESS', 'the group is rebalancing', 'TASK_MIGRATED', 'fail'],
      [29, 'TOPIC_AUTHORIZATION_FAILED', 'access to the topic is denied', 'NOT_AUTHORIZED', 'fail'],
      [30, 'GROUP_AUTHORIZATION_FAILED', 'access to the group is denied', 'NOT_AUTHORIZED', 'fail'],
      [31, 'CLUSTER_AUTHORIZATION_FAILED', 'the operation is denied', 'NOT_AUTHORIZED', 'fail'],
      [32, 'INVALID_TIMESTAMP', 'the topic refuses the record’s timestamp', 'TOPIC_CONFIG', 'fail'],
      [
        33,
        'UNSUPPORTED_SASL_MECHANISM',
        'the broker does not offer the SASL mechanism',
        'CONFIG_INVALID',
        'fail',
      ],
      [34, 'ILLEGAL_SASL_STATE', 'the authentication was out of order', 'NOT_AUTHORIZED', 'fail'],
      [35, 'UNSUPPORTED_VERSION', 'the broker does not know the request', 'BROKER_TOO_OLD', 'fail'],
      [36, 'TOPIC_ALREADY_EXISTS', 'the topic is there already', 'TOPIC_CONFIG', 'fail'],
      [37, 'INVALID_PARTITIONS', 'the number of partitions is not valid', 'TOPIC_CONFIG', 'fail'],
      [
        38,
        'INVALID_REPLICATION_FACTOR',
        'the replication factor cannot be met',
        'TOPIC_CONFIG',
        'fail',
      ],
      [
        39,
        'INVALID_REPLICA_ASSIGNMENT',
        'the replicas cannot be placed so',
        'TOPIC_CONFIG',
        'fail',
      ],
      [40, 'INVALID_CONFIG', 'a setting is not valid', 'TOPIC_CONFIG', 'fail'],
      [41, 'NOT_CONTROLLER', 'the controller has moved', 'BROKER_UNAVAILABLE', 'metadata'],
      [42, 'INVALID_REQUEST', 'the broker refuses the request', 'NOT_SUPPORTED', 'fail'],
      [
        43,
        'UNSUPPORTED_FOR_MESSAGE_FORMAT',
        'the topic has an old message format',
        'TOPIC_CONFIG',
        'fail',
      ],
      [44, 'POLICY_VIOLATION', 'a policy of the cluster forbids it', 'TOPIC_CONFIG', 'fail'],
      [
        45,
        'OUT_OF_ORDER_SEQUENCE_NUMBER',
        'a batch before it is missing',
        'TRANSACTION_ABORTED',
        'fail',
      ],
      [
        46,
        'DUPLICATE_SEQUENCE_NUMBER',
        'the batch was written before',
        'TRANSACTION_ABORTED',
        'fail',
      ],
      [47, 'INVALID_PRODUCER_EPOCH', 'another producer has taken over', 'PRODUCER_FENCED', 'fail'],
      [48, 'INVALID_TXN_STATE', 'the transaction is not open', 'TRANSACTION_ABORTED', 'fail'],
      [
        49,
        'INVALID_PRODUCER_ID_MAPPING',
        'the transactional id has expired',
        'TRANSACTION_ABORTED',
        'fail',
      ],
      [
        50,
        'INVALID_TRANSACTION_TIMEOUT',
        'the transaction timeout is above the broker’s bound',
        'CONFIG_INVALID',
        'fail',
      ],
      [
        51,
        'CONCURRENT_TRANSACTIONS',
        'the transaction before it is still ending',
        'BROKER_TIMEOUT',
        'retry',
      ],
      [
        52,
        'TRANSACTION_COORDINATOR_FENCED',
        'the coordinator was replaced',
        'BROKER_UNAVAILABLE',
        'coordinator',
      ],
      [
        53,
        'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
        'use of the transactional id is denied',
        'NOT_AUTHORIZED',
        'fail',
      ],
      [
        55,
        'OPERATION_NOT_ATTEMPTED',
        'another part of the request failed',
        'TRANSACTION_ABORTED',
        'fail',
      ],
      [
        56,
        'KAFKA_STORAGE_ERROR',
        'the broker cannot use its disk',
        'BROKER_UNAVAILABLE',
        'metadata',
      ],
      [57, 'LOG_DIR_NOT_FOUND', 'the broker cannot use its disk', 'BROKER_UNAVAILABLE', 'metadata'],
      [
        58,
        'SASL_AUTHENTICATION_FAILED',
        'the credentials are not accepted',
        'NOT_AUTHORIZED',
        'fail',
      ],
      [
        59,
        'UNKNOWN_PRODUCER_ID',
        'the broker has forgotten the producer',
        'TRANSACTION_ABORTED',
        'fail',
      ],
      [68, 'NON_EMPTY_GROUP', 'the group has members', 'GROUP_BUSY', 'fail'],
      [69, 'GROUP_ID_NOT_FOUND', 'there is no such group', 'CHECKPOINT_MISSING', 'fail'],
      [
        72,
        'LISTENER_NOT_FOUND',
        'the leader has no such listener',
        'BROKER_UNAVAILABLE',
        'metadata',
      ],
      [74, 'FENCED_LEADER_EPOCH', 'the leader has changed', 'BROKER_UNAVAILABLE', 'metadata'],
      [75, 'UNKNOWN_LEADER_EPOCH', 'the leader has changed', 'BROKER_UNAVAILABLE', 'retry'],
      [76, 'UNSUPPORTED_COMPRESSION_TYPE', 'the codec is not supported', 'NOT_SUPPORTED', 'fail'],
      [77, 'STALE_BROKER_EPOCH', 'the broker was restarted', 'BROKER_UNAVAILABLE', 'metadata'],
      [
        78,
        'OFFSET_NOT_AVAILABLE',
        'the new leader does not know its end yet',
        'BROKER_UNAVAILABLE',
        'retry',
      ],
      [79, 'MEMBER_ID_REQUIRED', 'the member has to join again', 'TASK_MIGRATED', 'fail'],
      [81, 'GROUP_MAX_SIZE_REACHED', 'the group is full', 'CONFIG_INVALID', 'fail'],
      [82, 'FENCED_INSTANCE_ID', 'another member has the instance id', 'TASK_MIGRATED', 'fail'],
      [87, 'INVALID_RECORD', 'the topic refuses a record', 'TOPIC_CONFIG', 'fail'],
      [
        88,
        'UNSTABLE_OFFSET_COMMIT',
        'a transaction with offsets is still open',
        'BROKER_TIMEOUT',
        'retry',
      ],
      [89, 'THROTTLING_QUOTA_EXCEEDED', 'a quota is exceeded', 'BROKER_TIMEOUT', 'retry'],
      [90, 'PRODUCER_FENCED', 'another producer has taken over', 'PRODUCER_FENCED', 'fail'],
      [100, 'UNKNOWN_TOPIC_ID', 'no topic has that id', 'TOPIC_MISSING', 'metadata'],
      [103, 'INCONSISTENT_TOPIC_ID', 'the topic has another id', 'TOPIC_MISSING', 'metadata'],
      [110, 'FENCED_MEMBER_EPOCH', 'the member is of another epoch', 'TASK_MIGRATED', 'fail'],
      [113, 'STALE_MEMBER_EPOCH', 'the member is of an earlier epoch', 'TASK_MIGRATED', 'fail'],
      [
        120,
        'TRANSACTION_ABORTABLE',
        'the transaction has to be aborted',
        'TRANSACTION_ABORTED',
        'fail',
      ],
    ] as const satisfies readonly (readonly [number, string, string, ErrorCode, ErrorAction])[]
  ).map(([number, name, text, code, action]) => [number, { name, text, code, action }]),
);

export function actionOf(errorCode: number): ErrorAction {
  return kafkaErrors.get(errorCode)?.action ?? 'fail';
}

const missingHint =
  'If the topic was deleted, what it held is gone: tidemark plan tells what a start would refuse, and what brings the table back.';

/** Where the broker's name says what to do, whoever asked. */
const hints: ReadonlyMap<string, string> = new Map([
  ['UNKNOWN_TOPIC_OR_PARTITION', missingHint],
  ['UNKNOWN_TOPIC_ID', missingHint],
  ['INCONSISTENT_TOPIC_ID', missingHint],
  [
    'INVALID_RECORD',
    'A compacted topic takes no record without a key, as dead letters and appended rows may be: set cleanup.policy=delete on the topic, or name another one.',
  ],
  [
    'UNSTABLE_OFFSET_COMMIT',
    'Ask again in a moment. Where an instance that is gone has left the transaction open, a start of the pipeline ends it, and so does an instance that runs; else the brokers do when it has timed out.',
  ],
]);

/** Turns a broker's answer into an error that says where it came from: `where` is such as `topic "orders" partition 3`. */
export function brokerError(
  errorCode: number,
  where: string,
  brokerText?: string | null,
): FlowError {
  const known = kafkaErrors.get(errorCode);
  const name = known?.name ?? 'UNKNOWN_ERROR';
  const hint = known === undefined ? undefined : hints.get(known.name);
  return new FlowError(
    known?.code ?? 'BROKER_UNAVAILABLE',
    `${where}: ${known?.text ?? 'the broker refuses the request'} (${name}, ${errorCode})`,
    {
      ...(brokerText ? { detail: `The broker says: ${brokerText}` } : {}),
      ...(hint === undefined ? {} : { hint }),
    },
  );
}

/** The name of an error of the client library tells its kind; its classes are not public. */
function kindOf(error: Error): ErrorCode {
  if (error.name.includes('SASL') || error.name === 'KafkaJSUnsupportedMagicByteInMessageSet') {
    return 'NOT_AUTHORIZED';
  }
  if (error.name.includes('Timeout') || error.message.includes('timeout')) return 'BROKER_TIMEOUT';
  return 'BROKER_UNAVAILABLE';
}

/** Whatever was thrown on the way to a broker, as an error of ours. Errors of ours pass. */
export function connectionError(error: unknown, where: string): FlowError {
  if (error instanceof FlowError) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  const code = kindOf(cause);
  const what =
    code === 'NOT_AUTHORIZED'
      ? 'the credentials are not accepted'
      : code === 'BROKER_TIMEOUT'
        ? 'no answer in time'
        : 'no connection';
  return new FlowError(code, `${where}: ${what}`, { detail: `${cause.message}.`, cause });
}

export function isTransient(error: unknown): boolean {
  return error instanceof FlowError && error.remedy === 'retry';
}
