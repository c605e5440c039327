import type { IToken, TokenType } from 'chevrotain';
import type {
  Expression,
  ForeignClause,
  Identifier,
  LateralView,
  Option,
  QueryBody,
  Relation,
  TableAlias,
  Watermark,
} from './ast.ts';
import { PivotGrammar } from './pivot-grammar.ts';
import { CloseParen, Comma, K, OpenParen, Word } from './tokens.ts';
import { wordUse } from './word-use.ts';

type JoinKind = Extract<Relation, { node: 'join' }>['kind'];
type Values = Extract<QueryBody, { node: 'values' }>;

/** What stands behind FROM. Invariant: an alias stands behind a watermark, as in Spark. */
export abstract class RelationGrammar extends PivotGrammar {
  readonly fromClause = this.RULE('fromClause', (): Relation[] => {
    this.CONSUME(K.FROM);
    const relations: Relation[] = [];
    this.AT_LEAST_ONE_SEP({
      SEP: Comma,
      DEF: () => {
        let lateral = false;
        this.OPTION(() => {
          this.CONSUME(K.LATERAL);
          lateral = true;
        });
        const relation = this.SUBRULE(this.relation, {
          ARGS: [lateral ? relations.splice(0) : []],
        });
        relations.push(relation);
      },
    });
    return relations;
  });

  /** A relation with its joins. `before`: what a LATERAL behind a comma may look at; it becomes a join. */
  readonly relation = this.RULE('relation', (before: readonly Relation[]): Relation => {
    this.ACTION(() => this.descend());
    const first = this.LA(1);
    const primary = this.SUBRULE(this.relationPrimary);
    let relation =
      this.ACTION(() => (before.length === 0 ? primary : lateralOver(before, primary))) ?? primary;
    this.MANY({
      GATE: () => this.startsJoin() || this.startsPivot(),
      DEF: () =>
        this.OR([
          {
            GATE: () => this.startsPivot(),
            ALT: () => {
              const clause = this.SUBRULE(this.pivot);
              const { watermark, alias } = this.SUBRULE(this.relationTail);
              const place = this.placeFrom(first);
              relation = { node: 'foreign', relation, clause, watermark, alias, place };
            },
          },
          {
            ALT: () => {
              const join = this.SUBRULE(this.joinClause);
              this.ACTION(() => {
                relation = { ...join(relation), place: this.placeFrom(first) };
              });
            },
          },
        ]),
    });
    this.ACTION(() => this.ascend());
    return relation;
  });

  // -------------------------------------------------------------- joins

  protected startsJoin(): boolean {
    return this.isOneOf(1, joinWords);
  }

  /** The rest of a join, still without its left side. */
  readonly joinClause = this.RULE('joinClause', (): ((left: Relation) => Relation) => {
    let natural = false;
    let lateral = false;
    let on: Expression | undefined;
    let using: Identifier[] = [];
    this.OPTION(() => {
      this.CONSUME(K.NATURAL);
      natural = true;
    });
    const kind = this.SUBRULE(this.joinKind);
    this.CONSUME(K.JOIN);
    this.OPTION2(() => {
      this.CONSUME(K.LATERAL);
      lateral = true;
    });
    const right = this.SUBRULE(this.relationPrimary);
    this.OPTION3({
      // A natural join has its columns by their names.
      GATE: () => !natural,
      DEF: () =>
        this.OR([
          {
            ALT: () => {
              this.CONSUME(K.ON);
              on = this.SUBRULE(this.expression);
            },
          },
          {
            ALT: () => {
              this.CONSUME(K.USING);
              using = this.SUBRULE(this.someIdentifiers);
            },
          },
        ]),
    });
    return (left) => ({
      ...{ node: 'join', kind, natural, lateral, left, right, on, using, place: left.place },
    });
  });

  readonly joinKind = this.RULE('joinKind', (): JoinKind => {
    let kind: JoinKind = 'inner';
    this.OPTION(() => {
      kind = this.OR<JoinKind>([
        { ALT: () => this.meaning(this.CONSUME(K.INNER), 'inner') },
        { ALT: () => this.meaning(this.CONSUME(K.CROSS), 'cross') },
        { ALT: () => this.meaning(this.CONSUME(K.SEMI), 'left_semi') },
        { ALT: () => this.meaning(this.CONSUME(K.ANTI), 'left_anti') },
        { ALT: () => this.meaning(this.CONSUME(K.LEFT), 'left') },
        { ALT: () => this.meaning(this.CONSUME(K.RIGHT), 'right') },
        { ALT: () => this.meaning(this.CONSUME(K.FULL), 'full') },
      ]);
    });
    this.OPTION2({
      GATE: () => kind === 'left' || kind === 'right' || kind === 'full',
      DEF: () => {
        kind = this.OR2<JoinKind>([
          { ALT: () => this.meaning(this.CONSUME(K.OUTER), kind) },
          {
            GATE: () => kind === 'left',
            ALT: () => this.meaning(this.CONSUME2(K.SEMI), 'left_semi'),
          },
          {
            GATE: () => kind === 'left',
            ALT: () => this.meaning(this.CONSUME2(K.ANTI), 'left_anti'),
          },
        ]);
      },
    });
    return kind;
  });

  // -------------------------------------------------------------- single relations

  readonly relationPrimary = this.RULE(
    'relationPrimary',
    (): Relation =>
      this.OR<Relation>([
        { GATE: () => this.startsStream(), ALT: () => this.SUBRULE(this.streamRelation) },
        { ALT: () => this.SUBRULE(this.parenthesizedRelation) },
        {
          GATE: () => !this.endsTable(2),
          ALT: () => {
            const values = this.SUBRULE(this.inlineValues);
            return { node: 'inline', values, place: values.place };
          },
        },
        {
          GATE: () => !this.isOneOf(1, wordUse.neverAlias) || this.endsName(2),
          ALT: () => this.SUBRULE(this.namedRelation, { ARGS: [false, this.LA(1)] }),
        },
      ]),
  );

  /** STREAM in front of a name or parentheses, as distinct from a table called stream. */
  private startsStream(): boolean {
    if (!this.is(1, K.STREAM)) return false;
    return this.is(2, OpenParen) || this.startsAlias(2);
  }

  /** `STREAM name`, `STREAM(name)`, `STREAM f(…)`, `STREAM(f(…))`, `STREAM (SELECT …)`. */
  readonly streamRelation = this.RULE('streamRelation', (): Relation => {
    const first = this.CONSUME(K.STREAM);
    return this.OR<Relation>([
      {
        GATE: () => this.startsQuery(2),
        ALT: () => this.SUBRULE(this.subqueryRelation, { ARGS: [true, first] }),
      },
      { ALT: () => this.SUBRULE(this.enclosedStream, { ARGS: [first] }) },
      { ALT: () => this.SUBRULE(this.namedRelation, { ARGS: [true, first] }) },
    ]);
  });

  readonly enclosedStream = this.RULE('enclosedStream', (first: IToken): Relation => {
    this.CONSUME(OpenParen);
    const isCall = this.startsCall();
    const call = this.OR([
      { GATE: () => isCall, ALT: () => this.SUBRULE(this.call) },
      { ALT: () => this.SUBRULE(this.name) },
    ]);
    this.CONSUME(CloseParen);
    let options: Option[] = [];
    this.OPTION({
      GATE: () => !isCall && this.is(2, OpenParen),
      DEF: () => {
        options = this.SUBRULE(this.withOptions);
      },
    });
    const tail = this.SUBRULE(this.relationTail);
    const place = this.placeFrom(first);
    return 'node' in call
      ? { node: 'function', call, stream: true, ...tail, place }
      : { node: 'named', name: call, stream: true, options, ...tail, place };
  });

  /** A table or a table function. */
  readonly namedRelation = this.RULE(
    'namedRelation',
    (stream: boolean, first: IToken): Relation =>
      this.OR<Relation>([
        {
          GATE: () => this.startsCall(),
          ALT: () => {
            const call = this.SUBRULE(this.call);
            const tail = this.SUBRULE(this.relationTail);
            return { node: 'function', call, stream, ...tail, place: this.placeFrom(first) };
          },
        },
        {
          ALT: () => {
            const name = this.SUBRULE(this.name);
            const plain = { node: 'named', name, stream } as const;
            let options: Option[] = [];
            let clause: ForeignClause | undefined;
            this.OPTION({
              GATE: () => !stream && this.startsVersion(),
              DEF: () => {
                clause = this.SUBRULE(this.versionClause);
              },
            });
            this.OPTION2({
              GATE: () => this.is(2, OpenParen),
              DEF: () => {
                options = this.SUBRULE(this.withOptions);
              },
            });
            this.OPTION3({
              GATE: () => !stream && this.is(2, OpenParen),
              DEF: () => {
                clause = this.SUBRULE(this.sample);
              },
            });
            const tail = this.SUBRULE2(this.relationTail);
            const place = this.placeFrom(first);
            if (clause === undefined) return { ...plain, options, ...tail, place };
            const relation: Relation = {
              ...{ ...plain, options, watermark: undefined, alias: undefined, place: name.place },
            };
            return { node: 'foreign', relation, clause, ...tail, place };
          },
        },
      ]),
  );

  readonly parenthesizedRelation = this.RULE('parenthesizedRelation', (): Relation => {
    const first = this.LA(1);
    return this.OR<Relation>([
      {
        GATE: () => this.startsQuery(2),
        ALT: () => this.SUBRULE(this.subqueryRelation, { ARGS: [false, first] }),
      },
      {
        ALT: () => {
          this.CONSUME(OpenParen);
          const relation = this.SUBRULE(this.relation, { ARGS: [[]] });
          this.CONSUME(CloseParen);
          const joined = this.foreignClause('joined relations under one alias', first);
          const { watermark, alias } = this.SUBRULE(this.relationTail);
          if (watermark === undefined && alias === undefined) return relation;
          const clause = { ...joined, text: '' };
          return {
            node: 'foreign',
            relation,
            clause,
            watermark,
            alias,
            place: this.placeFrom(first),
          };
        },
      },
    ]);
  });

  readonly subqueryRelation = this.RULE(
    'subqueryRelation',
    (stream: boolean, first: IToken): Relation => {
      let clause: ForeignClause | undefined;
      this.CONSUME(OpenParen);
      const query = this.SUBRULE(this.query);
      this.CONSUME(CloseParen);
      const ownPlace = this.placeFrom(first);
      this.OPTION({
        GATE: () => this.is(2, OpenParen),
        DEF: () => {
          clause = this.SUBRULE(this.sample);
        },
      });
      const tail = this.SUBRULE(this.relationTail);
      const place = this.placeFrom(first);
      if (clause === undefined) return { node: 'subquery', query, stream, ...tail, place };
      const relation: Relation = {
        ...{
          node: 'subquery',
          query,
          stream,
          watermark: undefined,
          alias: undefined,
          place: ownPlace,
        },
      };
      return { node: 'foreign', relation, clause, ...tail, place };
    },
  );

  /** `[WATERMARK …] [[AS] alias [(columns)]]`. */
  readonly relationTail = this.RULE(
    'relationTail',
    (): { watermark: Watermark | undefined; alias: TableAlias | undefined } => {
      let watermark: Watermark | undefined;
      this.OPTION({
        GATE: () => this.startsWatermark(),
        DEF: () => {
          watermark = this.SUBRULE(this.watermark);
        },
      });
      const alias = this.SUBRULE(this.tableAlias);
      this.ACTION(() => this.checkLateWatermark());
      return { watermark, alias };
    },
  );

  private checkLateWatermark(): void {
    if (!this.is(1, K.WATERMARK)) return;
    this.refuse(
      this.placeOf(this.LA(1)),
      'WATERMARK stands behind the alias',
      'The alias comes last: STREAM(name) WATERMARK column DELAY OF INTERVAL 1 MINUTE AS alias.',
    );
  }

  readonly watermark = this.RULE('watermark', (): Watermark => {
    const first = this.CONSUME(K.WATERMARK);
    const column = this.SUBRULE(this.aliasedExpression);
    this.CONSUME(K.DELAY);
    this.CONSUME(K.OF);
    const delay = this.SUBRULE(this.interval);
    return { column, delay, place: this.placeFrom(first) };
  });

  readonly tableAlias = this.RULE('tableAlias', (): TableAlias | undefined => {
    const name = this.SUBRULE(this.alias);
    this.ACTION(() => this.checkTableAlias(name));
    let columns: Identifier[] = [];
    this.OPTION({
      GATE: () => name !== undefined,
      DEF: () => {
        columns = this.SUBRULE(this.someIdentifiers);
      },
    });
    return name === undefined ? undefined : { name, columns };
  });

  private checkTableAlias(name: Identifier | undefined): void {
    if (name === undefined || !this.isOneOf(0, wordUse.neverTable)) return;
    this.refuse(
      name.place,
      `found '${name.text}', which is no alias of a table`,
      `Choose another name, or quote it: \`${name.text}\`.`,
    );
  }

  readonly inlineValues = this.RULE('inlineValues', (): Values => {
    const first = this.CONSUME(K.VALUES);
    const rows: (readonly Expression[])[] = [];
    this.AT_LEAST_ONE_SEP({
      SEP: Comma,
      DEF: () => rows.push(rowOf(this.SUBRULE(this.expression))),
    });
    const alias = this.SUBRULE(this.tableAlias);
    return { node: 'values', rows, alias, place: this.placeFrom(first) };
  });

  /** `LATERAL VIEW [OUTER] f(…) [table] [[AS] column, …]`. */
  readonly lateralView = this.RULE('lateralView', (): LateralView => {
    const first = this.CONSUME(K.LATERAL);
    let outer = false;
    let table: Identifier | undefined;
    const columns: Identifier[] = [];
    this.CONSUME(K.VIEW);
    this.OPTION({
      GATE: () => !this.is(2, OpenParen),
      DEF: () => {
        this.CONSUME(K.OUTER);
        outer = true;
      },
    });
    const call = this.SUBRULE(this.call);
    this.OPTION2({
      // Neither a clause of a flow nor the version of a table stands here, so that none begins with APPLY AS or VERSION AS.
      GATE: () => this.startsAlias() || this.isOneOf(1, wordsBeforeAs),
      DEF: () => {
        table = this.SUBRULE(this.identifier);
      },
    });
    this.OPTION3({
      GATE: () => this.is(1, K.AS) || this.startsAlias(),
      DEF: () => {
        this.OPTION4(() => this.CONSUME(K.AS));
        this.AT_LEAST_ONE_SEP({
          SEP: Comma,
          DEF: () => columns.push(this.SUBRULE2(this.identifier)),
        });
      },
    });
    this.ACTION(() => {
      if (table !== undefined || columns.length > 0) return;
      const hint = 'Name them behind it: LATERAL VIEW explode(items) AS item.';
      this.refuse(this.placeFrom(first), 'the columns of LATERAL VIEW have no name', hint);
    });
    return { outer, call, table, columns, place: this.placeFrom(first) };
  });

  // -------------------------------------------------------------- clauses that are only kept by name

  readonly sample = this.RULE('sample', (): ForeignClause => {
    const first = this.CONSUME(K.TABLESAMPLE);
    this.SUBRULE(this.balanced);
    this.OPTION({
      GATE: () => this.is(2, OpenParen),
      DEF: () => {
        this.CONSUME(K.REPEATABLE);
        this.SUBRULE2(this.balanced);
      },
    });
    return this.foreignClause('TABLESAMPLE', first);
  });

  private startsVersion(): boolean {
    const at = this.is(1, K.FOR) ? 2 : 1;
    return this.isOneOf(at, versionWords) && this.is(at + 1, K.AS) && this.is(at + 2, K.OF);
  }

  readonly versionClause = this.RULE('versionClause', (): ForeignClause => {
    const first = this.LA(1);
    this.OPTION(() => this.CONSUME(K.FOR));
    const word = this.CONSUME(Word);
    this.CONSUME(K.AS);
    this.CONSUME(K.OF);
    this.SUBRULE(this.expression, { ARGS: [5] });
    return this.foreignClause(`${this.upper(word)} AS OF`, first);
  });
}

/** A row in parentheses has several columns; so has a struct, as in Spark. */
function rowOf(row: Expression): readonly Expression[] {
  if (row.node === 'tuple') return row.items;
  const isStruct =
    row.node === 'call' &&
    row.named.length === 0 &&
    row.name.parts.length === 1 &&
    row.name.parts[0]?.text.toLowerCase() === 'struct' &&
    !row.name.parts[0].quoted;
  return isStruct && row.arguments.length > 0 ? row.arguments : [row];
}

/** `a, b, LATERAL f(a.x)` is `a CROSS JOIN b CROSS JOIN LATERAL f(a.x)`: the function sees them all. */
function lateralOver(before: readonly Relation[], right: Relation): Relation {
  const cross = { node: 'join', kind: 'cross', natural: false, on: undefined, using: [] } as const;
  const join = (left: Relation, next: Relation, lateral: boolean): Relation => {
    const place = { ...left.place, end: next.place.end };
    return { ...cross, lateral, left, right: next, place };
  };
  const left = before.reduce((all, next) => join(all, next, false));
  return join(left, right, true);
}

const joinWords: ReadonlySet<TokenType> = new Set([
  ...[K.JOIN, K.INNER, K.CROSS, K.LEFT, K.RIGHT, K.FULL, K.SEMI, K.ANTI, K.NATURAL],
]);
const wordsBeforeAs: ReadonlySet<TokenType> = new Set([
  ...[K.APPLY, K.STORED, K.VERSION, K.TIMESTAMP, K.SYSTEM_VERSION, K.SYSTEM_TIME],
]);
const versionWords: ReadonlySet<TokenType> = new Set([
  ...[K.VERSION, K.TIMESTAMP, K.SYSTEM_VERSION, K.SYSTEM_TIME],
]);
