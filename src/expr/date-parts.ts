import { civilFromDays, daysFromCivil } from '../data/civil.ts';

/** Parts of a day since 1970-01-01. */
export function yearOf(days: number): number {
  return civilFromDays(days).year;
}

export function quarterOf(days: number): number {
  return Math.floor((civilFromDays(days).month - 1) / 3) + 1;
}

export function dayOfYear(days: number): number {
  return days - daysFromCivil(civilFromDays(days).year, 1, 1) + 1;
}

/** Monday is 0. */
export function weekdayOf(days: number): number {
  return (((days + 3) % 7) + 7) % 7;
}

/** The ISO week: the first one of a year has its first Thursday. */
export function isoWeek(days: number): { readonly year: number; readonly week: number } {
  const thursday = days - weekdayOf(days) + 3;
  const { year } = civilFromDays(thursday);
  return { year, week: Math.floor((thursday - daysFromCivil(year, 1, 1)) / 7) + 1 };
}

export const weekdayNames: readonly string[] = [
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
];

export const monthNames: readonly string[] = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** The first day of the year, quarter, month or week; undefined for any other level. */
export function truncateDate(days: number, level: string): number | undefined {
  const { year, month } = civilFromDays(days);
  switch (level.toUpperCase()) {
    case 'YEAR':
    case 'YYYY':
    case 'YY':
      return daysFromCivil(year, 1, 1);
    case 'QUARTER':
      return daysFromCivil(year, Math.floor((month - 1) / 3) * 3 + 1, 1);
    case 'MONTH':
    case 'MM':
    case 'MON':
      return daysFromCivil(year, month, 1);
    case 'WEEK':
      return days - weekdayOf(days);
    default:
      return undefined;
  }
}
