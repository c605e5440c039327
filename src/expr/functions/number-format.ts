import { formatDecimal, parseDecimal, powerOfTen } from '../../data/decimal.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { call, located, strictCall } from '../call.ts';
import { sessionZone } from '../datetime-math.ts';
import type { Expression, Operation } from '../expression.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import { javaFormat } from '../java-format.ts';
import { exactly, oneOf, parameter } from '../parameter.ts';
import { types } from '../types.ts';

/** Numbers as text in forms of the writer's choice. */
export const numberFormatFunctions: readonly FunctionDefinition[] = [
  { names: ['format_number'], arity: [2, 2], bind: formatNumber },
  { names: ['format_string', 'printf'], arity: [1, Infinity], bind: formatString },
];

/** Digits in groups of three; the second argument is the number of places, or a pattern like `#,##0.00`. */
function formatNumber(c: FunctionCall): Expression {
  const value = coerceArgument(c.name, argumentAt(c, 0), 0, exactly(parameter.numeric));
  const written = argumentAt(c, 1);
  const form = coerceArgument(
    c.name,
    written,
    1,
    oneOf<Value>([exactly(parameter.int), exactly(parameter.string)]),
  );
  const exact = exactOf(value.type);
  return strictCall({
    name: `format_number(${formatType(value.type)},${formatType(form.type)})`,
    type: types.string,
    arguments: [value, form],
    place: c.place,
    prepare: () => (number: number | bigint, places: number | string) => {
      if (typeof number === 'number' && !Number.isFinite(number)) {
        return Number.isNaN(number) ? 'NaN' : number > 0 ? '∞' : '-∞';
      }
      const pattern = typeof places === 'number' ? placesPattern(places) : readPattern(places);
      return pattern === undefined ? null : printed(exact(number), pattern);
    },
  });
}

type Exact = {
  readonly unscaled: bigint;
  readonly scale: number;
  /** Of minus zero. */
  readonly isNegative?: boolean;
};

/** The exact value; of a double all of its binary digits, so that halves are what they are. */
function exactOf(type: DataType): (value: number | bigint) => Exact {
  if (type.kind === 'decimal') return (value) => ({ unscaled: BigInt(value), scale: type.scale });
  if (type.kind === 'float' || type.kind === 'double') return (value) => exactDouble(Number(value));
  return (value) => ({ unscaled: BigInt(value), scale: 0 });
}

function exactDouble(value: number): Exact {
  if (Number.isInteger(value)) {
    return { unscaled: BigInt(value), scale: 0, isNegative: Object.is(value, -0) };
  }
  // The digits of Java are those that tell the double from its neighbours.
  const parsed = parseDecimal(String(value)) ?? { unscaled: 0n, scale: 0 };
  const scale = Math.max(parsed.scale, 0);
  return { unscaled: parsed.unscaled * powerOfTen(scale - parsed.scale), scale };
}

type NumberPattern = {
  readonly grouped: boolean;
  readonly wholeLeast: number;
  readonly least: number;
  readonly most: number;
  readonly prefix?: string;
  readonly suffix?: string;
  /** How much the number is multiplied by, as a power of ten. */
  readonly shift?: number;
  /** Digits of the exponent at least; undefined: there is none. */
  readonly exponent?: number | undefined;
};

function placesPattern(places: number): NumberPattern | undefined {
  if (places < 0) return undefined;
  return { grouped: true, wholeLeast: 1, least: places, most: places };
}

function readPattern(pattern: string): NumberPattern | undefined {
  if (pattern === '') return placesPattern(0);
  const match =
    /^([^#0,.;'%\u2030E-]*)([#,0]*)(?:\.([#0]*))?(?:E(0+))?(%?)([^#0,.;'%\u2030E-]*)$/.exec(
      pattern,
    );
  if (match === null) return undefined;
  const [, prefix = '', whole = '', fraction = '', exponent, percent = '', rest = ''] = match;
  if (exponent !== undefined && (whole.length !== 1 || percent !== '')) return undefined;
  return {
    prefix,
    suffix: percent + rest,
    shift: percent === '' ? 0 : 2,
    exponent: exponent?.length,
    grouped: whole.includes(','),
    wholeLeast: whole.replace(/[^0]/g, '').length,
    least: fraction.replace(/[^0]/g, '').length,
    most: fraction.length,
  };
}

function printed(given: Exact, pattern: NumberPattern): string {
  const { prefix = '', suffix = '', shift = 0, exponent } = pattern;
  if (exponent !== undefined) return prefix + scientific(given, pattern, exponent) + suffix;
  const shifted = given.unscaled * powerOfTen(shift);
  const number = plain({ ...given, unscaled: shifted }, pattern);
  return number.startsWith('-')
    ? `-${prefix}${number.slice(1)}${suffix}`
    : prefix + number + suffix;
}

/** One digit before the point, and a power of ten. */
function scientific(value: Exact, pattern: NumberPattern, exponent: number): string {
  const size = value.unscaled < 0n ? -value.unscaled : value.unscaled;
  const power = size === 0n ? 0 : String(size).length - 1 - value.scale;
  const scaled =
    value.scale + power >= 0
      ? { unscaled: value.unscaled, scale: value.scale + power }
      : { unscaled: value.unscaled * powerOfTen(-value.scale - power), scale: 0 };
  const digits = String(Math.abs(power)).padStart(exponent, '0');
  return `${plain(scaled, { ...pattern, wholeLeast: 1 })}E${power < 0 ? '-' : ''}${digits}`;
}

function plain(value: Exact, pattern: NumberPattern): string {
  const rounded = roundHalfEven(value, pattern.most);
  const text = formatDecimal(rounded < 0n ? -rounded : rounded, pattern.most);
  let [whole = '0', fraction = ''] = text.split('.');
  while (fraction.length > pattern.least && fraction.endsWith('0'))
    fraction = fraction.slice(0, -1);
  if (pattern.wholeLeast === 0 && whole === '0' && fraction !== '') whole = '';
  whole = whole.padStart(pattern.wholeLeast, '0');
  if (pattern.grouped) whole = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  const isNegative = value.unscaled < 0n || value.isNegative === true;
  return `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

function roundHalfEven({ unscaled, scale }: Exact, places: number): bigint {
  if (places >= scale) return unscaled * powerOfTen(places - scale);
  const unit = powerOfTen(scale - places);
  const quotient = unscaled / unit;
  const rest = unscaled - quotient * unit;
  const twice = (rest < 0n ? -rest : rest) * 2n;
  if (twice < unit || (twice === unit && quotient % 2n === 0n)) return quotient;
  return quotient + (unscaled < 0n ? -1n : 1n);
}

/** NULL arguments are printed as `null`. */
function formatString(c: FunctionCall): Expression {
  const format = coerceArgument(c.name, argumentAt(c, 0), 0, parameter.string);
  const args = c.arguments.slice(1);
  const argumentTypes = args.map((e) => e.type);
  const operation: Operation = {
    name: `format_string(${argumentTypes.map(formatType).join(',')})`,
    deterministic: true,
    compile: ([pattern = () => null, ...rest], context) => {
      const zone = sessionZone(context.timeZone);
      return (row, frame) => {
        const text = pattern(row, frame);
        if (text === null) return null;
        try {
          return javaFormat(
            text as string,
            rest.map((arg, i) => ({
              value: arg(row, frame),
              type: argumentTypes[i] ?? types.void,
            })),
            zone,
          );
        } catch (error) {
          throw located(error, context.place);
        }
      };
    },
  };
  return call(operation, types.string, [format, ...args], c.place);
}
