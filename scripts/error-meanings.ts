import type { ErrorCode } from '../src/base/errors.ts';

/** What each code means, for docs/errors.md. Its type keeps it complete: a code without a meaning does not compile. */
export const errorMeanings: Readonly<Record<ErrorCode, string>> = {
  USAGE: 'A verb, flag or argument is wrong.',
  SQL_SYNTAX: 'A file is no valid SQL.',
  PIPELINE_INVALID: 'A rule of the pipeline is violated.',
  CONFIG_INVALID:
    'An option has a wrong value, or one that is needed is missing; also a Redis that may evict state.',
  TOPIC_MISSING: 'A topic does not exist, or the file of a source.',
  FILE_UNREADABLE: 'The file of a source cannot be read.',
  TOPIC_CONFIG:
    'An output topic has settings that would lose rows, or holds records of somebody else.',
  TOPIC_PARTITIONS: 'A topic of the pipeline has another number of partitions than its keys need.',
  NOT_AUTHORIZED: 'A broker refuses the identity or one of its rights.',
  BROKER_TOO_OLD: 'A broker lacks a request that is needed: Kafka 2.8 is the oldest.',
  GROUP_BUSY:
    'An instance that holds a flow does not let go of it, so that its checkpoint cannot be set: it hangs, or was killed and its session lasts.',
  TABLE_LOCKED:
    'Another command is at work on the table or its checkpoints, or was cut short there.',
  NOT_SUPPORTED:
    'A server is of a kind or version that is not supported, such as a Redis below 6.2.',
  SOURCE_REFRESHED:
    'A flow reads a table of the pipeline that was refreshed fully since, and was not refreshed with it.',
  BROKER_UNAVAILABLE: 'No broker can be reached, or a leader or coordinator is missing.',
  BROKER_TIMEOUT: 'A broker did not answer in time.',
  STATE_UNAVAILABLE: 'The state store did not answer in time.',
  TASK_MIGRATED: 'A partition went to another instance, or the group went on without this one.',
  PRODUCER_FENCED: 'Another producer has taken over the transactional id.',
  TRANSACTION_ABORTED: 'A transaction was ended by the broker.',
  TASK_CORRUPTED: 'The state does not stand where the last commit left it.',
  OFFSET_OUT_OF_RANGE: 'A checkpoint lies outside of its log: records are gone.',
  TOPIC_RECREATED: 'A topic was deleted and created again, so its offsets mean something else.',
  RECORD_CORRUPT: 'A record is damaged, or is not one of the pipeline where only those may be.',
  RECORD_TOO_LARGE: 'The row-set of one key does not fit one record, or has too many rows.',
  BAD_ROW: 'A record cannot be read or computed, and the table has no dead-letter topic.',
  TOO_MANY_DEAD_LETTERS:
    'More of the last records are bad than max_dead_letter_share of the table allows.',
  REPLACE_WHERE_OUTSIDE:
    'The query of a REPLACE WHERE flow gives a row that its condition does not meet. The table keeps the rows that it had.',
  EXPECTATION_FAILED: 'A row violates an expectation with ON VIOLATION FAIL UPDATE.',
  CHECKPOINT_MISSING: 'A consumer group has lost a checkpoint that it had.',
  CHECKPOINT_DAMAGED: 'A checkpoint or a catalog record holds what Tidemark did not write.',
  DEFINITION_CHANGED: 'A flow has a checkpoint of another definition than the one it runs with.',
  DEFINITION_MISSING:
    'A flow has a checkpoint, and the catalog does not know the definition that it was made with.',
  DATA_LOSS_REFUSED: 'What was asked for would lose rows.',
};
