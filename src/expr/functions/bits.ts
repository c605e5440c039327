import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { mismatch } from '../faults.ts';
import type { FunctionCall, FunctionDefinition } from '../function.ts';
import { strictFunction } from '../function.ts';
import { exactly, oneOf, parameter } from '../parameter.ts';
import { types } from '../types.ts';

/** Functions of single bits, and counts of whole numbers. */
export const bitFunctions: readonly FunctionDefinition[] = [
  strictFunction({
    names: ['bit_count'],
    parameters: [oneOf<Value>([exactly(parameter.integral), exactly(parameter.boolean)])],
    returns: types.int,
    evaluate: (value) => {
      if (typeof value === 'boolean') return value ? 1 : 0;
      const bits = BigInt.asUintN(64, BigInt(value as number | bigint));
      return bits.toString(2).replaceAll('0', '').length;
    },
  }),
  strictFunction({
    names: ['bit_get', 'getbit'],
    parameters: [parameter.integral, parameter.int],
    returns: types.tinyint,
    prepare: ({ types: [type] }) => {
      const width = widthOf(type);
      return (value, position) => {
        if (position < 0 || position >= width) {
          throw new ExpressionError(
            'INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE',
            `there is no bit ${position} in ${width} bits`,
          );
        }
        return Number((BigInt(value) >> BigInt(position)) & 1n);
      };
    },
  }),
  strictFunction({
    names: ['factorial'],
    parameters: [parameter.int],
    returns: types.bigint,
    evaluate: (n) => {
      if (n < 0 || n > 20) return null;
      let product = 1n;
      for (let i = 2n; i <= BigInt(n); i += 1n) product *= i;
      return product;
    },
  }),
  { names: ['width_bucket'], arity: [4, 4], bind: bindWidthBucket },
];

function widthOf(type: DataType | undefined): number {
  switch (type?.kind) {
    case 'tinyint':
      return 8;
    case 'smallint':
      return 16;
    case 'int':
      return 32;
    default:
      return 64;
  }
}

const bucketOfNumber = strictFunction({
  names: ['width_bucket'],
  parameters: [parameter.double, parameter.double, parameter.double, parameter.bigint],
  returns: types.bigint,
  evaluate: widthBucket,
});

const bucketOfInterval = strictFunction({
  names: ['width_bucket'],
  parameters: [parameter.any, parameter.any, parameter.any, parameter.bigint],
  returns: types.bigint,
  evaluate: (value, low, high, count) =>
    widthBucket(Number(value), Number(low), Number(high), count),
});

/** Of numbers, or of intervals of one kind. */
function bindWidthBucket(c: FunctionCall): Expression {
  const kinds = c.arguments.slice(0, 3).map((argument) => argument.type.kind);
  const [kind] = kinds.filter((one) => one.startsWith('interval_'));
  if (kind === undefined) return bucketOfNumber.bind(c);
  if (kinds.every((one) => one === kind)) return bucketOfInterval.bind(c);
  throw mismatch('DATA_DIFF_TYPES', 'width_bucket takes intervals of one kind', c.place);
}

/** The number of the bucket from 1; 0 and one more than there are for what lies outside. */
function widthBucket(value: number, low: number, high: number, count: bigint): bigint | null {
  const isBounded = Number.isFinite(low) && Number.isFinite(high);
  if (count <= 0n || Number.isNaN(value) || low === high || !isBounded) return null;
  const [from, to] = [Math.min(low, high), Math.max(low, high)];
  const isAscending = low < high;
  if (value < from) return isAscending ? 0n : count + 1n;
  if (value > to || (value === to && isAscending)) return isAscending ? count + 1n : 0n;
  const share = isAscending ? (value - low) / (high - low) : (low - value) / (low - high);
  return BigInt(Math.floor(share * Number(count))) + 1n;
}
