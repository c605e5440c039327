import type { ByteWriter } from './byte-writer.ts';
import { rowEncoder } from './json-encode.ts';
import type { Column } from './types.ts';
import type { Value } from './value.ts';

export type KeyEncoder = {
  /** Writes the key; `values` are those of the key columns, in declared order. */
  readonly encode: (values: readonly Value[], out: ByteWriter) => void;
};

/**
 * The canonical bytes of a key: the compact JSON object of its columns in declared order, as
 * `{"payment_id":42}`. They are the record key in the repartition and output topics and the key of the state.
 * Invariant: two keys have equal bytes exactly when `comparator` finds each pair of their values equal: NULL
 * is one value, -0.0 is 0.0, every NaN is one, a decimal stands at its column's scale, a timestamp is an instant.
 */
export function keyEncoder(columns: readonly Column[]): KeyEncoder {
  return { encode: rowEncoder(columns, 'merged') };
}
