import type { DataType } from '../../data/types.ts';
import { argumentAt } from '../arguments.ts';
import { writtenCast } from '../coerce.ts';
import type { FunctionDefinition } from '../function.ts';
import { decimal, time, types } from '../types.ts';

/** Types used as functions: `int('7')` is `CAST('7' AS INT)`. */
export const castFunctions: readonly FunctionDefinition[] = [
  cast('boolean', types.boolean),
  cast('tinyint', types.tinyint),
  cast('smallint', types.smallint),
  cast('int', types.int),
  cast('bigint', types.bigint),
  cast('float', types.float),
  cast('double', types.double),
  cast('decimal', decimal(10, 0)),
  cast('string', types.string),
  cast('binary', types.binary),
  cast('date', types.date),
  cast('timestamp', types.timestamp),
  cast('time', time(6)),
];

function cast(name: string, type: DataType): FunctionDefinition {
  return {
    names: [name],
    arity: [1, 1],
    bind: (c) => writtenCast(argumentAt(c, 0), type, 'ansi', c.place),
  };
}
