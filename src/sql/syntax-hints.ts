import type { IRecognitionException, IToken, TokenType } from 'chevrotain';
import type { Fault, Place } from '../base/place.ts';
import {
  CloseParen,
  Comma,
  Equal,
  K,
  Minus,
  Numeral,
  OpenParen,
  PlainWord,
  QuotedWord,
  Text,
  Word,
} from './tokens.ts';

/** What is known about a syntax error when a hint is looked for. */
type Mistake = {
  /** The token that was found; its image is empty at the end of the statement. */
  readonly token: IToken;
  readonly previous: IToken | undefined;
  readonly next: IToken | undefined;
  readonly message: string;
  readonly before: readonly IToken[];
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
  const next = index < 0 ? undefined : tokens[index + 1];
  const place = index < 0 ? end : { ...end, ...spanOf(token) };
  const before = index < 0 ? tokens : tokens.slice(0, index);
  const mistake = { token, previous, next, message, rule, before };
  const known = refusedForms.find(({ is }) => is(mistake));
  if (known !== undefined) {
    const { code, told, remedy } = known;
    return { severity: 'error', code, message: told, hint: remedy, place };
  }
  const hint = hintFor(mistake);
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
  const common = commonMistakes.find(([is]) => is(mistake))?.[1];
  if (common !== undefined) return typeof common === 'string' ? common : common(mistake);
  const { token, previous } = mistake;
  return similarKeyword(token) ?? (previous === undefined ? undefined : similarKeyword(previous));
}

/** Whether it stands behind the type of a column that is declared. */
function isOfColumn({ before, message }: Mistake): boolean {
  return (
    before.some(({ tokenType }) => tokenType === K.CREATE) &&
    before.some(({ tokenType }) => tokenType === K.TABLE || tokenType === K.VIEW) &&
    message.endsWith("expected ')'")
  );
}

function isSnapshot(token: IToken | undefined): boolean {
  return /^snapshot$/i.test(token?.image ?? '');
}

/** Forms of Spark's and Lakeflow's that this does not have: they are refused by their names, not as slips. */
const refusedForms: readonly {
  readonly is: (mistake: Mistake) => boolean;
  readonly code: string;
  readonly told: string;
  readonly remedy: string;
}[] = [
  {
    is: ({ token, previous }) => /^i?like$/i.test(token.image) && previous?.image === '*',
    code: 'INVALID_USAGE_OF_STAR_OR_REGEX',
    told: 'columns are not picked by a pattern of their names',
    remedy: 'Name the columns, or leave some out: * EXCEPT (a, b).',
  },
  {
    is: (mistake) =>
      /^(?:primary|foreign|references|unique)$/i.test(mistake.token.image) && isOfColumn(mistake),
    code: 'NOT_SUPPORTED',
    told: 'keys and references are not declared with a column',
    remedy:
      'Leave it out: the key of a table is the one that its flow names, REPLACE USING (id) or AUTO CDC … KEYS (id).',
  },
  {
    is: (mistake) => /^mask$/i.test(mistake.token.image) && isOfColumn(mistake),
    code: 'NOT_SUPPORTED',
    told: 'column masks are not supported',
    remedy:
      'Every reader of the topic would see what is in it: mask the value in the query (SELECT mask(c) AS c), or leave it out (* EXCEPT (c)).',
  },
  {
    is: (mistake) => /^generated$/i.test(mistake.token.image) && isOfColumn(mistake),
    code: 'NOT_SUPPORTED',
    told: 'generated columns are not supported',
    remedy:
      'Declare the column without GENERATED, and compute it in the query: SELECT …, expression AS name. What numbers rows is in the record: _partition and _offset.',
  },
  {
    is: ({ token, before }) =>
      /^format$/i.test(token.image) && before.some(({ tokenType }) => tokenType === K.SINK),
    code: 'NOT_SUPPORTED',
    told: 'a sink has no FORMAT: its records are JSON in a topic of Kafka',
    remedy:
      "Write CREATE SINK name WITH (topic = '…'); the brokers are those of the configuration.",
  },
  {
    is: ({ token, next, before, message }) =>
      (token.tokenType === K.FROM && isSnapshot(next) && before.length > 0) ||
      (token.tokenType === K.AUTO && next?.tokenType === K.CDC && message.includes('a statement')),
    code: 'NOT_SUPPORTED',
    told: 'AUTO CDC stands in a flow, and reads changes, not snapshots',
    remedy:
      'Of changes write CREATE FLOW name AS AUTO CDC INTO target FROM STREAM(source) KEYS (key) SEQUENCE BY sequence. Of snapshots, each with all rows of its keys, write CREATE FLOW name AS INSERT INTO target BY NAME REPLACE USING (key) SEQUENCE BY sequence SELECT … FROM STREAM(source).',
  },
  {
    is: ({ token, before }) =>
      token.tokenType === K.USING && before.some(({ image }) => /^transform$/i.test(image)),
    code: 'NOT_SUPPORTED',
    told: 'TRANSFORM … USING runs a program on rows, which is not supported',
    remedy: 'Use functions, or run the program as a consumer of the output topic.',
  },
  {
    is: ({ token, message }) =>
      /^(?:map|reduce)$/i.test(token.image) && /a query\)?$/.test(message),
    code: 'NOT_SUPPORTED',
    told: 'MAP and REDUCE … USING run a program on rows, which is not supported',
    remedy: 'Use functions, or run the program as a consumer of the output topic.',
  },
  {
    is: ({ token, previous, message }) =>
      [token.tokenType, previous?.tokenType].includes(K.INSERT) &&
      message.endsWith('expected SELECT'),
    code: 'NOT_SUPPORTED',
    told: 'one FROM for several INSERTs is not supported',
    remedy: 'Write a flow for each target: they read the source each by itself.',
  },
];

type Hint = string | ((mistake: Mistake) => string);

/** The first that applies is told. */
const commonMistakes: readonly (readonly [(mistake: Mistake) => boolean, Hint])[] = [
  [
    ({ token, message }) => token.tokenType === K.CREATE && isBehindStatement(message),
    'Statements end with a semicolon: one is missing before CREATE.',
  ],
  [
    ({ token, previous, rule }) =>
      token.tokenType === K.LIVE && (rule === 'created' || previous?.tokenType === K.STREAMING),
    'Leave LIVE out: it is the old spelling.',
  ],
  [
    ({ previous }) => previous?.tokenType === K.STREAMING,
    'What is kept up to date is a STREAMING TABLE; a VIEW is only a name for a query.',
  ],
  [
    ({ rule }) => rule === 'namedFlow',
    'A flow names its target: CREATE FLOW name AS INSERT INTO target BY NAME SELECT ….',
  ],
  [
    ({ token }) => token.tokenType === K.ONCE,
    'ONCE stands behind INSERT or behind INTO: INSERT INTO ONCE target BY NAME ….',
  ],
  [
    ({ token, before, message }) =>
      token.tokenType === K.WHERE && isBehindStatement(message) && hasWords(before, K.AUTO, K.CDC),
    'AUTO CDC has no WHERE: read a query, FROM (SELECT … FROM STREAM(source) WHERE …), or a view that filters.',
  ],
  [
    ({ token, before, message }) =>
      clauseOrder.includes(token.tokenType) &&
      isBehindStatement(message) &&
      hasWords(before, K.SELECT),
    'Clauses stand in this order: SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT ….',
  ],
  [
    ({ token, rule }) => isFlowOrder(token.tokenType, rule),
    'In CREATE STREAMING TABLE, BY NAME stands behind SEQUENCE BY (FLOW REPLACE USING (key) SEQUENCE BY ' +
      'sequence BY NAME SELECT …); in CREATE FLOW it stands behind the target (INSERT INTO target BY NAME ' +
      'REPLACE USING …).',
  ],
  [
    ({ token, previous, before }) =>
      /^(?:deletes|truncates)$/i.test(token.image) &&
      previous?.tokenType === K.AS &&
      before.at(-2)?.tokenType === K.APPLY,
    ({ token }) => `Write APPLY AS ${token.image.slice(0, -1).toUpperCase()} WHEN.`,
  ],
  [
    ({ previous, message }) =>
      /expected (?:ROW|UPDATE)$/.test(message) &&
      [K.DROP, K.FAIL].some((word) => previous?.tokenType === word),
    'The action is ON VIOLATION DROP ROW or ON VIOLATION FAIL UPDATE.',
  ],
  [
    ({ token, previous, message }) =>
      isWord(token) &&
      (message.endsWith("expected '('") || isBehindStatement(message)) &&
      [K.COLUMNS, K.KEYS, K.ON, K.EXCEPT].some((word) => previous?.tokenType === word),
    ({ previous }) => `Columns stand in parentheses: ${previous?.image.toUpperCase()} (a, b).`,
  ],
  [
    ({ token, previous, before }) => isInSelectList(before, token) && isWord(previous),
    ({ token, previous }) =>
      `A comma may be missing before '${previous?.image}' or before '${token.image}'.`,
  ],
  [
    ({ previous, rule }) => rule === 'identifiers' && previous?.tokenType === K.USING,
    'Columns stand in parentheses: USING (a, b).',
  ],
  [
    ({ token, rule }) => rule === 'optionValue' && isWord(token),
    ({ token }) => `Text stands in quotes: '${token.image}'.`,
  ],
  [
    ({ token, previous }) => token.tokenType === Comma || previous?.tokenType === Comma,
    'Is there a comma too many, or is something missing behind it?',
  ],
  [
    ({ token, previous, message }) =>
      token.tokenType === Minus && isWord(previous) && isBehindStatement(message),
    'A name with a hyphen stands in `backticks`.',
  ],
  [
    ({ token, previous }) =>
      token.tokenType === Numeral && /^(?:date|time|timestamp\w*)$/i.test(previous?.image ?? ''),
    ({ previous }) => `A literal is written with quotes: ${previous?.image} '…'.`,
  ],
  [
    ({ token }) => token.tokenType === Text && token.image.startsWith('"'),
    'Double quotes make a string; names with special characters stand in `backticks`.',
  ],
  [
    ({ token, previous }) => token.tokenType === Equal && isWord(previous),
    'An argument is named with => instead.',
  ],
  [
    ({ token, next, previous }) =>
      token.tokenType === OpenParen && next?.tokenType === K.SELECT && isWord(previous),
    'A query among arguments stands in parentheses of its own.',
  ],
];

/** Whether a name stands behind an expression of a select list and its alias, and none of them is a keyword with a slip. */
function isInSelectList(before: readonly IToken[], token: IToken): boolean {
  const [value, alias] = before.slice(-2);
  if (!isWord(token) || [token, alias].some((word) => word !== undefined && similarKeyword(word))) {
    return false;
  }
  if (alias?.tokenType !== PlainWord || value === undefined || !endsValue(value)) return false;
  const clause = before.findLast(({ tokenType }) => listEnds.has(tokenType));
  return clause?.tokenType === K.SELECT;
}

function endsValue({ tokenType }: IToken): boolean {
  return [PlainWord, QuotedWord, Numeral, Text, CloseParen].includes(tokenType);
}

const listEnds: ReadonlySet<TokenType> = new Set([
  ...[K.SELECT, K.FROM, K.WHERE, K.GROUP, K.HAVING, K.ORDER, K.LIMIT, K.WINDOW, K.UNION],
]);

const clauseOrder: readonly TokenType[] = [...[K.FROM, K.WHERE, K.GROUP, K.HAVING, K.ORDER]];

function hasWords(tokens: readonly IToken[], ...words: readonly TokenType[]): boolean {
  return words.every((word) => tokens.some(({ tokenType }) => tokenType === word));
}

function isBehindStatement(message: string): boolean {
  return message.endsWith('the end of the statement');
}

function isFlowOrder(found: TokenType, rule: string): boolean {
  if (found === K.SEQUENCE || found === K.REPLACE) return true;
  return found === K.BY && (rule === 'defaultFlow' || rule === '');
}

function isWord(token: IToken | undefined): boolean {
  return token?.tokenType === PlainWord || token?.tokenType.CATEGORIES?.includes(Word) === true;
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
