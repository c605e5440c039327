import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { strictCall } from '../call.ts';
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
import {
  type JsonConverter,
  type JsonFormats,
  jsonConverter,
  Misfit,
} from '../json/json-decode.ts';
import { jsonWriter } from '../json/json-encode.ts';
import { findJson, type JsonStep, parseJsonPath } from '../json/json-path.ts';
import { prettyJson } from '../json/json-print.ts';
import { inferredType, schemaType, typeSql } from '../json/json-schema.ts';
import {
  isArray,
  isObject,
  type JsonNode,
  type JsonResult,
  looseSyntax,
  parseJson,
  syntaxOf,
} from '../json/json-tree.ts';
import { exactly, parameter } from '../parameter.ts';
import { formatsOf, optionsOf, parseSchema, recordZone, writerOf } from '../record-options.ts';
import { arrayOf, types } from '../types.ts';

/** JSON text read and written. */
export const jsonFunctions: readonly FunctionDefinition[] = [
  strictFunction({
    names: ['get_json_object'],
    parameters: [exactly(parameter.string), exactly(parameter.string)],
    returns: types.string,
    prepare: () => getJsonObject(),
  }),
  { names: ['from_json'], arity: [2, 3], bind: fromJson },
  { names: ['to_json'], arity: [1, 2], bind: toJson },
  { names: ['schema_of_json'], arity: [1, 2], bind: schemaOfJson },
  strictFunction({
    names: ['json_array_length'],
    parameters: [exactly(parameter.string)],
    returns: types.int,
    evaluate: (text) => {
      const node = rootOf(text);
      return node !== undefined && isArray(node) ? node.length : null;
    },
  }),
  strictFunction({
    names: ['json_object_keys'],
    parameters: [exactly(parameter.string)],
    returns: arrayOf(types.string),
    evaluate: (text) => {
      const node = rootOf(text);
      return node !== undefined && isObject(node) ? node.members.map(([name]) => name) : null;
    },
  }),
];

function rootOf(text: string): JsonNode | undefined {
  const result = parseJson(text, looseSyntax);
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

/** Reads permissively: what does not fit is NULL, and with mode FAILFAST an error. */
function fromJson(c: FunctionCall): Expression {
  const type = schemaOf(c);
  const options = optionsOf(c, 2);
  const json = coerceArgument(c.name, argumentAt(c, 0), 0, exactly(parameter.string));
  const mode = options.get('mode')?.toUpperCase() ?? 'PERMISSIVE';
  // A mode that does not exist is the permissive one.
  if (mode === 'DROPMALFORMED') {
    throw fault('PARSE_MODE_UNSUPPORTED', `from_json has no mode ${mode}`, c.place);
  }
  const isFailFast = mode === 'FAILFAST';
  const isWhole = options.has('singlevariantcolumn') && isOneVariant(type);
  const corruptName = options.get('columnnameofcorruptrecord') ?? corruptColumn;
  return strictCall({
    name: `from_json(${JSON.stringify([...options])})`,
    type,
    arguments: [json],
    place: c.place,
    prepare: (context) => {
      const formats = formatsOf(options, recordZone(options, context.timeZone));
      const syntax = syntaxOf(options);
      const parse: Parse = (text) => parseJson(text, syntax);
      const read = isWhole
        ? wholeReader(formats, parse)
        : rootReader(type, formats, corruptName, parse);
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

/** A struct that the option `singleVariantColumn` fills with the whole record, whatever it is. */
function isOneVariant(type: DataType): boolean {
  return (
    type.kind === 'struct' && type.fields.length === 1 && type.fields[0]?.type.kind === 'variant'
  );
}

function wholeReader(formats: JsonFormats, parse: Parse): RootReader {
  const convert = jsonConverter(types.variant, formats);
  return (text) => {
    const result = parse(text);
    if (result.state === 'empty') return null;
    if (result.state === 'malformed') return new Misfit([null]);
    return wrapped(convert(result.node));
  };
}

type Parse = (text: string) => JsonResult;
type RootReader = (text: string) => Value | Misfit;

function rootReader(
  type: DataType,
  formats: JsonFormats,
  corruptName: string,
  parse: Parse,
): RootReader {
  if (type.kind === 'struct') return structReader(type, formats, corruptName, parse);
  const convert = jsonConverter(type, formats);
  const single =
    type.kind === 'array' && type.element.kind === 'struct'
      ? jsonConverter(type.element, formats)
      : undefined;
  return (text) => {
    const result = parse(text);
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
  parse: Parse,
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
    const result = parse(text);
    if (result.state === 'empty') return null;
    const isRead = result.state === 'value' && result.node !== null;
    const value = isRead ? convert(result.node) : new Misfit();
    if (!(value instanceof Misfit)) return withCorrupt(value as readonly Value[], null);
    return new Misfit(withCorrupt((value.partial ?? nothing) as readonly Value[], text));
  };
}

// ---------------------------------------------------------------- schema_of_json

function schemaOfJson(c: FunctionCall): Expression {
  const options = optionsOf(c, 1);
  const given = argumentAt(c, 0);
  const json = coerceArgument(c.name, given, 0, exactly(parameter.string));
  if (!isConstant(given)) {
    throw mismatch(
      'NON_FOLDABLE_INPUT',
      'the json of schema_of_json must be constant',
      given.place,
    );
  }
  if (constantValue(given, c.timeZone) === null) {
    throw mismatch('UNEXPECTED_NULL', 'the json of schema_of_json is NULL', given.place);
  }
  const isSet = (name: string): boolean => options.get(name)?.toLowerCase() === 'true';
  return strictCall({
    name: `schema_of_json(${JSON.stringify([...options])})`,
    type: types.string,
    arguments: [json],
    place: c.place,
    prepare: () => (text: string) => {
      const result = parseJson(text, syntaxOf(options));
      if (result.state === 'empty') return 'STRING';
      if (result.state === 'malformed') {
        throw new ExpressionError(
          'MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION',
          'the text is no JSON',
        );
      }
      const inferred = inferredType(result.node, {
        primitivesAsString: isSet('primitivesasstring'),
        prefersDecimal: isSet('prefersdecimal'),
      });
      const empty: DataType =
        inferred.kind === 'array'
          ? { kind: 'array', element: types.string }
          : { kind: 'struct', fields: [] };
      return typeSql(schemaType(inferred) ?? empty);
    },
  });
}

// ---------------------------------------------------------------- to_json

function toJson(c: FunctionCall): Expression {
  const options = optionsOf(c, 1);
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
  return strictCall({
    name: `to_json(${JSON.stringify([...options])})`,
    type: types.string,
    arguments: [value],
    place: c.place,
    prepare: (context) => {
      const write = jsonWriter(
        value.type,
        writerOf(options, recordZone(options, context.timeZone)),
      );
      const isPretty = options.get('pretty')?.toLowerCase() === 'true' && kind !== 'variant';
      if (!isPretty) return write;
      return (given: Value) => prettyJson(write(given));
    },
  });
}
