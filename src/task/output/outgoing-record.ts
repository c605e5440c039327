import type { OutgoingRecord } from '../../ports/log.ts';

const nothing = Buffer.alloc(0);

/** A record that is filled again and again. */
export function emptyOutgoingRecord(): OutgoingRecord {
  return {
    key: nothing,
    keyStart: 0,
    keyEnd: 0,
    value: nothing,
    valueStart: 0,
    valueEnd: 0,
    headers: nothing,
    headersStart: 0,
    headersEnd: 0,
    timestampMs: 0,
  };
}
