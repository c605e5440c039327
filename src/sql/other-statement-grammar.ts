import type { OptionValue, Statement } from './ast.ts';
import { EOF } from './parser-library.ts';
import { TableGrammar } from './table-grammar.ts';
import { Colon, Dot, Equal, K, Minus, Numeral, Text, Word } from './tokens.ts';

/**
 * Statements that create nothing: SET, APPLY CHANGES, and those of Spark that a pipeline has no use for.
 * Invariant: what Spark would carry out and we do not is refused by its name, not as a syntax error.
 */
export abstract class OtherStatementGrammar extends TableGrammar {
  protected isRefused(): boolean {
    const second = refusedStatements.get(this.LA(1).image.toUpperCase());
    return second?.test(this.LA(2).image) === true;
  }

  /** Statements of Spark that change or show what no pipeline file describes. */
  protected readonly refusedStatement = this.RULE('refusedStatement', (): Statement => {
    const first = this.CONSUME(Word);
    return this.ACTION(() =>
      this.refuse(
        this.placeOf(first),
        `${this.upper(first)} has no place in a pipeline`,
        this.is(0, K.MERGE)
          ? 'Rows are merged by a flow: FLOW REPLACE USING (key) SEQUENCE BY sequence BY NAME SELECT …, or AUTO CDC … KEYS (key) for inserts, updates and deletes.'
          : 'A pipeline file says what there is: what is no longer in it is no longer kept up to date.',
        'NOT_SUPPORTED',
      ),
    );
  });

  protected readonly applyChanges = this.RULE('applyChanges', (): Statement => {
    const first = this.CONSUME(K.APPLY);
    this.CONSUME(K.CHANGES);
    this.CONSUME(K.INTO);
    const target = this.SUBRULE(this.name);
    const cdc = this.SUBRULE(this.autoCdc, { ARGS: [first] });
    return { node: 'apply_changes', target, cdc, place: this.placeFrom(first) };
  });

  /** INSERT without CREATE FLOW. */
  protected readonly insert = this.RULE('insert', (): Statement => {
    const first = this.CONSUME(K.INSERT);
    const word = this.OR([
      { ALT: () => this.CONSUME(K.INTO) },
      { ALT: () => this.CONSUME(K.OVERWRITE) },
    ]);
    this.OPTION({ GATE: () => this.isPlainName(2), DEF: () => this.CONSUME(K.TABLE) });
    this.SUBRULE(this.name);
    this.OPTION2(() => {
      this.CONSUME(K.PARTITION);
      this.SUBRULE(this.balanced);
    });
    this.OPTION3({ GATE: () => !this.startsQuery(1), DEF: () => this.SUBRULE(this.identifiers) });
    this.OR2([
      {
        GATE: () => this.sees(K.REPLACE, K.ON),
        ALT: () => {
          this.CONSUME(K.REPLACE);
          this.CONSUME(K.ON);
          this.SUBRULE(this.expression);
          this.SUBRULE(this.query);
          this.SUBRULE(this.tableAlias);
        },
      },
      { ALT: () => this.SUBRULE(this.insertBody, { ARGS: [false, first] }) },
    ]);
    const clause = this.foreignClause(`INSERT ${this.upper(word)}`, first);
    return { node: 'foreign', clause, place: clause.place };
  });

  protected readonly use = this.RULE('use', (): Statement => {
    const first = this.CONSUME(K.USE);
    this.OPTION({
      GATE: () => this.isWord(2),
      DEF: () =>
        this.OR([
          { ALT: () => this.CONSUME(K.SCHEMA) },
          { ALT: () => this.CONSUME(K.DATABASE) },
          { ALT: () => this.CONSUME(K.NAMESPACE) },
          { ALT: () => this.CONSUME(K.CATALOG) },
        ]),
    });
    this.SUBRULE(this.name);
    const clause = this.foreignClause('USE', first);
    return { node: 'foreign', clause, place: clause.place };
  });

  /** `SET key = value`, `SET TIME ZONE value`; a value that is no literal is kept as it is written. */
  protected readonly set = this.RULE('set', (): Statement => {
    const first = this.CONSUME(K.SET);
    const { key, value } = this.OR([
      {
        GATE: () => this.is(2, K.ZONE),
        ALT: () => {
          this.CONSUME(K.TIME);
          this.CONSUME(K.ZONE);
          return { key: 'timezone', value: this.SUBRULE(this.settingValue) };
        },
      },
      {
        ALT: () => {
          const written = this.SUBRULE(this.settingKey);
          this.CONSUME(Equal);
          return { key: written, value: this.SUBRULE2(this.settingValue) };
        },
      },
    ]);
    return { node: 'set', key, value, place: this.placeFrom(first) };
  });

  protected readonly settingKey = this.RULE('settingKey', (): string => {
    const parts = [this.SUBRULE(this.identifier).text];
    this.MANY(() => {
      const separator = this.OR([
        { ALT: () => this.CONSUME(Dot) },
        { ALT: () => this.CONSUME(Colon) },
        { ALT: () => this.CONSUME(Minus) },
      ]);
      parts.push(separator.image, this.SUBRULE2(this.identifier).text);
    });
    return parts.join('');
  });

  protected readonly settingValue = this.RULE(
    'settingValue',
    (): OptionValue =>
      this.OR<OptionValue>([
        { GATE: () => this.isLoneLiteral(), ALT: () => this.SUBRULE(this.optionValue) },
        {
          GATE: () => !this.is(1, EOF),
          ALT: () => {
            const first = this.LA(1);
            this.ACTION(() => this.skipUntil(new Set()));
            return this.textFrom(first);
          },
        },
      ]),
  );

  /** Whether a literal alone is left; `10s` is none here, though it is a number with a suffix elsewhere. */
  protected isLoneLiteral(): boolean {
    const at = this.is(1, Minus) ? 2 : 1;
    if (!this.is(at + 1, EOF)) return false;
    if (this.is(at, Numeral)) return /^[\d.]+(?:e[+-]?\d+)?$/i.test(this.LA(at).image);
    return at === 1 && this.is(1, Text, K.TRUE, K.FALSE);
  }
}

/** First words of statements, each with what the second word must be. */
const refusedStatements: ReadonlyMap<string, RegExp> = new Map([
  ['ALTER', /^(?:table|view|database|schema|namespace|catalog)$/i],
  ['ANALYZE', /^tables?$/i],
  ['CACHE', /^(?:lazy|table)$/i],
  ['CALL', /./],
  ['CLEAR', /^cache$/i],
  ['COMMENT', /^on$/i],
  ['DECLARE', /./],
  ['DELETE', /^from$/i],
  ['DESC', /./],
  ['DESCRIBE', /./],
  ['DROP', /^(?:table|view|database|schema|namespace|catalog|function|index|temporary)$/i],
  ['EXECUTE', /^immediate$/i],
  ['EXPLAIN', /./],
  ['LOAD', /^data$/i],
  ['MERGE', /^(?:into|with)$/i],
  ['MSCK', /^repair$/i],
  ['REFRESH', /./],
  ['RESET', /(?:)/],
  ['SHOW', /./],
  ['TRUNCATE', /^table$/i],
  ['UNCACHE', /^table$/i],
  ['UPDATE', /./],
]);
