import { civilFromDays, daysFromCivil } from '../../data/civil.ts';
import { daysOf } from '../../data/date-time.ts';
import { type Zone, zoneOf } from '../../data/zones.ts';
import { monthNames } from '../date-parts.ts';
import type { PatternElement } from './pattern.ts';

/** What was read: a local time, and the zone where the text has one. */
export type ParsedTime = { readonly localMicros: bigint; readonly zone: Zone | undefined };

/**
 * Reads a text by a pattern, strictly: the whole text, each number in its width, a date that exists.
 * What the pattern lacks is 1970, January, the first, and zero. undefined when the text does not fit.
 */
export function parsePattern(
  elements: readonly PatternElement[],
  text: string,
): ParsedTime | undefined {
  const state: State = { at: 0, fields: {}, zone: undefined };
  const end = parseAll(elements, text, state);
  if (end === undefined || end.at !== text.length) return undefined;
  return resolved(end);
}

type Fields = {
  era?: number;
  year?: number;
  month?: number;
  day?: number;
  dayOfYear?: number;
  hour?: number;
  hourOfHalf?: number;
  half?: number;
  minute?: number;
  second?: number;
  micros?: number;
};

type State = { readonly at: number; readonly fields: Fields; readonly zone: Zone | undefined };

function parseAll(
  elements: readonly PatternElement[],
  text: string,
  start: State,
): State | undefined {
  let state: State | undefined = start;
  for (const [i, element] of elements.entries()) {
    if (state === undefined) return undefined;
    if (element.element === 'text') {
      state = matchesAt(text, state.at, element.text)
        ? { ...state, at: state.at + element.text.length }
        : undefined;
    } else if (element.element === 'optional') {
      state = parseAll(element.elements, text, state) ?? state;
    } else {
      state = parseField(element.letter, element.count, text, {
        state,
        reserved: reservedWidth(elements, i),
      });
    }
  }
  return state;
}

function matchesAt(text: string, at: number, wanted: string): boolean {
  return text.slice(at, at + wanted.length).toLowerCase() === wanted.toLowerCase();
}

/** Digits that the numbers of fixed width right behind a number of free width need. */
function reservedWidth(elements: readonly PatternElement[], index: number): number {
  let width = 0;
  for (const element of elements.slice(index + 1)) {
    if (element.element !== 'field' || !isFixed(element.letter, element.count)) break;
    width += element.count;
  }
  return width;
}

const numberLetters = new Set('yMLdDhKkHms');

function isFixed(letter: string, count: number): boolean {
  if (!numberLetters.has(letter) || letter === 'y') return letter === 'y' && count === 2;
  return count === (letter === 'D' ? 3 : 2);
}

type Position = { readonly state: State; readonly reserved: number };

function parseField(
  letter: string,
  count: number,
  text: string,
  { state, reserved }: Position,
): State | undefined {
  if ((letter === 'M' || letter === 'L') && count > 2) return parseMonthName(count, text, state);
  if (numberLetters.has(letter)) return parseNumber(letter, count, text, { state, reserved });
  switch (letter) {
    case 'S':
      return parseFraction(count, text, state);
    case 'a':
      return parseHalf(text, state);
    case 'G':
      return parseEra(count, text, state);
    default:
      return parseZone(letter, count, text, state);
  }
}

/** Field, least and greatest value. */
const numberFields: Readonly<Record<string, readonly [keyof Fields, number, number]>> = {
  y: ['year', 0, 999_999_999],
  M: ['month', 1, 12],
  L: ['month', 1, 12],
  d: ['day', 1, 31],
  D: ['dayOfYear', 1, 366],
  h: ['hourOfHalf', 1, 12],
  K: ['hourOfHalf', 0, 11],
  k: ['hour', 1, 24],
  H: ['hour', 0, 23],
  m: ['minute', 0, 59],
  s: ['second', 0, 59],
};

function parseNumber(
  letter: string,
  count: number,
  text: string,
  { state, reserved }: Position,
): State | undefined {
  const rule = numberFields[letter];
  if (rule === undefined) return undefined;
  const isSigned = letter === 'y' && count >= 4 && text[state.at] === '+';
  const isNegative = letter === 'y' && count !== 2 && text[state.at] === '-';
  const from = isSigned || isNegative ? state.at + 1 : state.at;
  const fixed = isFixed(letter, count);
  const least = fixed || letter === 'y' ? count : 1;
  const most = fixed ? count : letter === 'D' && count === 2 ? 3 : 9;
  let digits = digitsAt(text, from, most + (fixed ? 0 : reserved));
  if (!fixed && reserved > 0) digits = digits.slice(0, Math.max(least, digits.length - reserved));
  if (digits.length < least || digits.length > most) return undefined;
  const isLong = digits.length > count;
  if (letter === 'y' && count >= 4 && !isNegative && isSigned !== isLong) return undefined;
  const [field, low, high] = rule;
  let value = Number(digits);
  if (letter === 'y' && count === 2) value += 2000;
  if (value < low || value > high) return undefined;
  if (letter === 'k' && value === 24) value = 0;
  if (letter === 'h') value %= 12;
  if (isNegative) value = -value;
  return { ...state, at: from + digits.length, fields: { ...state.fields, [field]: value } };
}

function digitsAt(text: string, at: number, most: number): string {
  let end = at;
  while (end < at + most && text.charCodeAt(end) >= 0x30 && text.charCodeAt(end) <= 0x39) end += 1;
  return text.slice(at, end);
}

function parseMonthName(count: number, text: string, state: State): State | undefined {
  for (const [i, name] of monthNames.entries()) {
    const wanted = count === 4 ? name : name.slice(0, 3);
    if (matchesAt(text, state.at, wanted)) {
      return {
        ...state,
        at: state.at + wanted.length,
        fields: { ...state.fields, month: i + 1 },
      };
    }
  }
  return undefined;
}

/** Fewer digits than letters are fine. */
function parseFraction(count: number, text: string, state: State): State | undefined {
  const digits = digitsAt(text, state.at, count);
  if (digits === '') return undefined;
  const micros = Number(digits.padEnd(6, '0').slice(0, 6));
  return { ...state, at: state.at + digits.length, fields: { ...state.fields, micros } };
}

function parseHalf(text: string, state: State): State | undefined {
  const half = ['am', 'pm'].indexOf(text.slice(state.at, state.at + 2).toLowerCase());
  if (half < 0) return undefined;
  return { ...state, at: state.at + 2, fields: { ...state.fields, half } };
}

function parseEra(count: number, text: string, state: State): State | undefined {
  const names = count === 4 ? ['Before Christ', 'Anno Domini'] : ['BC', 'AD'];
  for (const [era, name] of names.entries()) {
    if (matchesAt(text, state.at, name)) {
      return { ...state, at: state.at + name.length, fields: { ...state.fields, era } };
    }
  }
  return undefined;
}

function parseZone(letter: string, count: number, text: string, state: State): State | undefined {
  const rest = text.slice(state.at);
  const match = zonePattern(letter, count).exec(rest);
  if (match === null) return undefined;
  // The longest name that there is; a name may be followed by other text.
  for (let length = match[0].length; length > 0; length -= 1) {
    const name = rest.slice(0, length);
    const zone = name === 'Z' || name === 'z' ? zoneOf('UTC') : zoneOf(name);
    if (zone !== undefined) return { ...state, at: state.at + length, zone };
    if (letter !== 'V' && letter !== 'z') return undefined;
  }
  return undefined;
}

function zonePattern(letter: string, count: number): RegExp {
  switch (letter) {
    case 'V':
    case 'z':
      return /^[A-Za-z0-9~/._+:-]+/;
    case 'O':
      return /^GMT(?:[+-]\d{1,2}(?::\d\d)?)?/;
    case 'Z':
      if (count === 4) return /^GMT(?:[+-]\d\d(?::\d\d)?)?/;
      return count === 5 ? /^(?:Z|[+-]\d\d:\d\d(?::\d\d)?)/ : /^[+-]\d{4}/;
    default: {
      const zulu = letter === 'X' ? 'Z|' : '';
      const forms = [
        '[+-]\\d\\d(?:\\d\\d)?',
        '[+-]\\d{4}',
        '[+-]\\d\\d:\\d\\d',
        '[+-]\\d{4}(?:\\d\\d)?',
        '[+-]\\d\\d:\\d\\d(?::\\d\\d)?',
      ];
      return new RegExp(`^(?:${zulu}${forms[count - 1] ?? ''})`);
    }
  }
}

function resolved({ fields, zone }: State): ParsedTime | undefined {
  const days = dayOf(fields);
  if (days === undefined) return undefined;
  const hour = fields.hour ?? (fields.half ?? 0) * 12 + (fields.hourOfHalf ?? 0);
  const seconds = (hour * 60 + (fields.minute ?? 0)) * 60 + (fields.second ?? 0);
  const micros = BigInt(days) * 86_400_000_000n + BigInt(seconds) * 1_000_000n;
  return { localMicros: micros + BigInt(fields.micros ?? 0), zone };
}

function dayOf(fields: Fields): number | undefined {
  const written = fields.year ?? 1970;
  const year = fields.era === 0 ? 1 - written : written;
  if (fields.dayOfYear !== undefined) {
    const days = daysFromCivil(year, 1, 1) + fields.dayOfYear - 1;
    if (days >= daysFromCivil(year + 1, 1, 1)) return undefined;
    // Month and day have to be those of that day where they are written too.
    const { month, day } = civilFromDays(days);
    const isSame = (fields.month ?? month) === month && (fields.day ?? day) === day;
    return isSame ? days : undefined;
  }
  return daysOf(year, fields.month ?? 1, fields.day ?? 1);
}
