import { ExpressionError } from './expression-error.ts';

/** Errors on rows that more than one function raises. */
export function indexOfZero(): ExpressionError {
  return new ExpressionError('INVALID_INDEX_OF_ZERO', 'positions count from 1, there is no 0');
}

/** A result that would not fit into memory. */
export function tooLarge(name: string): ExpressionError {
  return new ExpressionError(
    'COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION',
    `the result of ${name} is too large`,
  );
}
