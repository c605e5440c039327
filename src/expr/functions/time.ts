import { parseTime, splitMicros } from '../../data/date-time.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { call, type StrictFunction, strictCall } from '../call.ts';
import { constantValue, isConstant } from '../compile.ts';
import { sessionZone, toLocal } from '../datetime-math.ts';
import { checkConstantPattern, localParser } from '../datetime-pattern/formatter.ts';
import { divideHalfUp } from '../divide-half-up.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import { nullOnError } from '../operators/interval-arithmetic.ts';
import { exactly, parameter, parameterOf } from '../parameter.ts';
import { decimal, isIntegral, time, types } from '../types.ts';

const nanosPerDay = 86_400_000_000_000n;

/** Functions of times of day. */
export const timeFunctions: readonly FunctionDefinition[] = [
  maker(),
  { names: ['to_time'], arity: [1, 2], bind: toTime },
  { names: ['try_to_time'], arity: [1, 2], bind: (c) => nullOnError(toTime(c)) },
  { names: ['current_time', 'localtime'], arity: [0, 1], bind: currentTime },
  strictFunction({
    names: ['time_trunc'],
    parameters: [parameter.string, parameter.time],
    returns: ([, at]) => at?.type ?? time(6),
    evaluate: (unit, nanos) => nanos - (nanos % unitOf('time_trunc', unit)),
  }),
  strictFunction({
    names: ['time_diff'],
    parameters: [parameter.string, parameter.time, parameter.time],
    returns: types.bigint,
    evaluate: (unit, from, to) => (to - from) / unitOf('time_diff', unit),
  }),
  { names: ['time_from_seconds'], arity: [1, 1], bind: fromSeconds },
  fromUnit('time_from_millis', 1_000_000n),
  fromUnit('time_from_micros', 1000n),
  toUnit('time_to_seconds', decimal(14, 6), 1000n),
  toUnit('time_to_millis', types.bigint, 1_000_000n),
  toUnit('time_to_micros', types.bigint, 1000n),
];

function outOfBounds(what: string): ExpressionError {
  return new ExpressionError('DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION', what);
}

function inDay(nanos: bigint): bigint {
  if (nanos >= 0n && nanos < nanosPerDay) return nanos;
  throw outOfBounds('a time lies between 00:00:00 and 23:59:59.999999999');
}

function isWithin(value: number | bigint, end: number | bigint): boolean {
  return value >= 0 && value < end;
}

function maker(): FunctionDefinition {
  return strictFunction({
    names: ['make_time'],
    parameters: [parameter.int, parameter.int, parameterOf<bigint>(decimal(16, 6))],
    returns: time(6),
    evaluate: (hours, minutes, micros) => {
      if (!isWithin(hours, 24) || !isWithin(minutes, 60) || !isWithin(micros, 60_000_000n)) {
        throw outOfBounds('these parts make no time');
      }
      return (BigInt(hours * 60 + minutes) * 60_000_000n + micros) * 1000n;
    },
  });
}

function toTime(c: FunctionCall): Expression {
  const text = (index: number): Expression =>
    coerceArgument('to_time', argumentAt(c, index), index, exactly(parameter.string));
  const made = (args: readonly Expression[], prepare: () => StrictFunction): Expression =>
    strictCall({
      name: `to_time/${args.length}`,
      type: time(6),
      arguments: args,
      place: c.place,
      prepare,
    });
  if (c.arguments.length === 1) {
    return made([text(0)], () => (value: string) => {
      const nanos = parseTime(value);
      if (nanos === undefined) throw cannotParse(value, 'HH:mm:ss.SSSSSS');
      return nanos - (nanos % 1000n);
    });
  }
  const pattern = text(1);
  checkConstantPattern(pattern, 'parse', c.timeZone);
  return made([text(0), pattern], () => {
    const parse = localParser();
    return (value: string, form: string) => {
      const parsed = parse(value, form);
      if (parsed === undefined) throw cannotParse(value, form);
      return BigInt(splitMicros(parsed.localMicros).microsOfDay) * 1000n;
    };
  });
}

function cannotParse(text: string, pattern: string): ExpressionError {
  return new ExpressionError(
    'CANNOT_PARSE_TIME',
    `the text '${text.slice(0, 60)}' does not fit the pattern '${pattern}'`,
  );
}

/** The time of the session's zone, cut to the precision. */
function currentTime(c: FunctionCall): Expression {
  const precision = precisionOf(c);
  const unit = 10n ** BigInt(9 - precision);
  return call(
    {
      name: `current_time(${precision})`,
      deterministic: false,
      compile: (_, context) => {
        const zone = sessionZone(context.timeZone);
        return (_row, frame) => {
          const nanos = BigInt(splitMicros(toLocal(frame.nowMicros, zone)).microsOfDay) * 1000n;
          return nanos - (nanos % unit);
        };
      },
    },
    time(precision),
    [],
    c.place,
  );
}

function precisionOf(c: FunctionCall): number {
  const [written] = c.arguments;
  if (written === undefined) return 6;
  if (!isConstant(written)) {
    throw mismatch(
      'NON_FOLDABLE_INPUT',
      'the precision of current_time is constant',
      written.place,
    );
  }
  const value = constantValue(coerceArgument(c.name, written, 0, parameter.int), c.timeZone);
  if (typeof value === 'number' && value >= 0 && value <= 9) return value;
  throw fault(
    'DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE',
    'the precision of current_time is 0 to 9',
    written.place,
  );
}

const units: Readonly<Record<string, bigint>> = {
  HOUR: 3_600_000_000_000n,
  MINUTE: 60_000_000_000n,
  SECOND: 1_000_000_000n,
  MILLISECOND: 1_000_000n,
  MICROSECOND: 1000n,
};

function unitOf(name: string, unit: string): bigint {
  const upper = unit.toUpperCase();
  const nanos = Object.hasOwn(units, upper) ? units[upper] : undefined;
  if (nanos !== undefined) return nanos;
  throw new ExpressionError('INVALID_PARAMETER_VALUE.TIME_UNIT', `${name} knows no unit '${unit}'`);
}

function fromUnit(name: string, nanos: bigint): FunctionDefinition {
  return strictFunction({
    names: [name],
    parameters: [exactly(parameter.integral)],
    returns: time(6),
    evaluate: (value) => inDay(BigInt(value) * nanos),
  });
}

function toUnit(name: string, type: DataType, nanos: bigint): FunctionDefinition {
  return strictFunction({
    names: [name],
    parameters: [exactly(parameter.time)],
    returns: type,
    evaluate: (value) => value / nanos,
  });
}

/** Whole seconds, or seconds with a fraction. */
function fromSeconds(c: FunctionCall): Expression {
  const seconds = coerceArgument(c.name, argumentAt(c, 0), 0, exactly(parameter.numeric));
  const { type } = seconds;
  const nanosOf = (value: Value): bigint => {
    if (isIntegral(type)) return BigInt(value as number | bigint) * 1_000_000_000n;
    if (type.kind === 'decimal') {
      return divideHalfUp((value as bigint) * 1_000_000_000n, 10n ** BigInt(type.scale));
    }
    const nanos = (value as number) * 1e9;
    if (!Number.isFinite(nanos)) throw outOfBounds('a time has a finite number of seconds');
    return BigInt(Math.trunc(nanos));
  };
  return strictCall({
    name: `time_from_seconds(${type.kind})`,
    type: time(6),
    arguments: [seconds],
    place: c.place,
    prepare: () => (value: Value) => inDay(nanosOf(value)),
  });
}
