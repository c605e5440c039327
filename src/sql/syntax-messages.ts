import type { IParserErrorMessageProvider, IToken, TokenType } from 'chevrotain';
import { tokenLabel } from './parser-library.ts';
import {
  Bang,
  Colon,
  K,
  Minus,
  Numeral,
  OpenParen,
  PlainWord,
  Plus,
  Question,
  QuotedWord,
  Text,
  Tilde,
  Word,
} from './tokens.ts';

/**
 * What a reader is told where the grammar and the text part: the thing found and the thing expected.
 * Invariant: a message is one short clause in lower case, apart from keywords, without a full stop.
 */
export const syntaxMessages: IParserErrorMessageProvider = {
  buildMismatchTokenMessage: ({ expected, actual }) =>
    `found ${found(actual)}, expected ${tokenLabel(expected)}`,
  buildNotAllInputParsedMessage: ({ firstRedundant }) =>
    `found ${found(firstRedundant)}, expected the end of the statement`,
  buildNoViableAltMessage: ({ expectedPathsPerAlt, actual, customUserDescription, ruleName }) =>
    `found ${found(actual[0])}, expected ${
      customUserDescription || parts[ruleName] || choice(expectedPathsPerAlt.flat())
    }`,
  buildEarlyExitMessage: ({ expectedIterationPaths, actual, customUserDescription, ruleName }) =>
    `found ${found(actual[0])}, expected ${
      customUserDescription || parts[ruleName] || choice(expectedIterationPaths)
    }`,
};

const relation = 'a table, STREAM(…), a subquery or a table function';

/** Rules that begin in so many ways that a list of them would say less than a noun. */
const parts: Readonly<Record<string, string>> = {
  expression: 'an expression',
  primary: 'an expression',
  wordExpression: 'an expression',
  parenthesized: 'an expression',
  fromClause: relation,
  joinClause: relation,
  relation,
  relationPrimary: relation,
  queryPrimary: 'a query',
  type: 'a data type',
  statement: 'a statement (CREATE, SET, APPLY CHANGES or a query)',
  selectItem: 'an expression',
  defaultFlow: 'REPLACE USING, REPLACE WHERE, INSERT or AUTO CDC',
  namedFlow: 'INSERT INTO or AUTO CDC INTO',
  tableElement: 'a column or a constraint',
  created: 'SOURCE, STREAMING TABLE, MATERIALIZED VIEW, VIEW, FLOW or SINK',
  optionValue: 'a string, a number, TRUE or FALSE',
};

export function found(token: IToken | undefined): string {
  const image = token?.image ?? '';
  if (image === '') return 'the end of the statement';
  const shown = image.length > 30 ? `${image.slice(0, 27)}…` : image;
  return /^['"`]/.test(image) ? shown.replaceAll('\n', ' ') : `'${shown}'`;
}

function choice(paths: readonly (readonly TokenType[])[]): string {
  const types = new Set(paths.flatMap(([first]) => (first ? [first] : [])));
  // A tilde begins nothing but an expression, and everything that begins one then says the same.
  const isExpression = types.has(Tilde);
  const others = [...types].filter((type) => !(isExpression && beginsExpression.has(type)));
  const labels = [...new Set(others.map(labelOf)), ...(isExpression ? ['an expression'] : [])];
  const last = labels.pop() ?? 'something else';
  return labels.length === 0 ? last : `${labels.slice(0, 8).join(', ')} or ${last}`;
}

const beginsExpression: ReadonlySet<TokenType> = new Set([
  ...[Word, K.NOT, Bang, Minus, Plus, Tilde, Numeral, Text, OpenParen, Question, Colon],
]);

function labelOf(type: TokenType): string {
  return type === PlainWord || type === QuotedWord || type === Word ? 'a name' : tokenLabel(type);
}
