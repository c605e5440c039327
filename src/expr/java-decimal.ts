import { formatDecimal } from '../data/decimal.ts';

/** A decimal as Java's BigDecimal prints it: small ones with an exponent, `1E-7`. */
export function javaDecimalText(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled);
  const exponent = digits.length - 1 - scale;
  if (scale >= 0 && exponent >= -6) return formatDecimal(unscaled, scale);
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
  const sign = unscaled < 0n ? '-' : '';
  return `${sign}${digits[0]}${fraction}E${exponent > 0 ? '+' : ''}${exponent}`;
}
