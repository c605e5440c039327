import type { IRecognitionException, IToken, TokenType } from 'chevrotain';
import type { Fault, Place } from '../base/place.ts';
import { Comma, Equal, K, Minus, Numeral, OpenParen, PlainWord, Text, Word } from './tokens.ts';

/** What is known about a syntax error when a hint is looked for. */
type Mistake = {
  /** The token that was found; its image is empty at the end of the statement. */
  readonly token: IToken;
  readonly previous: IToken | undefined;
  readonly message: string;
  /** The innermost rule of the grammar that could not go on. */
  readonly rule: string;
};

/** The fault of a syntax error, with a hint where the mistake is a common one. */
export function withHint(
  error: IRecognitionException,
  tokens: readonly IToken[],
  end: Place,
): Fault {
  const { token, message } = error;
  const index = tokens.indexOf(token);
  const previous = index < 0 ? tokens.at(-1) : tokens[index - 1];
  const rule = error.context.ruleStack.at(-1) ?? '';
  const hint = hintFor({ token, previous, message, rule });
  const place = index < 0 ? end : { ...end, ...spanOf(token) };
  return {
    ...{ severity: 'error', code: 'PARSE_SYNTAX_ERROR', message, place },
    ...(hint === undefined ? {} : { hint }),
  };
}

function spanOf(token: IToken): Omit<Place, 'file'> {
  return {
    start: token.startOffset,
    end: (token.endOffset ?? token.startOffset) + 1,
    line: token.startLine ?? 1,
    column: token.startColumn ?? 1,
  };
}

function hintFor(mistake: Mistake): string | undefined {
  const { token, previous, message, rule } = mistake;
  const found = token.tokenType;
  const before = previous?.tokenType;
  const atEnd = message.endsWith('the end of the statement');
  if (found === K.CREATE && atEnd)
    return 'Statements end with a semicolon: one is missing before CREATE.';
  if (rule === 'statement') return statementHint(found);
  if (rule === 'created' && found === K.LIVE) return 'Leave LIVE out: it is the old spelling.';
  if (rule === 'created' && found === K.TABLE)
    return 'A table that flows write is a STREAMING TABLE; a topic that others write is a SOURCE.';
  if (before === K.STREAMING)
    return 'What is kept up to date is a STREAMING TABLE; a VIEW is only a name for a query.';
  if (rule === 'namedFlow')
    return 'A flow names its target: CREATE FLOW name AS INSERT INTO target BY NAME SELECT ….';
  if (found === K.ONCE)
    return 'ONCE stands behind INSERT or behind INTO: INSERT INTO ONCE target BY NAME ….';
  if (isFlowOrder(found, rule)) return flowOrder;
  if (rule === 'identifiers' && before === K.USING)
    return 'Columns stand in parentheses: USING (a, b).';
  if (rule === 'optionValue') return `Text stands in quotes: '${token.image}'.`;
  if (before === Comma || found === Comma)
    return 'Is there a comma too many, or is something missing behind it?';
  if (found === Minus && isWord(previous) && atEnd)
    return 'A name with a hyphen stands in `backticks`.';
  if (found === Numeral && previous !== undefined && isTimeWord(previous)) {
    return `A literal is written with quotes: ${previous.image} '…'.`;
  }
  if (found === Text && token.image.startsWith('"')) {
    return 'Double quotes make a string; names with special characters stand in `backticks`.';
  }
  if (found === Equal && isWord(previous)) return 'An argument is named with => instead.';
  if (found === K.SELECT && before === OpenParen)
    return 'A query among arguments stands in parentheses of its own.';
  return similarKeyword(token) ?? (previous === undefined ? undefined : similarKeyword(previous));
}

function statementHint(found: TokenType): string | undefined {
  if (found === K.DROP || found === K.DELETE || found === K.TRUNCATE) {
    return 'A pipeline file says what there is: what is no longer in it is no longer kept up to date.';
  }
  if (found === K.UPDATE || found === K.MERGE || found === K.ALTER) {
    return 'Rows and tables are changed by flows and by editing their CREATE statement.';
  }
  return undefined;
}

function isFlowOrder(found: TokenType, rule: string): boolean {
  if (found === K.SEQUENCE || found === K.REPLACE) return true;
  return found === K.BY && (rule === 'defaultFlow' || rule === '');
}

const flowOrder =
  'In CREATE STREAMING TABLE, BY NAME stands behind SEQUENCE BY (FLOW REPLACE USING (key) SEQUENCE BY sequence ' +
  'BY NAME SELECT …); in CREATE FLOW it stands behind the target (INSERT INTO target BY NAME REPLACE USING …).';

function isWord(token: IToken | undefined): boolean {
  return token?.tokenType === PlainWord || token?.tokenType.CATEGORIES?.includes(Word) === true;
}

function isTimeWord(token: IToken): boolean {
  return /^(?:date|time|timestamp\w*)$/i.test(token.image);
}

const clauses: readonly string[] = [
  ...['SELECT', 'FROM', 'WHERE', 'GROUP', 'HAVING', 'ORDER', 'LIMIT', 'JOIN', 'UNION', 'BETWEEN'],
  ...[
    'CREATE',
    'REFRESH',
    'REPLACE',
    'STREAMING',
    'MATERIALIZED',
    'TABLE',
    'SOURCE',
    'FLOW',
    'SINK',
  ],
  ...['SEQUENCE', 'USING', 'INSERT', 'CONSTRAINT', 'EXPECT', 'VIOLATION', 'STREAM', 'WATERMARK'],
  ...['COLUMNS', 'STORED', 'TRACK', 'HISTORY', 'COMMENT', 'TBLPROPERTIES', 'OPTIONS', 'DISTINCT'],
];

/** `FORM` for FROM: one letter wrong, missing, too many, or two exchanged. */
function similarKeyword(token: IToken): string | undefined {
  if (token.tokenType !== PlainWord || token.image.length < 3) return undefined;
  const word = token.image.toUpperCase();
  const similar = clauses.find((clause) => isOneStepApart(word, clause));
  return similar === undefined ? undefined : `Did you mean ${similar} instead of '${token.image}'?`;
}

function isOneStepApart(one: string, other: string): boolean {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  const rest = one.slice(start);
  const otherRest = other.slice(start);
  const [first = '', second = ''] = rest;
  return (
    rest.slice(1) === otherRest.slice(1) ||
    rest.slice(1) === otherRest ||
    rest === otherRest.slice(1) ||
    second + first + rest.slice(2) === otherRest
  );
}
