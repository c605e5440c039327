import { daysOf } from './date-time.ts';

/**
 * The fast way through the usual form of a timestamp, `2025-03-05T04:33:46[.ffffff][Z|±hh:mm]`, from its bytes;
 * without a zone it is UTC. Undefined for every other text, also for invalid ones: the parser of all forms
 * decides then. Invariant: where it answers, it answers as `parseTimestamp` with UTC does.
 */
export function isoMicros(bytes: Uint8Array, start: number, end: number): bigint | undefined {
  if (end - start < 19) return undefined;
  const isFormed =
    bytes[start + 4] === 0x2d &&
    bytes[start + 7] === 0x2d &&
    (bytes[start + 10] === 0x54 || bytes[start + 10] === 0x20) &&
    bytes[start + 13] === 0x3a &&
    bytes[start + 16] === 0x3a;
  if (!isFormed) return undefined;
  const century = pair(bytes, start);
  const yearOfCentury = pair(bytes, start + 2);
  const month = pair(bytes, start + 5);
  const day = pair(bytes, start + 8);
  const hour = pair(bytes, start + 11);
  const minute = pair(bytes, start + 14);
  const second = pair(bytes, start + 17);
  // A pair that is not two digits is negative, and no sum of the others hides it.
  if ((century | yearOfCentury | month | day | hour | minute | second) < 0) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const days = daysOf(century * 100 + yearOfCentury, month, day);
  if (days === undefined) return undefined;
  let at = start + 19;
  let micros = 0;
  if (at < end && bytes[at] === 0x2e) {
    at += 1;
    let unit = 100_000;
    while (at < end) {
      const digit = (bytes[at] as number) - 0x30;
      if (digit < 0 || digit > 9) break;
      micros += digit * unit;
      unit = Math.floor(unit / 10);
      at += 1;
    }
  }
  const offset = offsetSeconds(bytes, at, end);
  if (offset === undefined) return undefined;
  const seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset;
  const total = seconds * 1_000_000 + micros;
  return Math.abs(total) <= Number.MAX_SAFE_INTEGER
    ? BigInt(total)
    : BigInt(seconds) * 1_000_000n + BigInt(micros);
}

/** Nothing, `Z` or `±hh:mm` from `at` to `end`. */
function offsetSeconds(bytes: Uint8Array, at: number, end: number): number | undefined {
  if (at === end) return 0;
  const first = bytes[at];
  if (first === 0x5a) return end - at === 1 ? 0 : undefined;
  if ((first !== 0x2b && first !== 0x2d) || end - at !== 6 || bytes[at + 3] !== 0x3a) {
    return undefined;
  }
  const hours = pair(bytes, at + 1);
  const minutes = pair(bytes, at + 4);
  if ((hours | minutes) < 0 || hours > 17 || minutes > 59) return undefined;
  const seconds = hours * 3600 + minutes * 60;
  return first === 0x2d ? -seconds : seconds;
}

function pair(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - 0x30;
  const ones = (bytes[at + 1] as number) - 0x30;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}
