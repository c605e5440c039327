import { civilFromDays, daysFromCivil, daysOfMonth } from '../data/civil.ts';
import { splitMicros } from '../data/date-time.ts';
import { localToUtc, offsetMicrosAt, utc, type Zone, zoneOf } from '../data/zones.ts';
import { ExpressionError } from './expression-error.ts';

/**
 * Calendar arithmetic on dates (days) and timestamps (microseconds). Invariant: months and days move
 * the local clock, smaller units move the instant, as Spark does around changes of the clock.
 */
export const microsPerDay = 86_400_000_000n;

/** The session's zone; its name was checked when the pipeline was. */
export function sessionZone(name: string): Zone {
  return zoneOf(name) ?? utc;
}

/** A day that the month lacks becomes its last one: 31 January and a month are 29 February. */
export function addMonths(days: number, months: number): number {
  const { year, month, day } = civilFromDays(days);
  const total = year * 12 + (month - 1) + months;
  const newYear = Math.floor(total / 12);
  const newMonth = total - newYear * 12 + 1;
  const moved = daysFromCivil(newYear, newMonth, Math.min(day, daysOfMonth(newYear, newMonth)));
  if (moved < -2_147_483_648 || moved > 2_147_483_647) {
    throw new ExpressionError('ARITHMETIC_OVERFLOW', 'the result is beyond what a date holds');
  }
  return moved;
}

export function checkedDays(days: number): number {
  if (days < -2_147_483_648 || days > 2_147_483_647) throw datetimeOverflow();
  return days;
}

export function checkedMicros(micros: bigint): bigint {
  if (micros !== BigInt.asIntN(64, micros)) throw datetimeOverflow();
  return micros;
}

function datetimeOverflow(): ExpressionError {
  return new ExpressionError(
    'DATETIME_OVERFLOW',
    'the result is beyond what a date or timestamp holds',
  );
}

export function toLocal(micros: bigint, zone: Zone): bigint {
  return micros + offsetMicrosAt(zone, micros);
}

/** The first instant of a day in the zone. */
export function startOfDay(days: number, zone: Zone): bigint {
  return checkedMicros(localToUtc(zone, BigInt(days) * microsPerDay));
}

export function dateOfTimestamp(micros: bigint, zone: Zone): number {
  return splitMicros(toLocal(micros, zone)).days;
}

export function addInterval(
  micros: bigint,
  interval: { readonly months: number; readonly days: number; readonly micros: bigint },
  zone: Zone,
): bigint {
  let instant = micros;
  if (interval.months !== 0 || interval.days !== 0) {
    const { days, microsOfDay } = splitMicros(toLocal(micros, zone));
    const moved = addMonths(days, interval.months) + interval.days;
    instant = localToUtc(zone, BigInt(moved) * microsPerDay + BigInt(microsOfDay));
  }
  return checkedMicros(instant + interval.micros);
}

/** Whole days move the local clock, the rest the instant. */
export function addDayTime(micros: bigint, interval: bigint, zone: Zone): bigint {
  const days = interval / microsPerDay;
  return addInterval(
    micros,
    { months: 0, days: Number(days), micros: interval - days * microsPerDay },
    zone,
  );
}
