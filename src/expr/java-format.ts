import type { DataType } from '../data/types.ts';
import type { Value } from '../data/value.ts';
import { type FormatSpec, readFormat, refuse, wrongFormat } from './java-format-spec.ts';
import { javaTimePart } from './java-format-time.ts';
import { doubleBits, javaDigits, javaHashCode, javaText } from './java-text.ts';
import { textLength } from './row-errors.ts';

/** A value with its type, as an argument of a format. */
export type FormatArgument = { readonly value: Value; readonly type: DataType };

/** Java's `String.format` over values as Spark holds them: a date is an integer, a timestamp a long, a decimal no number. */
export function javaFormat(format: string, args: readonly FormatArgument[]): string {
  let next = 0;
  let last = -1;
  let out = '';
  for (const part of readFormat(format)) {
    if (typeof part === 'string') out += part;
    else if (part.index === -3) out += part.conversion === 'n' ? '\n' : justified('%', part);
    else {
      if (part.index === -1) {
        last = next;
        next += 1;
      } else if (part.index >= 0) last = part.index;
      const argument = args[last];
      if (argument === undefined) throw wrongFormat(`there is no argument for '${part.written}'`);
      out += converted(part, argument);
    }
    textLength(out.length, 'format_string');
  }
  return out;
}

function converted(spec: FormatSpec, { value, type }: FormatArgument): string {
  if (spec.isTime) return timeText(spec, value, type);
  switch (spec.conversion) {
    case 'b':
      return plain(String(type.kind === 'boolean' ? value === true : value !== null), spec);
    case 's':
      refuse(spec, '#');
      return plain(value === null ? 'null' : javaText(type)(value), spec);
    default:
  }
  if (value === null) return plain('null', spec);
  switch (spec.conversion) {
    case 'h': {
      const hash = javaHashCode(type, value);
      if (hash === undefined) throw mismatch(spec);
      return plain((hash >>> 0).toString(16), spec);
    }
    case 'c':
      return plain(characterOf(value, type, spec), spec);
    case 'd':
    case 'o':
    case 'x':
      return justified(integerText(value, type, spec), spec);
    default:
      return justified(doubleText(value, type, spec), spec);
  }
}

/** Text is cut to the precision before it is put into capitals. */
function plain(text: string, spec: FormatSpec): string {
  // Half of a character is a `?`, as in Spark's texts.
  const cut = text.slice(0, spec.precision).replace(/[\ud800-\udbff]$/, '?');
  return justified(spec.isUpper ? cut.toUpperCase() : cut, spec);
}

function justified(text: string, { flags, width = 0 }: FormatSpec): string {
  return flags.includes('-') ? text.padEnd(width) : text.padStart(width);
}

/** A long is a count of milliseconds to Java, whatever Spark means by it. */
function timeText(spec: FormatSpec, value: Value, type: DataType): string {
  if (value === null) return plain('null', spec);
  if (integerBits(type) !== 64) throw mismatch(spec);
  return plain(javaTimePart(spec.letter, BigInt(value as number | bigint)) ?? '', spec);
}

function mismatch(spec: FormatSpec): Error {
  return wrongFormat(`an argument does not go with '${spec.written}'`);
}

/** The bits of an integer as Java has the type; undefined where it is none. */
function integerBits(type: DataType): number | undefined {
  switch (type.kind) {
    case 'tinyint':
      return 8;
    case 'smallint':
      return 16;
    case 'int':
    case 'date':
    case 'interval_year_month':
      return 32;
    case 'bigint':
    case 'timestamp':
    case 'timestamp_ntz':
    case 'time':
    case 'interval_day_time':
      return 64;
    default:
      return undefined;
  }
}

function characterOf(value: Value, type: DataType, spec: FormatSpec): string {
  const bits = integerBits(type);
  const point = Number(value);
  if (bits === undefined || bits === 64 || point < 0 || point > 0x10ffff) throw mismatch(spec);
  return String.fromCodePoint(point);
}

function integerText(value: Value, type: DataType, spec: FormatSpec): string {
  const bits = integerBits(type);
  if (bits === undefined) throw mismatch(spec);
  const number = BigInt(value as number | bigint);
  if (spec.conversion === 'd')
    return magnitude(String(number < 0n ? -number : number), number < 0n, spec);
  refuse(spec, '(+ ');
  const isHex = spec.conversion === 'x';
  const digits = BigInt.asUintN(bits, number).toString(isHex ? 16 : 8);
  const mark = spec.flags.includes('#') ? (isHex ? '0x' : '0') : '';
  const zeros = spec.flags.includes('0') ? (spec.width ?? 0) - mark.length : 0;
  const text = mark + digits.padStart(zeros, '0');
  return spec.isUpper ? text.toUpperCase() : text;
}

function doubleText(value: Value, type: DataType, spec: FormatSpec): string {
  if (type.kind !== 'double' && type.kind !== 'float') throw mismatch(spec);
  const number = value as number;
  if (Number.isNaN(number)) return spec.isUpper ? 'NAN' : 'NaN';
  const isNegative = number < 0 || Object.is(number, -0);
  const size = Math.abs(number);
  if (size === Number.POSITIVE_INFINITY) {
    return signed(spec.isUpper ? 'INFINITY' : 'Infinity', isNegative, spec);
  }
  if (spec.conversion === 'a') return hexText(size, isNegative, spec);
  // A float is printed as the double that it is.
  const { digits, exponent } = javaDigits(size, false);
  if (spec.conversion === 'f') {
    return magnitude(marked(fixed(digits, exponent, spec.precision ?? 6), spec), isNegative, spec);
  }
  if (spec.conversion === 'e') {
    return exponential(digits, exponent, spec.precision ?? 6, isNegative, spec);
  }
  const places = spec.precision === 0 ? 1 : (spec.precision ?? 6);
  const [, order] = rounded(digits, exponent, places);
  if (digits !== '' && (order <= -4 || order > places)) {
    return exponential(digits, exponent, places - 1, isNegative, spec);
  }
  const whole = digits === '' ? 1 : order;
  return magnitude(fixed(digits, exponent, places - whole), isNegative, spec);
}

/** `0.digits × 10^exponent` with so many digits, halves away from zero. */
function rounded(
  digits: string,
  exponent: number,
  count: number,
): [digits: string, exponent: number] {
  if (count < 0) return ['', exponent];
  if (digits.length <= count) return [digits, exponent];
  const isUp = (digits[count] ?? '0') >= '5';
  const kept = BigInt(digits.slice(0, count) || '0') + (isUp ? 1n : 0n);
  const text = String(kept);
  if (kept === 0n) return ['', exponent];
  const grown = text.length > count ? 1 : 0;
  return [text.padStart(count, '0'), exponent + grown];
}

function fixed(digits: string, exponent: number, places: number): string {
  const [kept, order] = rounded(digits, exponent, exponent + places);
  const whole = order > 0 ? kept.slice(0, order).padEnd(order, '0') : '0';
  const fraction = order > 0 ? kept.slice(order) : kept === '' ? '' : '0'.repeat(-order) + kept;
  return places > 0 ? `${whole}.${fraction.padEnd(places, '0').slice(0, places)}` : whole;
}

/** With `#` a number without places has its point. */
function marked(text: string, { flags }: FormatSpec): string {
  return flags.includes('#') && !text.includes('.') ? `${text}.` : text;
}

function exponential(
  digits: string,
  exponent: number,
  places: number,
  isNegative: boolean,
  spec: FormatSpec,
): string {
  const [kept, order] = rounded(digits, exponent, places + 1);
  const all = kept.padEnd(places + 1, '0');
  const mantissa = places > 0 ? `${all[0]}.${all.slice(1, places + 1)}` : all.slice(0, 1);
  const power = digits === '' ? 0 : order - 1;
  const end = `${spec.isUpper ? 'E' : 'e'}${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  return magnitude(marked(mantissa, spec), isNegative, spec, end);
}

/** Digits with groups, zeros in front up to the width, and the sign. */
function magnitude(text: string, isNegative: boolean, spec: FormatSpec, end = ''): string {
  const [whole = '', ...fraction] = text.split('.');
  const groups = spec.flags.includes(',') ? whole.replace(/\B(?=(\d{3})+$)/g, ',') : whole;
  const number = [groups, ...fraction].join('.');
  const around = signed('', isNegative, spec).length + end.length;
  const zeros = spec.flags.includes('0') ? (spec.width ?? 0) - around : 0;
  return signed(number.padStart(zeros, '0') + end, isNegative, spec);
}

function signed(text: string, isNegative: boolean, { flags }: FormatSpec): string {
  if (isNegative) return flags.includes('(') ? `(${text})` : `-${text}`;
  if (flags.includes('+')) return `+${text}`;
  return flags.includes(' ') ? ` ${text}` : text;
}

/** `0x1.8p3`: the bits of the double, with so many hexadecimal places when a precision says so (halves to even). */
function hexText(size: number, isNegative: boolean, spec: FormatSpec): string {
  const [mantissa, power] = hexParts(size, spec.precision === 0 ? 1 : spec.precision);
  const sign = signed('', isNegative, spec);
  const body = `${mantissa}p${power}`;
  const zeros = spec.flags.includes('0') ? (spec.width ?? 0) - sign.length - 2 : 0;
  const text = `0x${body.padStart(zeros, '0')}`;
  return sign + (spec.isUpper ? text.toUpperCase() : text);
}

function hexParts(size: number, places: number | undefined): [mantissa: string, power: number] {
  const bits = doubleBits(size);
  let fraction = bits & ((1n << 52n) - 1n);
  let power = Number(bits >> 52n) - 1023;
  let lead = power === -1023 ? 0n : 1n;
  if (lead === 0n) power = size === 0 ? 0 : -1022;
  if (places !== undefined && places < 13 && size !== 0) {
    while (lead === 0n) {
      fraction <<= 1n;
      power -= 1;
      lead = fraction >> 52n;
    }
    fraction |= 1n << 52n;
    const cut = BigInt(52 - 4 * places);
    const half = 1n << (cut - 1n);
    const rest = fraction & ((1n << cut) - 1n);
    let kept = fraction >> cut;
    if (rest > half || (rest === half && (kept & 1n) === 1n)) kept += 1n;
    fraction = kept << cut;
    if (fraction >> 53n === 1n) {
      fraction >>= 1n;
      power += 1;
    }
    fraction &= (1n << 52n) - 1n;
  }
  const digits = fraction.toString(16).padStart(13, '0').replace(/0+$/, '');
  return [`${lead}.${digits.padEnd(places ?? 1, '0')}`, power];
}
