import type { IRecognitionException, IToken } from 'chevrotain';
import type { Fault, Place } from '../base/place.ts';
import { found } from './syntax-messages.ts';
import { Comma, Equal, K, Minus, PlainWord, Text } from './tokens.ts';

/** The fault of a syntax error, with a hint where the mistake is a common one. */
export function withHint(error: IRecognitionException, end: Place, file: string): Fault {
  const token = error.token;
  const isAtEnd = token.image === '';
  const place: Place = isAtEnd
    ? end
    : {
        file,
        start: token.startOffset,
        end: (token.endOffset ?? token.startOffset) + 1,
        line: token.startLine ?? 1,
        column: token.startColumn ?? 1,
      };
  const previous = 'previousToken' in error ? (error.previousToken as IToken) : undefined;
  const hint = hintFor(token, previous, error.message);
  return {
    ...{ severity: 'error', code: 'PARSE_SYNTAX_ERROR', message: error.message },
    ...(hint === undefined ? {} : { hint }),
    place,
  };
}

function hintFor(token: IToken, previous: IToken | undefined, message: string): string | undefined {
  const type = token.tokenType;
  const before = previous?.tokenType;
  if (type === K.CREATE && message.endsWith('the end of the statement')) {
    return 'Statements end with a semicolon: one is missing before CREATE.';
  }
  if (before === Comma)
    return 'Remove the comma in front of it, or add what is missing behind the comma.';
  if (type === K.BY && /end of the statement/.test(message)) return byNameHint;
  if (type === K.SEQUENCE || type === K.REPLACE) return byNameHint;
  if (type === K.ONCE)
    return 'ONCE stands behind INSERT or behind INTO: INSERT INTO ONCE target BY NAME ….';
  if (type === K.LIVE) return 'Leave LIVE out: it is the old spelling.';
  if (type === Minus && before === PlainWord) return 'A name with a hyphen stands in `backticks`.';
  if (type === Text && token.image.startsWith('"')) {
    return 'Double quotes make a string; names with special characters stand in `backticks`.';
  }
  if (type === Equal && before === PlainWord) return 'An argument is named with => instead.';
  return similarKeyword(token);
}

const byNameHint =
  'In CREATE STREAMING TABLE, BY NAME stands behind SEQUENCE BY (FLOW REPLACE USING (key) SEQUENCE BY sequence ' +
  'BY NAME SELECT …); in CREATE FLOW it stands behind the target (INSERT INTO target BY NAME REPLACE USING …).';

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
  if (token.tokenType !== PlainWord) return undefined;
  const word = token.image.toUpperCase();
  const similar = clauses.find((clause) => isOneStepApart(word, clause));
  return similar === undefined ? undefined : `Did you mean ${similar} instead of ${found(token)}?`;
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
