/**
 * Exact decimals: an unscaled bigint and a scale, never a double in between.
 * Invariant: every result is exact, or rounded half up (away from zero) where the name says so.
 */
export type Decimal = { readonly unscaled: bigint; readonly scale: number };

export const decimalPrecisionMax = 38;

/**
 * Reads `-12.50`, `.5`, `1e-3`, …, with the scale as written (negative for `1e3`); undefined when it is
 * no number. An exponent beyond ±9,999 is refused: nothing that fits a type needs it, and its digits
 * would fill the memory.
 */
export function parseDecimal(text: string): Decimal | undefined {
  const match = decimalPattern.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  if (whole === '' && fraction === '') return undefined;
  const shift = Number(exponent);
  if (shift > exponentMax || shift < -exponentMax) return undefined;
  const digits = BigInt(whole + fraction);
  return { unscaled: sign === '-' ? -digits : digits, scale: fraction.length - shift };
}

/** The same number at another scale, rounded half up when digits are lost. */
export function rescale(unscaled: bigint, from: number, to: number): bigint {
  if (to === from) return unscaled;
  if (to > from) return unscaled * powerOfTen(to - from);
  const divisor = powerOfTen(from - to);
  const half = divisor / 2n;
  return (unscaled < 0n ? unscaled - half : unscaled + half) / divisor;
}

/** The same number at another scale, or undefined when digits would be lost. */
export function rescaleExact(unscaled: bigint, from: number, to: number): bigint | undefined {
  if (to >= from) return unscaled * powerOfTen(to - from);
  const divisor = powerOfTen(from - to);
  const quotient = unscaled / divisor;
  return quotient * divisor === unscaled ? quotient : undefined;
}

export function fitsPrecision(unscaled: bigint, precision: number): boolean {
  const limit = powerOfTen(precision);
  return unscaled < limit && unscaled > -limit;
}

/** As a value of decimal(precision, scale), rounded half up; undefined when it has too many digits. */
export function toDecimalType(
  value: Decimal,
  precision: number,
  scale: number,
): bigint | undefined {
  if (value.unscaled === 0n) return 0n;
  // Far beyond the type: do not build the digits only to find that they are too many.
  if (scale - value.scale > precision) return undefined;
  const unscaled = rescale(value.unscaled, value.scale, scale);
  return fitsPrecision(unscaled, precision) ? unscaled : undefined;
}

/** `-12.50`: exactly `scale` digits behind the point. */
export function formatDecimal(unscaled: bigint, scale: number): string {
  if (scale <= 0) return (unscaled * powerOfTen(-scale)).toString();
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`;
}

export function powerOfTen(exponent: number): bigint {
  return powers[exponent] ?? 10n ** BigInt(exponent);
}

const powers: readonly bigint[] = Array.from({ length: 80 }, (_, index) => 10n ** BigInt(index));

const exponentMax = 9_999;

const decimalPattern = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,10}))?$/;
