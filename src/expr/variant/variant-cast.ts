import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { MapValue, Value, Variant, VariantNode } from '../../data/value.ts';
import {
  decimalNode,
  isVariantArray,
  isVariantObject,
  isVariantScalar,
  variantObject,
} from '../../data/variant.ts';
import { nodeText } from '../../data/variant-text.ts';
import type { Zone } from '../../data/zones.ts';
import { canCast } from '../cast-rules.ts';
import { ExpressionError } from '../expression-error.ts';
import { types } from '../types.ts';

/** Converts a value of one type that is no variant; throws an ExpressionError when it does not fit. */
export type PlainConverter = (from: DataType, to: DataType) => (value: Value) => Value;

/**
 * The value of a type that a variant holds. Invariant: the JSON null is NULL; what does not fit is an
 * INVALID_VARIANT_CAST, or NULL where `isTry`, in each part by itself.
 */
export function fromVariant(
  to: DataType,
  isTry: boolean,
  zone: Zone,
  plain: PlainConverter,
): (value: Value) => Value {
  const convert = nodeConverter(to, { isTry, zone, plain });
  return (value) => convert((value as Variant).variant);
}

type Options = { readonly isTry: boolean; readonly zone: Zone; readonly plain: PlainConverter };

function nodeConverter(to: DataType, options: Options): (node: VariantNode) => Value {
  const convert = presentConverter(to, options);
  if (to.kind === 'variant') return convert;
  return (node) => (node === null ? null : convert(node));
}

function presentConverter(to: DataType, options: Options): (node: VariantNode) => Value {
  const refuse = (node: VariantNode): null => {
    if (options.isTry) return null;
    const text = nodeText(node, options.zone);
    const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
    throw new ExpressionError(
      'INVALID_VARIANT_CAST',
      `the variant ${shown} can't be cast to ${formatType(to)}`,
    );
  };
  switch (to.kind) {
    case 'variant':
      return (node) => ({ variant: node });
    case 'array': {
      const element = nodeConverter(to.element, options);
      return (node) => (isVariantArray(node) ? node.map(element) : refuse(node));
    }
    case 'map': {
      const item = nodeConverter(to.value, options);
      return (node) =>
        isVariantObject(node)
          ? { entries: [...node].map(([name, part]) => [name, item(part)] as const) }
          : refuse(node);
    }
    case 'struct': {
      const fields = to.fields.map((field) => ({
        name: field.name,
        convert: nodeConverter(field.type, options),
      }));
      return (node) => {
        if (!isVariantObject(node)) return refuse(node);
        return fields.map(({ name, convert }) => {
          const part = node.get(name);
          return part === undefined ? null : convert(part);
        });
      };
    }
    default:
      return scalarConverter(to, options, refuse);
  }
}

function scalarConverter(
  to: DataType,
  { plain, zone }: Options,
  refuse: (node: VariantNode) => null,
): (node: VariantNode) => Value {
  const converters = new Map<string, ((value: Value) => Value) | undefined>();
  const converterFrom = (from: DataType): ((value: Value) => Value) | undefined => {
    const key = formatType(from);
    if (!converters.has(key)) {
      converters.set(key, canCast(from, to) ? plain(from, to) : undefined);
    }
    return converters.get(key);
  };
  return (node) => {
    if (isVariantArray(node) || isVariantObject(node)) {
      return to.kind === 'string' ? nodeText(node, zone) : refuse(node);
    }
    const { type, value } = typed(node);
    if (to.kind === 'timestamp' && overflowsSeconds(type, value)) return refuse(node);
    const convert = converterFrom(type);
    if (convert === undefined) return refuse(node);
    try {
      // Some casts give NULL for what does not fit.
      return convert(value) ?? refuse(node);
    } catch (error) {
      if (error instanceof ExpressionError) return refuse(node);
      throw error;
    }
  };
}

/** A number as seconds may be beyond all timestamps, where a plain cast would wrap around. */
function overflowsSeconds(type: DataType, value: Value): boolean {
  const seconds =
    type.kind === 'bigint'
      ? (value as bigint)
      : type.kind === 'decimal'
        ? (value as bigint) / 10n ** BigInt(type.scale)
        : 0n;
  return BigInt.asIntN(64, seconds * 1_000_000n) !== seconds * 1_000_000n;
}

/** A part that is neither an array nor an object, as a value with its type. */
export function typed(node: VariantNode): { readonly type: DataType; readonly value: Value } {
  if (node === null) return { type: types.void, value: null };
  switch (typeof node) {
    case 'boolean':
      return { type: types.boolean, value: node };
    case 'bigint':
      return { type: types.bigint, value: node };
    case 'number':
      return { type: types.double, value: node };
    case 'string':
      return { type: types.string, value: node };
    default:
  }
  if (isVariantScalar(node)) return node;
  throw new TypeError('an array or object is no scalar');
}

/** The node of a value of a type. */
export function variantOf(type: DataType): (value: Value) => VariantNode {
  const convert = presentVariant(type);
  return (value) => (value === null ? null : convert(value));
}

function presentVariant(type: DataType): (value: Value) => VariantNode {
  switch (type.kind) {
    case 'variant':
      return (value) => (value as Variant).variant;
    case 'boolean':
      return (value) => value as boolean;
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'bigint':
      return (value) => BigInt(value as number | bigint);
    case 'double':
      return (value) => value as number;
    case 'string':
      return (value) => value as string;
    case 'decimal':
      return (value) => decimalNode(value as bigint, type.scale, '') ?? null;
    case 'array': {
      const element = variantOf(type.element);
      return (value) => (value as readonly Value[]).map(element);
    }
    case 'map': {
      const item = variantOf(type.value);
      return (value) =>
        objectOf((value as MapValue).entries.map(([key, v]) => [String(key), item(v)]));
    }
    case 'struct': {
      const fields = type.fields.map((field) => ({ name: field.name, of: variantOf(field.type) }));
      return (value) =>
        objectOf(
          fields.map(({ name, of }, i) => [name, of((value as readonly Value[])[i] ?? null)]),
        );
    }
    default:
      return (value) => ({ type, value });
  }
}

function objectOf(members: readonly (readonly [string, VariantNode])[]): VariantNode {
  const object = variantObject(members);
  if (object !== undefined) return object;
  throw new ExpressionError('VARIANT_DUPLICATE_KEY', 'a name stands twice in an object');
}
