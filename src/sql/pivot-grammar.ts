import type { IToken } from 'chevrotain';
import type { Expression, ForeignClause, Identifier, Name, Pivot, Unpivot } from './ast.ts';
import { OptionGrammar } from './option-grammar.ts';
import { CloseParen, Comma, K, OpenParen } from './tokens.ts';

/** PIVOT and UNPIVOT behind a relation. Invariant: the clause keeps its text, too, so that it prints as it was written. */
export abstract class PivotGrammar extends OptionGrammar {
  protected startsPivot(): boolean {
    if (this.is(1, K.PIVOT)) return this.is(2, OpenParen);
    return this.is(1, K.UNPIVOT) && this.is(2, OpenParen, K.INCLUDE, K.EXCLUDE);
  }

  readonly pivot = this.RULE('pivot', (): ForeignClause => {
    const first = this.LA(1);
    return this.OR<ForeignClause>([
      { ALT: () => this.SUBRULE(this.pivotClause, { ARGS: [first] }) },
      { ALT: () => this.SUBRULE(this.unpivotClause, { ARGS: [first] }) },
    ]);
  });

  readonly pivotClause = this.RULE('pivotClause', (first: IToken): ForeignClause => {
    this.CONSUME(K.PIVOT);
    this.CONSUME(OpenParen);
    const aggregates: { value: Expression; name: Identifier | undefined }[] = [];
    this.AT_LEAST_ONE_SEP({
      SEP: Comma,
      DEF: () => {
        const value = this.SUBRULE(this.expression);
        let name: Identifier | undefined;
        this.OPTION({
          GATE: () => !this.is(1, K.FOR),
          DEF: () => {
            name = this.SUBRULE(this.alias);
          },
        });
        aggregates.push({ value, name });
      },
    });
    this.CONSUME(K.FOR);
    const columns = this.OR([
      { GATE: () => this.is(1, OpenParen), ALT: () => this.SUBRULE(this.identifiers) },
      { ALT: () => [this.SUBRULE(this.identifier)] },
    ]);
    this.CONSUME(K.IN);
    this.CONSUME2(OpenParen);
    const values: Expression[] = [];
    this.AT_LEAST_ONE_SEP2({
      SEP: Comma,
      DEF: () => values.push(this.SUBRULE(this.aliasedExpression)),
    });
    this.CONSUME(CloseParen);
    this.CONSUME2(CloseParen);
    const pivot: Pivot = { kind: 'pivot', aggregates, columns, values };
    return { ...this.foreignClause('PIVOT', first), pivot };
  });

  readonly unpivotClause = this.RULE('unpivotClause', (first: IToken): ForeignClause => {
    let includesNulls = false;
    this.CONSUME(K.UNPIVOT);
    this.OPTION(() => {
      includesNulls = this.OR([
        { ALT: () => this.meaning(this.CONSUME(K.INCLUDE), true) },
        { ALT: () => this.meaning(this.CONSUME(K.EXCLUDE), false) },
      ]);
      this.CONSUME(K.NULLS);
    });
    this.CONSUME(OpenParen);
    const values = this.OR2([
      { GATE: () => this.is(1, OpenParen), ALT: () => this.SUBRULE(this.identifiers) },
      { ALT: () => [this.SUBRULE(this.identifier)] },
    ]);
    this.CONSUME(K.FOR);
    const name = this.SUBRULE2(this.identifier);
    this.CONSUME(K.IN);
    this.CONSUME2(OpenParen);
    const groups: Unpivot['groups'][number][] = [];
    this.AT_LEAST_ONE_SEP({
      SEP: Comma,
      DEF: () => {
        const columns = this.SUBRULE(this.unpivotColumns);
        const alias = this.SUBRULE(this.alias);
        groups.push({ columns, alias });
      },
    });
    this.CONSUME(CloseParen);
    this.CONSUME2(CloseParen);
    const unpivot: Unpivot = { kind: 'unpivot', includesNulls, values, name, groups };
    return { ...this.foreignClause('UNPIVOT', first), pivot: unpivot };
  });

  readonly unpivotColumns = this.RULE('unpivotColumns', (): readonly Name[] => {
    const columns: Name[] = [];
    this.OR([
      {
        GATE: () => this.is(1, OpenParen),
        ALT: () => {
          this.CONSUME(OpenParen);
          this.AT_LEAST_ONE_SEP({
            SEP: Comma,
            DEF: () => columns.push(this.SUBRULE(this.name)),
          });
          this.CONSUME(CloseParen);
        },
      },
      { ALT: () => columns.push(this.SUBRULE2(this.name)) },
    ]);
    return columns;
  });
}
