import type { Place } from '../base/place.ts';

/**
 * An expression that fails on a row, by Spark's error class (`DIVIDE_BY_ZERO`, `CAST_INVALID_INPUT`, …).
 * It never leaves the task that evaluates the row: there it becomes a bad row.
 */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  readonly errorClass: string;
  readonly place: Place | undefined;

  constructor(errorClass: string, message: string, place?: Place) {
    super(message);
    this.errorClass = errorClass;
    this.place = place;
  }
}
