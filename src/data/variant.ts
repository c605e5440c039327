import type { VariantNode, VariantObject, VariantScalar } from './value.ts';

/** The parts of semi-structured values. Invariant: equal values are equal nodes, whatever text they came from. */
export function isVariantArray(node: VariantNode): node is readonly VariantNode[] {
  return Array.isArray(node);
}

export function isVariantObject(node: VariantNode): node is VariantObject {
  return node instanceof Map;
}

export function isVariantScalar(node: VariantNode): node is VariantScalar {
  return typeof node === 'object' && node !== null && 'type' in node;
}

/** An object with its names in order; undefined when one stands twice. */
export function variantObject(
  members: readonly (readonly [string, VariantNode])[],
): VariantObject | undefined {
  const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const object = new Map(sorted);
  return object.size < sorted.length ? undefined : object;
}

const digitsMax = 38;

/**
 * A decimal without zeros at the end of its fraction. undefined when its digits, as they were written in
 * `text`, are too many.
 */
export function decimalNode(
  unscaled: bigint,
  scale: number,
  text = String(unscaled),
): VariantScalar | undefined {
  const digits = text.replace(/^-|\./g, '').replace(/^0+(?=\d)/, '').length;
  if (digits > digitsMax || scale > digitsMax) return undefined;
  let [value, places] = [unscaled, scale];
  while (places > 0 && value % 10n === 0n) {
    value /= 10n;
    places -= 1;
  }
  const precision = Math.max(String(value < 0n ? -value : value).length, places, 1);
  return { type: { kind: 'decimal', precision, scale: places }, value };
}
