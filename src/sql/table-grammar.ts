import type { IToken, TokenType } from 'chevrotain';
import type {
  ColumnDefinition,
  Constraint,
  ForeignClause,
  Option,
  TableBody,
  TypeNode,
  ViewColumn,
} from './ast.ts';
import { FlowGrammar } from './flow-grammar.ts';
import { EOF } from './parser-library.ts';
import { CloseParen, Comma, K, OpenParen, Word } from './tokens.ts';

type Body = {
  columns: ColumnDefinition[];
  constraints: Constraint[];
  comment: string | undefined;
  options: (Option & { readonly clause: 'with' | 'options' | 'tblproperties' })[];
  clauses: ForeignClause[];
};

/**
 * What a table, source, view or sink is made of: columns, expectations, options. Invariant: clauses of
 * other systems are kept by name with their text, so that none is ignored unseen.
 */
export abstract class TableGrammar extends FlowGrammar {
  /** `named`: takes the columns, which need no types; otherwise they stand in the body. */
  protected readonly tableBody = this.RULE('tableBody', (named?: ViewColumn[]): TableBody => {
    const body: Body = {
      columns: [],
      constraints: [],
      comment: undefined,
      options: [],
      clauses: [],
    };
    this.OPTION(() => {
      this.CONSUME(OpenParen);
      this.MANY_SEP({
        SEP: Comma,
        DEF: () => this.SUBRULE(this.tableElement, { ARGS: [body, named] }),
      });
      this.CONSUME(CloseParen);
    });
    this.MANY(() => this.SUBRULE(this.tableClause, { ARGS: [body] }));
    return body;
  });

  private readonly tableElement = this.RULE(
    'tableElement',
    (body: Body, named?: ViewColumn[]): void => {
      this.OR([
        {
          GATE: () => this.is(1, K.CONSTRAINT) && this.is(3, K.EXPECT),
          ALT: () => {
            const constraint = this.SUBRULE(this.expectation);
            this.ACTION(() => body.constraints.push(constraint));
          },
        },
        {
          GATE: () => this.startsKeyConstraint(),
          ALT: () => {
            const clause = this.SUBRULE(this.keyConstraint);
            this.ACTION(() => body.clauses.push(clause));
          },
        },
        {
          GATE: () => named !== undefined,
          ALT: () => {
            const column = this.SUBRULE(this.viewColumn);
            this.ACTION(() => named?.push(column));
          },
        },
        {
          ALT: () => {
            const column = this.SUBRULE(this.column);
            this.ACTION(() => body.columns.push(column));
          },
        },
      ]);
    },
  );

  private readonly viewColumn = this.RULE('viewColumn', (): ViewColumn => {
    const first = this.LA(1);
    const name = this.SUBRULE(this.identifier);
    let type: TypeNode | undefined;
    let notNull = false;
    let comment: string | undefined;
    this.OPTION({
      GATE: () => !this.is(1, Comma, CloseParen, K.COMMENT, K.NOT),
      DEF: () => {
        type = this.SUBRULE(this.type);
      },
    });
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
      ]);
    });
    return { name, type, notNull, comment, place: this.placeFrom(first) };
  });

  private readonly expectation = this.RULE('expectation', (): Constraint => {
    const first = this.CONSUME(K.CONSTRAINT);
    const name = this.SUBRULE(this.identifier);
    let action: Constraint['action'] = 'warn';
    this.CONSUME(K.EXPECT);
    this.CONSUME(OpenParen);
    const condition = this.SUBRULE(this.expression);
    this.CONSUME(CloseParen);
    this.OPTION(() => {
      this.CONSUME(K.ON);
      this.CONSUME(K.VIOLATION);
      this.OR([
        {
          ALT: () => {
            this.CONSUME(K.DROP);
            this.CONSUME(K.ROW);
            action = 'drop';
          },
        },
        {
          ALT: () => {
            this.CONSUME(K.FAIL);
            this.CONSUME(K.UPDATE);
            action = 'fail';
          },
        },
      ]);
    });
    return { name, condition, action, place: this.placeFrom(first) };
  });

  private startsKeyConstraint(): boolean {
    const at = this.is(1, K.CONSTRAINT) && this.isWord(2) ? 3 : 1;
    return this.is(at, K.PRIMARY, K.FOREIGN)
      ? this.is(at + 1, K.KEY)
      : this.is(at, K.UNIQUE, K.CHECK) && this.is(at + 1, OpenParen);
  }

  /** PRIMARY KEY and its kin say something about rows that nothing here enforces: kept by name. */
  private readonly keyConstraint = this.RULE('keyConstraint', (): ForeignClause => {
    const first = this.LA(1);
    this.OPTION(() => {
      this.CONSUME(K.CONSTRAINT);
      this.SUBRULE(this.identifier);
    });
    const word = this.CONSUME(Word);
    this.OPTION2(() => this.CONSUME(K.KEY));
    this.SUBRULE(this.balanced);
    this.ACTION(() => this.skipUntil(new Set([Comma, CloseParen])));
    const name = this.upper(word);
    return this.foreignClause(/^(?:PRIMARY|FOREIGN)$/.test(name) ? `${name} KEY` : name, first);
  });

  /** Skips over whole parentheses, up to one of the tokens or the end. */
  protected skipUntil(ends: ReadonlySet<TokenType>): void {
    while (!this.isOneOf(1, ends) && !this.is(1, EOF)) {
      this.skip(Math.max(1, this.behindParens(1) - 1));
    }
  }

  private readonly tableClause = this.RULE('tableClause', (body: Body): void => {
    this.OR([
      {
        ALT: () => {
          const token = this.CONSUME(K.COMMENT);
          const comment = this.SUBRULE(this.text);
          this.ACTION(() => {
            if (body.comment !== undefined)
              this.refuse(this.placeOf(token), 'COMMENT stands twice');
            body.comment = comment;
          });
        },
      },
      {
        GATE: () => this.is(2, OpenParen),
        ALT: () => {
          const options = this.SUBRULE(this.withOptions);
          this.ACTION(() =>
            body.options.push(...options.map((one) => ({ ...one, clause: 'with' as const }))),
          );
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.OPTIONS);
          const options = this.SUBRULE(this.optionList);
          this.ACTION(() =>
            body.options.push(...options.map((one) => ({ ...one, clause: 'options' as const }))),
          );
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.TBLPROPERTIES);
          const options = this.SUBRULE2(this.optionList);
          this.ACTION(() =>
            body.options.push(
              ...options.map((one) => ({ ...one, clause: 'tblproperties' as const })),
            ),
          );
        },
      },
      {
        ALT: () => {
          const clause = this.SUBRULE(this.otherClause);
          this.ACTION(() => body.clauses.push(clause));
        },
      },
    ]);
  });

  /** Clauses of other systems: the common ones are checked, the others end where the next clause begins. */
  private readonly otherClause = this.RULE('otherClause', (): ForeignClause => {
    // WITH ROW FILTER is the clause ROW FILTER; the WITH in front of it says nothing.
    this.OPTION({ GATE: () => this.is(2, K.ROW), DEF: () => this.CONSUME(K.WITH) });
    const first = this.LA(1);
    const name = this.OR([
      {
        ALT: () => {
          this.CONSUME(K.USING);
          this.SUBRULE(this.name);
          return 'USING';
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.PARTITIONED);
          this.OR2([{ ALT: () => this.CONSUME(K.BY) }, { ALT: () => this.CONSUME(K.ON) }]);
          this.SUBRULE(this.balanced);
          return 'PARTITIONED BY';
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.CLUSTER);
          this.CONSUME2(K.BY);
          this.OR3([
            { ALT: () => this.SUBRULE2(this.balanced) },
            { ALT: () => this.CONSUME(Word).image },
          ]);
          return 'CLUSTER BY';
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.LOCATION);
          this.SUBRULE(this.text);
          return 'LOCATION';
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.DEFAULT);
          this.CONSUME(K.COLLATION);
          this.SUBRULE(this.identifier);
          return 'DEFAULT COLLATION';
        },
      },
      { ALT: () => this.looseClause(this.CONSUME(K.SCHEDULE)) },
      { ALT: () => this.looseClause(this.CONSUME(K.TRIGGER)) },
      { ALT: () => this.looseClause(this.CONSUME(K.STORED)) },
      { ALT: () => this.looseClause(this.CONSUME(K.CLUSTERED)) },
      { GATE: () => this.isWord(2), ALT: () => this.looseClause(this.CONSUME(K.ROW)) },
      { GATE: () => this.isWord(2), ALT: () => this.looseClause(this.CONSUME2(K.WITH)) },
      { GATE: () => this.is(2, K.POLICY), ALT: () => this.looseClause(this.CONSUME(K.REFRESH)) },
    ]);
    return this.foreignClause(name, first);
  });

  private looseClause(word: IToken): string {
    return this.ACTION(() => {
      const first = this.upper(word);
      const isOneWord = word.tokenType === K.SCHEDULE || word.tokenType === K.TRIGGER;
      const second = isOneWord ? '' : ` ${this.LA(1).image.toUpperCase()}`;
      // The second word of STORED AS or ROW FORMAT looks as if a clause began there.
      if (!isOneWord) this.skip(1);
      this.skipUntil(clauseStarts);
      return first + second;
    });
  }
}

const clauseStarts: ReadonlySet<TokenType> = new Set([
  ...[K.COMMENT, K.WITH, K.OPTIONS, K.TBLPROPERTIES, K.USING, K.PARTITIONED, K.CLUSTER, K.LOCATION],
  ...[K.DEFAULT, K.SCHEDULE, K.TRIGGER, K.STORED, K.CLUSTERED, K.ROW, K.AS, K.FLOW],
]);
