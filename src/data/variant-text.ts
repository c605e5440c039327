import type { Variant } from './value.ts';

/**
 * The JSON text of a semi-structured value. Invariant: numbers keep the digits that they have, and members
 * keep the order that the value gives them.
 */
export function variantText(value: Variant): string {
  return textOf(value.variant);
}

/** null, boolean, number, bigint, text, an array, or an object or Map of members. */
function textOf(node: unknown): string {
  if (node === null || node === undefined) return 'null';
  switch (typeof node) {
    case 'boolean':
    case 'bigint':
      return String(node);
    case 'number':
      return Number.isFinite(node) ? String(node) : `"${node}"`;
    case 'string':
      return JSON.stringify(node);
    default:
  }
  if (Array.isArray(node)) return `[${node.map(textOf).join(',')}]`;
  const members: Iterable<[unknown, unknown]> = node instanceof Map ? node : Object.entries(node);
  return `{${[...members].map(([name, member]) => `${JSON.stringify(name)}:${textOf(member)}`).join(',')}}`;
}
