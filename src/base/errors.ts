import type { LogPlace } from './log-place.ts';

/**
 * What the catcher of an error has to do. Codes are grouped by it, so that no caller ever
 * switches on a message or on a class.
 */
export type Remedy = 'fix-input' | 'retry' | 'rejoin' | 'rebuild-state' | 'stop';

const remedies = {
  USAGE: 'fix-input',
  SQL_SYNTAX: 'fix-input',
  PIPELINE_INVALID: 'fix-input',
  CONFIG_INVALID: 'fix-input',
  TOPIC_MISSING: 'fix-input',
  FILE_UNREADABLE: 'fix-input',
  TOPIC_CONFIG: 'fix-input',
  TOPIC_PARTITIONS: 'fix-input',
  NOT_AUTHORIZED: 'fix-input',
  BROKER_TOO_OLD: 'fix-input',
  NOT_SUPPORTED: 'fix-input',
  GROUP_BUSY: 'fix-input',
  BROKER_UNAVAILABLE: 'retry',
  BROKER_TIMEOUT: 'retry',
  STATE_UNAVAILABLE: 'retry',
  TASK_MIGRATED: 'rejoin',
  PRODUCER_FENCED: 'rejoin',
  TRANSACTION_ABORTED: 'rejoin',
  TASK_CORRUPTED: 'rebuild-state',
  OFFSET_OUT_OF_RANGE: 'stop',
  TOPIC_RECREATED: 'stop',
  RECORD_CORRUPT: 'stop',
  RECORD_TOO_LARGE: 'stop',
  BAD_ROW: 'stop',
  TOO_MANY_DEAD_LETTERS: 'stop',
  EXPECTATION_FAILED: 'stop',
  REPLACE_WHERE_OUTSIDE: 'stop',
  CHECKPOINT_MISSING: 'stop',
  CHECKPOINT_DAMAGED: 'stop',
  DEFINITION_CHANGED: 'stop',
  DEFINITION_MISSING: 'stop',
  DATA_LOSS_REFUSED: 'stop',
  SOURCE_REFRESHED: 'stop',
  TABLE_LOCKED: 'stop',
} as const satisfies Record<string, Remedy>;

export type ErrorCode = keyof typeof remedies;

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(remedies, text);
}

export type ErrorOptions = {
  /** Facts that the message is too short for; whole sentences. */
  readonly detail?: string;
  /** The detail without anything that a row says, for logs; absent: the detail has nothing of a row. */
  readonly logDetail?: string;
  /** What the reader can do about it; whole sentences. */
  readonly hint?: string;
  /** The record that it is about. */
  readonly place?: LogPlace | undefined;
  readonly cause?: unknown;
};

/** Every error that is not a bug. The message is one short clause: lower case, no full stop. */
export class FlowError extends Error {
  override readonly name = 'FlowError';
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  /** What a log may have of the detail: never the content of a row. */
  readonly logDetail: string | undefined;
  readonly hint: string | undefined;
  readonly place: LogPlace | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.detail = options.detail;
    this.logDetail = options.logDetail ?? options.detail;
    this.hint = options.hint;
    this.place = options.place;
  }

  get remedy(): Remedy {
    return remedies[this.code];
  }
}
