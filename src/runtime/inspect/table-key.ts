import { FlowError } from '../../base/errors.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import { jsonDecoder, misfitText } from '../../data/json-decode.ts';
import { type JsonKind, kindMissing } from '../../data/json-lex.ts';
import { JsonObjectScanner, scanOk, scanVerdictText } from '../../data/json-scan.ts';
import { keyEncoder } from '../../data/key.ts';
import { misfit } from '../../data/misfit.ts';
import { formatType } from '../../data/type-text.ts';
import type { Column } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import type { KeyedFlowPlan, TablePlan } from '../../plan/pipeline-plan.ts';

/** The key columns of a table, in the order of the USING clause. */
export function keyColumnsOf(table: TablePlan, flow: KeyedFlowPlan): readonly Column[] {
  return flow.keys.flatMap((position) => table.columns[position] ?? []);
}

/** The error for whoever asks for the rows of a key where there are none by key. */
export function keyless(table: TablePlan): FlowError {
  return new FlowError('USAGE', `table "${table.name}" has no keys: append flows write it`, {
    detail: 'Its rows are never replaced, so no key names one of them or a set of them.',
    hint: `Read all of its rows with: tidemark dump ${table.name}.`,
  });
}

/**
 * The canonical record key for what a person wrote: a JSON object of all key columns, or for a single key
 * column its plain value. Invariant: however a value is written, it passes through its column's type, so the
 * bytes are those that the table's own records have. Throws USAGE where the text is no key.
 */
export function parseTableKey(columns: readonly Column[], text: string): Buffer {
  const [only] = columns;
  const values =
    columns.length === 1 && only !== undefined && !isKeyObject(columns, text)
      ? [plainValue(only, text)]
      : readKeyObject(columns, text);
  const out = new ByteWriter(256);
  keyEncoder(columns).encode(values, out);
  return out.copy();
}

function memberNames(text: string): readonly string[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? Object.keys(parsed)
      : undefined;
  } catch {
    return undefined;
  }
}

function isKeyObject(columns: readonly Column[], text: string): boolean {
  const names = memberNames(text);
  return names !== undefined && columns.some(({ name }) => names.includes(name));
}

function readKeyObject(columns: readonly Column[], text: string): readonly Value[] {
  const unknown = memberNames(text)?.find(
    (name) => !columns.some((column) => column.name === name),
  );
  if (unknown !== undefined) throw noKey(columns, text, `"${unknown}" is no key column`);
  const bytes = Buffer.from(text, 'utf8');
  const scanner = new JsonObjectScanner(columns.map(({ name }) => name));
  const verdict = scanner.scan(bytes, 0, bytes.length);
  if (verdict !== scanOk) throw noKey(columns, text, scanVerdictText[verdict] ?? 'it is no JSON');
  return columns.map(({ name, type }, index) => {
    const kind = (scanner.kinds[index] ?? kindMissing) as JsonKind;
    if (kind === kindMissing) throw noKey(columns, text, `"${name}" is missing`);
    const start = scanner.spans[index * 2] ?? 0;
    const end = scanner.spans[index * 2 + 1] ?? 0;
    const value = jsonDecoder(type)(bytes, start, end, kind);
    if (value === misfit) {
      throw noKey(columns, text, misfitText(name, type, bytes.toString('utf8', start, end)));
    }
    return value;
  });
}

/** Text of a string column stands for itself; other types are read as JSON, then as a JSON string. */
function plainValue(column: Column, text: string): Value {
  const name = JSON.stringify(column.name);
  const quoted = `{${name}:${JSON.stringify(text)}}`;
  const isText = column.type.kind === 'string';
  // As tables are shown, and as SQL writes it; of a string column it is a text.
  const raw = /^null$/iu.test(text) ? 'null' : text;
  const attempts = !isText && isJson(raw) ? [`{${name}:${raw}}`, quoted] : [quoted];
  for (const attempt of attempts) {
    const bytes = Buffer.from(attempt, 'utf8');
    const scanner = new JsonObjectScanner([column.name]);
    if (scanner.scan(bytes, 0, bytes.length) !== scanOk) continue;
    const kind = (scanner.kinds[0] ?? kindMissing) as JsonKind;
    const value = jsonDecoder(column.type)(
      bytes,
      scanner.spans[0] ?? 0,
      scanner.spans[1] ?? 0,
      kind,
    );
    if (value !== misfit) return value;
  }
  throw noKey([column], text, misfitText(column.name, column.type, text));
}

/** One JSON value alone; the value itself is read elsewhere, since a JavaScript number would lose digits. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function noKey(columns: readonly Column[], text: string, reason: string): FlowError {
  const shown = text.length > 80 ? `${text.slice(0, 77)}…` : text;
  const form = columns.map(({ name, type }) => `${JSON.stringify(name)}:<${formatType(type)}>`);
  const plain = columns.length === 1 ? ', or its plain value' : '';
  return new FlowError('USAGE', `${shown} is no key of the table: ${reason}`, {
    hint: `A key is written as {${form.join(',')}}${plain}.`,
  });
}
