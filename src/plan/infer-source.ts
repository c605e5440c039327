import { FlowError } from '../base/errors.ts';
import type { DataType, StructField } from '../data/types.ts';
import { tightestType } from '../expr/coerce.ts';
import { inferredType, typeSql } from '../expr/json/json-schema.ts';
import { isArray, isObject, type JsonNode, parseJson } from '../expr/json/json-tree.ts';
import { arrayOf, isNumeric, types } from '../expr/types.ts';
import { nameText } from '../expr/variant/variant-schema.ts';
import { nameKey } from './bind/names.ts';
import { quotedName } from './declared-source.ts';

/** What the first records of a topic say about its columns. */
export type InferredSource = {
  readonly sql: string;
  readonly records: number;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Members that are left out, and why. */
  readonly notes: readonly string[];
};

const options = { primitivesAsString: false, prefersDecimal: false };

/**
 * Infers the columns of a topic, record by record. Invariant: each record that was added decodes with the statement that
 * it gives, but for the members that its notes name; what is no JSON object is refused, never passed over.
 */
export class SourceInference {
  readonly #topic: string;
  /** By name without case, in the order of appearance. */
  readonly #columns = new Map<string, { readonly name: string; type: DataType }>();
  readonly #twins = new Set<string>();
  #records = 0;

  constructor(topic: string) {
    this.#topic = topic;
  }

  add(value: string, place: string): void {
    const parsed = parseJson(value);
    if (parsed.state !== 'value' || !isObject(parsed.node)) {
      const shown = value.length > 80 ? `${value.slice(0, 77)}…` : value;
      throw new FlowError('BAD_ROW', `topic "${this.#topic}" does not hold JSON objects alone`, {
        detail: `The record at ${place} is: ${shown}`,
        hint: `Declare the source by hand: CREATE SOURCE ${quotedName(this.#topic)} WITH (format = 'string') or 'bytes' takes every record as it is.`,
      });
    }
    this.#records += 1;
    for (const [name, node] of parsed.node.members) {
      const key = nameKey(name);
      const known = this.#columns.get(key);
      const type = typeOf(node);
      if (known === undefined) this.#columns.set(key, { name, type });
      else if (known.name === name) known.type = merged(known.type, type);
      else this.#twins.add(name);
    }
  }

  result(): InferredSource {
    const columns = [...this.#columns.values()]
      .filter(({ name }) => name !== '')
      .map(({ name, type }) => ({ name, type: typeSql(declared(type)) }));
    if (columns.length === 0) {
      throw new FlowError('USAGE', `topic "${this.#topic}" has no records to infer columns from`, {
        hint: 'Declare them by hand: CREATE SOURCE name (column TYPE, …).',
      });
    }
    const list = columns.map(({ name, type }) => `  ${nameText(name)} ${type}`).join(',\n');
    const name = quotedName(this.#topic);
    return {
      sql: `CREATE SOURCE ${name} (\n${list}\n) WITH (topic = '${this.#topic}', format = 'json');\n`,
      records: this.#records,
      columns,
      notes: [...this.#twins].map(
        (twin) => `member "${twin}" differs from another one by its case alone, and is left out`,
      ),
    };
  }
}

const anything: DataType = { kind: 'variant' };

function typeOf(node: JsonNode): DataType {
  if (isArray(node)) return arrayOf(node.map(typeOf).reduce<DataType>(merged, types.void));
  if (!isObject(node)) return inferredType(node, options);
  const fields = node.members.map(([name, part]): StructField => ({ name, type: typeOf(part) }));
  return { kind: 'struct', fields: mergedFields([], fields) };
}

/** The type that takes values of both. Text and numbers have none: a text column takes no number, so it is a VARIANT. */
function merged(a: DataType, b: DataType): DataType {
  if (a.kind === 'void') return b;
  if (b.kind === 'void') return a;
  if (a.kind === 'struct' && b.kind === 'struct') {
    return { kind: 'struct', fields: mergedFields(a.fields, b.fields) };
  }
  if (a.kind === 'array' && b.kind === 'array') return arrayOf(merged(a.element, b.element));
  if (isNumeric(a) && isNumeric(b)) return tightestType(a, b) ?? anything;
  return a.kind === b.kind ? a : anything;
}

function mergedFields(
  before: readonly StructField[],
  more: readonly StructField[],
): readonly StructField[] {
  const fields = new Map(before.map((field) => [field.name, field.type]));
  for (const { name, type } of more) {
    const known = fields.get(name);
    fields.set(name, known === undefined ? type : merged(known, type));
  }
  return [...fields].map(([name, type]) => ({ name, type }));
}

/** What was always null is text; an object without members, or with one that has no name, is taken as it is. */
function declared(type: DataType): DataType {
  if (type.kind === 'void') return types.string;
  if (type.kind === 'array') return arrayOf(declared(type.element));
  if (type.kind !== 'struct') return type;
  const isPlain = type.fields.length > 0 && type.fields.every(({ name }) => name !== '');
  if (!isPlain) return anything;
  return {
    kind: 'struct',
    fields: type.fields.map((field) => ({ ...field, type: declared(field.type) })),
  };
}
