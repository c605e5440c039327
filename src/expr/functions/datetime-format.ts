import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { utc, type Zone } from '../../data/zones.ts';
import { argumentAt } from '../arguments.ts';
import { call, literal, strictCall } from '../call.ts';
import { canCast } from '../cast-rules.ts';
import { castTo } from '../coerce.ts';
import { sessionZone } from '../datetime-math.ts';
import {
  cannotParse,
  checkConstantPattern,
  instantOf,
  localParser,
  timestampPrinter,
} from '../datetime-pattern/formatter.ts';
import type { ParsedTime } from '../datetime-pattern/parse-pattern.ts';
import type { PatternUse } from '../datetime-pattern/pattern.ts';
import type { Expression } from '../expression.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import { nullOnError } from '../operators/interval-arithmetic.ts';
import { exactly, parameter } from '../parameter.ts';
import { isDatetime, types } from '../types.ts';

/** Dates and timestamps to text and from text, by patterns. */
export const datetimeFormatFunctions: readonly FunctionDefinition[] = [
  { names: ['date_format'], arity: [2, 2], bind: dateFormat },
  { names: ['from_unixtime'], arity: [1, 2], bind: fromUnixtime },
  { names: ['to_date'], arity: [1, 2], bind: (c) => toDate(c, 'ansi') },
  { names: ['try_to_date'], arity: [1, 2], bind: (c) => toDate(c, 'try') },
  {
    names: ['to_timestamp', 'to_timestamp_ltz'],
    arity: [1, 2],
    bind: (c) => toTimestamp(c, types.timestamp, 'ansi'),
  },
  {
    names: ['try_to_timestamp'],
    arity: [1, 2],
    bind: (c) => toTimestamp(c, types.timestamp, 'try'),
  },
  {
    names: ['to_timestamp_ntz'],
    arity: [1, 2],
    bind: (c) => toTimestamp(c, types.timestamp_ntz, 'ansi'),
  },
  { names: ['unix_timestamp'], arity: [0, 2], bind: unixTimestamp },
  { names: ['to_unix_timestamp'], arity: [1, 2], bind: unixTimestamp },
];

const defaultPattern = 'yyyy-MM-dd HH:mm:ss';

function patternArgument(c: FunctionCall, index: number, use: PatternUse): Expression {
  const written = c.arguments[index];
  if (written === undefined) return literal(defaultPattern, types.string, c.place);
  const pattern = coerceArgument(c.name, written, index, parameter.string);
  const [value] = c.arguments;
  // Without a value nothing looks at the pattern.
  const isNull = value?.node === 'literal' && value.value === null;
  if (!isNull) checkConstantPattern(pattern, use, c.timeZone);
  return pattern;
}

export function dateFormat(c: FunctionCall): Expression {
  const value = argumentAt(c, 0);
  if (value.type.kind === 'time') {
    return strictCall({
      name: 'date_format(time)',
      type: types.string,
      arguments: [value, patternArgument(c, 1, 'print')],
      place: c.place,
      prepare: () => {
        const print = timestampPrinter(utc);
        return (nanos: bigint, pattern: string) => print(nanos / 1000n, pattern);
      },
    });
  }
  const timestamp = coerceArgument(c.name, value, 0, parameter.timestamp);
  return strictCall({
    name: 'date_format',
    type: types.string,
    arguments: [timestamp, patternArgument(c, 1, 'print')],
    place: c.place,
    prepare: (context) => timestampPrinter(sessionZone(context.timeZone)),
  });
}

function fromUnixtime(c: FunctionCall): Expression {
  const seconds = coerceArgument(c.name, argumentAt(c, 0), 0, parameter.bigint);
  return strictCall({
    name: 'from_unixtime',
    type: types.string,
    arguments: [seconds, patternArgument(c, 1, 'print')],
    place: c.place,
    prepare: (context) => {
      const print = timestampPrinter(sessionZone(context.timeZone));
      return (value: bigint, pattern: string) =>
        print(BigInt.asIntN(64, value * 1_000_000n), pattern);
    },
  });
}

/** A text read by a pattern, in a type of timestamp. */
function parsedCall(
  c: FunctionCall,
  text: Expression,
  type: DataType,
  toValue: (parsed: ParsedTime, zone: Zone) => bigint,
): Expression {
  const use = type.kind === 'timestamp_ntz' ? 'parse_local' : 'parse';
  return strictCall({
    name: `${c.name}(${formatType(type)})`,
    type,
    arguments: [text, patternArgument(c, 1, use)],
    place: c.place,
    prepare: (context) => {
      const zone = sessionZone(context.timeZone);
      const parse = localParser(use);
      return (value: string, pattern: string): Value => {
        const parsed = parse(value, pattern);
        if (parsed === undefined) throw cannotParse(value, pattern);
        return toValue(parsed, zone);
      };
    },
  });
}

function toTimestamp(c: FunctionCall, type: DataType, mode: 'ansi' | 'try'): Expression {
  const value = argumentAt(c, 0);
  if (c.arguments.length === 1) return castTo(readable(c, type), type, mode, c.place);
  if (isDatetime(value.type)) return castTo(value, type, mode, c.place);
  const text = coerceArgument(c.name, value, 0, parameter.string);
  const isLocal = type.kind === 'timestamp_ntz';
  const result = parsedCall(c, text, type, (parsed, zone) =>
    isLocal ? parsed.localMicros : instantOf(parsed, zone),
  );
  // A pattern that is none is no matter of the row.
  return mode === 'try' ? nullOnError(result, /DATETIME_\w*PATTERN/) : result;
}

/** What has no cast of its own to the type is read as the text that it makes. */
function readable(c: FunctionCall, type: DataType): Expression {
  const value = argumentAt(c, 0);
  return canCast(value.type, type) ? value : coerceArgument(c.name, value, 0, parameter.string);
}

function toDate(c: FunctionCall, mode: 'ansi' | 'try'): Expression {
  const value = argumentAt(c, 0);
  if (c.arguments.length === 1) return castTo(readable(c, types.date), types.date, mode, c.place);
  if (isDatetime(value.type)) return castTo(value, types.date, mode, c.place);
  return castTo(toTimestamp(c, types.timestamp, mode), types.date, mode, c.place);
}

const nowSeconds = call(
  {
    name: 'unix_timestamp',
    deterministic: false,
    compile: () => (_, frame) => frame.nowMicros / 1_000_000n,
  },
  types.bigint,
  [],
  { file: '', start: 0, end: 0, line: 1, column: 1 },
);

/** Seconds since 1970, cut towards zero as Spark does here. */
function unixTimestamp(c: FunctionCall): Expression {
  const [value] = c.arguments;
  if (value === undefined) return { ...nowSeconds, place: c.place };
  let timestamp: Expression;
  if (value.type.kind === 'timestamp_ntz') {
    // Without a zone it is counted as it is written, as in Spark.
    timestamp = value;
  } else if (isDatetime(value.type) || value.type.kind === 'void') {
    timestamp = castTo(value, types.timestamp);
  } else {
    const text = coerceArgument(c.name, value, 0, exactly(parameter.string));
    const pattern = c.arguments[1];
    if (pattern !== undefined) coerceArgument(c.name, pattern, 1, exactly(parameter.string));
    timestamp = parsedCall(c, text, types.timestamp, instantOf);
  }
  return strictCall({
    name: c.name,
    type: types.bigint,
    arguments: [timestamp],
    place: c.place,
    prepare: () => (micros: bigint) => micros / 1_000_000n,
  });
}
