import { formatDecimal } from '../data/decimal.ts';

/**
 * Patterns of `to_number` and `to_char`: `9` and `0` for digits, `.` or `D`, `,` or `G`, `$`, and a sign
 * as `S`, `MI` or `PR`.
 */
export type NumberPattern = {
  /** Digits before the point from left to right, with separators: `9,999`. */
  readonly whole: string;
  readonly wholeDigits: number;
  readonly fractionDigits: number;
  readonly hasPoint: boolean;
  readonly hasDollar: boolean;
  readonly before: 'S' | 'MI' | undefined;
  readonly after: 'S' | 'MI' | 'PR' | undefined;
};

/** undefined when it is no pattern. */
export function readNumberPattern(pattern: string): NumberPattern | undefined {
  const match = /^(S|MI)?(\$)?([90,G]*)(?:([.D])([90]*))?(\$)?(S|MI|PR)?$/i.exec(pattern);
  if (match === null) return undefined;
  const [, before, dollar, digits = '', point, fraction = '', dollarEnd, after] = match;
  const whole = digits.toUpperCase().replaceAll('G', ',');
  const [first, second] = [before?.toUpperCase(), after?.toUpperCase()];
  if (first !== undefined && first === second) return undefined;
  if (
    whole.replaceAll(',', '') + fraction === '' ||
    /^,|,$|,,/.test(whole) ||
    dollarEnd !== undefined
  ) {
    return undefined;
  }
  return {
    whole,
    wholeDigits: whole.replaceAll(',', '').length,
    fractionDigits: fraction.length,
    hasPoint: point !== undefined,
    hasDollar: dollar !== undefined,
    before: first as NumberPattern['before'],
    after: second as NumberPattern['after'],
  };
}

/** The unscaled value at the pattern's scale; undefined when the text does not fit. */
export function parseByPattern(text: string, pattern: NumberPattern): bigint | undefined {
  // Blanks may stand around the digits, not around what encloses them.
  if (/^\s+[$<]|>\s+$/.test(text)) return undefined;
  const signed = withoutSign(text.trim(), pattern);
  if (signed === undefined) return undefined;
  const [isNegative, afterSign] = signed;
  const hasDollar = afterSign.startsWith('$');
  if (hasDollar !== pattern.hasDollar) return undefined;
  const body = hasDollar ? afterSign.slice(1) : afterSign;
  const [whole = '', fraction, ...more] = body.split('.');
  if (more.length > 0 || (fraction !== undefined && !pattern.hasPoint)) return undefined;
  if (!fitsWhole(whole, pattern.whole)) return undefined;
  if (!/^\d*$/.test(fraction ?? '') || (fraction ?? '').length > pattern.fractionDigits) {
    return undefined;
  }
  if (!/\d/.test(body)) return undefined;
  const digits = whole.replaceAll(',', '') + (fraction ?? '').padEnd(pattern.fractionDigits, '0');
  return isNegative ? -BigInt(digits) : BigInt(digits);
}

function withoutSign(
  text: string,
  pattern: NumberPattern,
): readonly [isNegative: boolean, rest: string] | undefined {
  const { before, after } = pattern;
  let rest = text;
  let isNegative = false;
  if (after === 'PR' && text.startsWith('<') && text.endsWith('>')) {
    isNegative = true;
    rest = text.slice(1, -1);
  }
  if (isSign(rest.charAt(0), before)) {
    if (rest.startsWith('-')) isNegative = !isNegative;
    rest = rest.slice(1);
  }
  if (after !== 'PR' && isSign(rest.charAt(rest.length - 1), after)) {
    if (rest.endsWith('-')) isNegative = !isNegative;
    rest = rest.slice(0, -1);
  }
  return /^[+-]|[+-]$/.test(rest) ? undefined : [isNegative, rest];
}

function isSign(mark: string, sign: string | undefined): boolean {
  return sign !== undefined && (mark === '-' || (mark === '+' && sign === 'S'));
}

/** Separators stand where the pattern has them, counted from the right; a group that begins with 0 demands all its digits. */
function fitsWhole(text: string, pattern: string): boolean {
  const groups = text.split(',');
  const wanted = pattern.split(',');
  if (groups.length > wanted.length) return false;
  const offset = wanted.length - groups.length;
  if (wanted.slice(0, offset).some((group) => group.startsWith('0'))) return false;
  return groups.every((group, i) => {
    const size = wanted[i + offset]?.length ?? 0;
    const mayBeShort = i === 0 && wanted[offset]?.startsWith('9') !== false;
    if (!/^\d*$/.test(group)) return false;
    return mayBeShort ? group.length <= size : group.length === size;
  });
}

/**
 * Prints a decimal. Digits that have no place in the pattern, on either side of the point, make a `#` of
 * each place; a number without a sign in its pattern is printed without one.
 */
export function printByPattern(unscaled: bigint, scale: number, pattern: NumberPattern): string {
  const isNegative = unscaled < 0n;
  const [whole = '', fraction = ''] = formatDecimal(isNegative ? -unscaled : unscaled, scale).split(
    '.',
  );
  const digits = whole.replace(/^0+/, '');
  const decimals = fraction.replace(/0+$/, '');
  if (digits.length > pattern.wholeDigits || decimals.length > pattern.fractionDigits) {
    return overflowing(pattern, isNegative);
  }
  const out = new Printed();
  if (pattern.after === 'PR' && isNegative) out.sign('<');
  if (pattern.before !== undefined) out.sign(signMark(pattern.before, isNegative));
  if (pattern.hasDollar) out.text += '$';
  placeDigits(digits, pattern.whole, out);
  if (pattern.hasPoint) out.point(decimals.padEnd(pattern.fractionDigits, '0'));
  if (pattern.after === 'PR') out.behind(isNegative ? '>' : '  ');
  else if (pattern.after !== undefined) out.behind(signMark(pattern.after, isNegative));
  return out.text + emptyPoint(pattern);
}

/** A point with nothing behind it is a space at the end. */
function emptyPoint(pattern: NumberPattern): string {
  return pattern.hasPoint && pattern.fractionDigits === 0 ? ' ' : '';
}

function signMark(sign: 'S' | 'MI', isNegative: boolean): string {
  return isNegative ? '-' : sign === 'S' ? '+' : ' ';
}

function overflowing(pattern: NumberPattern, isNegative: boolean): string {
  const mark = (sign: 'S' | 'MI' | undefined): string =>
    sign === undefined ? '' : signMark(sign, isNegative);
  const point = pattern.fractionDigits > 0 ? `.${'#'.repeat(pattern.fractionDigits)}` : '';
  const number = `${pattern.hasDollar ? '$' : ''}${pattern.whole.replace(/[90]/g, '#').replaceAll(',', ' ')}${point}`;
  const end = emptyPoint(pattern);
  const { before, after } = pattern;
  const signed = (mark(before) + number).replace(/^ \./, '0.');
  if (after === 'PR') return (isNegative ? `<${signed}>` : `${signed}  `) + end;
  return signed + mark(after) + end;
}

/** What is printed so far: a space goes before a sign, a sign before spaces. */
class Printed {
  text = '';

  sign(mark: string): void {
    this.text += mark;
  }

  space(): void {
    const hasSign = /[-+<]$/.test(this.text);
    this.text = hasSign ? `${this.text.slice(0, -1)} ${this.text.slice(-1)}` : `${this.text} `;
  }

  /** A number below one has a zero before its point. */
  point(decimals: string): void {
    if (this.text.endsWith(' ')) this.text = `${this.text.slice(0, -1)}0`;
    if (decimals !== '') this.text += `.${decimals}`;
  }

  behind(mark: string): void {
    const spaces = mark.trim() === '' ? '' : (/ +$/.exec(this.text)?.[0] ?? '');
    this.text = this.text.slice(0, this.text.length - spaces.length) + mark + spaces;
  }
}

/**
 * Digits put into the places of the pattern from the right. Each run of places is of one kind: in one that
 * begins with 0 leading zeros are printed, in one that begins with 9 they are spaces.
 */
function placeDigits(digits: string, pattern: string, out: Printed): void {
  let places = pattern.replaceAll(',', '').length;
  let printsZeros = false;
  let startsRun = true;
  for (const place of pattern) {
    if (place === ',') {
      startsRun = true;
      if (/\d$/.test(out.text)) out.text += ',';
      else out.space();
      continue;
    }
    if (startsRun) printsZeros = place === '0';
    startsRun = false;
    if (digits.length >= places) out.text += digits[digits.length - places] ?? '';
    else if (printsZeros) out.text += '0';
    else out.space();
    places -= 1;
  }
}
