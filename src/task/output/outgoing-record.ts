import type { OutgoingRecord } from '../../ports/log.ts';

/** A record that is filled again and again. */
export function emptyOutgoingRecord(): OutgoingRecord {
  return {
    key: Buffer.alloc(0),
    keyStart: 0,
    keyEnd: 0,
    value: Buffer.alloc(0),
    valueStart: 0,
    valueEnd: 0,
    headers: Buffer.alloc(0),
    headersStart: 0,
    headersEnd: 0,
    timestampMs: 0,
  };
}
