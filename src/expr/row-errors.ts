import { ExpressionError } from './expression-error.ts';

/** Errors on rows that more than one function raises. */
export function indexOfZero(): ExpressionError {
  return new ExpressionError('INVALID_INDEX_OF_ZERO', 'positions count from 1, there is no 0');
}
