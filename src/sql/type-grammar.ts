import type { IToken, ParserMethod } from 'chevrotain';
import type { ColumnDefinition, Expression, TypeNode } from './ast.ts';
import { LookaheadGrammar } from './lookahead-grammar.ts';
import {
  CloseParen,
  Colon,
  Comma,
  Greater,
  K,
  Less,
  NotEqual,
  Numeral,
  OpenParen,
  PlainWord,
  Word,
} from './tokens.ts';

/** Data types and column lists. Invariant: names of types are in lower case, names of columns as written. */
export abstract class TypeGrammar extends LookaheadGrammar {
  abstract readonly expression: ParserMethod<[number?], Expression>;

  readonly type = this.RULE('type', (): TypeNode => {
    this.ACTION(() => this.descend());
    const first = this.LA(1);
    const type = this.OR<TypeNode>([
      { GATE: () => this.is(2, Less), ALT: () => this.SUBRULE(this.arrayType) },
      { GATE: () => this.is(2, Less), ALT: () => this.SUBRULE(this.mapType) },
      { GATE: () => this.is(2, Less, NotEqual), ALT: () => this.SUBRULE(this.structType) },
      { ALT: () => this.SUBRULE(this.intervalType) },
      { GATE: () => !this.is(1, K.INTERVAL), ALT: () => this.SUBRULE(this.simpleType) },
    ]);
    this.ACTION(() => this.ascend());
    return { ...type, place: this.placeFrom(first) };
  });

  readonly arrayType = this.RULE('arrayType', (): TypeNode => {
    const place = this.placeOf(this.CONSUME(K.ARRAY));
    this.CONSUME(Less);
    const element = this.SUBRULE(this.type);
    this.CONSUME(Greater);
    return { node: 'array', element, place };
  });

  readonly mapType = this.RULE('mapType', (): TypeNode => {
    const place = this.placeOf(this.CONSUME(K.MAP));
    this.CONSUME(Less);
    const key = this.SUBRULE(this.type);
    this.CONSUME(Comma);
    const value = this.SUBRULE2(this.type);
    this.CONSUME(Greater);
    return { node: 'map', key, value, place };
  });

  readonly structType = this.RULE('structType', (): TypeNode => {
    const place = this.placeOf(this.CONSUME(K.STRUCT));
    const fields: ColumnDefinition[] = [];
    this.OR([
      { ALT: () => this.CONSUME(NotEqual) },
      {
        ALT: () => {
          this.CONSUME(Less);
          this.MANY_SEP({ SEP: Comma, DEF: () => fields.push(this.SUBRULE(this.field)) });
          this.CONSUME(Greater);
        },
      },
    ]);
    return { node: 'struct', fields, place };
  });

  readonly intervalType = this.RULE('intervalType', (): TypeNode => {
    const place = this.placeOf(this.CONSUME(K.INTERVAL));
    let from: string | undefined;
    let to: string | undefined;
    this.OPTION({
      GATE: () => this.is(1, ...intervalFields),
      DEF: () => {
        from = this.CONSUME(Word).image.toLowerCase();
        this.OPTION2({
          GATE: () => this.is(2, ...(from === 'year' || from === 'month' ? [K.MONTH] : timeFields)),
          DEF: () => {
            this.CONSUME(K.TO);
            to = this.CONSUME2(Word).image.toLowerCase();
          },
        });
      },
    });
    return { node: 'interval_type', from, to, place };
  });

  readonly simpleType = this.RULE('simpleType', (): TypeNode => {
    const first = this.CONSUME(Word);
    let name = first.image.toLowerCase();
    const parameters: number[] = [];
    this.OPTION({
      GATE: () => this.is(2, Numeral),
      DEF: () => {
        this.CONSUME(OpenParen);
        this.AT_LEAST_ONE_SEP({
          SEP: Comma,
          DEF: () => parameters.push(this.wholeNumber(this.CONSUME(Numeral))),
        });
        this.CONSUME(CloseParen);
      },
    });
    this.OPTION2({
      GATE: () => (name === 'timestamp' || name === 'time') && this.is(1, K.WITHOUT),
      DEF: () => {
        this.CONSUME(K.WITHOUT);
        this.CONSUME(K.TIME);
        this.CONSUME(K.ZONE);
        if (name === 'timestamp') name = 'timestamp_ntz';
      },
    });
    this.OPTION4({
      GATE: () => name === 'timestamp' && this.is(3, K.TIME),
      DEF: () => {
        this.CONSUME(K.WITH);
        this.CONSUME(PlainWord);
        this.CONSUME2(K.TIME);
        this.CONSUME2(K.ZONE);
      },
    });
    this.OPTION3({
      GATE: () => name === 'string',
      DEF: () => {
        this.CONSUME(K.COLLATE);
        this.collation(this.CONSUME2(Word));
      },
    });
    this.ACTION(() => this.refuseBareComplex(first, name));
    return { node: 'simple', name, parameters, place: this.placeFrom(first) };
  });

  /** `name type` or `name: type`, then NOT NULL and COMMENT in this order. */
  readonly field = this.RULE('field', (): ColumnDefinition => {
    const first = this.LA(1);
    const name = this.SUBRULE(this.identifier);
    this.OPTION(() => this.CONSUME(Colon));
    const type = this.SUBRULE(this.type);
    let notNull = false;
    let comment: string | undefined;
    this.OPTION2(() => {
      this.CONSUME(K.NOT);
      this.CONSUME(K.NULL);
      notNull = true;
    });
    this.OPTION3(() => {
      this.CONSUME(K.COMMENT);
      comment = this.SUBRULE(this.text);
    });
    const place = this.placeFrom(first);
    return { name, type, notNull, comment, defaultValue: undefined, place };
  });

  /** `name type` or `name: type`, with NOT NULL, COMMENT and DEFAULT in any order. */
  readonly column = this.RULE('column', (): ColumnDefinition => {
    const first = this.LA(1);
    const name = this.SUBRULE(this.identifier);
    this.OPTION(() => this.CONSUME(Colon));
    const type = this.SUBRULE(this.type);
    let notNull = false;
    let comment: string | undefined;
    let defaultValue: Expression | undefined;
    this.MANY(() => {
      this.OR([
        {
          ALT: () => {
            this.CONSUME(K.NOT);
            this.CONSUME(K.NULL);
            notNull = true;
          },
        },
        {
          ALT: () => {
            this.CONSUME(K.COMMENT);
            comment = this.SUBRULE(this.text);
          },
        },
        {
          GATE: () => !this.is(2, K.COLLATION),
          ALT: () => {
            this.CONSUME(K.DEFAULT);
            defaultValue = this.SUBRULE(this.expression);
          },
        },
      ]);
    });
    return { name, type, notNull, comment, defaultValue, place: this.placeFrom(first) };
  });

  readonly columns = this.RULE('columns', (): ColumnDefinition[] => {
    const columns: ColumnDefinition[] = [];
    this.MANY_SEP({ SEP: Comma, DEF: () => columns.push(this.SUBRULE(this.column)) });
    return columns;
  });

  /** Whether it is in range is a matter of the type. */
  protected wholeNumber(token: IToken): number {
    const isWhole = /^\d+$/.test(token.image);
    return this.ACTION(() =>
      isWhole ? Number(token.image) : this.refuse(this.placeOf(token), 'expected a whole number'),
    );
  }

  private collation(token: IToken): void {
    this.ACTION(() => {
      if (token.image.toUpperCase() === 'UTF8_BINARY') return;
      this.refuse(
        this.placeOf(token),
        `collation ${token.image} is not supported`,
        'Strings compare by their UTF-8 bytes (UTF8_BINARY).',
        'NOT_SUPPORTED',
      );
    });
  }

  private refuseBareComplex(first: IToken, name: string): void {
    const missing = { array: 'ARRAY<INT>', map: 'MAP<STRING, INT>', struct: 'STRUCT<a: INT>' }[
      name
    ];
    if (missing === undefined) return;
    const hint = `Write what is in it, such as ${missing}.`;
    this.refuse(this.placeOf(first), `the type ${first.image} is incomplete`, hint);
  }
}

const timeFields = [K.HOUR, K.MINUTE, K.SECOND];
const intervalFields = [K.YEAR, K.MONTH, K.DAY, K.HOUR, K.MINUTE, K.SECOND];
