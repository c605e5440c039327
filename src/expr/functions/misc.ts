import { formatType } from '../../data/type-text.ts';
import { argumentAt } from '../arguments.ts';
import { literal } from '../call.ts';
import { coerceArgument, type FunctionDefinition, strictFunction } from '../function.ts';
import { parameter } from '../parameter.ts';
import { types } from '../types.ts';

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
    evaluate: (value) =>
      typeof value === 'string' || Buffer.from(Buffer.from(value).toString('utf8')).equals(value),
  }),
];
