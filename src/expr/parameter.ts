import { formatType, sameType } from '../data/type-text.ts';
import type { DataType } from '../data/types.ts';
import type { CalendarInterval, MapValue, Value } from '../data/value.ts';
import { canStoreAssign } from './cast-rules.ts';
import { castTo } from './coerce.ts';
import type { Expression } from './expression.ts';
import {
  arrayOf,
  decimal,
  decimalOf,
  isAtomic,
  isIntegral,
  isNumeric,
  mapOf,
  time,
  types,
} from './types.ts';

/**
 * What a parameter of a function takes: the argument, or a cast of it, or undefined when Spark would
 * not convert it by itself. V is the kind of value that the function then gets.
 */
export type Parameter<V extends Value> = {
  /** For messages: `a string`. */
  readonly text: string;
  readonly accepts: (type: DataType) => boolean;
  readonly coerce: (argument: Expression) => Expression | undefined;
  /** Only there to carry the type. */
  readonly example?: V;
};

/** A parameter of one type. Strings are read as it, numbers are widened or narrowed, NULL fits. */
function concrete<V extends Value>(type: DataType, text: string): Parameter<V> {
  return {
    text,
    accepts: (from) => sameType(from, type),
    coerce: (argument) => {
      const from = argument.type;
      if (sameType(from, type)) return argument;
      const goes =
        from.kind === 'void' ||
        (from.kind === 'string' && isAtomic(type)) ||
        canStoreAssign(from, type);
      return goes ? castTo(argument, type) : undefined;
    },
  };
}

/** A parameter of one of many types; NULL and strings become `fallback`. */
function family<V extends Value>(
  accepts: (type: DataType) => boolean,
  fallback: { readonly nullAs: DataType; readonly stringAs?: DataType; readonly dateAs?: DataType },
  text: string,
): Parameter<V> {
  return {
    text,
    accepts,
    coerce: (argument) => {
      const from = argument.type;
      if (accepts(from)) return argument;
      if (from.kind === 'void') return castTo(argument, fallback.nullAs);
      if (from.kind === 'string' && fallback.stringAs !== undefined) {
        return castTo(argument, fallback.stringAs);
      }
      if (from.kind === 'date' && fallback.dateAs !== undefined) {
        return castTo(argument, fallback.dateAs);
      }
      return undefined;
    },
  };
}

const anyType: Parameter<Value> = {
  text: 'any value',
  accepts: () => true,
  coerce: (argument) => argument,
};

/** The rules, named by what they take. */
export const parameter = {
  any: anyType,
  string: concrete<string>(types.string, 'a string'),
  binary: concrete<Uint8Array>(types.binary, 'binary'),
  boolean: concrete<boolean>(types.boolean, 'a boolean'),
  tinyint: concrete<number>(types.tinyint, 'a tinyint'),
  smallint: concrete<number>(types.smallint, 'a smallint'),
  int: concrete<number>(types.int, 'an int'),
  bigint: concrete<bigint>(types.bigint, 'a bigint'),
  float: concrete<number>(types.float, 'a float'),
  double: concrete<number>(types.double, 'a double'),
  date: concrete<number>(types.date, 'a date'),
  timestamp: concrete<bigint>(types.timestamp, 'a timestamp'),
  timestampNtz: concrete<bigint>(types.timestamp_ntz, 'a timestamp_ntz'),
  interval: concrete<CalendarInterval>(types.interval, 'an interval'),
  variant: concrete<Value>(types.variant, 'a variant'),
  /** int or smallint or tinyint, as for the days of date_add. */
  smallInteger: family<number>(
    (type) => type.kind === 'int' || type.kind === 'smallint' || type.kind === 'tinyint',
    { nullAs: types.int, stringAs: types.int },
    'an int, smallint or tinyint',
  ),
  /** Values are numbers or, for bigint, bigints. */
  integral: family<number | bigint>(
    isIntegral,
    { nullAs: types.bigint, stringAs: types.bigint },
    'an integer',
  ),
  /** Values are as the type says: numbers, bigints, or unscaled bigints of a decimal. */
  numeric: family<number | bigint>(
    isNumeric,
    { nullAs: types.double, stringAs: types.double },
    'a number',
  ),
  /** timestamp or timestamp_ntz; dates and strings become timestamps. */
  anyTimestamp: family<bigint>(
    (type) => type.kind === 'timestamp' || type.kind === 'timestamp_ntz',
    { nullAs: types.timestamp, stringAs: types.timestamp, dateAs: types.timestamp },
    'a timestamp',
  ),
  /** A time of day of any precision; texts become times. */
  time: family<bigint>(
    (type) => type.kind === 'time',
    { nullAs: time(6), stringAs: time(6) },
    'a time',
  ),
  /** string or binary; what is neither becomes a string. */
  stringOrBinary: oneOf<string | Uint8Array>([
    concrete<string>(types.string, 'a string'),
    concrete<Uint8Array>(types.binary, 'binary'),
  ]),
  array: family<readonly Value[]>(
    (type) => type.kind === 'array',
    { nullAs: arrayOf(types.void) },
    'an array',
  ),
  map: family<MapValue>(
    (type) => type.kind === 'map',
    { nullAs: mapOf(types.void, types.void) },
    'a map',
  ),
  struct: family<readonly Value[]>(
    (type) => type.kind === 'struct',
    { nullAs: { kind: 'struct', fields: [] } },
    'a struct',
  ),
} as const;

/** The rule without its conversions: only NULL fits beside what it accepts. */
export function exactly<V extends Value>(rule: Parameter<V>): Parameter<V> {
  return {
    ...rule,
    coerce: (argument) =>
      rule.accepts(argument.type) || argument.type.kind === 'void'
        ? rule.coerce(argument)
        : undefined,
  };
}

/** A parameter of exactly this type, such as `array<string>` or `decimal(20,0)`. */
export function parameterOf<V extends Value>(type: DataType): Parameter<V> {
  return concrete<V>(type, `of type ${formatType(type)}`);
}

/** The first rule that takes the argument as it is, else the first that it can be converted for. */
export function oneOf<V extends Value>(rules: readonly Parameter<V>[]): Parameter<V> {
  return {
    text: rules.map((rule) => rule.text).join(' or '),
    accepts: (type) => rules.some((rule) => rule.accepts(type)),
    coerce: (argument) => {
      if (rules.some((rule) => rule.accepts(argument.type))) return argument;
      for (const rule of rules) {
        const coerced = rule.coerce(argument);
        if (coerced !== undefined) return coerced;
      }
      return undefined;
    },
  };
}

/** Any number as a decimal; a string as decimal(38,18). */
export const decimalParameter: Parameter<bigint> = {
  text: 'a decimal',
  accepts: (type) => type.kind === 'decimal',
  coerce: (argument) => {
    const from = argument.type;
    if (from.kind === 'decimal') return argument;
    if (isNumeric(from)) return castTo(argument, decimalOf(from));
    if (from.kind === 'void') return castTo(argument, decimal(10, 0));
    return from.kind === 'string' ? castTo(argument, decimal(38, 18)) : undefined;
  },
};
