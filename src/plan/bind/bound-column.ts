import type { Place } from '../../base/place.ts';
import type { DataType } from '../../data/types.ts';

/** One column of a relation that a query reads or gives. */
export type BoundColumn = {
  /** undefined: the expression has no name of its own. */
  readonly name: string | undefined;
  readonly type: DataType;
  /** Position in the row after the steps of every branch. */
  readonly index: number;
  /** The names that may stand before it, innermost last, in lower case. */
  readonly qualifier: readonly string[];
  /** Resolvable, but not part of `*`. */
  readonly hidden: boolean;
  /** A fault was found in it: it exists, its type is not known, and nothing more is said of it. */
  readonly broken: boolean;
  readonly place: Place;
};
