import { civilFromDays, daysFromCivil, daysOfMonth } from './civil.ts';
import { localToUtc, offsetMicrosAt, utc, type Zone, zoneOf } from './zones.ts';

/**
 * Dates, timestamps and times of day as text, by the forms that Spark's casts accept and print.
 * Invariant: what a `format…` prints the matching `parse…` reads back exactly.
 */

/** `yyyy`, `yyyy-M`, `yyyy-M-d`, the last also with `T…` or ` …` behind it; undefined when it is no date. */
export function parseDate(text: string): number | undefined {
  const match = datePattern.exec(trimControls(text));
  if (match === null) return undefined;
  const [, sign, yearDigits = '', month = '1', day = '1'] = match;
  const year = sign === '-' ? -Number(yearDigits) : Number(yearDigits);
  return daysOf(year, Number(month), Number(day));
}

/**
 * `yyyy[-M[-d]]`, or a day with a time `H[:m[:s[.fraction]]]` behind `T` or a space, seconds also with
 * a zone behind them. A text without a zone is local time in `zone`. A bare time of day is refused:
 * it would mean today, and what a record means must not depend on when it is read.
 */
export function parseTimestamp(text: string, zone: Zone = utc): bigint | undefined {
  const parts = splitTimestamp(text);
  if (parts === undefined) return undefined;
  let own: Zone | undefined = zone;
  if (parts.zone !== undefined) own = zoneOf(parts.zone);
  if (own === undefined) return undefined;
  return inRange(localToUtc(own, parts.localMicros));
}

/** As `parseTimestamp`, but the local time itself: a zone is ignored, or refused without `allowZone`. */
export function parseTimestampNtz(text: string, allowZone = true): bigint | undefined {
  const parts = splitTimestamp(text);
  if (parts === undefined) return undefined;
  if (parts.zone !== undefined && !(allowZone && zoneOf(parts.zone) !== undefined)) {
    return undefined;
  }
  return inRange(parts.localMicros);
}

/** `H:m[:s[.fraction]]`, or so from 1 to 12 with AM or PM, in nanoseconds since midnight. */
export function parseTime(text: string): bigint | undefined {
  const match = timePattern.exec(trimControls(text));
  if (match === null) return undefined;
  const [, hour = '', minute, second, fraction = '.', half] = match;
  const hours = half === undefined ? hour : hoursOfHalf(Number(hour), half.toUpperCase());
  const micros = hours === undefined ? undefined : microsOfDay(hours, minute, second, fraction);
  if (micros === undefined) return undefined;
  return BigInt(micros) * 1000n + BigInt(fraction.slice(7, 10).padEnd(3, '0'));
}

function hoursOfHalf(hour: number, half: string): string | undefined {
  if (hour < 1 || hour > 12) return undefined;
  return String((hour % 12) + (half === 'PM' ? 12 : 0));
}

/** `2024-02-29`; years beyond 9999 with `+`, negative ones with `-`. */
export function formatDate(days: number): string {
  const { year, month, day } = civilFromDays(days);
  return `${formatYear(year)}-${twoDigits(month)}-${twoDigits(day)}`;
}

/** `2025-03-05T04:33:46.000000Z`: always six digits, always UTC. */
export function formatTimestampIso(micros: bigint): string {
  return `${formatTimestampNtzIso(micros)}Z`;
}

/** `2025-03-05T04:33:46.000000`. */
export function formatTimestampNtzIso(micros: bigint): string {
  const { days, microsOfDay: rest } = splitMicros(micros);
  const fraction = String(rest % 1_000_000).padStart(6, '0');
  return `${formatDate(days)}T${formatClock(rest)}.${fraction}`;
}

/** `2025-03-05 04:33:46.5` in the zone's local time, as a cast to STRING prints it. */
export function formatTimestamp(micros: bigint, zone: Zone = utc): string {
  const { days, microsOfDay: rest } = splitMicros(micros + offsetMicrosAt(zone, micros));
  return `${formatDate(days)} ${formatClock(rest)}${formatFraction(rest % 1_000_000)}`;
}

/** `04:33:46.5`, as a cast to STRING prints it. */
export function formatTime(nanos: bigint): string {
  const rest = String(nanos % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0+$/, '');
  const clock = formatClock(Number(nanos / 1000n));
  return rest === '' ? clock : `${clock}.${rest}`;
}

/** `04:33:46.500000000`: always nine digits. */
export function formatTimeIso(nanos: bigint): string {
  const micros = Number(nanos / 1000n);
  const fraction = String(nanos % 1_000_000_000n).padStart(9, '0');
  return `${formatClock(micros)}.${fraction}`;
}

/** The day and the microsecond in it; days run from midnight also before 1970. */
export function splitMicros(micros: bigint): {
  readonly days: number;
  readonly microsOfDay: number;
} {
  let days = micros / microsPerDay;
  let rest = micros - days * microsPerDay;
  if (rest < 0n) {
    days -= 1n;
    rest += microsPerDay;
  }
  return { days: Number(days), microsOfDay: Number(rest) };
}

/** Days since 1970-01-01, or undefined when there is no such day or it is beyond the DATE type. */
export function daysOf(year: number, month: number, day: number): number | undefined {
  if (month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month)) return undefined;
  const days = daysFromCivil(year, month, day);
  return days >= -2_147_483_648 && days <= 2_147_483_647 ? days : undefined;
}

const microsPerDay = 86_400_000_000n;

const datePattern = /^([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?$/s;

const timestampPattern =
  /^([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(\.\d*)?([^\d.].*)?)?)?)?)?)?$/s;

const timePattern = /^(\d{1,2}):(\d{1,2})(?::(\d{1,2})(\.\d{0,9})?)?(?:\s*([AP]M))?$/i;

function splitTimestamp(
  text: string,
): { readonly localMicros: bigint; readonly zone: string | undefined } | undefined {
  const match = timestampPattern.exec(trimControls(text));
  if (match === null) return undefined;
  const [, sign, yearDigits = '', month = '1', day = '1', hour, minute, second, fraction, zone] =
    match;
  const year = sign === '-' ? -Number(yearDigits) : Number(yearDigits);
  const days = daysOf(year, Number(month), Number(day));
  const micros = microsOfDay(hour, minute, second, fraction);
  if (days === undefined || micros === undefined) return undefined;
  return {
    localMicros: BigInt(days) * microsPerDay + BigInt(micros),
    zone: zone === undefined ? undefined : trimControls(zone),
  };
}

function microsOfDay(hour = '0', minute = '0', second = '0', fraction = '.'): number | undefined {
  const hours = Number(hour);
  const minutes = Number(minute);
  const seconds = Number(second);
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const micros = Number(fraction.slice(1, 7).padEnd(6, '0'));
  return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros;
}

/** Spark trims white space and control characters of ASCII only. */
export function trimControls(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code <= 32 || code === 127;
}

function inRange(micros: bigint): bigint | undefined {
  return micros === BigInt.asIntN(64, micros) ? micros : undefined;
}

function formatYear(year: number): string {
  if (year > 9999) return `+${year}`;
  return year < 0 ? `-${String(-year).padStart(4, '0')}` : String(year).padStart(4, '0');
}

function formatClock(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000);
  const hour = twoDigits(Math.floor(seconds / 3600));
  return `${hour}:${twoDigits(Math.floor(seconds / 60) % 60)}:${twoDigits(seconds % 60)}`;
}

function formatFraction(micros: number): string {
  if (micros === 0) return '';
  return `.${String(micros).padStart(6, '0').replace(/0+$/, '')}`;
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
