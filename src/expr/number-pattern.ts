import { formatDecimal, powerOfTen } from '../data/decimal.ts';

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
  readonly sign: 'S' | 'MI' | 'PR' | undefined;
  readonly signFirst: boolean;
};

/** undefined when it is no pattern. */
export function readNumberPattern(pattern: string): NumberPattern | undefined {
  const match = /^(S|MI)?(\$)?([90,G]*)(?:([.D])([90]*))?(\$)?(S|MI|PR)?$/i.exec(pattern);
  if (match === null) return undefined;
  const [, before, dollar, digits = '', point, fraction = '', dollarEnd, after] = match;
  const whole = digits.toUpperCase().replaceAll('G', ',');
  if (before !== undefined && after !== undefined) return undefined;
  if (
    whole.replaceAll(',', '') + fraction === '' ||
    /^,|,$/.test(whole) ||
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
    sign: (before ?? after)?.toUpperCase() as NumberPattern['sign'],
    signFirst: before !== undefined,
  };
}

/** The unscaled value at the pattern's scale; undefined when the text does not fit. */
export function parseByPattern(text: string, pattern: NumberPattern): bigint | undefined {
  const signed = withoutSign(text.trim(), pattern);
  if (signed === undefined) return undefined;
  const [isNegative, afterSign] = signed;
  const hasDollar = afterSign.startsWith('$');
  if (hasDollar && !pattern.hasDollar) return undefined;
  const body = hasDollar ? afterSign.slice(1) : afterSign;
  const [whole = '', fraction, ...more] = body.split('.');
  if (more.length > 0 || (fraction !== undefined && !pattern.hasPoint)) return undefined;
  if (!fitsWhole(whole, pattern.whole)) return undefined;
  if (!/^\d*$/.test(fraction ?? '') || (fraction ?? '').length > pattern.fractionDigits) {
    return undefined;
  }
  const digits = whole.replaceAll(',', '') + (fraction ?? '').padEnd(pattern.fractionDigits, '0');
  if (!/\d/.test(digits)) return undefined;
  return isNegative ? -BigInt(digits) : BigInt(digits);
}

function withoutSign(
  text: string,
  pattern: NumberPattern,
): readonly [isNegative: boolean, rest: string] | undefined {
  if (pattern.sign === 'PR' && text.startsWith('<') && text.endsWith('>')) {
    return [true, text.slice(1, -1)];
  }
  const isPlain = pattern.sign === undefined || pattern.sign === 'PR';
  if (isPlain) return /^[+-]|[+-]$/.test(text) ? undefined : [false, text];
  const mark = pattern.signFirst ? text.charAt(0) : text.charAt(text.length - 1);
  const isMark = mark === '-' || (mark === '+' && pattern.sign === 'S');
  if (!isMark) return [false, text];
  return [mark === '-', pattern.signFirst ? text.slice(1) : text.slice(0, -1)];
}

/** Separators stand where the pattern has them, counted from the right; a leading 0 demands all digits. */
function fitsWhole(text: string, pattern: string): boolean {
  const groups = text.split(',');
  const wanted = pattern.split(',');
  if (groups.length > wanted.length) return false;
  const isFull = pattern.startsWith('0');
  if (isFull && text.replaceAll(',', '').length !== pattern.replaceAll(',', '').length)
    return false;
  const offset = wanted.length - groups.length;
  return groups.every((group, i) => {
    const size = wanted[i + offset]?.length ?? 0;
    const isFirst = i === 0;
    if (!/^\d*$/.test(group)) return false;
    return isFirst ? group.length <= size : group.length === size;
  });
}

/** Prints a decimal; `#` for every digit when it has too many. */
export function printByPattern(unscaled: bigint, scale: number, pattern: NumberPattern): string {
  const size = unscaled < 0n ? -unscaled : unscaled;
  const shown = scaledTo(size, scale, pattern.fractionDigits);
  const [whole = '0', fraction = ''] = formatDecimal(shown, pattern.fractionDigits).split('.');
  const digits = whole === '0' ? '' : whole;
  const body =
    digits.length > pattern.wholeDigits
      ? pattern.whole.replace(/[90]/g, '#')
      : placed(digits, pattern.whole);
  const rest = digits.length > pattern.wholeDigits ? fraction.replace(/\d/g, '#') : fraction;
  const number = pattern.hasPoint ? `${body}.${rest}` : body;
  return withSign(withDollar(number, pattern), unscaled < 0n, pattern);
}

function scaledTo(size: bigint, scale: number, places: number): bigint {
  if (places >= scale) return size * powerOfTen(places - scale);
  return size / powerOfTen(scale - places);
}

/** Digits put into the places of the pattern from the right: 9 becomes a space where there is none, 0 a zero. */
function placed(digits: string, pattern: string): string {
  const out: string[] = [];
  let at = digits.length;
  const places = [...pattern];
  const firstZero = pattern.indexOf('0');
  for (let i = places.length - 1; i >= 0; i -= 1) {
    if (places[i] === ',') {
      out.unshift(at > 0 || (firstZero >= 0 && firstZero < i) ? ',' : ' ');
    } else if (at > 0) {
      at -= 1;
      out.unshift(digits[at] ?? '');
    } else {
      const isZero = firstZero >= 0 && i >= firstZero;
      out.unshift(isZero ? '0' : ' ');
    }
  }
  return out.join('');
}

function withDollar(number: string, pattern: NumberPattern): string {
  if (!pattern.hasDollar) return number;
  const spaces = /^ */.exec(number)?.[0] ?? '';
  return `${spaces}$${number.slice(spaces.length)}`;
}

function withSign(number: string, isNegative: boolean, pattern: NumberPattern): string {
  switch (pattern.sign) {
    case undefined:
      return isNegative ? `-${number}` : number;
    case 'PR':
      return isNegative ? `<${number}>` : number;
    default: {
      const mark = isNegative ? '-' : pattern.sign === 'S' ? '+' : ' ';
      if (!pattern.signFirst) return number + mark;
      const spaces = /^ */.exec(number)?.[0] ?? '';
      return `${spaces}${mark}${number.slice(spaces.length)}`;
    }
  }
}
