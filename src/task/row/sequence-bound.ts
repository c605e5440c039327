import { assert } from '../../base/assert.ts';
import { comparator } from '../../data/compare.ts';
import { parseDecimal, powerOfTen } from '../../data/decimal.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';

/**
 * The test of option `max_sequence`: whether a sequence lies above the bound. Invariant: no digit of either
 * side is lost, whatever the type; only doubles and floats are compared as what they are.
 */
export function sequenceBound(type: DataType, text: string): (sequence: Value) => boolean {
  if (type.kind === 'double' || type.kind === 'float') {
    const compare = comparator(type);
    const bound = type.kind === 'float' ? Math.fround(Number(text)) : Number(text);
    return (sequence) => compare(sequence, bound) > 0;
  }
  const parsed = parseDecimal(text);
  assert(parsed !== undefined, `max_sequence is a number: ${text}`);
  const scale = type.kind === 'decimal' ? type.scale : 0;
  // Both sides at the larger scale: a bound may have more digits behind the point than its column.
  const common = Math.max(scale, parsed.scale);
  const factor = powerOfTen(common - scale);
  const bound = parsed.unscaled * powerOfTen(common - parsed.scale);
  return (sequence) => BigInt(sequence as number | bigint) * factor > bound;
}
