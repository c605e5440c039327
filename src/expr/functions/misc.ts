import { formatType } from '../../data/type-text.ts';
import { argumentAt } from '../arguments.ts';
import { literal } from '../call.ts';
import type { FunctionDefinition } from '../function.ts';
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
];
