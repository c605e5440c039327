import type { DayTimeField, YearMonthField } from './types.ts';
import type { CalendarInterval } from './value.ts';

/**
 * Intervals as Spark prints them: ANSI literals such as `INTERVAL '1 02:03:04.5' DAY TO SECOND`, calendar
 * intervals as `1 years 2 months`. Invariant: what a `format…` prints the matching `parse…` reads back exactly.
 */
export function formatYearMonthInterval(
  months: number,
  from: YearMonthField,
  to: YearMonthField,
): string {
  const size = Math.abs(months);
  const sign = months < 0 ? '-' : '';
  let body = String(size);
  if (from === 'year') {
    body = String(Math.floor(size / 12));
    if (to === 'month') body += `-${size % 12}`;
  }
  return literal(sign + body, from, to);
}

export function formatDayTimeInterval(
  micros: bigint,
  from: DayTimeField,
  to: DayTimeField,
): string {
  let rest = micros < 0n ? -micros : micros;
  let body = micros < 0n ? '-' : '';
  const first = dayTimeFields.indexOf(from);
  const last = dayTimeFields.indexOf(to);
  for (let index = first; index <= last; index += 1) {
    const unit = microsOf[index] as bigint;
    if (index > first) body += index === 1 ? ' ' : ':';
    if (index === 3) {
      body += formatSeconds(rest);
    } else {
      const digits = (rest / unit).toString();
      body += index === 0 ? digits : digits.padStart(2, '0');
      rest %= unit;
    }
  }
  return literal(body, from, to);
}

export function formatCalendarInterval(interval: CalendarInterval): string {
  const parts: string[] = [];
  const add = (amount: number | bigint, unit: string): void => {
    if (amount !== 0 && amount !== 0n) parts.push(`${amount} ${unit}`);
  };
  add(Math.trunc(interval.months / 12), 'years');
  add(interval.months % 12, 'months');
  add(interval.days, 'days');
  let rest = interval.micros;
  add(rest / 3_600_000_000n, 'hours');
  rest %= 3_600_000_000n;
  add(rest / 60_000_000n, 'minutes');
  rest %= 60_000_000n;
  if (rest !== 0n) {
    const sign = rest < 0n ? '-' : '';
    parts.push(`${sign}${decimalSeconds(rest < 0n ? -rest : rest)} seconds`);
  }
  return parts.length === 0 ? '0 seconds' : parts.join(' ');
}

/** Reads what `formatYearMonthInterval` prints for the same fields; undefined for anything else. */
export function parseYearMonthInterval(
  text: string,
  from: YearMonthField,
  to: YearMonthField,
): number | undefined {
  const match = /^(-?)(\d{1,10})(?:-(\d{1,2}))?$/.exec(bodyOf(text, from, to) ?? '');
  if (match === null) return undefined;
  const [, sign, first = '0', second] = match;
  if ((second !== undefined) !== (from !== to)) return undefined;
  const months = from === 'month' ? Number(first) : Number(first) * 12 + Number(second ?? '0');
  if (months > 2_147_483_648 || Number(second ?? '0') > 11) return undefined;
  // Adding 0 turns -0 into 0.
  return sign === '-' ? -months + 0 : months;
}

/** Reads what `formatDayTimeInterval` prints for the same fields; undefined for anything else. */
export function parseDayTimeInterval(
  text: string,
  from: DayTimeField,
  to: DayTimeField,
): bigint | undefined {
  const body = bodyOf(text, from, to);
  const match = /^(-?)([\d: ]+)(?:\.(\d{1,6}))?$/.exec(body ?? '');
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = ''] = match;
  const parts = whole.split(/[ :]/);
  const first = dayTimeFields.indexOf(from);
  if (parts.length !== dayTimeFields.indexOf(to) - first + 1) return undefined;
  let micros = BigInt(fraction.padEnd(6, '0'));
  for (const [index, part] of parts.entries()) {
    if (!/^\d{1,18}$/.test(part)) return undefined;
    micros += BigInt(part) * (microsOf[first + index] as bigint);
  }
  const signed = sign === '-' ? -micros : micros;
  return BigInt.asIntN(64, signed) === signed ? signed : undefined;
}

/** Reads what `formatCalendarInterval` prints; undefined for anything else. */
export function parseCalendarInterval(text: string): CalendarInterval | undefined {
  let months = 0;
  let days = 0;
  let micros = 0n;
  const words = text.split(' ');
  for (let index = 0; index < words.length; index += 2) {
    const match = /^(-?)(\d{1,18})(?:\.(\d{1,6}))?$/.exec(words[index] ?? '');
    if (match === null) return undefined;
    const [, sign, whole = '0', fraction = ''] = match;
    const amount = Number(sign + whole);
    const unit = words[index + 1];
    if (unit === 'years') months += amount * 12;
    else if (unit === 'months') months += amount;
    else if (unit === 'days') days += amount;
    else {
      const each = unit === undefined ? undefined : clockUnits[unit];
      if (each === undefined) return undefined;
      const size = BigInt(whole) * each + BigInt(fraction.padEnd(6, '0'));
      micros += sign === '-' ? -size : size;
    }
  }
  return { months, days, micros };
}

const dayTimeFields: readonly DayTimeField[] = ['day', 'hour', 'minute', 'second'];
const microsOf: readonly bigint[] = [86_400_000_000n, 3_600_000_000n, 60_000_000n, 1_000_000n];
const clockUnits: Readonly<Record<string, bigint>> = {
  hours: 3_600_000_000n,
  minutes: 60_000_000n,
  seconds: 1_000_000n,
};

function literal(body: string, from: string, to: string): string {
  return `INTERVAL '${body}' ${fieldsText(from, to)}`;
}

function bodyOf(text: string, from: string, to: string): string | undefined {
  const tail = `' ${fieldsText(from, to)}`;
  return text.startsWith("INTERVAL '") && text.endsWith(tail)
    ? text.slice("INTERVAL '".length, -tail.length)
    : undefined;
}

function fieldsText(from: string, to: string): string {
  return (from === to ? from : `${from} to ${to}`).toUpperCase();
}

/** At least two digits before the point. */
function formatSeconds(micros: bigint): string {
  return (micros < 10_000_000n ? '0' : '') + decimalSeconds(micros);
}

function decimalSeconds(micros: bigint): string {
  const fraction = (micros % 1_000_000n).toString().padStart(6, '0').replace(/0+$/, '');
  const whole = (micros / 1_000_000n).toString();
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
