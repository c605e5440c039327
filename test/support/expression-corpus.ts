import { readFileSync } from 'node:fs';
import { FaultError } from '../../src/base/place.ts';
import { canonicalValue } from '../../src/data/canonical.ts';
import { jsonDecoder } from '../../src/data/json-decode.ts';
import type { JsonKind } from '../../src/data/json-lex.ts';
import { JsonObjectScanner, scanOk } from '../../src/data/json-scan.ts';
import { misfit } from '../../src/data/misfit.ts';
import { formatType, parseColumnsText } from '../../src/data/type-text.ts';
import type { Value } from '../../src/data/value.ts';
import { ExpressionError } from '../../src/expr/expression-error.ts';
import { runQuery, type Source } from './query-runner.ts';

/** The corpus of single queries: reading it, running a case, and judging the answer. */
export type CorpusCase = {
  readonly id: string;
  readonly cat: string;
  readonly tier: number;
  readonly sql: string;
  readonly type?: string;
  readonly result?: unknown;
  readonly cols?: readonly (readonly [string, string])[];
  readonly rows?: readonly (readonly unknown[])[];
  readonly ordered?: boolean;
  readonly approx?: boolean;
  readonly error?: string;
  readonly phase?: 'parse' | 'analysis' | 'runtime';
  readonly fns?: readonly string[];
  readonly ops?: readonly string[];
  readonly feats?: readonly string[];
};

/** `value`: type and value right; `class`: failed with the very error class; `fails`: failed with another. */
export type Verdict =
  | 'value'
  | 'class'
  | 'fails'
  | 'wrong_type'
  | 'wrong_value'
  | 'no_error'
  | 'unexpected_error'
  | 'not_supported';

export type Outcome = { readonly verdict: Verdict; readonly detail: string };

/** Whether a verdict counts as right: values exactly, must-fail cases by failing. */
export function isRight(verdict: Verdict): boolean {
  return verdict === 'value' || verdict === 'class' || verdict === 'fails';
}

export function readCorpus(folder: string, names: readonly string[]): CorpusCase[] {
  return names.flatMap((name) =>
    readFileSync(`${folder}/${name}.jsonl`, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as CorpusCase),
  );
}

export function readSource(file: string): Source {
  const { ddl, records } = JSON.parse(readFileSync(file, 'utf8')) as {
    ddl: string;
    records: string[];
  };
  const columns = parseColumnsText(ddl);
  const scanner = new JsonObjectScanner(columns.map((column) => column.name));
  const decoders = columns.map((column) => jsonDecoder(column.type));
  const rows = records.map((record) => {
    const bytes = Buffer.from(record);
    if (scanner.scan(bytes, 0, bytes.length) !== scanOk) throw new Error(`no row: ${record}`);
    return decoders.map((decode, i): Value => {
      const [start = 0, end = 0] = [scanner.spans[2 * i], scanner.spans[2 * i + 1]];
      const value = decode(bytes, start, end, (scanner.kinds[i] ?? 0) as JsonKind);
      if (value === misfit) throw new Error(`no value of ${columns[i]?.name}: ${record}`);
      return value;
    });
  });
  return { columns, rows };
}

export function judge(item: CorpusCase, source: Source): Outcome {
  let answer: ReturnType<typeof runQuery>;
  try {
    answer = runQuery(item.sql, source);
  } catch (error) {
    return judgeError(item, error);
  }
  if (item.error !== undefined) {
    return { verdict: 'no_error', detail: `wanted ${item.error}` };
  }
  const wantedTypes = item.cols?.map(([, type]) => type) ?? [item.type ?? ''];
  const types = answer.columns.map((column) => formatType(column.type));
  const wantedRows = item.rows ?? [[item.result]];
  const rows = answer.rows.map((row) =>
    row.map((value, i) => canonicalValue(answer.columns[i]?.type ?? { kind: 'void' }, value)),
  );
  if (!sameRows(rows, wantedRows, types, item)) {
    return {
      verdict: 'wrong_value',
      detail: `${text(rows)} (${types.join()}), wanted ${text(wantedRows)} (${wantedTypes.join()})`,
    };
  }
  if (types.join() !== wantedTypes.join()) {
    return { verdict: 'wrong_type', detail: `${types.join()}, wanted ${wantedTypes.join()}` };
  }
  return { verdict: 'value', detail: '' };
}

function judgeError(item: CorpusCase, error: unknown): Outcome {
  const code =
    error instanceof FaultError
      ? error.fault.code
      : error instanceof ExpressionError
        ? error.errorClass
        : undefined;
  const detail = error instanceof Error ? error.message : String(error);
  if (code === undefined) {
    return {
      verdict: 'unexpected_error',
      detail: error instanceof Error ? (error.stack ?? detail) : detail,
    };
  }
  const shown = `${code}: ${detail}`;
  if (code === 'NOT_SUPPORTED') return { verdict: 'not_supported', detail };
  if (item.error === undefined) return { verdict: 'unexpected_error', detail: shown };
  if (item.error === code || item.error === '*') return { verdict: 'class', detail: shown };
  return { verdict: 'fails', detail: `${shown}, wanted ${item.error}` };
}

function text(value: unknown): string {
  return JSON.stringify(value, (_, v: unknown) => (Object.is(v, -0) ? '-0.0' : v));
}

function sameRows(
  rows: readonly (readonly unknown[])[],
  wanted: readonly (readonly unknown[])[],
  types: readonly string[],
  item: CorpusCase,
): boolean {
  if (rows.length !== wanted.length) return false;
  const left = [...wanted];
  for (const row of rows) {
    const index = left.findIndex((candidate) => sameRow(row, candidate, types, item));
    if (index < 0 || (item.ordered === true && index > 0)) return false;
    left.splice(index, 1);
  }
  return true;
}

function sameRow(
  row: readonly unknown[],
  wanted: readonly unknown[],
  types: readonly string[],
  item: CorpusCase,
): boolean {
  return row.every((value, i) => same(value, wanted[i], types[i] ?? '', item.approx === true));
}

/** Deep equality of canonical values: -0 is not 0, entries of maps have no order. */
function same(a: unknown, b: unknown, type: string, approx: boolean): boolean {
  if (typeof a === 'number' && typeof b === 'number') {
    if (Object.is(a, b) || Math.fround(a) === Math.fround(b)) {
      return type.includes('float') || Object.is(a, b) || isClose(a, b, approx);
    }
    return isClose(a, b, approx);
  }
  if (Array.isArray(a) && Array.isArray(b)) return sameList(a, b, type, approx);
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return (
      keys.join('\0') === Object.keys(b).join('\0') &&
      keys.every((key) => same(a[key], b[key], type, approx))
    );
  }
  return a === b;
}

function isClose(a: number, b: number, approx: boolean): boolean {
  return approx && Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));
}

function sameList(a: unknown[], b: unknown[], type: string, approx: boolean): boolean {
  if (a.length !== b.length) return false;
  if (!type.includes('map<')) return a.every((value, i) => same(value, b[i], type, approx));
  const left = [...b];
  return a.every((value) => {
    const index = left.findIndex((candidate) => same(value, candidate, type, approx));
    if (index < 0) return false;
    left.splice(index, 1);
    return true;
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
