import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { VariantNode } from '../../data/value.ts';
import { isVariantArray, isVariantObject } from '../../data/variant.ts';
import { exactDecimal, tightestType } from '../coerce.ts';
import { isNumeric, types } from '../types.ts';
import { typed } from './variant-cast.ts';

/** What a variant is made of. */
export type VariantSchema =
  | { readonly kind: 'scalar'; readonly type: DataType }
  | { readonly kind: 'array'; readonly element: VariantSchema }
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, VariantSchema> };

export const noSchema: VariantSchema = { kind: 'scalar', type: types.void };
const anySchema: VariantSchema = { kind: 'scalar', type: types.variant };

export function schemaOf(node: VariantNode): VariantSchema {
  if (isVariantArray(node)) {
    return { kind: 'array', element: node.map(schemaOf).reduce(mergedSchema, noSchema) };
  }
  if (isVariantObject(node)) {
    return {
      kind: 'object',
      members: new Map([...node].map(([name, part]) => [name, schemaOf(part)])),
    };
  }
  return { kind: 'scalar', type: typed(node).type };
}

/** What holds both; VARIANT where nothing narrower does. */
export function mergedSchema(a: VariantSchema, b: VariantSchema): VariantSchema {
  if (a.kind === 'array' && b.kind === 'array') {
    return { kind: 'array', element: mergedSchema(a.element, b.element) };
  }
  if (a.kind === 'object' && b.kind === 'object') return mergedObject(a.members, b.members);
  if (isVoid(a)) return b;
  if (isVoid(b)) return a;
  if (a.kind !== 'scalar' || b.kind !== 'scalar') return anySchema;
  const [x, y] = [a.type, b.type];
  if (x.kind === 'variant' || y.kind === 'variant') return anySchema;
  const isDecimal = x.kind === 'decimal' || y.kind === 'decimal';
  const isFloating = [x, y].some((type) => type.kind === 'double' || type.kind === 'float');
  const type =
    isDecimal && !isFloating && isNumeric(x) && isNumeric(y)
      ? (exactDecimal(x, y) ?? types.double)
      : tightestType(x, y);
  return type === undefined ? anySchema : { kind: 'scalar', type };
}

function isVoid(schema: VariantSchema): boolean {
  return schema.kind === 'scalar' && schema.type.kind === 'void';
}

function mergedObject(
  a: ReadonlyMap<string, VariantSchema>,
  b: ReadonlyMap<string, VariantSchema>,
): VariantSchema {
  const members = new Map(a);
  for (const [name, schema] of b) {
    const known = members.get(name);
    members.set(name, known === undefined ? schema : mergedSchema(known, schema));
  }
  const sorted = [...members].sort(([x], [y]) => (x < y ? -1 : x > y ? 1 : 0));
  return { kind: 'object', members: new Map(sorted) };
}

/** `OBJECT<a: BIGINT, b: ARRAY<STRING>>`. */
export function schemaText(schema: VariantSchema): string {
  switch (schema.kind) {
    case 'array':
      return `ARRAY<${schemaText(schema.element)}>`;
    case 'object': {
      const members = [...schema.members].map(
        ([name, part]) => `${nameText(name)}: ${schemaText(part)}`,
      );
      return `OBJECT<${members.join(', ')}>`;
    }
    case 'scalar':
      return formatType(schema.type).toUpperCase();
  }
}

/** A name in backticks, unless it is a plain word. */
export function nameText(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `\`${name.replaceAll('`', '``')}\``;
}
