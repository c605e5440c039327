import { createReadStream, existsSync } from 'node:fs';
import { formatFault } from '../base/fault-text.ts';
import { canonicalJson } from '../data/canonical.ts';
import { formatType } from '../data/type-text.ts';
import { type Command, type ExitCode, type Invocation, usageError } from './command.ts';
import { canonicalRow, type Evaluation, Evaluator } from './eval-query.ts';
import { readSourceTable } from './eval-source.ts';
import { faultJson } from './load-pipeline.ts';
import { tableText } from './table-text.ts';

export const evalCommand: Command = {
  name: 'eval',
  summary: 'evaluate a SQL expression or a query without streams',
  arguments: '"EXPR" | "SELECT …" | --jsonl [FILE|-]',
  example: `tidemark eval "date_trunc('MONTH', DATE'2024-02-29')"`,
  flags: {
    jsonl: {
      type: 'boolean',
      doc: 'Read {"sql": "SELECT …"} lines from the file or standard input, answer each with one line.',
    },
    source: {
      type: 'string',
      multiple: true,
      value: '[NAME=]FILE',
      doc: 'A table (called src without a name): JSON with "ddl", its columns, and "records", their JSON texts.',
    },
    timezone: { type: 'string', value: 'ZONE', doc: 'The session time zone (default UTC).' },
  },
  usesConfig: false,
  run: async (invocation) => {
    const tables = invocation.texts('source').map(readSourceTable);
    const evaluator = new Evaluator(tables, invocation.text('timezone') ?? 'UTC');
    if (invocation.isSet('jsonl')) return answerLines(invocation, evaluator);
    const [sql, ...others] = invocation.positionals;
    if (sql === undefined || others.length > 0) {
      throw usageError(
        sql === undefined ? 'nothing to evaluate is given' : 'more than one expression is given',
        'Put the expression or query into quotes.',
      );
    }
    return printOne(
      invocation,
      sql,
      evaluator.evaluate(sql, isQuery(sql) ? 'query' : 'expression'),
    );
  },
};

/** What begins like a query is one; all else is an expression. */
function isQuery(sql: string): boolean {
  const text = sql.replace(/^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/|\()+/, '');
  return /^(?:select|with|values|from|table)\b/i.test(text);
}

function printOne(invocation: Invocation, sql: string, answer: Evaluation): ExitCode {
  const { out, err } = invocation.terminal;
  if (answer.state === 'failed') {
    const { code, fault, message } = answer;
    if (invocation.json) {
      const told = fault === undefined ? { message } : (faultJson(fault) as object);
      invocation.printJson({ error: code, ...told });
    } else {
      err(fault === undefined ? `error ${code}: ${message}\n` : `${formatFault(fault, sql)}\n`);
    }
    return answer.phase === 'analysis' ? 3 : 1;
  }
  const { columns, rows } = answer;
  if (invocation.json) {
    out(`${answerLine(answer)}\n`);
    return 0;
  }
  const shown = rows.map((row) =>
    canonicalRow(columns, row).map((value) =>
      value === null ? 'NULL' : typeof value === 'string' ? value : canonicalJson(value),
    ),
  );
  const [column] = columns;
  const [only] = shown;
  if (columns.length === 1 && shown.length === 1 && column !== undefined) {
    out(`${only?.[0] ?? 'NULL'}  ${formatType(column.type)}\n`);
  } else {
    const headers = columns.map(({ name, type }) => `${name} ${formatType(type)}`);
    out(`${tableText(headers, shown)}${rows.length} ${rows.length === 1 ? 'row' : 'rows'}\n`);
  }
  return 0;
}

/** One value with its type, or rows with their columns, or the class of the error. */
function answerLine(answer: Evaluation): string {
  if (answer.state === 'failed') return JSON.stringify({ error: answer.code });
  const { columns, rows } = answer;
  const [column] = columns;
  const [row] = rows;
  if (columns.length === 1 && rows.length === 1 && column !== undefined && row !== undefined) {
    const [result] = canonicalRow(columns, row);
    return `{"type":${JSON.stringify(formatType(column.type))},"result":${canonicalJson(result)}}`;
  }
  const cols = columns.map(({ name, type }) => [name, formatType(type)]);
  const all = rows.map((one) => canonicalJson(canonicalRow(columns, one)));
  return `{"cols":${JSON.stringify(cols)},"rows":[${all.join(',')}]}`;
}

/** Answers are written once for each piece that was read, so that whoever waits for one gets it. */
async function answerLines(invocation: Invocation, evaluator: Evaluator): Promise<ExitCode> {
  const [file = '-', ...others] = invocation.positionals;
  if (others.length > 0) throw usageError('--jsonl reads one file');
  if (file !== '-' && !existsSync(file)) throw usageError(`file "${file}" cannot be read (ENOENT)`);
  const input = file === '-' ? process.stdin : createReadStream(file);
  const { terminal } = invocation;
  let rest = '';
  input.setEncoding('utf8');
  for await (const piece of input as AsyncIterable<string>) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    await writeAnswers(lines, evaluator, terminal);
  }
  await writeAnswers([rest], evaluator, terminal);
  return 0;
}

const pieceMax = 64 * 1024;

async function writeAnswers(
  lines: readonly string[],
  evaluator: Evaluator,
  terminal: Invocation['terminal'],
): Promise<void> {
  let text = '';
  for (const line of lines) {
    if (line.trim() === '') continue;
    text += `${answerOf(line, evaluator)}\n`;
    if (text.length < pieceMax) continue;
    terminal.out(text);
    text = '';
    await terminal.drained?.();
  }
  if (text !== '') terminal.out(text);
  await terminal.drained?.();
}

function answerOf(line: string, evaluator: Evaluator): string {
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch {
    request = undefined;
  }
  const sql =
    typeof request === 'object' && request !== null && 'sql' in request ? request.sql : undefined;
  if (typeof sql !== 'string') return JSON.stringify({ error: 'INVALID_REQUEST' });
  return answerLine(evaluator.evaluate(sql, 'query'));
}
