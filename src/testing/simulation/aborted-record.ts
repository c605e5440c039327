import type { OutgoingRecord } from '../../ports/log.ts';

const abortedValue = Buffer.from('{"k":1,"g":1,"seq":99,"v":"aborted","items":["aborted"]}');

/** A record of a transaction that is never committed: nothing of it may show anywhere. */
export const abortedRecord: OutgoingRecord = {
  key: abortedValue,
  keyStart: 0,
  keyEnd: -1,
  value: abortedValue,
  valueStart: 0,
  valueEnd: abortedValue.length,
  headers: abortedValue,
  headersStart: 0,
  headersEnd: 0,
  timestampMs: 0,
};
