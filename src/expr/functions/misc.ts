import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { literal } from '../call.ts';
import { ExpressionError } from '../expression-error.ts';
import { coerceArgument, type FunctionDefinition, strictFunction } from '../function.ts';
import { parameter } from '../parameter.ts';
import { types } from '../types.ts';

function isWellFormed(value: string | Uint8Array): boolean {
  return typeof value === 'string' || Buffer.from(textOf(value)).equals(value);
}

function textOf(value: string | Uint8Array): string {
  return typeof value === 'string' ? value : Buffer.from(value).toString('utf8');
}

/** What Spark says where a query runs by itself: here there is one session and no file. */
function constant(names: readonly string[], value: Value, type: DataType): FunctionDefinition {
  return { names, arity: [0, 0], bind: (c) => literal(value, type, c.place) };
}

/** What belongs to no other kind. */
export const miscFunctions: readonly FunctionDefinition[] = [
  {
    names: ['typeof'],
    arity: [1, 1],
    bind: (c) => literal(formatType(argumentAt(c, 0).type), types.string, c.place),
  },
  {
    names: ['current_timezone'],
    arity: [0, 0],
    bind: (c) => literal(c.timeZone, types.string, c.place),
  },
  {
    names: ['collation'],
    arity: [1, 1],
    bind: (c) => {
      coerceArgument(c.name, argumentAt(c, 0), 0, parameter.string);
      return literal('SYSTEM.BUILTIN.UTF8_BINARY', types.string, c.place);
    },
  },
  // A string here is always well-formed: what is not never becomes one.
  strictFunction({
    names: ['is_valid_utf8'],
    parameters: [parameter.stringOrBinary],
    returns: types.boolean,
    evaluate: isWellFormed,
  }),
  strictFunction({
    names: ['validate_utf8'],
    parameters: [parameter.stringOrBinary],
    returns: types.string,
    evaluate: (value) => {
      if (isWellFormed(value)) return textOf(value);
      throw new ExpressionError('INVALID_UTF8_STRING', 'the bytes are no valid UTF-8');
    },
  }),
  strictFunction({
    names: ['try_validate_utf8'],
    parameters: [parameter.stringOrBinary],
    returns: types.string,
    evaluate: (value) => (isWellFormed(value) ? textOf(value) : null),
  }),
  strictFunction({
    names: ['make_valid_utf8'],
    parameters: [parameter.stringOrBinary],
    returns: types.string,
    evaluate: textOf,
  }),
  // A pipeline has no user; the version is that of the Spark whose answers these are.
  constant(['current_user', 'user', 'session_user'], 'tidemark', types.string),
  constant(['version'], '4.3.0', types.string),
  constant(['current_catalog'], 'spark_catalog', types.string),
  constant(['current_database', 'current_schema'], 'default', types.string),
  constant(['input_file_name'], '', types.string),
  constant(['input_file_block_start', 'input_file_block_length'], -1n, types.bigint),
  constant(['spark_partition_id'], 0, types.int),
];
