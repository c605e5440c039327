import type { ByteWriter } from './byte-writer.ts';
import { civilFromDays } from './civil.ts';
import { formatDate, splitMicros } from './date-time.ts';
import { formatDecimal } from './decimal.ts';

/**
 * Numbers, dates and timestamps as ASCII bytes, without a string in between where the value is usual.
 * Invariant: the bytes are those of the matching `format…` function.
 */

/** A whole number within ±(2^53 - 1). */
export function writeWhole(out: ByteWriter, value: number): void {
  out.reserve(17);
  let rest = value;
  if (rest < 0) {
    out.byte(0x2d);
    rest = -rest;
  }
  let size = 1;
  for (let limit = 10; rest >= limit; limit *= 10) size += 1;
  writePadded(out.buffer, out.length, rest, size);
  out.length += size;
}

export function writeBigint(out: ByteWriter, value: bigint): void {
  if (value <= safeMax && value >= -safeMax) writeWhole(out, Number(value));
  else out.ascii(value.toString());
}

export function writeDecimal(out: ByteWriter, unscaled: bigint, scale: number): void {
  if (scale > 15 || unscaled > safeMax || unscaled < -safeMax) {
    out.ascii(formatDecimal(unscaled, scale));
    return;
  }
  const value = Number(unscaled);
  if (scale === 0) {
    writeWhole(out, value);
    return;
  }
  out.reserve(20);
  if (value < 0) out.byte(0x2d);
  const size = Math.abs(value);
  const unit = 10 ** scale;
  const whole = Math.floor(size / unit);
  writeWhole(out, whole);
  out.byte(0x2e);
  writePadded(out.buffer, out.length, size - whole * unit, scale);
  out.length += scale;
}

export function writeDate(out: ByteWriter, days: number): void {
  const { year, month, day } = civilFromDays(days);
  if (year < 0 || year > 9999) {
    out.ascii(formatDate(days));
    return;
  }
  out.reserve(10);
  const { buffer, length } = out;
  writePadded(buffer, length, year, 4);
  buffer[length + 4] = 0x2d;
  writePadded(buffer, length + 5, month, 2);
  buffer[length + 7] = 0x2d;
  writePadded(buffer, length + 8, day, 2);
  out.length += 10;
}

/** `2025-03-05T04:33:46.000000`, for an instant with `Z`. */
export function writeTimestamp(out: ByteWriter, micros: bigint, isInstant: boolean): void {
  let days: number;
  let rest: number;
  if (micros <= safeMax && micros >= -safeMax) {
    const value = Number(micros);
    days = Math.floor(value / microsPerDay);
    rest = value - days * microsPerDay;
  } else {
    ({ days, microsOfDay: rest } = splitMicros(micros));
  }
  writeDate(out, days);
  out.reserve(17);
  const { buffer, length } = out;
  const seconds = Math.floor(rest / 1_000_000);
  buffer[length] = 0x54;
  writePadded(buffer, length + 1, Math.floor(seconds / 3600), 2);
  buffer[length + 3] = 0x3a;
  writePadded(buffer, length + 4, Math.floor(seconds / 60) % 60, 2);
  buffer[length + 6] = 0x3a;
  writePadded(buffer, length + 7, seconds % 60, 2);
  buffer[length + 9] = 0x2e;
  writePadded(buffer, length + 10, rest - seconds * 1_000_000, 6);
  out.length += 16;
  if (isInstant) out.byte(0x5a);
}

const safeMax = 9_007_199_254_740_991n;
const microsPerDay = 86_400_000_000;

/** Exactly `size` digits, with leading zeros. */
function writePadded(buffer: Uint8Array, at: number, value: number, size: number): void {
  let rest = value;
  for (let position = at + size - 1; position >= at; position -= 1) {
    const quotient = Math.floor(rest / 10);
    // The digit first: 0x30 + rest would pass 2^53 and lose it.
    buffer[position] = 0x30 + (rest - quotient * 10);
    rest = quotient;
  }
}
