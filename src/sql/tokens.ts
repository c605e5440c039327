import type { TokenType } from 'chevrotain';
import { createToken, Lexer } from './parser-library.ts';

/**
 * The vocabulary of pipeline SQL. Invariant: every keyword is a word first – it belongs to the
 * category `Word`, so each may name a column, table or function wherever the grammar leaves no doubt,
 * as in Spark's default mode.
 */
const keywords = [
  ...[
    'AGGREGATE',
    'ALL',
    'ALTER',
    'ALWAYS',
    'AND',
    'ANTI',
    'ANY',
    'APPLY',
    'ARRAY',
    'AS',
    'ASC',
    'AUTO',
    'BETWEEN',
  ],
  ...[
    'BOTH',
    'BUCKETS',
    'BY',
    'CASE',
    'CAST',
    'CATALOG',
    'CDC',
    'CHANGES',
    'CHECK',
    'CLUSTER',
    'CLUSTERED',
  ],
  ...['COLLATE', 'COLLATION', 'COLUMN', 'COLUMNS', 'COMMENT', 'CONSTRAINT', 'CREATE', 'CROSS'],
  ...[
    'CUBE',
    'CURRENT',
    'DATABASE',
    'DATE',
    'DAY',
    'DAYS',
    'DEFAULT',
    'DELAY',
    'DELETE',
    'DESC',
    'DISTINCT',
  ],
  ...['DISTRIBUTE', 'DIV', 'DROP', 'ELSE', 'EMPTY', 'END', 'ESCAPE', 'EXCEPT', 'EXCLUDE', 'EXISTS'],
  ...[
    'EXPECT',
    'EXTEND',
    'EXTRACT',
    'FAIL',
    'FALSE',
    'FILTER',
    'FIRST',
    'FLOW',
    'FOLLOWING',
    'FOR',
  ],
  ...['FOREIGN', 'FROM', 'FULL', 'GENERATED', 'GLOBAL', 'GROUP', 'GROUPING', 'HAVING', 'HISTORY'],
  ...['HOUR', 'HOURS', 'IF', 'IGNORE', 'ILIKE', 'IN', 'INCLUDE', 'INNER', 'INSERT', 'INTERSECT'],
  ...[
    'INTERVAL',
    'INTO',
    'IS',
    'JOIN',
    'KEY',
    'KEYS',
    'LAST',
    'LATERAL',
    'LEADING',
    'LEFT',
    'LIKE',
  ],
  ...['LIMIT', 'LIVE', 'LOCATION', 'MAP', 'MATERIALIZED', 'MERGE', 'MICROSECOND', 'MICROSECONDS'],
  ...['MILLISECOND', 'MILLISECONDS', 'MINUS', 'MINUTE', 'MINUTES', 'MONTH', 'MONTHS', 'NAME'],
  ...['NAMESPACE', 'NANOSECOND', 'NANOSECONDS', 'NATURAL', 'NOT', 'NULL', 'NULLS', 'OF', 'OFFSET'],
  ...['ON', 'ONCE', 'OPTIONS', 'OR', 'ORDER', 'OUTER', 'OVER', 'OVERLAY', 'OVERWRITE', 'PARTITION'],
  ...[
    'PARTITIONED',
    'PIVOT',
    'PLACING',
    'POLICY',
    'POSITION',
    'PRECEDING',
    'PRIMARY',
    'PRIVATE',
    'QUALIFY',
  ],
  ...[
    'RANGE',
    'RECURSIVE',
    'REFRESH',
    'REGEXP',
    'REPEATABLE',
    'REPLACE',
    'RESPECT',
    'RIGHT',
    'RLIKE',
    'ROLLUP',
  ],
  ...[
    'ROW',
    'ROWS',
    'SCD',
    'SCHEDULE',
    'SCHEMA',
    'SECOND',
    'SECONDS',
    'SELECT',
    'SEMI',
    'SEQUENCE',
  ],
  ...['SET', 'SETS', 'SINK', 'SOME', 'SORT', 'SOURCE', 'STORED', 'STREAM', 'STREAMING', 'STRUCT'],
  ...['SUBSTR', 'SUBSTRING', 'SYSTEM_TIME', 'SYSTEM_VERSION', 'TABLE', 'TABLESAMPLE'],
  ...['TBLPROPERTIES', 'TEMP', 'TEMPORARY', 'THEN', 'TIME', 'TIMESTAMP', 'TIMESTAMP_LTZ'],
  ...[
    'TIMESTAMP_NTZ',
    'TO',
    'TRACK',
    'TRAILING',
    'TRIGGER',
    'TRIM',
    'TRUE',
    'TRUNCATE',
    'TRY_CAST',
  ],
  ...[
    'TYPE',
    'UNION',
    'UNIQUE',
    'UNKNOWN',
    'UNPIVOT',
    'UPDATE',
    'UPDATES',
    'USE',
    'USING',
    'VALUES',
  ],
  ...['VERSION', 'VIEW', 'VIOLATION', 'WATERMARK', 'WEEK', 'WEEKS', 'WHEN', 'WHERE', 'WINDOW'],
  ...['WITH', 'WITHIN', 'WITHOUT', 'X', 'YEAR', 'YEARS', 'ZONE'],
] as const;

type Keyword = (typeof keywords)[number];

/** Identifiers, quoted or not, and every keyword. */
export const Word = createToken({ name: 'Word', label: 'a name', pattern: Lexer.NA });

export const PlainWord = createToken({
  name: 'PlainWord',
  label: 'a name',
  pattern: Lexer.NA,
  categories: [Word],
});
export const QuotedWord = createToken({
  name: 'QuotedWord',
  label: 'a name',
  pattern: Lexer.NA,
  categories: [Word],
});

/** Units of an interval, singular and plural. */
export const Unit = createToken({ name: 'Unit', label: 'a unit of time', pattern: Lexer.NA });
/** Operators between two operands; a second or third `>` of a shift stands behind the first. */
export const Operator = createToken({ name: 'Operator', label: 'an operator', pattern: Lexer.NA });

const units = /^(?:YEAR|MONTH|WEEK|DAY|HOUR|MINUTE|SECOND|MILLISECOND|MICROSECOND|NANOSECOND)S?$/;
const wordOperators: readonly string[] = ['AND', 'OR', 'DIV'];

function keyword(word: string): TokenType {
  const categories = [Word];
  if (units.test(word)) categories.push(Unit);
  if (wordOperators.includes(word)) categories.push(Operator);
  return createToken({ name: word, label: word, pattern: Lexer.NA, categories });
}

/** `K.SELECT` is the token type of the word SELECT. */
export const K = Object.fromEntries(keywords.map((word) => [word, keyword(word)])) as {
  readonly [word in Keyword]: TokenType;
};

/** 'BY' gives `K.BY`, 'customer' gives `PlainWord`. */
export function wordToken(text: string): TokenType {
  return keywordTokens.get(text.toUpperCase()) ?? PlainWord;
}

const keywordTokens: ReadonlyMap<string, TokenType> = new Map(Object.entries(K));

function symbol(name: string, label: string, categories: TokenType[] = []): TokenType {
  return createToken({ name, label, pattern: Lexer.NA, categories });
}

function operator(name: string, label: string): TokenType {
  return symbol(name, label, [Operator]);
}

/** Text in quotes, still with them. */
export const Text = symbol('Text', 'a string');
/** A number without sign, with its suffix. */
export const Numeral = symbol('Numeral', 'a number');

export const Equal = operator('Equal', "'='");
export const NullSafeEqual = operator('NullSafeEqual', "'<=>'");
export const NotEqual = operator('NotEqual', "'<>'");
export const Less = operator('Less', "'<'");
export const LessOrEqual = operator('LessOrEqual', "'<='");
export const Greater = operator('Greater', "'>'");
export const GreaterOrEqual = operator('GreaterOrEqual', "'>='");
export const ShiftLeft = operator('ShiftLeft', "'<<'");
export const Plus = operator('Plus', "'+'");
export const Minus = operator('Minus', "'-'");
export const Star = operator('Star', "'*'");
export const Slash = operator('Slash', "'/'");
export const Percent = operator('Percent', "'%'");
export const Tilde = symbol('Tilde', "'~'");
export const Ampersand = operator('Ampersand', "'&'");
export const Bar = operator('Bar', "'|'");
export const DoubleBar = operator('DoubleBar', "'||'");
export const PipeArrow = symbol('PipeArrow', "'|>'");
export const Hat = operator('Hat', "'^'");
export const Bang = symbol('Bang', "'!'");
export const Colon = symbol('Colon', "':'");
export const DoubleColon = symbol('DoubleColon', "'::'");
export const Arrow = symbol('Arrow', "'->'");
export const FatArrow = symbol('FatArrow', "'=>'");
export const Question = symbol('Question', "'?'");
export const Comma = symbol('Comma', "','");
export const Semicolon = symbol('Semicolon', "';'");
export const Dot = symbol('Dot', "'.'");
export const OpenParen = symbol('OpenParen', "'('");
export const CloseParen = symbol('CloseParen', "')'");
export const OpenBracket = symbol('OpenBracket', "'['");
export const CloseBracket = symbol('CloseBracket', "']'");

/** Spellings of the symbols, longest first. `>>` is two tokens, because `array<array<int>>` ends so. */
export const symbols: readonly (readonly [string, TokenType])[] = [
  ['<=>', NullSafeEqual],
  ['==', Equal],
  ['=>', FatArrow],
  ['<>', NotEqual],
  ['!=', NotEqual],
  ['<=', LessOrEqual],
  ['!>', LessOrEqual],
  ['>=', GreaterOrEqual],
  ['!<', GreaterOrEqual],
  ['<<', ShiftLeft],
  ['->', Arrow],
  ['||', DoubleBar],
  ['|>', PipeArrow],
  ['::', DoubleColon],
  ['=', Equal],
  ['<', Less],
  ['>', Greater],
  ['+', Plus],
  ['-', Minus],
  ['*', Star],
  ['/', Slash],
  ['%', Percent],
  ['~', Tilde],
  ['&', Ampersand],
  ['|', Bar],
  ['^', Hat],
  ['!', Bang],
  [':', Colon],
  ['?', Question],
  [',', Comma],
  [';', Semicolon],
  ['.', Dot],
  ['(', OpenParen],
  [')', CloseParen],
  ['[', OpenBracket],
  [']', CloseBracket],
];

export const vocabulary: TokenType[] = [
  Word,
  Unit,
  Operator,
  PlainWord,
  QuotedWord,
  Text,
  Numeral,
  ...Object.values(K),
  ...new Set(symbols.map(([, type]) => type)),
];
