import { formatDecimal, parseDecimal, rescale } from '../data/decimal.ts';
import type { DataType } from '../data/types.ts';
import type { Value } from '../data/value.ts';
import type { Zone } from '../data/zones.ts';
import { ExpressionError } from './expression-error.ts';
import { tooLarge } from './row-errors.ts';
import { isIntegral } from './types.ts';
import { textOf } from './value-text.ts';

const widthMax = 10_000_000;
const precisionMax = 100_000;

/** A value with its type, as an argument of a format. */
export type FormatArgument = { readonly value: Value; readonly type: DataType };

type Spec = {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly conversion: string;
};

/** Java's String.format, for `%s %d %f %e %x %o %c %b %%` and their flags. */
export function javaFormat(format: string, args: readonly FormatArgument[], zone: Zone): string {
  let next = 0;
  let last = -1;
  const pattern = /%(?:(\d+)\$|(<))?([-#+ 0,(]*)(\d*)(?:\.(\d+))?([a-zA-Z%])|%/g;
  return format.replace(
    pattern,
    (
      whole,
      index?: string,
      previous?: string,
      flags = '',
      width = '',
      precision?: string,
      conversion?: string,
    ) => {
      if (conversion === undefined) throw wrongFormat(`'${whole}' is no conversion`);
      const spec: Spec = {
        flags,
        width: Number(width),
        precision: precision === undefined ? undefined : Number(precision),
        conversion,
      };
      if (spec.width > widthMax || (spec.precision ?? 0) > precisionMax) {
        throw tooLarge('format_string');
      }
      if (conversion === '%') return padded('%', spec);
      if (conversion === 'n') return '\n';
      let at = next;
      if (previous !== undefined) at = last;
      else if (index === undefined) next += 1;
      else at = Number(index) - 1;
      last = at;
      const argument = args[at];
      if (argument === undefined) throw wrongFormat(`there is no argument for '${whole}'`);
      const text = converted(spec, argument, zone);
      // Only numbers have zeros in front.
      return padded(
        text,
        argument.value === null ? { ...spec, flags: flags.replace('0', '') } : spec,
      );
    },
  );
}

function wrongFormat(message: string): ExpressionError {
  return new ExpressionError('INVALID_PARAMETER_VALUE.FORMAT', `the format is wrong: ${message}`);
}

function padded(text: string, spec: Spec): string {
  if (spec.flags.includes('-')) return text.padEnd(spec.width);
  const isNumber = /[dfeExXogG]/.test(spec.conversion) && !/NaN|Infinity/i.test(text);
  if (!spec.flags.includes('0') || !isNumber) return text.padStart(spec.width);
  const sign = /^[+\- (]/.test(text) ? text.charAt(0) : '';
  return sign + text.slice(sign.length).padStart(spec.width - sign.length, '0');
}

function converted(spec: Spec, { value, type }: FormatArgument, zone: Zone): string {
  const { conversion } = spec;
  const lower = conversion.toLowerCase();
  if (lower === 'b')
    return cased(String(type.kind === 'boolean' ? value === true : value !== null), spec);
  if (!/^[sdxofecgha]$/.test(lower)) throw wrongFormat(`there is no conversion %${conversion}`);
  if (value === null) return cut(cased('null', spec), spec);
  switch (lower) {
    case 's': {
      // A date is the number of its days here, as in Spark.
      const text = type.kind === 'date' ? String(value) : textOf(type, zone)(value);
      return cut(cased(text, spec), spec);
    }
    case 'g':
      return signed(cased(general(value, type, spec), spec), spec);
    case 'd':
      return signed(grouped(integerOf(value, type, spec), spec), spec);
    case 'x':
    case 'o':
      return cased(radixText(value, type, spec), spec);
    case 'f':
      return signed(grouped(fixed(value, type, spec.precision ?? 6), spec), spec);
    case 'e':
      return signed(cased(exponential(value, type, spec), spec), spec);
    case 'c':
      if ((!isIntegral(type) && type.kind !== 'date') || type.kind === 'bigint')
        throw mismatch(spec);
      return String.fromCodePoint(Number(value));
    default:
      throw wrongFormat(`there is no conversion %${conversion}`);
  }
}

function cut(text: string, { precision }: Spec): string {
  return precision === undefined ? text : text.slice(0, precision);
}

function cased(text: string, spec: Spec): string {
  return /[A-Z]/.test(spec.conversion) ? text.toUpperCase() : text;
}

function mismatch(spec: Spec): ExpressionError {
  return wrongFormat(`an argument does not go with %${spec.conversion}`);
}

function integerOf(value: Value, type: DataType, spec: Spec): string {
  if (!isIntegral(type) && type.kind !== 'date') throw mismatch(spec);
  return String(value);
}

function radixText(value: Value, type: DataType, spec: Spec): string {
  if (!isIntegral(type) && type.kind !== 'date') throw mismatch(spec);
  const bits = { tinyint: 8, smallint: 16, int: 32, date: 32 }[type.kind as string] ?? 64;
  const unsigned = BigInt.asUintN(bits, BigInt(value as number | bigint));
  const isHex = spec.conversion.toLowerCase() === 'x';
  const mark = spec.flags.includes('#') ? (isHex ? '0x' : '0') : '';
  return mark + unsigned.toString(isHex ? 16 : 8);
}

function fixed(value: Value, type: DataType, places: number): string {
  if (type.kind !== 'double' && type.kind !== 'float') {
    throw wrongFormat('%f takes doubles and floats');
  }
  const number = value as number;
  if (!Number.isFinite(number)) return String(number);
  const parsed = parseDecimal(String(number)) ?? { unscaled: 0n, scale: 0 };
  const text = formatDecimal(rescale(parsed.unscaled, parsed.scale, places), places);
  return Object.is(number, -0) || (number < 0 && !text.startsWith('-')) ? `-${text}` : text;
}

function exponential(value: Value, type: DataType, spec: Spec): string {
  if (type.kind !== 'double' && type.kind !== 'float') throw mismatch(spec);
  const text = (value as number).toExponential(spec.precision ?? 6);
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}

/** With as many digits as the precision says: as %f in a middle range, else as %e. */
function general(value: Value, type: DataType, spec: Spec): string {
  if (type.kind !== 'double' && type.kind !== 'float') throw mismatch(spec);
  const number = value as number;
  if (!Number.isFinite(number)) return String(number);
  const digits = spec.precision === 0 ? 1 : (spec.precision ?? 6);
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 10 ** digits)) {
    return exponential(value, type, { ...spec, precision: digits - 1 });
  }
  const whole = size === 0 ? 1 : Math.floor(Math.log10(size)) + 1;
  return fixed(value, type, Math.max(digits - whole, 0));
}

function grouped(text: string, spec: Spec): string {
  if (!spec.flags.includes(',')) return text;
  const [whole = '', fraction] = text.split('.');
  const groups = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? groups : `${groups}.${fraction}`;
}

function signed(text: string, spec: Spec): string {
  if (text === 'NaN' || text === 'NAN') return text;
  if (text.startsWith('-')) return spec.flags.includes('(') ? `(${text.slice(1)})` : text;
  if (spec.flags.includes('+')) return `+${text}`;
  return spec.flags.includes(' ') ? ` ${text}` : text;
}
