import { FlowError } from '../base/errors.ts';
import type { Column, DataType, DayTimeField, SimpleKind, YearMonthField } from './types.ts';

/**
 * Data types as text: Spark's catalog string out, Spark's DDL in.
 * Invariant: `parseTypeText(formatType(t))` is `t` for every type whose field names need no quotes.
 */
export function formatType(type: DataType): string {
  switch (type.kind) {
    case 'decimal':
      return `decimal(${type.precision},${type.scale})`;
    case 'time':
      return `time(${type.precision})`;
    case 'interval_year_month':
    case 'interval_day_time':
      return type.from === type.to
        ? `interval ${type.from}`
        : `interval ${type.from} to ${type.to}`;
    case 'array':
      return `array<${formatType(type.element)}>`;
    case 'map':
      return `map<${formatType(type.key)},${formatType(type.value)}>`;
    case 'struct':
      return `struct<${type.fields.map((field) => `${field.name}:${formatType(field.type)}`).join(',')}>`;
    default:
      return type.kind;
  }
}

/** Whether both are one type; names of struct fields count, with their case. */
export function sameType(left: DataType, right: DataType): boolean {
  return formatType(left) === formatType(right);
}

/** Reads one type, such as `ARRAY<STRUCT<x: INT, y: STRING>>`; throws SQL_SYNTAX. */
export function parseTypeText(text: string): DataType {
  const parser = new TypeParser(text);
  const type = parser.type(0);
  parser.end();
  return type;
}

/** Reads a column list, such as `a BIGINT NOT NULL, b ARRAY<INT> COMMENT 'text'`; throws SQL_SYNTAX. */
export function parseColumnsText(ddl: string): Column[] {
  const parser = new TypeParser(ddl);
  const columns: Column[] = [];
  if (!parser.atEnd()) columns.push(...parser.fields(0));
  parser.end();
  return columns;
}

const simpleTypes: ReadonlyMap<string, SimpleKind> = new Map([
  ['VOID', 'void'],
  ['NULL', 'void'],
  ['BOOLEAN', 'boolean'],
  ['BOOL', 'boolean'],
  ['TINYINT', 'tinyint'],
  ['BYTE', 'tinyint'],
  ['SMALLINT', 'smallint'],
  ['SHORT', 'smallint'],
  ['INT', 'int'],
  ['INTEGER', 'int'],
  ['BIGINT', 'bigint'],
  ['LONG', 'bigint'],
  ['FLOAT', 'float'],
  ['REAL', 'float'],
  ['DOUBLE', 'double'],
  ['STRING', 'string'],
  ['BINARY', 'binary'],
  ['DATE', 'date'],
  ['TIMESTAMP', 'timestamp'],
  ['TIMESTAMP_LTZ', 'timestamp'],
  ['TIMESTAMP_NTZ', 'timestamp_ntz'],
  ['VARIANT', 'variant'],
]);

const yearMonthFields: readonly string[] = ['year', 'month'] satisfies YearMonthField[];
const dayTimeFields: readonly string[] = [
  'day',
  'hour',
  'minute',
  'second',
] satisfies DayTimeField[];

/** A text that is no type, with Spark's class of the fault. */
export class TypeTextError extends FlowError {
  readonly errorClass: string;

  constructor(message: string, errorClass: string, detail: string) {
    super('SQL_SYNTAX', message, {
      detail,
      hint: 'Types are written as in Spark SQL, for example ARRAY<STRUCT<x: INT, y: STRING>>.',
    });
    this.errorClass = errorClass;
  }
}

/** Types nest as deep as somebody writes them; a bound keeps hostile text off the call stack. */
const depthMax = 200;

class TypeParser {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  atEnd(): boolean {
    this.#skipSpace();
    return this.#position >= this.#text.length;
  }

  end(): void {
    if (!this.atEnd()) this.#fail('something after its end');
  }

  fields(depth: number): Column[] {
    const fields: Column[] = [];
    do {
      const name = this.#name();
      this.#accept(':');
      const type = this.type(depth);
      this.#skipFieldOptions();
      fields.push({ name, type });
    } while (this.#accept(','));
    return fields;
  }

  type(depth: number): DataType {
    if (depth > depthMax) this.#fail(`more than ${depthMax} levels of nesting`);
    const word = this.#word().toUpperCase();
    const simple = simpleTypes.get(word);
    if (simple !== undefined) {
      if (simple === 'string') this.#skipCollation();
      else if (this.#peek('(')) this.#failHere(`a length of ${word}`, 'UNSUPPORTED_DATATYPE');
      return { kind: simple };
    }
    switch (word) {
      case 'DECIMAL':
      case 'DEC':
      case 'NUMERIC':
        return this.#decimal();
      case 'CHAR':
      case 'CHARACTER':
      case 'VARCHAR':
        this.#numbers(1, 1);
        return { kind: 'string' };
      case 'TIME': {
        const [precision = 6] = this.#numbers(0, 1);
        if (precision > 9) this.#fail('a time precision beyond 9');
        return { kind: 'time', precision };
      }
      case 'INTERVAL':
        return this.#interval();
      case 'ARRAY':
        return this.#array(depth);
      case 'MAP':
        return this.#map(depth);
      case 'STRUCT':
        return this.#struct(depth);
      default:
        return this.#failHere(
          `an unknown type "${word}"`,
          /^\d+[LSYDF]?$/.test(word)
            ? 'PARSE_SYNTAX_ERROR'
            : /^\w+$/.test(word)
              ? 'UNSUPPORTED_DATATYPE'
              : 'INVALID_IDENTIFIER',
        );
    }
  }

  #decimal(): DataType {
    const [precision = 10, scale = 0] = this.#numbers(0, 2);
    if (precision < 1 || precision > 38) {
      this.#failHere(
        'a decimal precision outside 1 to 38',
        'DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION',
      );
    }
    if (scale > precision) {
      this.#failHere('a decimal scale beyond its precision', 'DECIMAL_SCALE_EXCEEDS_PRECISION');
    }
    return { kind: 'decimal', precision, scale };
  }

  #interval(): DataType {
    const before = this.#position;
    const from = this.#optionalWord().toLowerCase();
    const isYearMonth = yearMonthFields.includes(from);
    if (!isYearMonth && !dayTimeFields.includes(from)) {
      this.#position = before;
      return { kind: 'interval' };
    }
    const to = this.#acceptWord('TO') ? this.#word().toLowerCase() : from;
    const order = isYearMonth ? yearMonthFields : dayTimeFields;
    if (order.indexOf(to) < order.indexOf(from)) this.#fail(`an interval "${from} to ${to}"`);
    return isYearMonth
      ? { kind: 'interval_year_month', from: from as YearMonthField, to: to as YearMonthField }
      : { kind: 'interval_day_time', from: from as DayTimeField, to: to as DayTimeField };
  }

  #array(depth: number): DataType {
    this.#expectParts('ARRAY');
    const element = this.type(depth + 1);
    this.#expect('>');
    return { kind: 'array', element };
  }

  #map(depth: number): DataType {
    this.#expectParts('MAP');
    const key = this.type(depth + 1);
    this.#expect(',');
    const value = this.type(depth + 1);
    this.#expect('>');
    return { kind: 'map', key, value };
  }

  #struct(depth: number): DataType {
    this.#expectParts('STRUCT');
    if (this.#accept('>')) return { kind: 'struct', fields: [] };
    const fields = this.fields(depth + 1);
    this.#expect('>');
    return { kind: 'struct', fields };
  }

  /** `(n, …)` with `least` to `most` numbers, or nothing when `least` is 0. */
  #numbers(least: number, most: number): number[] {
    const numbers: number[] = [];
    if (!this.#accept('(')) {
      return least === 0 ? numbers : this.#failHere('a missing length', 'DATATYPE_MISSING_SIZE');
    }
    do {
      const digits = this.#word();
      if (!/^\d{1,9}$/.test(digits)) this.#fail(`"${digits}" where a number belongs`);
      numbers.push(Number(digits));
    } while (numbers.length < most && this.#accept(','));
    this.#expect(')');
    return numbers;
  }

  #skipFieldOptions(): void {
    for (;;) {
      if (this.#acceptWord('NOT')) {
        if (!this.#acceptWord('NULL')) this.#fail('NOT without NULL');
      } else if (this.#acceptWord('COMMENT')) {
        this.#skipString();
      } else {
        return;
      }
    }
  }

  #skipCollation(): void {
    if (!this.#acceptWord('COLLATE')) return;
    const collation = this.#name();
    if (collation.toUpperCase() !== 'UTF8_BINARY') this.#fail(`the collation "${collation}"`);
  }

  #skipString(): void {
    this.#skipSpace();
    const quote = this.#text[this.#position];
    if (quote !== "'" && quote !== '"') this.#fail('a comment without its text');
    let at = this.#position + 1;
    while (at < this.#text.length && this.#text[at] !== quote) {
      at += this.#text[at] === '\\' ? 2 : 1;
    }
    if (at >= this.#text.length) this.#fail('a comment that does not end');
    this.#position = at + 1;
  }

  #name(): string {
    this.#skipSpace();
    if (this.#text[this.#position] !== '`') return this.#word();
    const quoted = /`((?:[^`]|``)*)`/y;
    quoted.lastIndex = this.#position;
    const match = quoted.exec(this.#text);
    if (match?.[1] === undefined) return this.#fail('a quoted name that does not end');
    this.#position = quoted.lastIndex;
    return match[1].replaceAll('``', '`');
  }

  #word(): string {
    const word = this.#optionalWord();
    return word === '' ? this.#fail('an unexpected end of the type') : word;
  }

  #optionalWord(): string {
    this.#skipSpace();
    const pattern = /[\p{L}\p{N}_]*/uy;
    pattern.lastIndex = this.#position;
    const word = pattern.exec(this.#text)?.[0] ?? '';
    this.#position += word.length;
    return word;
  }

  #acceptWord(expected: string): boolean {
    const before = this.#position;
    if (this.#optionalWord().toUpperCase() === expected) return true;
    this.#position = before;
    return false;
  }

  #accept(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#position] !== character) return false;
    this.#position += 1;
    return true;
  }

  #expect(character: string): void {
    if (!this.#accept(character)) this.#fail(`a missing "${character}"`);
  }

  #expectParts(type: string): void {
    if (!this.#accept('<')) this.#failHere('a missing "<"', `INCOMPLETE_TYPE_DEFINITION.${type}`);
  }

  #peek(character: string): boolean {
    this.#skipSpace();
    return this.#text[this.#position] === character;
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.#position] ?? '')) this.#position += 1;
  }

  /** Spark looks at the words only where all of the text has the form of a type. */
  #failHere(what: string, errorClass: string): never {
    const rest = this.#text.slice(this.#position);
    const isForm = /^\s*(\([\d\s,]*\))?\s*([,>].*>)?[\s>]*$/su.test(rest);
    return this.#fail(what, isForm ? errorClass : 'PARSE_SYNTAX_ERROR');
  }

  #fail(what: string, errorClass = 'PARSE_SYNTAX_ERROR'): never {
    throw new TypeTextError(
      `the type "${shorten(this.#text)}" has ${what}`,
      this.#text.trim() === '' ? 'PARSE_EMPTY_STATEMENT' : errorClass,
      `The fault is at character ${this.#position + 1}.`,
    );
  }
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}
