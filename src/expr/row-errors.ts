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

/** As many UTF-16 units as a text may have; no record takes more. */
export const textLengthMax = 64 * 1024 * 1024;

/** As many elements as an array may have. */
export const arrayLengthMax = 10_000_000;

/** The length of a text that is about to be made, when it may be. */
export function textLength(length: number, name: string): number {
  if (length > textLengthMax) throw tooLarge(name);
  return length;
}
