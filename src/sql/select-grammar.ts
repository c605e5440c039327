import type { IToken, TokenType } from 'chevrotain';
import type { Place } from '../base/place.ts';
import type {
  Expression,
  GroupBy,
  Identifier,
  LateralView,
  Relation,
  SelectItem,
  SelectQuery,
  WindowSpec,
} from './ast.ts';
import { EOF } from './parser-library.ts';
import { RelationGrammar } from './relation-grammar.ts';
import { CloseParen, Comma, K, OpenParen, PipeArrow, Star } from './tokens.ts';
import { wordUse } from './word-use.ts';

type Aliases = Pick<SelectItem, 'aliases' | 'bareAliasPlace'>;

/** One SELECT: what it selects, from what, and how rows are grouped and filtered; not its order. */
export abstract class SelectGrammar extends RelationGrammar {
  readonly select = this.RULE('select', (): SelectQuery => {
    const first = this.LA(1);
    const { distinct, items } = this.SUBRULE(this.selectClause);
    let from: Relation[] = [];
    this.OPTION(() => {
      from = this.SUBRULE(this.fromClause);
    });
    return this.SUBRULE(this.selectTail, { ARGS: [first, distinct, items, from] });
  });

  /** `FROM t SELECT a`, or `FROM t` alone, which is all of t. */
  readonly fromSelect = this.RULE('fromSelect', (): SelectQuery => {
    const first = this.LA(1);
    const from = this.SUBRULE(this.fromClause);
    let distinct = false;
    let items: SelectItem[] = [];
    this.OR([
      {
        ALT: () => {
          const clause = this.SUBRULE(this.selectClause);
          distinct = clause.distinct;
          items = clause.items;
        },
      },
      {
        GATE: () => this.isOneOf(1, behindFrom),
        ALT: () => {
          const value = { node: 'star', qualifier: undefined, except: [] } as const;
          const place = this.placeFrom(first);
          items = [{ value: { ...value, place }, aliases: [], place }];
        },
      },
    ]);
    return this.SUBRULE(this.selectTail, { ARGS: [first, distinct, items, from] });
  });

  readonly selectClause = this.RULE('selectClause', () => {
    const first = this.CONSUME(K.SELECT);
    const items: SelectItem[] = [];
    let distinct = false;
    this.OPTION({
      GATE: () => !this.endsName(2),
      DEF: () => {
        distinct = this.SUBRULE(this.setQuantifier);
      },
    });
    this.ACTION(() => this.checkSelectWord(first));
    this.AT_LEAST_ONE_SEP({ SEP: Comma, DEF: () => items.push(this.SUBRULE(this.selectItem)) });
    return { distinct, items };
  });

  /** `SELECT STREAM *` of other systems would be read as a multiplication, as Spark does. */
  private checkSelectWord(select: IToken): void {
    if (!this.sees(K.STREAM, Star, K.FROM)) return;
    this.refuse(
      this.span(select, this.LA(1)),
      'STREAM stands behind SELECT',
      'Say where rows are read that they are a stream: SELECT * FROM STREAM(name).',
      'STREAM_MISPLACED',
    );
  }

  readonly selectItem = this.RULE('selectItem', (): SelectItem => {
    this.ACTION(() => this.checkTrailingComma());
    const first = this.LA(1);
    return this.OR<SelectItem>([
      {
        GATE: () => this.startsStar(),
        ALT: () => {
          const value = this.SUBRULE(this.star);
          return { value, aliases: [], place: value.place };
        },
      },
      {
        ALT: () => {
          const value = this.SUBRULE(this.expression);
          const aliases = this.SUBRULE(this.itemAliases);
          return { value, ...aliases, place: this.placeFrom(first) };
        },
      },
    ]);
  });

  private checkTrailingComma(): void {
    if (!this.is(0, Comma) || !this.is(1, K.FROM) || this.startsName()) return;
    this.refuse(
      this.placeOf(this.LA(0)),
      'the select list ends with a comma',
      'Remove the comma before FROM.',
      'TRAILING_COMMA_IN_SELECT',
    );
  }

  private startsAliasList(): boolean {
    return this.is(1, OpenParen) && this.isWord(2) && this.is(3, Comma, CloseParen);
  }

  /** `AS a`, `a`, `AS (a, b)`, `(a, b)`. */
  readonly itemAliases = this.RULE('itemAliases', (): Aliases => {
    const first = this.LA(1);
    let isBare = true;
    let aliases: Identifier[] = [];
    this.OPTION({
      GATE: () => this.is(1, K.AS) || this.startsAlias() || this.startsAliasList(),
      DEF: () => {
        this.OPTION2(() => {
          this.CONSUME(K.AS);
          isBare = false;
        });
        aliases = this.OR([
          { ALT: () => this.SUBRULE(this.someIdentifiers) },
          { ALT: () => [this.SUBRULE(this.identifier)] },
        ]);
      },
    });
    const bare = isBare && aliases.length > 0;
    return { aliases, ...(bare && { bareAliasPlace: this.placeFrom(first) }) };
  });

  readonly selectTail = this.RULE(
    'selectTail',
    (first: IToken, distinct: boolean, items: SelectItem[], from: Relation[]): SelectQuery => {
      const lateralViews: LateralView[] = [];
      let windows: SelectQuery['windows'] = [];
      let where: Expression | undefined;
      let groupBy: GroupBy | undefined;
      let having: Expression | undefined;
      let qualify: Expression | undefined;
      this.MANY(() => lateralViews.push(this.SUBRULE(this.lateralView)));
      this.OPTION(() => {
        this.CONSUME(K.WHERE);
        where = this.SUBRULE(this.expression);
      });
      this.OPTION2(() => {
        groupBy = this.SUBRULE(this.groupBy);
      });
      this.OPTION3(() => {
        this.CONSUME(K.HAVING);
        having = this.SUBRULE2(this.expression);
      });
      this.OPTION4(() => {
        this.CONSUME(K.QUALIFY);
        qualify = this.SUBRULE3(this.expression);
      });
      this.OPTION5(() => {
        windows = this.SUBRULE(this.namedWindows);
      });
      return {
        ...{ node: 'select', distinct, items, from, lateralViews, where, groupBy },
        ...{ having, qualify, windows, place: this.placeFrom(first) },
      };
    },
  );

  readonly namedWindows = this.RULE('namedWindows', (): SelectQuery['windows'] => {
    const windows: { name: Identifier; spec: WindowSpec }[] = [];
    this.CONSUME(K.WINDOW);
    this.AT_LEAST_ONE_SEP({ SEP: Comma, DEF: () => windows.push(this.SUBRULE(this.namedWindow)) });
    return windows;
  });

  readonly namedWindow = this.RULE('namedWindow', () => {
    const name = this.SUBRULE(this.identifier);
    this.CONSUME(K.AS);
    return { name, spec: this.SUBRULE(this.windowSpec) };
  });

  // -------------------------------------------------------------- GROUP BY

  /** ROLLUP, CUBE and GROUPING SETS become calls of `rollup`, `cube` and `grouping sets`. */
  readonly groupBy = this.RULE('groupBy', (): GroupBy => {
    const first = this.CONSUME(K.GROUP);
    this.CONSUME(K.BY);
    return this.OR<GroupBy>([
      {
        GATE: () => this.isOneOf(2, behindGroupByAll),
        ALT: () => {
          this.CONSUME(K.ALL);
          return { all: true, items: [], place: this.placeFrom(first) };
        },
      },
      {
        ALT: () => {
          let items: Expression[] = [];
          this.AT_LEAST_ONE_SEP({
            SEP: Comma,
            DEF: () => items.push(this.SUBRULE(this.groupItem)),
          });
          this.OPTION({
            GATE: () => this.is(2, K.ROLLUP, K.CUBE),
            DEF: () => {
              this.CONSUME(K.WITH);
              const word = this.SUBRULE(this.identifier);
              const place = this.placeFrom(first);
              items = [analytics(word, items, place)];
            },
          });
          let keys: Expression[] | undefined;
          this.OPTION2({
            GATE: () => this.is(1, K.GROUPING) && this.is(2, K.SETS),
            DEF: () => {
              keys = items;
              items = [this.SUBRULE2(this.groupItem)];
            },
          });
          return { all: false, ...(keys && { keys }), items, place: this.placeFrom(first) };
        },
      },
    ]);
  });

  readonly groupItem = this.RULE(
    'groupItem',
    (): Expression =>
      this.OR<Expression>([
        {
          GATE: () => this.is(1, K.ROLLUP, K.CUBE) && this.is(2, OpenParen),
          ALT: () => {
            const first = this.LA(1);
            const word = this.SUBRULE(this.identifier);
            const sets = this.SUBRULE(this.groupingSets);
            return analytics(word, sets, this.placeFrom(first));
          },
        },
        {
          GATE: () => this.is(2, K.SETS),
          ALT: () => {
            const first = this.CONSUME(K.GROUPING);
            this.CONSUME(K.SETS);
            const place = this.placeFrom(first);
            const word = { text: 'grouping sets', quoted: false, place };
            const sets = this.SUBRULE2(this.groupingSets);
            return analytics(word, sets, this.placeFrom(first));
          },
        },
        { ALT: () => this.SUBRULE(this.expression) },
      ]),
  );

  readonly groupingSets = this.RULE('groupingSets', (): Expression[] => {
    const sets: Expression[] = [];
    this.CONSUME(OpenParen);
    this.AT_LEAST_ONE_SEP({ SEP: Comma, DEF: () => sets.push(this.SUBRULE(this.groupingSet)) });
    this.CONSUME(CloseParen);
    return sets;
  });

  /** `(a, b)`, `(a)`, `()`, or what stands in GROUP BY. */
  readonly groupingSet = this.RULE('groupingSet', (): Expression => {
    const first = this.LA(1);
    return this.OR<Expression>([
      {
        GATE: () => this.is(this.behindParens(1), Comma, CloseParen),
        ALT: () => {
          const items: Expression[] = [];
          this.CONSUME(OpenParen);
          this.MANY_SEP({ SEP: Comma, DEF: () => items.push(this.SUBRULE(this.expression)) });
          this.CONSUME(CloseParen);
          return { node: 'tuple', items, place: this.placeFrom(first) };
        },
      },
      { ALT: () => this.SUBRULE(this.groupItem) },
    ]);
  });
}

function analytics(word: Identifier, sets: readonly Expression[], place: Place): Expression {
  return {
    ...{ node: 'call', name: { parts: [word], place: word.place }, distinct: false },
    ...{
      arguments: sets,
      named: [],
      filter: undefined,
      ignoreNulls: false,
      window: undefined,
      place,
    },
  };
}

/** What may follow a query that is nothing but FROM. */
const behindFrom: ReadonlySet<TokenType> = new Set([
  ...[EOF, CloseParen, PipeArrow],
  ...wordUse.continuesQuery,
]);
const behindGroupByAll: ReadonlySet<TokenType> = new Set([
  ...[K.HAVING, K.QUALIFY, K.WINDOW, K.ORDER, K.LIMIT, K.OFFSET, K.CLUSTER, K.DISTRIBUTE, K.SORT],
  ...[K.UNION, K.EXCEPT, K.MINUS, K.INTERSECT, EOF, CloseParen, PipeArrow],
]);
