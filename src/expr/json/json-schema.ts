import { decimalPrecisionMax } from '../../data/decimal.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType, StructField } from '../../data/types.ts';
import { exactDecimal, tightestType } from '../coerce.ts';
import { arrayOf, decimal, isNumeric, types } from '../types.ts';
import { nameText } from '../variant/variant-schema.ts';
import { isArray, isNumber, isObject, type JsonNode } from './json-tree.ts';

export type InferenceOptions = {
  readonly primitivesAsString: boolean;
  readonly prefersDecimal: boolean;
};

/** The type that values like this one have; void for `null`. */
export function inferredType(node: JsonNode, options: InferenceOptions): DataType {
  if (node === null) return types.void;
  if (typeof node === 'string') return types.string;
  if (isArray(node)) {
    return arrayOf(
      node.map((part) => inferredType(part, options)).reduce<DataType>(mergedType, types.void),
    );
  }
  if (isObject(node)) {
    const fields = node.members.map(
      ([name, part]): StructField => ({ name, type: inferredType(part, options) }),
    );
    return { kind: 'struct', fields: sortedFields(fields) };
  }
  if (options.primitivesAsString) return types.string;
  if (typeof node === 'boolean') return types.boolean;
  return isNumber(node) ? numberType(node.text, node.isInteger, options) : types.string;
}

function numberType(text: string, isInteger: boolean, options: InferenceOptions): DataType {
  if (isInteger) {
    const value = BigInt(text);
    if (BigInt.asIntN(64, value) === value) return types.bigint;
    const digits = String(value < 0n ? -value : value).length;
    return digits <= decimalPrecisionMax ? decimal(digits, 0) : types.double;
  }
  const match = options.prefersDecimal ? /^-?(\d+)\.(\d+)$/.exec(text) : null;
  if (match === null) return types.double;
  const [, whole = '', fraction = ''] = match;
  const precision = Math.max(whole.replace(/^0+/, '').length + fraction.length, fraction.length);
  return precision <= decimalPrecisionMax ? decimal(precision, fraction.length) : types.double;
}

function sortedFields(fields: readonly StructField[]): readonly StructField[] {
  return [...fields].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** The type of both; a string where there is no other. */
function mergedType(a: DataType, b: DataType): DataType {
  if (a.kind === 'struct' && b.kind === 'struct') {
    const fields = new Map(a.fields.map((field) => [field.name, field.type]));
    for (const { name, type } of b.fields) {
      const known = fields.get(name);
      fields.set(name, known === undefined ? type : mergedType(known, type));
    }
    return {
      kind: 'struct',
      fields: sortedFields([...fields].map(([name, type]) => ({ name, type }))),
    };
  }
  if (a.kind === 'array' && b.kind === 'array') return arrayOf(mergedType(a.element, b.element));
  if (a.kind === 'void') return b;
  if (b.kind === 'void') return a;
  const areDecimals =
    (a.kind === 'decimal' || b.kind === 'decimal') &&
    a.kind !== 'double' &&
    b.kind !== 'double' &&
    isNumeric(a) &&
    isNumeric(b);
  return (areDecimals ? (exactDecimal(a, b) ?? types.double) : tightestType(a, b)) ?? types.string;
}

/** As a schema: what is always `null` is a string, and what has no member is left out. undefined: nothing is left. */
export function schemaType(type: DataType): DataType | undefined {
  switch (type.kind) {
    case 'void':
      return types.string;
    case 'array': {
      const element = schemaType(type.element);
      return element && arrayOf(element);
    }
    case 'struct': {
      const fields = type.fields.flatMap(({ name, type: inner }): StructField[] => {
        const kept = name === '' ? undefined : schemaType(inner);
        return kept === undefined ? [] : [{ name, type: kept }];
      });
      return fields.length === 0 ? undefined : { kind: 'struct', fields };
    }
    default:
      return type;
  }
}

/** `STRUCT<a: BIGINT, b: ARRAY<STRING>>`. */
export function typeSql(type: DataType): string {
  switch (type.kind) {
    case 'array':
      return `ARRAY<${typeSql(type.element)}>`;
    case 'struct':
      return `STRUCT<${type.fields.map((field) => `${nameText(field.name)}: ${typeSql(field.type)}`).join(', ')}>`;
    default:
      return formatType(type).toUpperCase();
  }
}
