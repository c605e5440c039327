import { ByteWriter } from '../../data/byte-writer.ts';

export type NumberedKey = { readonly key: string; readonly position: number };

/**
 * The record key of output mode `rows`, taken apart: `{"k":1,"_row":0}` → `{"k":1}` and 0. Undefined when
 * there is no row number at its end, where the writer always puts it.
 */
export function splitNumberedKey(recordKey: string): NumberedKey | undefined {
  const match = /,"_row":(\d+)\}$/.exec(recordKey);
  return match === null
    ? undefined
    : { key: `${recordKey.slice(0, match.index)}}`, position: Number(match[1]) };
}

const marker = Buffer.from(',"_row":', 'latin1');
const closeBrace = 0x7d;
const digit0 = 0x30;
const scratch = new ByteWriter(256);

/** The same of the bytes of a key; its text is one character a byte. */
export function splitNumberedSpan(
  bytes: Buffer,
  start: number,
  end: number,
): NumberedKey | undefined {
  let at = end - 1;
  if (bytes[at] !== closeBrace) return undefined;
  let position = 0;
  let unit = 1;
  for (at -= 1; at > start; at -= 1) {
    const digit = (bytes[at] as number) - digit0;
    if (digit < 0 || digit > 9) break;
    position += digit * unit;
    unit *= 10;
  }
  const markerStart = at + 1 - marker.length;
  if (unit === 1 || markerStart < start) return undefined;
  for (let index = 0; index < marker.length; index += 1) {
    if (bytes[markerStart + index] !== marker[index]) return undefined;
  }
  scratch.reset();
  scratch.bytes(bytes, start, markerStart);
  scratch.byte(closeBrace);
  return { key: scratch.buffer.toString('latin1', 0, scratch.length), position };
}
