import type { TokenType } from 'chevrotain';
import { EOF } from './parser-library.ts';
import {
  CloseBracket,
  CloseParen,
  Comma,
  Dot,
  DoubleBar,
  DoubleColon,
  Equal,
  Greater,
  GreaterOrEqual,
  K,
  Less,
  LessOrEqual,
  NotEqual,
  NullSafeEqual,
  OpenParen,
  Percent,
  PipeArrow,
  Semicolon,
  Slash,
  Star,
} from './tokens.ts';

const tableWords = [
  ...[K.ANTI, K.CROSS, K.FULL, K.INNER, K.JOIN, K.LATERAL, K.LEFT, K.NATURAL, K.ON, K.RIGHT],
  ...[K.SEMI, K.USING],
];

/** Words that begin an expression only as a name in front of what can only follow a name. */
const reserved = [
  ...[K.SELECT, K.FROM, K.WHERE, K.GROUP, K.HAVING, K.QUALIFY, K.ORDER, K.LIMIT, K.OFFSET],
  ...[K.UNION, K.INTERSECT, K.EXCEPT, K.MINUS, K.JOIN, K.CROSS, K.INNER, K.NATURAL, K.LATERAL],
  ...[K.ON, K.USING, K.AND, K.OR, K.NOT, K.IN, K.LIKE, K.ILIKE, K.RLIKE, K.REGEXP, K.BETWEEN],
  ...[K.IS, K.DIV, K.AS, K.BY, K.WITH, K.CASE, K.WHEN, K.THEN, K.ELSE, K.END],
  ...[K.DISTINCT],
];
/** Words that follow a select item or a table as a clause, never as an alias without AS. */
const neverAlias = [
  ...[K.FROM, K.WHERE, K.GROUP, K.HAVING, K.QUALIFY, K.ORDER, K.LIMIT, K.OFFSET, K.WINDOW],
  ...[K.UNION, K.INTERSECT, K.EXCEPT, K.MINUS, K.JOIN, K.CROSS, K.INNER, K.NATURAL, K.LATERAL],
  ...[K.LEFT, K.RIGHT, K.FULL, K.SEMI, K.ANTI, K.ON, K.USING, K.AND, K.OR, K.NOT, K.IN, K.IS],
  ...[K.LIKE, K.ILIKE, K.RLIKE, K.REGEXP, K.BETWEEN, K.DIV, K.AS, K.WITH, K.CREATE, K.SELECT],
  ...[K.WATERMARK, K.BY],
];

const clauseWords = [...reserved, ...neverAlias, K.ALL, K.VALUES, K.TABLE];
const functions = [K.LEFT, K.RIGHT, K.LIKE, K.ILIKE, K.RLIKE, K.REGEXP, K.WINDOW];

/**
 * What a word means by what stands around it. Spark tries every reading of a text; these sets decide by
 * the next one or two tokens instead. Invariant: a word that is in none of them is a name.
 */
export const wordUse = {
  /** What can only follow a complete name or value: a keyword in front of it is a name. */
  behindName: set(
    ...[Dot, Comma, CloseParen, CloseBracket, Semicolon, EOF, Equal, NotEqual, NullSafeEqual],
    ...[Less, LessOrEqual, Greater, GreaterOrEqual, Slash, Percent, DoubleBar, DoubleColon],
    ...[K.AS, K.FROM, K.IS],
  ),

  reserved: set(...reserved),
  neverAlias: set(...neverAlias),

  /** Words that are a name in few places: as one they are printed in quotes, which leave no doubt. */
  mostlyClause: set(...clauseWords),

  /** Those of them that need quotes as a column, too. */
  neverColumn: set(...reserved, K.ALL),

  /** Those of them that no function is called by without quotes. */
  neverCalled: set(...clauseWords.filter((word) => !functions.includes(word))),

  /** Words that join tables: none of them names one, not even behind AS. */
  neverTable: set(...tableWords, K.EXCEPT, K.INTERSECT, K.MINUS, K.UNION),

  /** Those of `neverAlias` that are an alias in front of FROM. */
  aliasBeforeFrom: set(...tableWords),

  /** Words that are an alias unless one of these follows. */
  clausePairs: new Map<TokenType, ReadonlySet<TokenType>>([
    [K.CLUSTER, set(K.BY)],
    [K.DISTRIBUTE, set(K.BY)],
    [K.SORT, set(K.BY)],
    [K.SEQUENCE, set(K.BY)],
    [K.PIVOT, set(OpenParen)],
    [K.UNPIVOT, set(OpenParen, K.INCLUDE, K.EXCLUDE)],
    [K.TABLESAMPLE, set(OpenParen)],
    [K.FOR, set(K.SYSTEM_VERSION, K.VERSION, K.SYSTEM_TIME, K.TIMESTAMP)],
    [K.VERSION, set(K.AS)],
    [K.SYSTEM_VERSION, set(K.AS)],
    [K.TIMESTAMP, set(K.AS)],
    [K.SYSTEM_TIME, set(K.AS)],
    [K.DELAY, set(K.OF)],
    [K.KEYS, set(OpenParen)],
    [K.IGNORE, set(K.NULL)],
    [K.APPLY, set(K.AS, K.CHANGES)],
    [K.COLUMNS, set(OpenParen, Star)],
    [K.STORED, set(K.AS)],
    [K.TRACK, set(K.HISTORY)],
  ]),

  /** What follows a query in parentheses when it is only the first part of a query. */
  continuesQuery: set(
    ...[K.UNION, K.INTERSECT, K.EXCEPT, K.MINUS, K.ORDER, K.LIMIT, K.OFFSET, K.CLUSTER],
    ...[K.DISTRIBUTE, K.SORT, PipeArrow],
  ),

  typedLiterals: new Set(['date', 'time', 'timestamp', 'timestamp_ltz', 'timestamp_ntz', 'x']),
} as const;

function set(...types: readonly TokenType[]): ReadonlySet<TokenType> {
  return new Set(types);
}
