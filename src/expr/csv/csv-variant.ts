import { parseDate, parseTimestamp } from '../../data/date-time.ts';
import { decimalPrecisionMax, parseDecimal, powerOfTen } from '../../data/decimal.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { converter } from '../cast.ts';
import type { JsonFormats } from '../json/json-decode.ts';
import { decimal, types } from '../types.ts';

type Reading = readonly [type: DataType, read: (text: string) => Value | undefined];

/** Reads a field as the first of these that it is: bigint, decimal, date, timestamp, boolean; else it is a string. */
export function csvVariant(formats: JsonFormats): (text: string) => Value {
  const { zone } = formats;
  const readings: readonly Reading[] = [
    [types.bigint, wholeNumber],
    [types.date, formats.date ?? fullDate],
    [types.timestamp, formats.timestamp ?? ((text) => parseTimestamp(text, zone))],
    [types.boolean, truth],
    [types.string, (text) => text],
  ];
  const variantOf = (type: DataType): ((value: Value) => Value) =>
    converter(type, types.variant, 'ansi', zone);
  const known = readings.map(([type, read]) => ({ read, convert: variantOf(type) }));
  const [whole, ...others] = known;
  return (text) => {
    const number = whole?.read(text);
    if (number !== undefined) return whole?.convert(number) ?? null;
    const exact = exactNumber(text);
    if (exact !== undefined) return variantOf(exact.type)(exact.unscaled);
    for (const { read, convert } of others) {
      const value = read(text);
      if (value !== undefined) return convert(value);
    }
    return null;
  };
}

function wholeNumber(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,20}$/.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** Commas group digits; zeros at the end say nothing. */
function exactNumber(text: string): { type: DataType; unscaled: bigint } | undefined {
  if (!/^[+-]?[\d.,]+(?:[eE][+-]?\d{1,3})?$/.test(text)) return undefined;
  const parsed = parseDecimal(text.replaceAll(',', ''));
  if (parsed === undefined) return undefined;
  let { unscaled, scale } = parsed;
  if (scale < 0) {
    unscaled *= powerOfTen(-scale);
    scale = 0;
  }
  while (scale > 0 && unscaled % 10n === 0n) {
    unscaled /= 10n;
    scale -= 1;
  }
  const digits = String(unscaled < 0n ? -unscaled : unscaled).length;
  const precision = Math.max(digits, scale);
  if (precision > decimalPrecisionMax) return undefined;
  return { type: decimal(precision, scale), unscaled };
}

function fullDate(text: string): number | undefined {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? parseDate(text) : undefined;
}

function truth(text: string): boolean | undefined {
  const lower = text.toLowerCase();
  return lower === 'true' ? true : lower === 'false' ? false : undefined;
}
