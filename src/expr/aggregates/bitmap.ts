import type { Value } from '../../data/value.ts';
import { type AggregateDefinition, strictAggregate } from '../aggregate.ts';
import { ExpressionError } from '../expression-error.ts';
import { bitmapBits } from '../functions/bitmap.ts';
import { exactly, parameter } from '../parameter.ts';
import { types } from '../types.ts';

const bitmapBytes = Number(bitmapBits) / 8;

/** Bitmaps of numbers, and their unions and intersections. */
export const bitmapAggregates: readonly AggregateDefinition[] = [
  strictAggregate({
    names: ['bitmap_construct_agg'],
    parameters: [parameter.bigint],
    returns: types.binary,
    start: () => () => {
      const bitmap = new Uint8Array(bitmapBytes);
      return {
        add: ([position = null]) => {
          const at = Number(position);
          if (at < 0 || at >= Number(bitmapBits)) {
            throw new ExpressionError('INVALID_BITMAP_POSITION', `a bitmap has no bit ${position}`);
          }
          bitmap[at >> 3] = (bitmap[at >> 3] ?? 0) | (1 << (at & 7));
        },
        result: () => bitmap,
      };
    },
  }),
  combined('bitmap_or_agg', 0, (a, b) => a | b),
  combined('bitmap_and_agg', 0xff, (a, b) => a & b),
];

/** What an input lacks at its end is zero. */
function combined(
  name: string,
  start: number,
  fold: (a: number, b: number) => number,
): AggregateDefinition {
  return strictAggregate({
    names: [name],
    parameters: [exactly(parameter.binary)],
    returns: types.binary,
    start: () => () => {
      const bitmap = new Uint8Array(bitmapBytes).fill(start);
      return {
        add: ([bytes]: readonly Value[]) => {
          for (const [i, byte] of bitmap.entries()) {
            bitmap[i] = fold(byte, (bytes as Uint8Array)[i] ?? 0);
          }
        },
        result: () => bitmap,
      };
    },
  });
}
