import {
  decimalPrecisionMax,
  fitsPrecision,
  formatDecimal,
  parseDecimal,
  powerOfTen,
} from '../../data/decimal.ts';
import { formatDouble } from '../../data/double-text.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { argumentAt, requireFoldable } from '../arguments.ts';
import { literal, type StrictFunction, strictCall } from '../call.ts';
import { castTo } from '../coerce.ts';
import { constantValue, isConstant } from '../compile.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import { outOfDigits, overflow } from '../operators/arithmetic-kernels.ts';
import { decimalParameter, oneOf, parameter } from '../parameter.ts';
import { decimal, types } from '../types.ts';

/** Rounding and the functions of real numbers. */
export const mathFunctions: readonly FunctionDefinition[] = [
  { names: ['round'], arity: [1, 2], bind: (c) => rounded(c, 'half_up') },
  { names: ['bround'], arity: [1, 2], bind: (c) => rounded(c, 'half_even') },
  { names: ['ceil', 'ceiling'], arity: [1, 2], bind: (c) => roundedUp(c, 'ceiling') },
  { names: ['floor'], arity: [1, 2], bind: (c) => roundedUp(c, 'floor') },
  real(['sqrt'], Math.sqrt),
  real(['cbrt'], Math.cbrt),
  real(['exp'], Math.exp),
  real(['expm1'], Math.expm1),
  real(['sin'], Math.sin),
  real(['cos'], Math.cos),
  real(['tan'], Math.tan),
  real(['asin'], Math.asin),
  real(['acos'], Math.acos),
  real(['atan'], Math.atan),
  real(['sinh'], Math.sinh),
  real(['cosh'], Math.cosh),
  real(['tanh'], Math.tanh),
  real(['asinh'], Math.asinh),
  real(['acosh'], Math.acosh),
  real(['atanh'], Math.atanh),
  real(['cot'], (x) => 1 / Math.tan(x)),
  real(['sec'], (x) => 1 / Math.cos(x)),
  real(['csc'], (x) => 1 / Math.sin(x)),
  real(['degrees'], (x) => x * (180 / Math.PI)),
  real(['radians'], (x) => x * (Math.PI / 180)),
  real(['rint'], (x) => roundHalfEven(x)),
  { names: ['signum', 'sign'], arity: [1, 1], bind: sign },
  real(['ln'], (x) => (x <= 0 ? null : Math.log(x))),
  real(['log10'], (x) => (x <= 0 ? null : Math.log10(x))),
  real(['log2'], (x) => (x <= 0 ? null : Math.log2(x))),
  real(['log1p'], (x) => (x <= -1 ? null : Math.log1p(x))),
  strictFunction({
    names: ['pow', 'power'],
    parameters: [parameter.double, parameter.double],
    returns: types.double,
    evaluate: power,
  }),
  strictFunction({
    names: ['atan2'],
    parameters: [parameter.double, parameter.double],
    returns: types.double,
    // `+ 0` makes 0 of -0, as Spark does.
    evaluate: (y, x) => Math.atan2(y + 0, x + 0),
  }),
  strictFunction({
    names: ['hypot'],
    parameters: [parameter.double, parameter.double],
    returns: types.double,
    evaluate: (a, b) => Math.hypot(a, b),
  }),
  { names: ['log'], arity: [1, 2], bind: logarithm },
  constant('pi', Math.PI),
  constant('e', Math.E),
];

function real(
  names: readonly string[],
  evaluate: (x: number) => number | null,
): FunctionDefinition {
  return strictFunction({ names, parameters: [parameter.double], returns: types.double, evaluate });
}

const signOfNumber = real(['signum'], Math.sign);

function sign(call: FunctionCall): Expression {
  const value = argumentAt(call, 0);
  const { kind } = value.type;
  if (kind !== 'interval_day_time' && kind !== 'interval_year_month')
    return signOfNumber.bind(call);
  return strictCall({
    name: `signum(${formatType(value.type)})`,
    type: types.double,
    arguments: [value],
    place: call.place,
    prepare: () => (v: number | bigint) => Math.sign(Number(v)),
  });
}

function constant(name: string, value: number): FunctionDefinition {
  return { names: [name], arity: [0, 0], bind: (c) => literal(value, types.double, c.place) };
}

/** As Java: 1 to any power is 1 only where the exponent is a number, and NaN to the power of 0 is 1. */
function power(base: number, exponent: number): number {
  return base ** exponent;
}

const naturalLog = real(['ln'], (x) => (x <= 0 ? null : Math.log(x)));
const logOfBase = strictFunction({
  names: ['log'],
  parameters: [parameter.double, parameter.double],
  returns: types.double,
  evaluate: (base, x) => (base <= 0 || x <= 0 ? null : Math.log(x) / Math.log(base)),
});

function logarithm(call: FunctionCall): Expression {
  return (call.arguments.length === 1 ? naturalLog : logOfBase).bind(call);
}

/** Halves to the even neighbour, which is what IEEE's rounding to an integer is. */
export function roundHalfEven(x: number): number {
  if (!Number.isFinite(x)) return x;
  const low = Math.floor(x);
  const difference = x - low;
  let result = low;
  if (difference > 0.5 || (difference === 0.5 && low % 2 !== 0)) result = low + 1;
  return result === 0 && (x < 0 || Object.is(x, -0)) ? -0 : result;
}

type RoundingMode = 'half_up' | 'half_even' | 'ceiling' | 'floor';

function rounded(call: FunctionCall, mode: RoundingMode): Expression {
  const value = coerceArgument(call.name, argumentAt(call, 0), 0, parameter.numeric);
  return roundCall(call, value, mode, placesOf(call));
}

/** Places behind the point: a constant; undefined when it is NULL. */
function placesOf(call: FunctionCall): number | undefined {
  const written = call.arguments[1];
  if (written === undefined) return 0;
  const places = coerceArgument(call.name, written, 1, parameter.int);
  if (!isConstant(places)) {
    throw mismatch(
      'NON_FOLDABLE_INPUT',
      `the number of places of ${call.name} must be constant`,
      places.place,
    );
  }
  const value = constantValue(places, call.timeZone);
  return typeof value === 'number' ? value : undefined;
}

/** `ceil` and `floor`: without places to a bigint or a decimal without fraction. */
function roundedUp(call: FunctionCall, mode: 'ceiling' | 'floor'): Expression {
  if (call.arguments.length === 2) {
    requireFoldable(call, 1, 'int');
    if (placesOf(call) === undefined) {
      throw fault(
        'NON_FOLDABLE_ARGUMENT',
        `the number of places of ${call.name} is NULL`,
        argumentAt(call, 1).place,
      );
    }
    const written = argumentAt(call, 0);
    const value =
      written.type.kind === 'void'
        ? castTo(written, decimal(38, 18))
        : coerceArgument(call.name, written, 0, decimalParameter);
    return roundCall(call, value, mode, placesOf(call));
  }
  const value = coerceArgument(
    call.name,
    argumentAt(call, 0),
    0,
    oneOf<Value>([parameter.double, decimalParameter, parameter.bigint]),
  );
  const { type } = value;
  if (type.kind === 'bigint') return value;
  if (type.kind === 'decimal') {
    if (type.scale === 0) return value;
    const target = decimal(Math.min(type.precision - type.scale + 1, decimalPrecisionMax), 0);
    return strictCall({
      name: `${call.name}(${formatType(type)})`,
      type: target,
      arguments: [value],
      place: call.place,
      prepare: () => (v: bigint) => roundUnscaled(v, type.scale, 0, mode),
    });
  }
  const round = mode === 'ceiling' ? Math.ceil : Math.floor;
  return strictCall({
    name: `${call.name}(double)`,
    type: types.bigint,
    arguments: [value],
    place: call.place,
    // NaN is 0 here, as it is to Java's cast.
    prepare: () => (v: number) => (Number.isNaN(v) ? 0n : exactBigint(round(v))),
  });
}

function exactBigint(value: number): bigint {
  if (value >= -(2 ** 63) && value < 2 ** 63) return BigInt(value);
  throw overflow(types.bigint);
}

function roundCall(
  call: FunctionCall,
  value: Expression,
  mode: RoundingMode,
  places: number | undefined,
): Expression {
  const type = roundedType(value.type, places ?? 0);
  if (places === undefined) return literal(null, type, call.place);
  return strictCall({
    name: `${call.name}(${formatType(value.type)},${places})`,
    type,
    arguments: [value],
    place: call.place,
    prepare: () => rounder(value.type, type, places, mode),
  });
}

/** A rounded decimal may need one digit more before the point. */
function roundedType(type: DataType, places: number): DataType {
  if (type.kind !== 'decimal') return type;
  const whole = type.precision - type.scale + 1;
  if (places < 0) return decimal(Math.min(Math.max(whole, -places + 1), decimalPrecisionMax), 0);
  const scale = Math.min(type.scale, places);
  return decimal(Math.min(whole + scale, decimalPrecisionMax), scale);
}

function rounder(
  type: DataType,
  target: DataType,
  places: number,
  mode: RoundingMode,
): StrictFunction {
  switch (type.kind) {
    case 'decimal':
      return (v: bigint) => {
        if (target.kind !== 'decimal') return null;
        const unscaled = roundUnscaled(v, type.scale, places, mode);
        if (!fitsPrecision(unscaled, target.precision)) throw outOfDigits(target);
        return unscaled;
      };
    case 'float':
      return (v: number) => Math.fround(roundDouble(v, places, mode));
    case 'double':
      return (v: number) => roundDouble(v, places, mode);
    case 'bigint':
      if (places >= 0) return (v: bigint) => v;
      return (v: bigint) => {
        const result = roundUnscaled(v, 0, places, mode);
        if (BigInt.asIntN(64, result) !== result) throw overflow(type);
        return result;
      };
    default: {
      if (places >= 0) return (v: number) => v;
      const bits = type.kind === 'tinyint' ? 8 : type.kind === 'smallint' ? 16 : 32;
      return (v: number) => {
        const result = roundUnscaled(BigInt(v), 0, places, mode);
        if (BigInt.asIntN(bits, result) !== result) throw roundOverflow(type);
        return Number(result);
      };
    }
  }
}

function roundOverflow(type: DataType): ExpressionError {
  return new ExpressionError(
    'ARITHMETIC_OVERFLOW',
    `the rounded value does not fit ${formatType(type)}`,
  );
}

/**
 * The unscaled value rounded to `places`: at scale `places` when that is not negative (the value
 * itself where it has no more places), else at scale 0.
 */
function roundUnscaled(
  unscaled: bigint,
  scale: number,
  places: number,
  mode: RoundingMode,
): bigint {
  if (places >= scale) return unscaled;
  // Places beyond all digits round to zero, or to one unit of a size that no type holds.
  const lost = Math.min(scale - places, 80);
  const unit = powerOfTen(lost);
  const quotient = divideRounded(unscaled, unit, mode);
  return places < 0 ? quotient * powerOfTen(Math.min(-places, 80)) : quotient;
}

function divideRounded(value: bigint, unit: bigint, mode: RoundingMode): bigint {
  const quotient = value / unit;
  const rest = value - quotient * unit;
  if (rest === 0n) return quotient;
  const away = value < 0n ? -1n : 1n;
  if (mode === 'ceiling') return value > 0n ? quotient + 1n : quotient;
  if (mode === 'floor') return value < 0n ? quotient - 1n : quotient;
  const twice = (rest < 0n ? -rest : rest) * 2n;
  if (twice > unit) return quotient + away;
  if (twice < unit) return quotient;
  return mode === 'half_up' || quotient % 2n !== 0n ? quotient + away : quotient;
}

/** By the shortest digits of the double, as Spark rounds it. */
function roundDouble(value: number, places: number, mode: RoundingMode): number {
  if (!Number.isFinite(value)) return value;
  const parsed = parseDecimal(formatDouble(value));
  // `+ 0` makes 0 of -0, which a decimal does not have.
  if (parsed === undefined || places >= parsed.scale) return value + 0;
  const scale = Math.max(parsed.scale, 0);
  const unscaled = parsed.unscaled * powerOfTen(scale - parsed.scale);
  const result = roundUnscaled(unscaled, scale, places, mode);
  return Number(formatDecimal(result, Math.max(places, 0)));
}
