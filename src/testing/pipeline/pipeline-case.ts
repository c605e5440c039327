import { parseCanonical } from '../../data/canonical.ts';
import { parseColumnsText, parseTypeText } from '../../data/type-text.ts';
import type { Column } from '../../data/types.ts';
import type { Row } from '../../data/value.ts';
import { rowText } from './decode-rows.ts';
import { parseExactJson, withExactNumbers } from './exact-json.ts';

/** The rows that a dataset must hold in the end, as a multiset. */
export type ExpectedRows = {
  readonly dataset: string;
  readonly columns: readonly Column[];
  /** As `rowText` writes them. */
  readonly rows: readonly string[];
};

/**
 * One test case: a pipeline, the records of its sources and what must come of them. Invariant: a case is
 * complete in itself, and its result depends on neither the order nor the batches of its records.
 */
export type PipelineCase = {
  readonly name: string;
  readonly tags: readonly string[];
  readonly sql: string;
  /** The pipeline's own file, where it is a program and `sql` is empty. */
  readonly file?: string | undefined;
  /** Topic → columns, for sources that the pipeline itself does not declare. */
  readonly schemas: ReadonlyMap<string, readonly Column[]>;
  /** Topic → record values: exactly the text that a producer sends. */
  readonly inputs: ReadonlyMap<string, readonly string[]>;
  /** Topic → the files that its records stand in, where they are files of their own. */
  readonly inputFiles?: ReadonlyMap<string, string>;
  /** Topic → record values that are there before the pipeline starts: what it reads without STREAM. */
  readonly statics: ReadonlyMap<string, readonly string[]>;
  readonly expected: readonly ExpectedRows[];
  /** Expectation → rows that it saw, and rows for which it was not true. */
  readonly expectations: ReadonlyMap<string, ExpectationCount>;
  readonly target: string;
  /** Set: the pipeline must be refused, or fail. */
  readonly error: string | undefined;
};

export type ExpectationCount = { readonly rows: number; readonly violations: number };

type CaseJson = {
  readonly name: string;
  readonly tags?: readonly string[];
  readonly sql: string;
  readonly file?: string;
  readonly sources?: Readonly<Record<string, string>>;
  readonly inputs: Readonly<Record<string, readonly string[]>>;
  readonly static?: Readonly<Record<string, { schema: string; rows: readonly string[] }>>;
  readonly target: string;
  readonly schema?: SchemaJson;
  readonly expected?: readonly (readonly unknown[])[];
  readonly expectations?: Readonly<Record<string, ExpectationCount>>;
  readonly also?: Readonly<Record<string, { schema: SchemaJson; expected: unknown[][] }>>;
  readonly error?: string;
};

type SchemaJson = readonly (readonly [name: string, type: string])[];

/** Reads a case from its JSON text; throws a plain Error that says what is wrong with it. */
export function readPipelineCase(text: string): PipelineCase {
  return pipelineCaseOf(parseExactJson(text) as Readonly<Record<string, unknown>>);
}

/** The same from its members, as `parseExactJson` gives them. */
export function pipelineCaseOf(members: Readonly<Record<string, unknown>>): PipelineCase {
  const json = members as CaseJson;
  for (const field of ['name', 'sql', 'inputs', 'target'] as const) {
    if (json[field] === undefined) throw new Error(`the case has no "${field}"`);
  }
  const expected: ExpectedRows[] = [];
  if (json.expected !== undefined) {
    expected.push(expectedRows(json.target, json.schema, json.expected));
  }
  for (const [dataset, { schema, expected: rows }] of Object.entries(json.also ?? {})) {
    expected.push(expectedRows(dataset, schema, rows));
  }
  return {
    name: json.name,
    tags: json.tags ?? [],
    sql: json.sql,
    file: json.file,
    schemas: new Map(
      [
        ...Object.entries(json.sources ?? {}),
        ...Object.entries(json.static ?? {}).map(([topic, { schema }]) => [topic, schema] as const),
      ].map(([topic, ddl]) => [topic, parseColumnsText(ddl)]),
    ),
    inputs: new Map(Object.entries(json.inputs)),
    statics: new Map(Object.entries(json.static ?? {}).map(([topic, { rows }]) => [topic, rows])),
    expected,
    expectations: new Map(Object.entries(json.expectations ?? {})),
    target: json.target,
    error: json.error,
  };
}

function expectedRows(
  dataset: string,
  schema: SchemaJson | undefined,
  rows: readonly (readonly unknown[])[],
): ExpectedRows {
  if (!Array.isArray(schema) || schema.length === 0) {
    throw new Error(
      `"schema" is missing: all columns of "${dataset}" in order, as [["column", "TYPE"], …], a decimal as "DECIMAL(10,2)"`,
    );
  }
  const columns = schema.map(([name, type]) => ({ name, type: parseTypeText(type) }));
  const types = columns.map(({ type }) => type);
  return { dataset, columns, rows: rows.map((row) => rowText(types, expectedRow(columns, row))) };
}

function expectedRow(columns: readonly Column[], row: readonly unknown[]): Row {
  if (!Array.isArray(row)) {
    throw new Error('an expected row is no list of values in the order of "schema": [1, "a"]');
  }
  if (row.length !== columns.length) {
    throw new Error(
      `the length of an expected row is ${row.length}, that of "schema" ${columns.length}`,
    );
  }
  return columns.map(({ name, type }, index) => {
    const value = parseCanonical(type, withExactNumbers(type, row[index]));
    if (value === undefined) {
      throw new Error(
        `an expected value does not fit column "${name}": ${JSON.stringify(withExactNumbers(undefined, row[index]))}`,
      );
    }
    return value;
  });
}
