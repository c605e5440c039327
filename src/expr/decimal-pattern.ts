import { formatDecimal, powerOfTen } from '../data/decimal.ts';

/** A number as its digits; `isNegative` tells minus zero. */
export type Exact = {
  readonly unscaled: bigint;
  readonly scale: number;
  readonly isNegative?: boolean;
};

/** What a pattern of Java's DecimalFormat says, such as `#,##0.00`. */
export type DecimalPattern = {
  readonly prefix: string;
  readonly suffix: string;
  readonly negativePrefix: string;
  readonly negativeSuffix: string;
  /** How much the number is multiplied by, as a power of ten. */
  readonly shift: number;
  readonly groupSize: number;
  readonly wholeLeast: number;
  readonly wholeMost: number;
  readonly least: number;
  readonly most: number;
  readonly showsPoint: boolean;
  /** Digits of the exponent at least; 0: there is none. */
  readonly exponent: number;
};

/** Digits in groups of three, with this many behind the point. */
export function placesPattern(places: number): DecimalPattern {
  return {
    ...{ prefix: '', suffix: '', negativePrefix: '-', negativeSuffix: '', shift: 0, groupSize: 3 },
    ...{ wholeLeast: 1, wholeMost: Number.POSITIVE_INFINITY, least: places, most: places },
    ...{ showsPoint: false, exponent: 0 },
  };
}

type Part = {
  prefix: string;
  suffix: string;
  shift: number;
  /** The places, with `.` and `,` between them. */
  places: string;
  exponent: number;
};

/** Reads a pattern as DecimalFormat does; undefined when it is none. */
export function readDecimalPattern(pattern: string): DecimalPattern | undefined {
  const first = readPart(pattern, 0);
  if (first === undefined) return undefined;
  const { part, end } = first;
  const counts = countPlaces(part.places);
  if (counts === undefined || (part.exponent > 0 && counts.left + counts.zeros < 1))
    return undefined;
  const { prefix, suffix, shift, exponent } = part;
  const second = end < pattern.length ? readPart(pattern, end + 1)?.part : undefined;
  const isSame = second === undefined || (second.prefix === prefix && second.suffix === suffix);
  const { left, zeros, right, point, group } = counts;
  const total = left + zeros + right;
  const wholeLeast = (point < 0 ? total : point) - left;
  return {
    ...{ prefix, suffix, shift, exponent, groupSize: Math.max(group, 0) },
    negativePrefix: isSame ? `-${prefix}` : second.prefix,
    negativeSuffix: isSame ? suffix : second.suffix,
    wholeLeast,
    wholeMost: exponent > 0 ? left + wholeLeast : Number.POSITIVE_INFINITY,
    least: point < 0 ? 0 : left + zeros - point,
    most: point < 0 ? 0 : total - point,
    showsPoint: point === 0 || point === total,
  };
}

/** One half of a pattern, up to its end or to the semicolon. */
function readPart(pattern: string, from: number): { part: Part; end: number } | undefined {
  const part: Part = { prefix: '', suffix: '', shift: 0, places: '', exponent: 0 };
  const append = (text: string): void => {
    if (part.places === '') part.prefix += text;
    else part.suffix += text;
  };
  let isQuoted = false;
  for (let at = from; at < pattern.length; at += 1) {
    const character = pattern[at] ?? '';
    if (character === "'") {
      if (pattern[at + 1] === "'") {
        append("'");
        at += 1;
      } else isQuoted = !isQuoted;
    } else if (isQuoted) append(character);
    else if (character === ';')
      return from === 0 && part.places !== '' ? { part, end: at } : undefined;
    else if ('#0,.'.includes(character)) part.places += character;
    else if (character === 'E' && part.places !== '' && part.suffix === '') {
      const zeros = /^0*/.exec(pattern.slice(at + 1))?.[0].length ?? 0;
      if (zeros === 0 || part.exponent > 0) return undefined;
      part.exponent = zeros;
      at += zeros;
    } else if (character === '%' || character === '\u2030') {
      if (part.shift !== 0) return undefined;
      part.shift = character === '%' ? 2 : 3;
      append(character);
    } else if (character === '\u00A4') {
      const isDouble = pattern[at + 1] === '\u00A4';
      append(isDouble ? 'USD' : '$');
      if (isDouble) at += 1;
    } else append(character);
  }
  return isQuoted ? undefined : { part, end: pattern.length };
}

function countPlaces(places: string) {
  let [left, zeros, right, point, group] = [0, 0, 0, -1, -1];
  for (const place of places) {
    if (place === '.') {
      if (point >= 0) return undefined;
      point = left + zeros + right;
    } else if (place === ',') group = 0;
    else {
      if (place === '0' && right > 0) return undefined;
      if (place === '0') zeros += 1;
      else if (zeros > 0) right += 1;
      else left += 1;
      if (group >= 0 && point < 0) group += 1;
    }
  }
  // `###.###`: the last place before the point is a zero, or the first behind it.
  if (zeros === 0 && left > 0 && point >= 0) {
    const whole = Math.max(point, 1);
    right = left - whole;
    left = whole - 1;
    zeros = 1;
  }
  const isMisplaced = point < 0 ? right > 0 : point < left || point > left + zeros;
  return isMisplaced || group === 0 ? undefined : { left, zeros, right, point, group };
}

/** A number that is not finite has the signs of the pattern around it; one that is none stands alone. */
export function printNonFinite(number: number, pattern: DecimalPattern): string {
  if (Number.isNaN(number)) return 'NaN';
  return number > 0
    ? `${pattern.prefix}\u221E${pattern.suffix}`
    : `${pattern.negativePrefix}\u221E${pattern.negativeSuffix}`;
}

export function printDecimal(given: Exact, pattern: DecimalPattern): string {
  const size = given.unscaled < 0n ? -given.unscaled : given.unscaled;
  const value = { unscaled: size * powerOfTen(pattern.shift), scale: given.scale };
  const isNegative = given.unscaled < 0n || given.isNegative === true;
  const text = pattern.exponent > 0 ? scientific(value, pattern) : plain(value, pattern);
  return isNegative
    ? pattern.negativePrefix + text + pattern.negativeSuffix
    : pattern.prefix + text + pattern.suffix;
}

function plain(value: Exact, pattern: DecimalPattern): string {
  const rounded = roundHalfEven(value, pattern.most);
  let [whole = '0', fraction = ''] = formatDecimal(rounded, pattern.most).split('.');
  while (fraction.length > pattern.least && fraction.endsWith('0'))
    fraction = fraction.slice(0, -1);
  if (pattern.wholeLeast === 0 && whole === '0' && fraction !== '') whole = '';
  whole = whole.padStart(pattern.wholeLeast, '0');
  if (pattern.groupSize > 0) whole = inGroups(whole, pattern.groupSize);
  return fraction === '' && !pattern.showsPoint ? whole : `${whole}.${fraction}`;
}

function inGroups(digits: string, size: number): string {
  const first = digits.length % size;
  const groups = first === 0 ? [] : [digits.slice(0, first)];
  for (let at = first; at < digits.length; at += size) groups.push(digits.slice(at, at + size));
  return groups.join(',');
}

/** As many places before the point as the pattern has; with more of them optional, powers of that many. */
function scientific(value: Exact, pattern: DecimalPattern): string {
  const { wholeLeast, wholeMost, least, most } = pattern;
  const { digits, power } = significant(value, wholeMost + most);
  const isZero = digits === '';
  let exponent = isZero ? 0 : power;
  let wholeDigits = wholeLeast;
  if (wholeMost > 1 && wholeMost > wholeLeast) {
    exponent = Math.floor((exponent - 1) / wholeMost) * wholeMost;
    wholeDigits = 1;
  } else exponent -= wholeLeast;
  if (isZero) exponent = 0;
  const places = isZero ? wholeDigits : power - exponent;
  const total = Math.max(digits.length, wholeLeast + least, places);
  const all = digits.padEnd(total, '0');
  const fraction = all.slice(places);
  const sign = exponent < 0 ? '-' : '';
  const point = fraction === '' && !pattern.showsPoint ? '' : '.';
  const shown = String(Math.abs(exponent)).padStart(pattern.exponent, '0');
  return `${all.slice(0, places)}${point}${fraction}E${sign}${shown}`;
}

/** The first digits without zeros at the end, and where the point stands in them. */
function significant(value: Exact, most: number): { digits: string; power: number } {
  if (value.unscaled === 0n) return { digits: '', power: 0 };
  const length = String(value.unscaled).length;
  const cut = most > 0 && length > most ? length - most : 0;
  const rounded = roundHalfEven({ unscaled: value.unscaled, scale: cut }, 0);
  const text = String(rounded);
  return { digits: text.replace(/0+$/, ''), power: text.length + cut - value.scale };
}

function roundHalfEven({ unscaled, scale }: Exact, places: number): bigint {
  if (places >= scale) return unscaled * powerOfTen(places - scale);
  const unit = powerOfTen(scale - places);
  const quotient = unscaled / unit;
  const twice = (unscaled - quotient * unit) * 2n;
  return twice < unit || (twice === unit && quotient % 2n === 0n) ? quotient : quotient + 1n;
}
