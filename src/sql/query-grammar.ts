import type { IToken, TokenType } from 'chevrotain';
import type { Place } from '../base/place.ts';
import type {
  CommonTable,
  Expression,
  ForeignClause,
  GroupBy,
  Identifier,
  Name,
  OrderItem,
  Query,
  QueryBody,
  SelectItem,
  SelectQuery,
} from './ast.ts';
import { applyPipe, type ColumnChange, type PipeStep } from './pipe-steps.ts';
import { SelectGrammar } from './select-grammar.ts';
import { CloseParen, Comma, Equal, K, OpenParen, PipeArrow, Word } from './tokens.ts';

type SetOperator = 'union' | 'intersect' | 'except';

/**
 * Queries. Invariant: what Spark reads as a query and the tree cannot hold is refused by name, never
 * dropped; hints are the one exception, since they change no result.
 */
export abstract class QueryGrammar extends SelectGrammar {
  override readonly query = this.RULE('query', (): Query => {
    this.ACTION(() => this.descend());
    const first = this.LA(1);
    const ctes: CommonTable[] = [];
    let recursive: Place | undefined;
    this.OPTION(() => {
      this.CONSUME(K.WITH);
      this.OPTION2({
        GATE: () => this.isWord(2),
        DEF: () => {
          recursive = this.placeOf(this.CONSUME(K.RECURSIVE));
        },
      });
      this.AT_LEAST_ONE_SEP({
        SEP: Comma,
        DEF: () => ctes.push(this.SUBRULE(this.commonTable)),
      });
    });
    const body = this.SUBRULE(this.setOperation, { ARGS: [0] });
    const organized = this.SUBRULE(this.organization, { ARGS: [body, first] });
    let query: Query = { ...organized, ctes, ...(recursive !== undefined && { recursive }) };
    this.MANY(() => {
      this.CONSUME(PipeArrow);
      const step = this.SUBRULE(this.pipeStep);
      this.ACTION(() => {
        const { ctes: named, ...piped } = query;
        // What a step reads knows the names of WITH too.
        const next = applyPipe({ ...piped, ctes: [] }, step, this.placeFrom(first));
        query = { ...next, ctes: named, ...(recursive !== undefined && { recursive }) };
      });
    });
    this.ACTION(() => this.ascend());
    return { ...query, place: this.placeFrom(first) };
  });

  protected refuseByName(token: IToken, what: string, hint?: string): never {
    return this.refuse(this.placeOf(token), `${what} is not supported`, hint, 'NOT_SUPPORTED');
  }

  readonly commonTable = this.RULE('commonTable', (): CommonTable => {
    const name = this.SUBRULE(this.identifier);
    let columns: Identifier[] = [];
    let levels: Expression | undefined;
    this.OPTION({
      GATE: () => !this.startsQuery(2),
      DEF: () => {
        columns = this.SUBRULE(this.someIdentifiers);
      },
    });
    this.OPTION3({
      GATE: () => this.startsLevels(),
      DEF: () => {
        this.CONSUME(Word);
        this.CONSUME2(Word);
        this.CONSUME3(Word);
        levels = this.SUBRULE(this.numeral);
      },
    });
    this.OPTION2(() => this.CONSUME(K.AS));
    this.CONSUME(OpenParen);
    const query = this.SUBRULE(this.query);
    this.CONSUME(CloseParen);
    return { name, columns, query, ...(levels !== undefined && { levels }) };
  });

  private startsLevels(): boolean {
    return ['MAX', 'RECURSION', 'LEVEL'].every((word, i) => this.upper(this.LA(i + 1)) === word);
  }

  /** INTERSECT binds tighter than UNION and EXCEPT. */
  readonly setOperation = this.RULE('setOperation', (least: number): QueryBody => {
    const first = this.LA(1);
    let left = this.SUBRULE(this.queryPrimary);
    this.MANY({
      GATE: () => (setBinding.get(this.LA(1).tokenType) ?? -1) >= least,
      DEF: () => {
        const { operator, all, binding } = this.SUBRULE(this.setOperator);
        const right = this.SUBRULE(this.setOperation, { ARGS: [binding + 1] });
        const place = this.placeFrom(first);
        left = { node: 'set', operator, all, byName: false, left, right, place };
      },
    });
    return left;
  });

  readonly setOperator = this.RULE('setOperator', () => {
    const word = this.OR([
      { ALT: () => this.CONSUME(K.UNION) },
      { ALT: () => this.CONSUME(K.INTERSECT) },
      { ALT: () => this.CONSUME(K.EXCEPT) },
      { ALT: () => this.CONSUME(K.MINUS) },
    ]);
    let all = false;
    this.OPTION(() => {
      all = this.OR2([
        { ALT: () => this.meaning(this.CONSUME(K.ALL), true) },
        { ALT: () => this.meaning(this.CONSUME(K.DISTINCT), false) },
      ]);
    });
    const operator: SetOperator =
      word.tokenType === K.UNION
        ? 'union'
        : word.tokenType === K.INTERSECT
          ? 'intersect'
          : 'except';
    return { operator, all, binding: setBinding.get(word.tokenType) ?? 0 };
  });

  readonly queryPrimary = this.RULE(
    'queryPrimary',
    (): QueryBody =>
      this.OR<QueryBody>([
        { ALT: () => this.SUBRULE(this.select) },
        { ALT: () => this.SUBRULE(this.fromSelect) },
        { ALT: () => this.SUBRULE(this.inlineValues) },
        {
          ALT: () => {
            const first = this.CONSUME(K.TABLE);
            const name = this.SUBRULE(this.name);
            return { node: 'table', name, place: this.placeFrom(first) };
          },
        },
        {
          ALT: () => {
            const first = this.CONSUME(OpenParen);
            const query = this.SUBRULE(this.query);
            this.CONSUME(CloseParen);
            return { node: 'parenthesized', query, place: this.placeFrom(first) };
          },
        },
      ]),
  );

  // -------------------------------------------------------------- ORDER BY and what follows

  readonly organization = this.RULE('organization', (body: QueryBody, first: IToken): Query => {
    let orderBy: OrderItem[] = [];
    let orderPlace: Query['orderPlace'];
    let otherOrder: ForeignClause | undefined;
    let limit: Expression | undefined;
    let offset: Expression | undefined;
    this.OPTION(() => {
      const order = this.CONSUME(K.ORDER);
      this.CONSUME(K.BY);
      orderBy = this.SUBRULE(this.orderItems);
      orderPlace = this.placeFrom(order);
    });
    this.OPTION2({
      GATE: () => this.is(2, K.BY),
      DEF: () => {
        otherOrder = this.SUBRULE(this.otherOrder);
      },
    });
    this.OPTION3(() => {
      this.CONSUME(K.LIMIT);
      this.OR([
        { GATE: () => !this.is(2, OpenParen), ALT: () => this.CONSUME(K.ALL) },
        {
          ALT: () => {
            limit = this.SUBRULE(this.expression);
          },
        },
      ]);
    });
    this.OPTION4(() => {
      this.CONSUME(K.OFFSET);
      offset = this.SUBRULE2(this.expression);
    });
    const place = this.placeFrom(first);
    return { ctes: [], body, orderBy, otherOrder, orderPlace, limit, offset, place };
  });

  readonly otherOrder = this.RULE('otherOrder', (): ForeignClause => {
    const first = this.LA(1);
    this.AT_LEAST_ONE(() => {
      this.OR([
        { ALT: () => this.CONSUME(K.CLUSTER) },
        { ALT: () => this.CONSUME(K.DISTRIBUTE) },
        { ALT: () => this.CONSUME(K.SORT) },
      ]);
      this.CONSUME(K.BY);
      this.SUBRULE(this.orderItems);
    });
    return this.foreignClause(`${this.upper(first)} BY`, first);
  });

  // -------------------------------------------------------------- the pipe syntax

  readonly pipeStep = this.RULE('pipeStep', (): PipeStep => {
    const first = this.LA(1);
    return this.OR<PipeStep>([
      {
        ALT: () => {
          const clause = this.SUBRULE(this.selectClause);
          let windows: SelectQuery['windows'] = [];
          this.OPTION(() => {
            windows = this.SUBRULE(this.namedWindows);
          });
          return { step: 'select', ...clause, windows };
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.SET);
          const changes: ColumnChange[] = [];
          this.AT_LEAST_ONE_SEP3({
            SEP: Comma,
            DEF: () => {
              const name = this.SUBRULE3(this.identifier);
              this.CONSUME(Equal);
              changes.push({ name, value: this.SUBRULE2(this.expression) });
            },
          });
          return { step: 'set', changes };
        },
      },
      {
        ALT: () => ({ step: 'sample', clause: this.SUBRULE(this.sample) }),
      },
      {
        ALT: () => {
          this.CONSUME(K.EXTEND);
          const items: SelectItem[] = [];
          this.AT_LEAST_ONE_SEP({
            SEP: Comma,
            DEF: () => items.push(this.SUBRULE(this.selectItem)),
          });
          return { step: 'extend', items };
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.DROP);
          const columns: Name[] = [];
          this.AT_LEAST_ONE_SEP2({
            SEP: Comma,
            DEF: () => columns.push(this.SUBRULE(this.name)),
          });
          return { step: 'drop', columns };
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.AS);
          return { step: 'alias', name: this.SUBRULE2(this.identifier) };
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.WHERE);
          return { step: 'where', condition: this.SUBRULE(this.expression) };
        },
      },
      {
        ALT: () => {
          const operator = this.SUBRULE(this.setOperator);
          return { step: 'combine', ...operator, right: this.SUBRULE(this.queryPrimary) };
        },
      },
      { ALT: () => ({ step: 'group', ...this.SUBRULE(this.pipeAggregate) }) },
      {
        GATE: () => this.startsPivot(),
        ALT: () => ({ step: 'pivot', clause: this.SUBRULE(this.pivot) }),
      },
      {
        GATE: () => this.startsJoin(),
        ALT: () => ({ step: 'join', join: this.SUBRULE(this.joinClause) }),
      },
      {
        GATE: () => this.is(1, K.ORDER, K.CLUSTER, K.DISTRIBUTE, K.SORT, K.LIMIT, K.OFFSET),
        ALT: () => {
          const nothing = { node: 'values', rows: [], alias: undefined } as const;
          const place = this.placeOf(first);
          const body: QueryBody = { ...nothing, place };
          return {
            step: 'organize',
            order: this.SUBRULE(this.organization, { ARGS: [body, first] }),
          };
        },
      },
    ]);
  });

  /** A key of AGGREGATE … GROUP BY, which is a column of the result and may have a name. */
  readonly pipeKey = this.RULE('pipeKey', (): SelectItem => {
    const first = this.LA(1);
    const value = this.SUBRULE(this.groupItem);
    const aliases = this.SUBRULE(this.itemAliases);
    return { value, ...aliases, place: this.placeFrom(first) };
  });

  readonly pipeAggregate = this.RULE('pipeAggregate', () => {
    this.CONSUME(K.AGGREGATE);
    const items: SelectItem[] = [];
    const keys: SelectItem[] = [];
    let groupBy: GroupBy | undefined;
    this.OPTION2({
      GATE: () => !this.is(1, K.GROUP),
      DEF: () => {
        this.AT_LEAST_ONE_SEP({
          SEP: Comma,
          DEF: () => items.push(this.SUBRULE(this.selectItem)),
        });
      },
    });
    this.OPTION(() => {
      const first = this.CONSUME(K.GROUP);
      this.CONSUME(K.BY);
      this.AT_LEAST_ONE_SEP2({ SEP: Comma, DEF: () => keys.push(this.SUBRULE(this.pipeKey)) });
      const place = this.placeFrom(first);
      groupBy = { all: false, items: keys.map((key) => key.value), place };
    });
    this.ACTION(() => {
      if (items.length > 0 || groupBy !== undefined) return;
      this.refuse(this.placeOf(this.LA(0)), 'AGGREGATE stands without an aggregate or GROUP BY');
    });
    return { items, keys, groupBy };
  });
}

const setBinding: ReadonlyMap<TokenType, number> = new Map([
  [K.UNION, 0],
  [K.EXCEPT, 0],
  [K.MINUS, 0],
  [K.INTERSECT, 1],
]);
