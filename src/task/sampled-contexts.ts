import type { RecordCursor } from '../ports/log.ts';
import type { TraceLinks } from '../ports/tracer.ts';

const linksMax = 64;
const headerName = Buffer.from('traceparent', 'latin1');
/** version-traceid-spanid-flags, as W3C Trace Context has it. */
const valueLength = 55;
const nothing: TraceLinks = { traceparents: [], dropped: 0 };

/**
 * Collects the contexts of sampled records as they pass. Invariant: a record without headers, or whose producer did not
 * sample it, costs no object and no text; of the others only so many are kept.
 */
export class SampledContexts {
  #traceparents: string[] = [];
  #dropped = 0;

  see({ bytes, headersStart, headersEnd }: RecordCursor): void {
    // Even the empty section has a count.
    if (headersEnd - headersStart < headerName.length + valueLength) return;
    const start = valueStart(bytes, headersStart, headersEnd);
    if (start < 0) return;
    if (!isSampled(bytes[start + valueLength - 1] ?? 0)) return;
    if (this.#traceparents.length === linksMax) {
      this.#dropped += 1;
      return;
    }
    this.#traceparents.push(bytes.toString('latin1', start, start + valueLength));
  }

  /** What came since the last call. */
  take(): TraceLinks {
    if (this.#traceparents.length === 0) return nothing;
    const links = { traceparents: this.#traceparents, dropped: this.#dropped };
    this.#traceparents = [];
    this.#dropped = 0;
    return links;
  }
}

/** Where the value of the header traceparent begins; -1: there is none of the right length. Headers are not read, only stepped over. */
function valueStart(bytes: Buffer, start: number, end: number): number {
  let at = pastNumber(bytes, start);
  while (at < end) {
    const isName = isHeaderName(bytes, at);
    at = pastNumber(bytes, at) + numberAt(bytes, at);
    const length = numberAt(bytes, at);
    const value = pastNumber(bytes, at);
    if (isName) return length === valueLength && value + length <= end ? value : -1;
    at = value + Math.max(0, length);
  }
  return -1;
}

/** The length and the name, byte by byte: a call into the buffer would cost more than all of it. */
function isHeaderName(bytes: Buffer, at: number): boolean {
  if (bytes[at] !== headerName.length * 2) return false;
  for (let index = 0; index < headerName.length; index += 1) {
    if (bytes[at + 1 + index] !== headerName[index]) return false;
  }
  return true;
}

/** A zigzag varint, as lengths are written. */
function numberAt(bytes: Buffer, start: number): number {
  let value = 0;
  let scale = 1;
  for (let at = start; ; at += 1) {
    const byte = bytes[at] ?? 0;
    value += (byte & 127) * scale;
    if (byte < 128) break;
    scale *= 128;
  }
  return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
}

function pastNumber(bytes: Buffer, start: number): number {
  let at = start;
  while ((bytes[at] ?? 0) >= 128) at += 1;
  return at + 1;
}

/** The lowest bit of a hexadecimal digit, which is a letter from 10 on: "a" is even, and its code is not. */
function isSampled(digit: number): boolean {
  return digit <= 0x39 ? (digit & 1) === 1 : (digit & 1) === 0;
}
