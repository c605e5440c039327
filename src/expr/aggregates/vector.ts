import type { Value } from '../../data/value.ts';
import { type AggregateDefinition, strictAggregate } from '../aggregate.ts';
import { ExpressionError } from '../expression-error.ts';
import { exactly, parameterOf } from '../parameter.ts';
import { arrayOf, types } from '../types.ts';

/** Sums and means of vectors, place by place; one with a NULL in it is left out. */
export const vectorAggregates: readonly AggregateDefinition[] = [
  placewise('vector_sum', (sum, value) => sum + value),
  placewise('vector_avg', (mean, value, count) => mean + (value - mean) / count),
];

function placewise(
  name: string,
  fold: (sum: number, value: number, count: number) => number,
): AggregateDefinition {
  return strictAggregate({
    names: [name],
    parameters: [exactly(parameterOf<readonly Value[]>(arrayOf(types.float)))],
    returns: arrayOf(types.float),
    start: () => () => {
      let sums: number[] | undefined;
      let count = 0;
      return {
        add: ([vector]) => {
          const values = vector as readonly (number | null)[];
          if (values.includes(null)) return;
          count += 1;
          sums ??= values.map(() => 0);
          if (sums.length !== values.length) {
            throw new ExpressionError(
              'VECTOR_DIMENSION_MISMATCH',
              `${name} takes vectors of one length, not ${sums.length} and ${values.length}`,
            );
          }
          sums = sums.map((sum, i) => Math.fround(fold(sum, values[i] ?? 0, count)));
        },
        result: () => sums ?? null,
      };
    },
  });
}
