/** Text by code points. */
export function characters(s: string): string[] {
  return Array.from(s);
}

/** True where code points and UTF-16 units are the same. */
export function isPlain(s: string): boolean {
  return !/[\ud800-\udfff]/.test(s);
}

/** Spark's SUBSTRING: positions from 1, negative ones from the end, 0 as 1. */
export function subString(s: string, start: number, length: number): string {
  if (isPlain(s)) {
    const [from, to] = bounds(s.length, start, length);
    return s.slice(from, to);
  }
  const all = characters(s);
  const [from, to] = bounds(all.length, start, length);
  return all.slice(from, to).join('');
}

export function subBinary(bytes: Uint8Array, start: number, length: number): Uint8Array {
  const [from, to] = bounds(bytes.length, start, length);
  return bytes.subarray(from, to);
}

function bounds(size: number, start: number, length: number): readonly [number, number] {
  if (length <= 0) return [0, 0];
  const from = start > 0 ? start - 1 : start < 0 ? size + start : 0;
  const to = Math.min(from + length, size);
  return [Math.max(from, 0), Math.max(to, 0)];
}

/** Without the characters of `set` at its ends. */
export function trimSet(s: string, set: string, start: boolean, end: boolean): string {
  if (set === ' ') return trimSpaces(s, start, end);
  const all = characters(s);
  const wanted = new Set(characters(set));
  let from = 0;
  let to = all.length;
  while (start && from < to && wanted.has(all[from] ?? '')) from += 1;
  while (end && to > from && wanted.has(all[to - 1] ?? '')) to -= 1;
  return all.slice(from, to).join('');
}

function trimSpaces(s: string, start: boolean, end: boolean): string {
  let from = 0;
  let to = s.length;
  while (start && from < to && s.charCodeAt(from) === 0x20) from += 1;
  while (end && to > from && s.charCodeAt(to - 1) === 0x20) to -= 1;
  return s.slice(from, to);
}

/** Cut or filled to `length` code points. */
export function padded(s: string, length: number, pad: string, left: boolean): string {
  if (length <= 0) return '';
  const all = characters(s);
  if (all.length >= length || pad === '') return all.slice(0, length).join('');
  const filler = characters(pad);
  const missing = length - all.length;
  const times = Math.ceil(missing / filler.length);
  const fill = characters(pad.repeat(times)).slice(0, missing).join('');
  return left ? fill + s : s + fill;
}

/** As `padded`, by bytes. */
export function paddedBytes(
  bytes: Uint8Array,
  length: number,
  pad: Uint8Array,
  left: boolean,
): Uint8Array {
  const size = Math.max(length, 0);
  if (bytes.length >= size || pad.length === 0) return bytes.subarray(0, size);
  const fill = Uint8Array.from({ length: size - bytes.length }, (_, i) => pad[i % pad.length] ?? 0);
  return Uint8Array.from(left ? [...fill, ...bytes] : [...bytes, ...fill]);
}
