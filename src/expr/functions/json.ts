import { FlowError } from '../../base/errors.ts';
import { splitMicros } from '../../data/date-time.ts';
import { formatType, parseColumnsText, parseTypeText } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { MapValue, Value } from '../../data/value.ts';
import { utc, type Zone } from '../../data/zones.ts';
import { argumentAt } from '../arguments.ts';
import { strictCall } from '../call.ts';
import { castTo } from '../coerce.ts';
import { constantValue, isConstant } from '../compile.ts';
import { microsPerDay, sessionZone } from '../datetime-math.ts';
import { instantOf, localParser, timestampPrinter } from '../datetime-pattern/formatter.ts';
import type { ParsedTime } from '../datetime-pattern/parse-pattern.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import {
  type JsonConverter,
  type JsonFormats,
  jsonConverter,
  Misfit,
} from '../json/json-decode.ts';
import { type JsonWriterOptions, jsonWriter } from '../json/json-encode.ts';
import { findJson, type JsonStep, parseJsonPath } from '../json/json-path.ts';
import { isArray, isObject, type JsonNode, parseJson } from '../json/json-tree.ts';
import { parameter } from '../parameter.ts';
import { arrayOf, types } from '../types.ts';

/** JSON text read and written. */
export const jsonFunctions: readonly FunctionDefinition[] = [
  strictFunction({
    names: ['get_json_object'],
    parameters: [parameter.string, parameter.string],
    returns: types.string,
    prepare: () => getJsonObject(),
  }),
  { names: ['from_json'], arity: [2, 3], bind: fromJson },
  { names: ['to_json'], arity: [1, 2], bind: toJson },
  strictFunction({
    names: ['json_array_length'],
    parameters: [parameter.string],
    returns: types.int,
    evaluate: (text) => {
      const node = rootOf(text);
      return node !== undefined && isArray(node) ? node.length : null;
    },
  }),
  strictFunction({
    names: ['json_object_keys'],
    parameters: [parameter.string],
    returns: arrayOf(types.string),
    evaluate: (text) => {
      const node = rootOf(text);
      return node !== undefined && isObject(node) ? node.members.map(([name]) => name) : null;
    },
  }),
];

function rootOf(text: string): JsonNode | undefined {
  const result = parseJson(text);
  return result.state === 'value' ? result.node : undefined;
}

function getJsonObject(): (text: string, path: string) => Value {
  let known: string | undefined;
  let steps: readonly JsonStep[] | undefined;
  return (text, path) => {
    if (path !== known) {
      steps = parseJsonPath(path);
      known = path;
    }
    const node = steps === undefined ? undefined : rootOf(text);
    if (steps === undefined || node === undefined) return null;
    return findJson(node, steps) ?? null;
  };
}

// ---------------------------------------------------------------- options

/** The third argument of from_json, or the second of to_json: a constant map. Names in lower case. */
function optionsOf(c: FunctionCall, index: number): ReadonlyMap<string, string> {
  const argument = c.arguments[index];
  if (argument === undefined) return new Map();
  const { type } = argument;
  const isMap = type.kind === 'map' && type.key.kind === 'string' && type.value.kind === 'string';
  if (!isMap) {
    throw fault(
      'INVALID_OPTIONS.NON_STRING_TYPE',
      `the options of ${c.name} are a map from strings to strings, not ${formatType(type)}`,
      argument.place,
    );
  }
  if (!isConstant(argument)) {
    throw fault(
      'INVALID_OPTIONS.NON_MAP_FUNCTION',
      `the options of ${c.name} must be constant`,
      argument.place,
    );
  }
  const map = constantValue(argument, c.timeZone) as MapValue | null;
  return new Map(
    (map?.entries ?? []).map(([key, value]) => [String(key).toLowerCase(), String(value)]),
  );
}

/** How the options say that dates and timestamps are read. */
function formatsOf(options: ReadonlyMap<string, string>, zone: Zone): JsonFormats {
  const [date, timestamp, timestampNtz] = patternOptions.map((name) => options.get(name));
  return {
    zone,
    ...(date !== undefined && {
      date: reader(date, (parsed) => splitMicros(parsed.localMicros).days),
    }),
    ...(timestamp !== undefined && {
      timestamp: reader(timestamp, (parsed) => instantOf(parsed, zone)),
    }),
    ...(timestampNtz !== undefined && {
      timestampNtz: reader(timestampNtz, (parsed) => parsed.localMicros),
    }),
  };
}

function reader<T>(
  pattern: string,
  toValue: (parsed: ParsedTime) => T,
): (text: string) => T | undefined {
  const parse = localParser();
  return (text) => {
    const parsed = parse(text, pattern);
    return parsed === undefined ? undefined : toValue(parsed);
  };
}

const patternOptions = ['dateformat', 'timestampformat', 'timestampntzformat'] as const;

function writerOf(options: ReadonlyMap<string, string>, zone: Zone): JsonWriterOptions {
  const [date, timestamp, timestampNtz] = patternOptions.map((name) => options.get(name));
  const printDate = timestampPrinter(utc);
  const printLocal = timestampPrinter(utc);
  const printZoned = timestampPrinter(zone);
  return {
    zone,
    ignoreNullFields: options.get('ignorenullfields')?.toLowerCase() !== 'false',
    ...(date !== undefined && {
      date: (days: number) => printDate(BigInt(days) * microsPerDay, date),
    }),
    ...(timestamp !== undefined && {
      timestamp: (micros: bigint) => printZoned(micros, timestamp),
    }),
    ...(timestampNtz !== undefined && {
      timestampNtz: (micros: bigint) => printLocal(micros, timestampNtz),
    }),
  };
}

// ---------------------------------------------------------------- from_json

const corruptColumn = '_corrupt_record';

function schemaOf(c: FunctionCall): DataType {
  const argument = argumentAt(c, 1);
  const text = isConstant(argument) ? constantValue(argument, c.timeZone) : undefined;
  if (typeof text !== 'string') {
    throw fault(
      'INVALID_SCHEMA.NON_STRING_LITERAL',
      'the schema of from_json must be a constant string',
      argument.place,
    );
  }
  const type = parseSchema(text, argument);
  if (['struct', 'array', 'map', 'variant'].includes(type.kind)) return type;
  throw mismatch(
    'INVALID_JSON_SCHEMA',
    `from_json reads structs, arrays and maps, not ${formatType(type)}`,
    argument.place,
  );
}

/** A list of columns, or one type. */
function parseSchema(text: string, argument: Expression): DataType {
  try {
    return { kind: 'struct', fields: parseColumnsText(text) };
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
  }
  try {
    return parseTypeText(text);
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
    throw fault('PARSE_SYNTAX_ERROR', `'${text}' is no schema: ${error.message}`, argument.place);
  }
}

/** Reads permissively: what does not fit is NULL, and with mode FAILFAST an error. */
function fromJson(c: FunctionCall): Expression {
  const json = coerceArgument(c.name, argumentAt(c, 0), 0, parameter.string);
  const type = schemaOf(c);
  const options = optionsOf(c, 2);
  const isFailFast = options.get('mode')?.toUpperCase() === 'FAILFAST';
  const corruptName = options.get('columnnameofcorruptrecord') ?? corruptColumn;
  return strictCall({
    name: `from_json(${JSON.stringify([...options])})`,
    type,
    arguments: [json],
    place: c.place,
    prepare: (context) => {
      const formats = formatsOf(options, sessionZone(context.timeZone));
      const read = rootReader(type, formats, corruptName);
      return (text: string) => {
        const value = read(text);
        if (!(value instanceof Misfit)) return value;
        if (isFailFast) {
          throw new ExpressionError(
            'MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION',
            'the text does not fit the schema of from_json',
          );
        }
        return value.partial ?? null;
      };
    },
  });
}

type RootReader = (text: string) => Value | Misfit;

function rootReader(type: DataType, formats: JsonFormats, corruptName: string): RootReader {
  if (type.kind === 'struct') return structReader(type, formats, corruptName);
  const convert = jsonConverter(type, formats);
  const single =
    type.kind === 'array' && type.element.kind === 'struct'
      ? jsonConverter(type.element, formats)
      : undefined;
  return (text) => {
    const result = parseJson(text);
    if (result.state === 'empty') return null;
    if (result.state === 'malformed') return new Misfit();
    if (single !== undefined && isObject(result.node)) return wrapped(single(result.node));
    return convert(result.node);
  };
}

function wrapped(value: Value | Misfit): Value | Misfit {
  if (!(value instanceof Misfit)) return [value];
  return new Misfit(value.partial === undefined ? undefined : [value.partial]);
}

/** The corrupt column gets the text when any part of it does not fit. */
function structReader(
  type: Extract<DataType, { kind: 'struct' }>,
  formats: JsonFormats,
  corruptName: string,
): RootReader {
  const corrupt = type.fields.findIndex(
    (field) => field.name === corruptName && field.type.kind === 'string',
  );
  const fields = type.fields.filter((_, i) => i !== corrupt);
  const convert: JsonConverter = jsonConverter({ kind: 'struct', fields }, formats);
  const nothing: Value[] = new Array<Value>(fields.length).fill(null);
  const withCorrupt = (row: readonly Value[], text: string | null): readonly Value[] =>
    corrupt < 0 ? row : row.toSpliced(corrupt, 0, text);
  return (text) => {
    const result = parseJson(text);
    if (result.state === 'empty') return null;
    const isRead = result.state === 'value' && result.node !== null;
    const value = isRead ? convert(result.node) : new Misfit();
    if (!(value instanceof Misfit)) return withCorrupt(value as readonly Value[], null);
    return new Misfit(withCorrupt((value.partial ?? nothing) as readonly Value[], text));
  };
}

// ---------------------------------------------------------------- to_json

function toJson(c: FunctionCall): Expression {
  const value = argumentAt(c, 0);
  const { kind } = value.type;
  if (kind === 'void') return castTo(value, types.string);
  if (kind !== 'struct' && kind !== 'array' && kind !== 'map' && kind !== 'variant') {
    throw mismatch(
      'INVALID_JSON_SCHEMA',
      `to_json writes structs, arrays and maps, not ${formatType(value.type)}`,
      value.place,
    );
  }
  const options = optionsOf(c, 1);
  return strictCall({
    name: `to_json(${JSON.stringify([...options])})`,
    type: types.string,
    arguments: [value],
    place: c.place,
    prepare: (context) => {
      return jsonWriter(value.type, writerOf(options, sessionZone(context.timeZone)));
    },
  });
}
