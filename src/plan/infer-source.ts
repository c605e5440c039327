import { FlowError } from '../base/errors.ts';
import type { DataType, StructField } from '../data/types.ts';
import { tightestType } from '../expr/coerce.ts';
import { inferredType, typeSql } from '../expr/json/json-schema.ts';
import {
  isArray,
  isNumber,
  isObject,
  type JsonNode,
  type JsonObject,
  parseJson,
} from '../expr/json/json-tree.ts';
import { arrayOf, isNumeric, types } from '../expr/types.ts';
import { nameText } from '../expr/variant/variant-schema.ts';
import { nameKey } from './bind/names.ts';
import { ColumnLook } from './column-look.ts';
import { quotedName } from './declared-source.ts';

/** What the first records of a topic say about its columns. */
export type InferredSource = {
  readonly sql: string;
  readonly records: number;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** What was left out, and why; which types are a guess, and what they may be instead. */
  readonly notes: readonly string[];
};

const options = { primitivesAsString: false, prefersDecimal: false };

/** How the rows of a feed are merged, by the column that orders them. */
function feedNote(sequence: string): string {
  return `a change feed of Debezium: these are the columns of its rows, and what stands around them. Merge it with AUTO CDC: KEYS (…) APPLY AS DELETE WHEN __op = 'd' SEQUENCE BY ${sequence}`;
}

/**
 * Infers the columns of a topic, record by record. Invariant: each record that was added decodes with the statement that
 * it gives, but for the members and the records that its notes name; nothing is passed over in silence.
 */
export class SourceInference {
  readonly #topic: string;
  readonly #name: string;
  readonly #columns = new InferredColumns();
  /** Of the rows in Debezium envelopes. */
  readonly #rows = new InferredColumns();
  #records = 0;
  #envelopes = 0;
  /** Whether each change says where it stands in a log of PostgreSQL. */
  #haveLsn = true;
  #refused = 0;
  #firstRefused: { readonly place: string; readonly value: string } | undefined;

  constructor(topic: string, name = sourceName(topic)) {
    this.#topic = topic;
    this.#name = name;
  }

  add(value: string, place: string): void {
    const parsed = parseJson(value);
    if (parsed.state !== 'value' || !isObject(parsed.node)) {
      this.#refused += 1;
      this.#firstRefused ??= { place, value };
      return;
    }
    this.#records += 1;
    this.#columns.add(parsed.node);
    const change = changeOf(parsed.node);
    if (change === undefined) return;
    this.#envelopes += 1;
    for (const image of change.images) this.#rows.add(image);
    if (!change.hasLsn) this.#haveLsn = false;
  }

  result(): InferredSource {
    if (this.#records === 0 && this.#firstRefused !== undefined) {
      const { place, value } = this.#firstRefused;
      const shown = value.length > 80 ? `${value.slice(0, 77)}…` : value;
      throw new FlowError('BAD_ROW', `topic "${this.#topic}" holds no JSON objects`, {
        detail: `The record at ${place} is: ${shown}`,
        hint: `Declare the source by hand: CREATE SOURCE ${quotedName(this.#name)} WITH (topic = '${this.#topic}', format = 'string') or 'bytes' takes every record as it is.`,
      });
    }
    const isFeed = this.#envelopes > 0 && this.#envelopes === this.#records;
    const inferred = isFeed ? this.#rows : this.#columns;
    const own = inferred.columns();
    if (own.length === 0) {
      throw new FlowError('USAGE', `topic "${this.#topic}" has no records to infer columns from`, {
        hint: 'Declare them by hand: CREATE SOURCE name (column TYPE, …).',
      });
    }
    const sequence = this.#haveLsn ? '__source_lsn' : '__ts_ms';
    const around = [
      { name: '__op', type: 'STRING' },
      { name: sequence, type: 'BIGINT' },
    ];
    const columns = isFeed ? [...own, ...around] : own;
    const list = columns.map(({ name, type }) => `  ${nameText(name)} ${type}`).join(',\n');
    const format = isFeed ? 'debezium-json' : 'json';
    return {
      sql: `CREATE SOURCE ${quotedName(this.#name)} (\n${list}\n) WITH (topic = '${this.#topic}', format = '${format}');\n`,
      records: this.#records,
      columns,
      notes: [
        ...(isFeed ? [feedNote(sequence)] : []),
        ...this.#refusedNotes(),
        ...inferred.notes(),
      ],
    };
  }

  #refusedNotes(): readonly string[] {
    if (this.#firstRefused === undefined) return [];
    const read = this.#refused + this.#records;
    return [
      `records left out because they are no JSON object: ${this.#refused} of ${read}, the first at ${this.#firstRefused.place}`,
    ];
  }
}

/** The columns of objects, in the order of their appearance, and what is to be said of them. */
class InferredColumns {
  /** By name without case. */
  readonly #columns = new Map<
    string,
    { readonly name: string; readonly look: ColumnLook; type: DataType }
  >();
  readonly #twins = new Set<string>();

  add({ members }: JsonObject): void {
    for (const [name, node] of members) {
      const key = nameKey(name);
      const type = typeOf(node);
      let known = this.#columns.get(key);
      if (known === undefined) {
        known = { name, look: new ColumnLook(), type };
        this.#columns.set(key, known);
      } else if (known.name === name) known.type = merged(known.type, type);
      else {
        this.#twins.add(name);
        continue;
      }
      known.look.add(node);
    }
  }

  columns(): InferredSource['columns'] {
    return this.#named().map(({ name, type }) => ({ name, type: typeSql(declared(type)) }));
  }

  notes(): readonly string[] {
    return [
      ...[...this.#twins].map(
        (twin) => `member "${twin}" differs from another one by its case alone, and is left out`,
      ),
      ...this.#named().flatMap(({ name, look, type }) => {
        const note = look.note(name, typeSql(declared(type)));
        return note === undefined ? [] : [note];
      }),
    ];
  }

  #named() {
    return [...this.#columns.values()].filter(({ name }) => name !== '');
  }
}

/** The rows before and after, where the record is a change as Debezium writes it. */
function changeOf(
  node: JsonObject,
): { readonly images: readonly JsonObject[]; readonly hasLsn: boolean } | undefined {
  const payload = memberOf(node, 'payload');
  const change = payload !== undefined && isObject(payload) ? payload : node;
  const op = memberOf(change, 'op');
  const pair = [memberOf(change, 'before'), memberOf(change, 'after')];
  const images = pair.filter((one) => one !== undefined && isObject(one));
  const isChange =
    typeof op === 'string' &&
    pair.every((one) => one === null || (one !== undefined && isObject(one)));
  if (!isChange) return undefined;
  const source = memberOf(change, 'source');
  const lsn = source !== undefined && isObject(source) ? memberOf(source, 'lsn') : undefined;
  return { images, hasLsn: lsn !== undefined && isNumber(lsn) };
}

function memberOf(node: JsonObject, name: string): JsonNode | undefined {
  return node.members.find(([one]) => one === name)?.[1];
}

/** A name that needs no backticks wherever it is used: `fresh-orders` is `fresh_orders`; dots stay. */
function sourceName(topic: string): string {
  return topic
    .split('.')
    .map((part) => part.replaceAll(/\W/gu, '_').replace(/^(?=\d|$)/u, '_'))
    .join('.');
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
