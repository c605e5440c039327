import type { DayTimeField, YearMonthField } from '../data/types.ts';
import type { CalendarInterval } from '../data/value.ts';
import { type DayTimeType, dayTimeFields, type YearMonthType } from './types.ts';

/** The forms of interval text that literals and casts take in; printing is `data/interval-text.ts`'s. */
export const microsOf: Readonly<Record<DayTimeField, bigint>> = {
  day: 86_400_000_000n,
  hour: 3_600_000_000n,
  minute: 60_000_000n,
  second: 1_000_000n,
};

function isInt(value: number): boolean {
  return value >= -2_147_483_648 && value <= 2_147_483_647;
}

/** The body of a year-month literal of these fields; undefined when it is none. */
export function parseYearMonthBody(
  text: string,
  from: YearMonthField,
  to: YearMonthField,
): number | undefined {
  const pattern = from === to ? /^([+-]?)(\d+)$/ : /^([+-]?)(\d+)-(\d+)$/;
  const match = pattern.exec(text.trim());
  if (match === null) return undefined;
  const [, sign, first = '0', second = '0'] = match;
  if (Number(second) > 11) return undefined;
  const months = from === 'month' ? Number(first) : Number(first) * 12 + Number(second);
  const signed = sign === '-' ? -months : months;
  return isInt(signed) ? signed : undefined;
}

/** The body of a day-time literal, such as `1 02:03:04.5`; undefined when it is none. */
export function parseDayTimeBody(
  text: string,
  from: DayTimeField,
  to: DayTimeField,
): bigint | undefined {
  const first = dayTimeFields.indexOf(from);
  const last = dayTimeFields.indexOf(to);
  const match = dayTimeForm(first, last).exec(text.trim());
  if (match === null) return undefined;
  let micros = 0n;
  for (let i = first; i <= last; i += 1) {
    const field = dayTimeFields[i] ?? 'second';
    const count = match[2 + i - first] ?? '0';
    if (count.length > 18 || (i > first && Number(count) > followingMax(field))) return undefined;
    micros += BigInt(count) * microsOf[field];
  }
  const fraction = to === 'second' ? match[3 + last - first] : undefined;
  if (fraction !== undefined) micros += BigInt(fraction.slice(1, 7).padEnd(6, '0'));
  const signed = match[1] === '-' ? -micros : micros;
  return signed === BigInt.asIntN(64, signed) ? signed : undefined;
}

function dayTimeForm(first: number, last: number): RegExp {
  let pattern = '^([+-]?)';
  for (let i = first; i <= last; i += 1) {
    if (i > first) pattern += dayTimeFields[i - 1] === 'day' ? '[ T]' : ':';
    pattern += dayTimeFields[i] === 'second' ? '(\\d+)(\\.\\d{1,9})?' : '(\\d+)';
  }
  return new RegExp(`${pattern}$`);
}

/** Whether a text has the parts of a day-time literal, whatever their values. */
export function hasDayTimeForm(text: string, from: DayTimeField, to: DayTimeField): boolean {
  const [first, last] = [dayTimeFields.indexOf(from), dayTimeFields.indexOf(to)];
  return dayTimeForm(first, last).test(text.trim());
}

function followingMax(field: DayTimeField): number {
  return field === 'hour' ? 23 : 59;
}

/** What a list of units such as `1 year 2 days` adds up to, with the units that occur. */
export type UnitSum = CalendarInterval & { readonly units: ReadonlySet<string> };

/** `[interval] 1 year -2 days 3.5 seconds`; undefined when it is none. */
export function parseUnits(text: string): UnitSum | undefined {
  const trimmed = text
    .trim()
    .toLowerCase()
    .replace(/^interval\s+/, '');
  const pattern = /([+-]?)\s*(\d*\.?\d+|\d+\.)\s+([a-z]+)\s*/gy;
  const sum = new UnitAdder();
  let end = 0;
  for (let match = pattern.exec(trimmed); match !== null; match = pattern.exec(trimmed)) {
    end = pattern.lastIndex;
    const [, sign = '', count = '', unit = ''] = match;
    if (!sum.add(`${sign}${count}`, unit.replace(/s$/, ''))) return undefined;
  }
  return end === trimmed.length && end > 0 ? sum.sum() : undefined;
}

/** Adds up counts of units; refuses unknown units, and fractions of all but seconds. */
export class UnitAdder {
  #months = 0;
  #days = 0;
  #micros = 0n;
  readonly #units = new Set<string>();

  /** The unit in lower-case singular. */
  add(count: string, unit: string): boolean {
    const match = /^([+-]?)(\d*)(?:\.(\d{0,9}))?$/.exec(count.trim());
    if (match === null || (match[2] === '' && (match[3] ?? '') === '')) return false;
    const isNegative = match[1] === '-';
    const whole = BigInt(match[2] === '' ? '0' : (match[2] ?? '0'));
    if (match[3] !== undefined && unit !== 'second') return false;
    const signed = isNegative ? -whole : whole;
    switch (unit) {
      case 'year':
        this.#months += Number(signed) * 12;
        break;
      case 'month':
        this.#months += Number(signed);
        break;
      case 'week':
        this.#days += Number(signed) * 7;
        break;
      case 'day':
        this.#days += Number(signed);
        break;
      case 'hour':
      case 'minute':
      case 'second': {
        const fraction = BigInt((match[3] ?? '').slice(0, 6).padEnd(6, '0'));
        const micros = whole * microsOf[unit] + (unit === 'second' ? fraction : 0n);
        this.#micros += isNegative ? -micros : micros;
        break;
      }
      case 'millisecond':
        this.#micros += signed * 1000n;
        break;
      case 'microsecond':
        this.#micros += signed;
        break;
      case 'nanosecond':
        this.#micros += signed / 1000n;
        break;
      default:
        return false;
    }
    this.#units.add(unit);
    return this.#isInRange();
  }

  sum(): UnitSum {
    return { months: this.#months, days: this.#days, micros: this.#micros, units: this.#units };
  }

  #isInRange(): boolean {
    return (
      isInt(this.#months) && isInt(this.#days) && this.#micros === BigInt.asIntN(64, this.#micros)
    );
  }
}

/** A text in the full form `INTERVAL '…' FROM TO TO` gives its body when its fields are those of the type. */
export function intervalBody(text: string, type: YearMonthType | DayTimeType): string | undefined {
  const match = /^\s*interval\s+([+-]?)'([^']*)'\s+(\w+)(?:\s+to\s+(\w+))?\s*$/i.exec(text);
  if (match === null) return text;
  const [, sign = '', body = '', from = '', to = from] = match;
  if (from.toLowerCase() !== type.from || to.toLowerCase() !== type.to) return undefined;
  if (sign === '-') return body.startsWith('-') ? body.slice(1) : `-${body}`;
  return body;
}
