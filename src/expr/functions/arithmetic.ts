import { formatType } from '../../data/type-text.ts';
import { argumentAt } from '../arguments.ts';
import { type StrictFunction, strictCall } from '../call.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { mismatch } from '../faults.ts';
import type { FunctionDefinition } from '../function.ts';
import {
  type ArithmeticOperator,
  arithmetic,
  negate,
  unaryOperand,
} from '../operators/arithmetic.ts';
import { negateDecimal, overflow } from '../operators/arithmetic-kernels.ts';
import { shift } from '../operators/bitwise.ts';
import { nullOnError } from '../operators/interval-arithmetic.ts';

/** Operators as functions, and their `try_` forms. */
export const arithmeticFunctions: readonly FunctionDefinition[] = [
  operator('mod', '%', 'ansi'),
  operator('pmod', 'pmod', 'ansi'),
  operator('div', 'div', 'ansi'),
  operator('try_add', '+', 'try'),
  operator('try_subtract', '-', 'try'),
  operator('try_multiply', '*', 'try'),
  operator('try_divide', '/', 'try'),
  operator('try_mod', '%', 'try'),
  { names: ['negative'], arity: [1, 1], bind: (c) => negate(argumentAt(c, 0), c.place) },
  { names: ['positive'], arity: [1, 1], bind: (c) => unaryOperand('positive', argumentAt(c, 0)) },
  { names: ['abs'], arity: [1, 1], bind: (c) => absolute(argumentAt(c, 0), c.place) },
  shiftFunction('shiftleft', '<<'),
  shiftFunction('shiftright', '>>'),
  shiftFunction('shiftrightunsigned', '>>>'),
];

function operator(
  name: string,
  symbol: ArithmeticOperator,
  mode: 'ansi' | 'try',
): FunctionDefinition {
  return {
    names: [name],
    arity: [2, 2],
    bind: (c) => {
      const [a, b] = [argumentAt(c, 0), argumentAt(c, 1)];
      // Of a text that is no number, too, the result is NULL.
      const readsText = mode === 'try' && (a.type.kind === 'string' || b.type.kind === 'string');
      const result = arithmetic(symbol, a, b, { place: c.place, mode: readsText ? 'ansi' : mode });
      return readsText ? nullOnError(result) : result;
    },
  };
}

function shiftFunction(name: string, symbol: '<<' | '>>' | '>>>'): FunctionDefinition {
  return {
    names: [name],
    arity: [2, 2],
    bind: (c) => shift(symbol, argumentAt(c, 0), argumentAt(c, 1), c.place),
  };
}

function absolute(value: Expression, place: Expression['place']): Expression {
  const operand = unaryOperand('abs', value);
  if (operand.type.kind === 'interval') {
    throw mismatch('UNEXPECTED_INPUT_TYPE', 'abs takes no interval of months and days', place);
  }
  const { type } = operand;
  return strictCall({
    name: `abs(${formatType(type)})`,
    type,
    arguments: [operand],
    place,
    prepare: (): StrictFunction => {
      switch (type.kind) {
        case 'bigint':
        case 'interval_day_time':
          return (v: bigint) => {
            if (v === -(2n ** 63n)) throw absOverflow(formatType(type));
            return v < 0n ? -v : v;
          };
        case 'decimal':
          return (v: bigint) => (v < 0n ? negateDecimal(v, type) : v);
        case 'float':
        case 'double':
          return (v: number) => Math.abs(v);
        case 'tinyint':
          return (v: number) => (v === -128 ? raise(absOverflow('tinyint')) : Math.abs(v));
        case 'smallint':
          return (v: number) => (v === -32_768 ? raise(absOverflow('smallint')) : Math.abs(v));
        case 'int':
        case 'interval_year_month':
          return (v: number) => (v === -2_147_483_648 ? raise(overflow(type)) : Math.abs(v));
        default:
          throw new TypeError(`no abs of ${formatType(type)}`);
      }
    },
  });
}

function absOverflow(type: string): ExpressionError {
  return new ExpressionError('ARITHMETIC_OVERFLOW', `the absolute value does not fit ${type}`);
}

function raise(error: Error): never {
  throw error;
}
