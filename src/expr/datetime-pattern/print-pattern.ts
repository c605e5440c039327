import { civilFromDays } from '../../data/civil.ts';
import { splitMicros } from '../../data/date-time.ts';
import { offsetMicrosAt, type Zone } from '../../data/zones.ts';
import { dayOfYear, monthNames, quarterOf, weekdayNames, weekdayOf } from '../date-parts.ts';
import type { PatternElement } from './pattern.ts';

/** What is printed: local parts, and the zone with its offset in seconds. */
type Parts = {
  readonly days: number;
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly micros: number;
  readonly offset: number;
  readonly zone: Zone;
  readonly instant: bigint;
  /** The pattern names the era: years before the first one count backwards then. */
  readonly hasEra: boolean;
};

/** Prints an instant in the local time of a zone. */
export function printPattern(
  elements: readonly PatternElement[],
  instant: bigint,
  zone: Zone,
): string {
  const offset = offsetMicrosAt(zone, instant);
  const { days, microsOfDay } = splitMicros(instant + offset);
  const parts: Parts = {
    days,
    ...civilFromDays(days),
    micros: microsOfDay,
    offset: Number(offset / 1_000_000n),
    zone,
    instant,
    hasEra: hasEra(elements),
  };
  return printAll(elements, parts);
}

/** Without an era years go on below 1. */
function hasEra(elements: readonly PatternElement[]): boolean {
  return elements.some((element) =>
    element.element === 'optional'
      ? hasEra(element.elements)
      : element.element === 'field' && element.letter === 'G',
  );
}

function printAll(elements: readonly PatternElement[], parts: Parts): string {
  return elements
    .map((element) => {
      if (element.element === 'text') return element.text;
      if (element.element === 'optional') return printAll(element.elements, parts);
      return printField(element.letter, element.count, parts);
    })
    .join('');
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

function printField(letter: string, count: number, parts: Parts): string {
  const hour = Math.floor(parts.micros / 3_600_000_000);
  switch (letter) {
    case 'G':
      if (count === 4) return parts.year > 0 ? 'Anno Domini' : 'Before Christ';
      return parts.year > 0 ? 'AD' : 'BC';
    case 'y':
      return printYear(parts.hasEra && parts.year <= 0 ? 1 - parts.year : parts.year, count);
    case 'M':
    case 'L':
      return count < 3 ? pad(parts.month, count) : named(monthNames[parts.month - 1] ?? '', count);
    case 'd':
      return pad(parts.day, count);
    case 'D':
      return pad(dayOfYear(parts.days), count);
    case 'Q':
    case 'q':
      return printQuarter(quarterOf(parts.days), count);
    case 'E':
      return named(weekdayNames[weekdayOf(parts.days)] ?? '', count);
    case 'F':
      return pad(((parts.day - 1) % 7) + 1, count);
    case 'a':
      return hour < 12 ? 'AM' : 'PM';
    case 'h':
      return pad(((hour + 11) % 12) + 1, count);
    case 'K':
      return pad(hour % 12, count);
    case 'k':
      return pad(hour === 0 ? 24 : hour, count);
    case 'H':
      return pad(hour, count);
    case 'm':
      return pad(Math.floor(parts.micros / 60_000_000) % 60, count);
    case 's':
      return pad(Math.floor(parts.micros / 1_000_000) % 60, count);
    case 'S':
      return pad(parts.micros % 1_000_000, 6)
        .padEnd(9, '0')
        .slice(0, count);
    default:
      return printZone(letter, count, parts);
  }
}

function printYear(year: number, count: number): string {
  const size = Math.abs(year);
  if (count === 2) return pad(size % 100, 2);
  const digits = pad(size, count);
  if (year < 0) return `-${digits}`;
  return count >= 4 && digits.length > count ? `+${digits}` : digits;
}

function named(name: string, count: number): string {
  return count === 4 ? name : name.slice(0, 3);
}

function printQuarter(quarter: number, count: number): string {
  if (count < 3) return pad(quarter, count);
  if (count === 3) return `Q${quarter}`;
  return `${quarter}${['st', 'nd', 'rd', 'th'][quarter - 1] ?? ''} quarter`;
}

function printZone(letter: string, count: number, parts: Parts): string {
  switch (letter) {
    case 'V':
      return parts.zone.name;
    case 'z':
      return zoneName(parts, count === 4);
    case 'O':
      return localizedOffset(parts.offset, count === 4);
    case 'Z':
      if (count < 4) return offsetText(parts.offset, 2, '+0000');
      return count === 4 ? localizedOffset(parts.offset, true) : offsetText(parts.offset, 3, 'Z');
    case 'X':
      return offsetText(parts.offset, count, 'Z');
    default:
      return offsetText(
        parts.offset,
        count,
        ['+00', '+0000', '+00:00', '+0000', '+00:00'][count - 1] ?? '',
      );
  }
}

/** `+01`, `+0130`, `+01:30`, and with seconds from four letters on. */
function offsetText(seconds: number, count: number, zero: string): string {
  if (seconds === 0) return zero;
  const size = Math.abs(seconds);
  const colon = count === 3 || count === 5 ? ':' : '';
  const minutes = Math.floor(size / 60) % 60;
  let text = `${seconds < 0 ? '-' : '+'}${pad(Math.floor(size / 3600), 2)}`;
  if (count > 1 || minutes > 0) text += colon + pad(minutes, 2);
  if (count > 3 && size % 60 > 0) text += colon + pad(size % 60, 2);
  return text;
}

function localizedOffset(seconds: number, isLong: boolean): string {
  if (seconds === 0) return 'GMT';
  if (isLong) return `GMT${offsetText(seconds, 3, '')}`;
  const size = Math.abs(seconds);
  const minutes = Math.floor(size / 60) % 60;
  const rest = minutes === 0 ? '' : `:${pad(minutes, 2)}`;
  return `GMT${seconds < 0 ? '-' : '+'}${Math.floor(size / 3600)}${rest}`;
}

function zoneName(parts: Parts, isLong: boolean): string {
  const { zone } = parts;
  if (zone.kind === 'fixed') {
    if (zone.name === 'UTC' && isLong) return 'Coordinated Universal Time';
    return zone.name;
  }
  const nameOf = (style: 'long' | 'short'): string => {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone.name, timeZoneName: style });
    const found = format
      .formatToParts(Number(parts.instant / 1000n))
      .find((part) => part.type === 'timeZoneName');
    return found?.value ?? zone.name;
  };
  if (isLong) return nameOf('long');
  const short = nameOf('short');
  return short.startsWith('GMT') ? (javaZoneNames[nameOf('long')] ?? short) : short;
}

/** Short names of Java where the locale en-US has none. */
const javaZoneNames: Readonly<Record<string, string>> = {
  'Australian Eastern Daylight Time': 'AEDT',
  'Australian Eastern Standard Time': 'AEST',
  'Brasilia Standard Time': 'BRT',
  'British Summer Time': 'BST',
  'Central European Standard Time': 'CET',
  'Central European Summer Time': 'CEST',
  'China Standard Time': 'CST',
  'Eastern European Standard Time': 'EET',
  'Eastern European Summer Time': 'EEST',
  'India Standard Time': 'IST',
  'Japan Standard Time': 'JST',
  'Moscow Standard Time': 'MSK',
  'Singapore Standard Time': 'SGT',
  'Western European Standard Time': 'WET',
  'Western European Summer Time': 'WEST',
};
