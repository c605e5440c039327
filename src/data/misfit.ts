/**
 * Stands in place of a value that does not fit its declared column. A symbol and no exception: a flow with
 * a dead-letter topic may meet many. Invariant: it never enters a row; who gets it makes the record a bad row.
 */
export const misfit: unique symbol = Symbol('misfit');

export type Misfit = typeof misfit;
