import type { Value } from '../../data/value.ts';
import { ExpressionError } from '../expression-error.ts';
import { type FunctionDefinition, strictFunction } from '../function.ts';
import { exactly, parameter, parameterOf } from '../parameter.ts';
import { arrayOf, types } from '../types.ts';

const vector = exactly(parameterOf<readonly Value[]>(arrayOf(types.float)));

type Floats = readonly number[];

/** Arrays of floats as vectors; one with a NULL in it has no value. */
export const vectorFunctions: readonly FunctionDefinition[] = [
  ofTwo('vector_inner_product', (a, b) => inner(a, b)),
  ofTwo('vector_cosine_similarity', (a, b) => {
    const size = Math.sqrt(inner(a, a)) * Math.sqrt(inner(b, b));
    return size === 0 ? null : inner(a, b) / size;
  }),
  ofTwo('vector_l2_distance', (a, b) => {
    const apart = a.map((value, i) => Math.fround(value - (b[i] ?? 0)));
    return Math.sqrt(inner(apart, apart));
  }),
  strictFunction({
    names: ['vector_norm'],
    parameters: [vector, parameter.float],
    defaults: [[2, types.float]],
    returns: types.float,
    evaluate: (values, degree) => {
      const floats = floatsOf(values);
      return floats === undefined ? null : Math.fround(norm('vector_norm', floats, degree));
    },
  }),
  strictFunction({
    names: ['vector_normalize'],
    parameters: [vector, parameter.float],
    defaults: [[2, types.float]],
    returns: arrayOf(types.float),
    evaluate: (values, degree) => {
      const floats = floatsOf(values);
      if (floats === undefined) return null;
      const size = Math.fround(norm('vector_normalize', floats, degree));
      return size === 0 ? null : floats.map((value) => Math.fround(value / size));
    },
  }),
];

function ofTwo(
  name: string,
  evaluate: (a: Floats, b: Floats) => number | null,
): FunctionDefinition {
  return strictFunction({
    names: [name],
    parameters: [vector, vector],
    returns: types.float,
    evaluate: (left, right) => {
      if (left.length !== right.length) {
        throw new ExpressionError(
          'VECTOR_DIMENSION_MISMATCH',
          `${name} takes vectors of one length, not ${left.length} and ${right.length}`,
        );
      }
      const [a, b] = [floatsOf(left), floatsOf(right)];
      const value = a === undefined || b === undefined ? null : evaluate(a, b);
      return value === null ? null : Math.fround(value);
    },
  });
}

function floatsOf(values: readonly Value[]): Floats | undefined {
  return values.every((value) => typeof value === 'number') ? values : undefined;
}

function inner(a: Floats, b: Floats): number {
  return a.reduce((sum, value, i) => Math.fround(sum + Math.fround(value * (b[i] ?? 0))), 0);
}

function norm(name: string, values: Floats, degree: number): number {
  switch (degree) {
    case 1:
      return values.reduce((sum, value) => Math.fround(sum + Math.abs(value)), 0);
    case 2:
      return Math.sqrt(inner(values, values));
    case Number.POSITIVE_INFINITY:
      return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    default:
      throw new ExpressionError('INVALID_VECTOR_NORM_DEGREE', `${name} knows no degree ${degree}`);
  }
}
