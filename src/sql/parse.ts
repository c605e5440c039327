import type { IToken } from 'chevrotain';
import { type Fault, FaultError, type Place } from '../base/place.ts';
import type { ColumnDefinition, Expression, Query, Statement, TypeNode } from './ast.ts';
import { lex } from './lexer.ts';
import { StatementGrammar } from './statement-grammar.ts';
import { withHint } from './syntax-hints.ts';
import { K, Semicolon } from './tokens.ts';
import { checkDepth } from './tree-depth.ts';

const faultsMax = 100;

/** Made at the first parse: to analyse the grammar takes a moment that not every command needs. */
let shared: StatementGrammar | undefined;

/**
 * Reads the statements of a pipeline file. Invariant: it never throws for what stands in the text, and
 * goes on behind each faulty statement, so that all faults are told at once; `statements` holds those
 * that have none, in order.
 */
export function parsePipeline(
  text: string,
  file: string,
): { statements: Statement[]; faults: Fault[] } {
  const lexed = lex(text, file);
  const statements: Statement[] = [];
  const faults = [...lexed.faults];
  for (const { tokens, end } of split(lexed.tokens, text.length)) {
    const start = tokens[0]?.startOffset ?? end;
    // Where the tokens themselves are faulty, what the grammar makes of the rest says nothing new.
    if (lexed.faults.some(({ place }) => place.start >= start && place.start < end)) continue;
    const { statements: read, found } = parsePart(tokens, text, file);
    statements.push(...read);
    faults.push(...found);
  }
  faults.sort((one, other) => one.place.start - other.place.start);
  return { statements, faults: limited(faults) };
}

/** Reads one query; throws a FaultError. */
export function parseQuery(text: string, file: string): Query {
  return parseWhole(text, file, (grammar) => grammar.query());
}

/** Reads one expression; throws a FaultError. */
export function parseExpression(text: string, file: string): Expression {
  return parseWhole(text, file, (grammar) => grammar.expression());
}

/** Reads one data type, such as `ARRAY<STRUCT<x: INT>>`; throws a FaultError. */
export function parseType(text: string, file = 'type'): TypeNode {
  return parseWhole(text, file, (grammar) => grammar.type());
}

/** Reads a list of columns, such as `id BIGINT NOT NULL, tags ARRAY<STRING>`; throws a FaultError. */
export function parseColumns(text: string): ColumnDefinition[] {
  return parseWhole(text, 'columns', (grammar) => grammar.columns());
}

function parseWhole<T>(text: string, file: string, rule: (grammar: StatementGrammar) => T): T {
  const { tokens, faults } = lex(text, file);
  const [first] = faults;
  if (first !== undefined) throw new FaultError(first);
  // A query may end with a semicolon as a statement does.
  while (tokens.at(-1)?.tokenType === Semicolon) tokens.pop();
  const { value, fault } = run(tokens, text, file, rule);
  if (fault !== undefined) throw new FaultError(fault);
  return value as T;
}

/** The tokens of each statement, without its semicolon, and where that stands. */
function* split(
  tokens: readonly IToken[],
  textEnd: number,
): Generator<{ tokens: IToken[]; end: number }> {
  let part: IToken[] = [];
  for (const token of tokens) {
    if (token.tokenType !== Semicolon) part.push(token);
    else {
      yield { tokens: part, end: token.startOffset };
      part = [];
    }
  }
  yield { tokens: part, end: textEnd };
}

/** Behind a fault, the next CREATE that begins a line begins a statement: a semicolon is missing. */
function parsePart(
  tokens: IToken[],
  text: string,
  file: string,
): { statements: Statement[]; found: Fault[] } {
  const statements: Statement[] = [];
  const found: Fault[] = [];
  for (let rest: IToken[] = tokens; rest.length > 0 && found.length < faultsMax; ) {
    const { value, fault } = run([...rest], text, file, (grammar) => grammar.statement());
    if (value !== undefined) statements.push(value);
    if (fault === undefined) break;
    found.push(fault);
    const next = rest.findIndex(
      (token, index) =>
        index > 0 &&
        token.tokenType === K.CREATE &&
        token.startOffset >= fault.place.start &&
        token.startLine !== rest[index - 1]?.startLine,
    );
    rest = next > 0 ? rest.slice(next) : [];
  }
  return { statements, found };
}

function run<T>(
  tokens: IToken[],
  source: string,
  file: string,
  rule: (grammar: StatementGrammar) => T,
): { value?: T; fault?: Fault } {
  shared ??= new StatementGrammar();
  const end = endOf(tokens, source, file);
  try {
    shared.load(tokens, source, file);
    const value = rule(shared);
    const [error] = shared.errors;
    const isWhole = error === undefined || error.token.tokenType === K.CREATE;
    if (isWhole) checkDepth(value);
    return {
      // What stands before the CREATE of the next statement was read to its end.
      ...(isWhole && value !== undefined ? { value } : {}),
      ...(error === undefined ? {} : { fault: withHint(error, tokens, end) }),
    };
  } catch (error) {
    if (error instanceof FaultError) return { fault: error.fault };
    if (error instanceof RangeError) return { fault: tooDeep(end) };
    throw error;
  }
}

function endOf(tokens: readonly IToken[], source: string, file: string): Place {
  const last = tokens.at(-1);
  if (last === undefined) return { file, start: 0, end: 0, line: 1, column: 1 };
  const end = (last.endOffset ?? last.startOffset) + 1;
  const lines = last.image.split(/\r\n|\r|\n/);
  const line = (last.startLine ?? 1) + lines.length - 1;
  const column = (lines.at(-1)?.length ?? 0) + (lines.length > 1 ? 1 : (last.startColumn ?? 1));
  return { file, start: end, end: Math.min(end + 1, source.length), line, column };
}

function tooDeep(place: Place): Fault {
  const hint = 'Take the inner parts out into views or common table expressions.';
  return { severity: 'error', code: 'NESTING_TOO_DEEP', message: 'nested too deeply', hint, place };
}

/** A file that is no SQL at all would give a fault for each of its lines. */
function limited(faults: readonly Fault[]): Fault[] {
  const last = faults[faultsMax - 1];
  if (last === undefined || faults.length === faultsMax) return [...faults];
  const more = faults.length - faultsMax + 1;
  return [
    ...faults.slice(0, faultsMax - 1),
    { ...last, code: 'TOO_MANY_FAULTS', message: `${more} further faults begin here` },
  ];
}
