import type { IToken } from 'chevrotain';
import type {
  AutoCdc,
  ColumnSelection,
  Expression,
  FlowBody,
  Identifier,
  Name,
  Query,
  ReplaceUsing,
} from './ast.ts';
import { QueryGrammar } from './query-grammar.ts';
import { CloseParen, Comma, K, Numeral, OpenParen, Star } from './tokens.ts';

type Insert = {
  once: boolean;
  byName: boolean;
  replaceUsing: ReplaceUsing | undefined;
  replaceWhere: Expression | undefined;
};
type CdcClauses = {
  -readonly [part in keyof Omit<AutoCdc, 'once' | 'source' | 'place'>]: AutoCdc[part];
};

/**
 * What a flow does to its target. Invariant: a clause that is missing, empty or too long (keys,
 * sequence, BY NAME) is no syntax fault; the tree shows it and the check of the pipeline reports it.
 */
export abstract class FlowGrammar extends QueryGrammar {
  /** Behind FLOW, in CREATE STREAMING TABLE: the target is the table. */
  readonly defaultFlow = this.RULE('defaultFlow', (): FlowBody => {
    const first = this.LA(1);
    return this.OR<FlowBody>([
      { ALT: () => this.SUBRULE(this.autoCdcFlow) },
      {
        ALT: () => {
          let once = false;
          this.CONSUME(K.INSERT);
          this.OPTION(() => {
            this.CONSUME(K.ONCE);
            once = true;
          });
          return this.SUBRULE(this.insertBody, { ARGS: [once, first] });
        },
      },
      {
        GATE: () => this.is(1, K.REPLACE),
        ALT: () => this.SUBRULE2(this.insertBody, { ARGS: [false, first] }),
      },
    ]);
  });

  private readonly autoCdcFlow = this.RULE('autoCdcFlow', (): FlowBody => {
    const first = this.CONSUME(K.AUTO);
    this.CONSUME(K.CDC);
    const cdc = this.SUBRULE(this.autoCdc, { ARGS: [first] });
    return { node: 'auto_cdc', cdc, place: this.placeFrom(first) };
  });

  /** Behind `CREATE FLOW f AS`: names its target. */
  readonly namedFlow = this.RULE('namedFlow', (): { target: Name; body: FlowBody } => {
    const first = this.LA(1);
    return this.OR([
      {
        ALT: () => {
          let once = false;
          this.CONSUME(K.AUTO);
          this.CONSUME(K.CDC);
          this.OPTION(() => {
            this.CONSUME(K.ONCE);
            once = true;
          });
          this.CONSUME(K.INTO);
          const target = this.SUBRULE(this.name);
          const cdc = { ...this.SUBRULE(this.autoCdc, { ARGS: [first] }), once };
          return { target, body: { node: 'auto_cdc', cdc, place: this.placeFrom(first) } as const };
        },
      },
      {
        ALT: () => {
          let once = false;
          this.CONSUME(K.INSERT);
          this.OPTION2(() => {
            this.CONSUME2(K.ONCE);
            once = true;
          });
          this.CONSUME2(K.INTO);
          this.OPTION3({
            GATE: () => !once && this.isWord(2) && !this.is(2, K.BY, K.SELECT, K.REPLACE),
            DEF: () => {
              this.CONSUME3(K.ONCE);
              once = true;
            },
          });
          this.OPTION4({ GATE: () => this.isPlainName(2), DEF: () => this.CONSUME(K.TABLE) });
          const target = this.SUBRULE2(this.name);
          this.ACTION(() => this.checkColumnList());
          return { target, body: this.SUBRULE(this.insertBody, { ARGS: [once, first] }) };
        },
      },
    ]);
  });

  protected checkColumnList(): void {
    const isList = this.is(1, OpenParen) && !this.startsQuery(1);
    if (!isList && !this.sees(K.PARTITION, OpenParen)) return;
    this.refuse(
      this.placeOf(this.LA(1)),
      `a flow takes no ${isList ? 'list of columns' : 'PARTITION'}`,
      'Write BY NAME: the columns of the query go to the columns of the same names.',
      'NOT_SUPPORTED',
    );
  }

  /** `[BY NAME] [REPLACE USING … | REPLACE WHERE …] [BY NAME] query`. */
  protected readonly insertBody = this.RULE(
    'insertBody',
    (once: boolean, first: IToken): FlowBody => {
      const insert: Insert = {
        once,
        byName: false,
        replaceUsing: undefined,
        replaceWhere: undefined,
      };
      this.OPTION(() => {
        this.SUBRULE(this.byName);
        insert.byName = true;
      });
      this.OPTION2(() =>
        this.OR([
          {
            GATE: () => this.is(2, K.USING),
            ALT: () => {
              insert.replaceUsing = this.SUBRULE(this.replaceUsing);
            },
          },
          {
            ALT: () => {
              this.CONSUME(K.REPLACE);
              this.CONSUME(K.WHERE);
              insert.replaceWhere = this.SUBRULE(this.expression);
            },
          },
        ]),
      );
      this.OPTION3({
        GATE: () => !insert.byName,
        DEF: () => {
          this.SUBRULE2(this.byName);
          insert.byName = true;
        },
      });
      const query: Query = this.SUBRULE(this.query);
      return { node: 'insert', ...insert, query, place: this.placeFrom(first) };
    },
  );

  private readonly byName = this.RULE('byName', (): void => {
    this.CONSUME(K.BY);
    this.CONSUME(K.NAME);
  });

  protected readonly replaceUsing = this.RULE('replaceUsing', (): ReplaceUsing => {
    const first = this.CONSUME(K.REPLACE);
    let sequence: Expression[] | undefined;
    let emptyWhen: Expression | undefined;
    this.CONSUME(K.USING);
    const keys = this.SUBRULE(this.identifiers);
    this.MANY(() =>
      this.OR([
        {
          GATE: () => sequence === undefined,
          ALT: () => {
            sequence = this.SUBRULE(this.sequenceBy);
          },
        },
        {
          GATE: () => emptyWhen === undefined,
          ALT: () => {
            this.CONSUME(K.APPLY);
            this.CONSUME(K.AS);
            this.CONSUME(K.EMPTY);
            this.CONSUME(K.WHEN);
            emptyWhen = this.SUBRULE(this.expression);
          },
        },
      ]),
    );
    return { keys, sequence, emptyWhen, place: this.placeFrom(first) };
  });

  readonly sequenceBy = this.RULE('sequenceBy', (): Expression[] => {
    this.CONSUME(K.SEQUENCE);
    this.CONSUME(K.BY);
    return this.SUBRULE(this.expressions);
  });

  // -------------------------------------------------------------- AUTO CDC

  /** `FROM source KEYS (…) …`; the clauses in any order, each at most once. */
  readonly autoCdc = this.RULE('autoCdc', (first: IToken): AutoCdc => {
    this.CONSUME(K.FROM);
    const source = this.SUBRULE(this.relationPrimary);
    const clauses: CdcClauses = {
      ...{ keys: [], ignoreNullUpdates: false, ignoreNullColumns: undefined },
      ...{ deleteWhen: undefined, truncateWhen: undefined, sequence: undefined },
      ...{ columns: undefined, scdType: undefined, trackHistory: undefined },
    };
    const seen = new Set<string>();
    this.MANY(() => {
      const start = this.LA(1);
      const clause = this.SUBRULE(this.cdcClause, { ARGS: [clauses] });
      this.ACTION(() => {
        if (seen.has(clause)) this.refuse(this.placeFrom(start), `${clause} stands twice`);
        seen.add(clause);
      });
    });
    return { once: false, source, ...clauses, place: this.placeFrom(first) };
  });

  private readonly cdcClause = this.RULE('cdcClause', (clauses: CdcClauses): string =>
    this.OR([
      {
        ALT: () => {
          this.CONSUME(K.KEYS);
          const keys = this.SUBRULE(this.identifiers);
          this.ACTION(() => {
            clauses.keys = keys.map(columnOf);
          });
          return 'KEYS';
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.IGNORE);
          this.CONSUME(K.NULL);
          this.CONSUME(K.UPDATES);
          let selection: ColumnSelection | undefined;
          this.OPTION(() => {
            this.CONSUME(K.ON);
            selection = this.SUBRULE(this.columnSelection);
          });
          this.ACTION(() => {
            clauses.ignoreNullUpdates = true;
            clauses.ignoreNullColumns = selection;
          });
          return 'IGNORE NULL UPDATES';
        },
      },
      { ALT: () => this.SUBRULE(this.applyAs, { ARGS: [clauses] }) },
      {
        ALT: () => {
          const sequence = this.SUBRULE(this.sequenceBy);
          this.ACTION(() => {
            clauses.sequence = sequence;
          });
          return 'SEQUENCE BY';
        },
      },
      {
        ALT: () => {
          this.CONSUME(K.COLUMNS);
          const selection = this.SUBRULE2(this.columnSelection);
          this.ACTION(() => {
            clauses.columns = selection;
          });
          return 'COLUMNS';
        },
      },
      { ALT: () => this.SUBRULE(this.storedAs, { ARGS: [clauses] }) },
      {
        ALT: () => {
          this.CONSUME(K.TRACK);
          this.CONSUME(K.HISTORY);
          this.CONSUME2(K.ON);
          const selection = this.SUBRULE3(this.columnSelection);
          this.ACTION(() => {
            clauses.trackHistory = selection;
          });
          return 'TRACK HISTORY ON';
        },
      },
    ]),
  );

  private readonly applyAs = this.RULE('applyAs', (clauses: CdcClauses): string => {
    this.CONSUME(K.APPLY);
    this.CONSUME(K.AS);
    const word = this.OR([
      { ALT: () => this.CONSUME(K.DELETE) },
      { ALT: () => this.CONSUME(K.TRUNCATE) },
    ]);
    this.CONSUME(K.WHEN);
    const condition = this.SUBRULE(this.expression);
    return this.ACTION(() => {
      const isDelete = word.tokenType === K.DELETE;
      clauses[isDelete ? 'deleteWhen' : 'truncateWhen'] = condition;
      return `APPLY AS ${isDelete ? 'DELETE' : 'TRUNCATE'}`;
    });
  });

  private readonly storedAs = this.RULE('storedAs', (clauses: CdcClauses): string => {
    this.CONSUME(K.STORED);
    this.CONSUME(K.AS);
    this.CONSUME(K.SCD);
    this.CONSUME(K.TYPE);
    const token = this.CONSUME(Numeral);
    this.ACTION(() => {
      if (token.image !== '1' && token.image !== '2') {
        const hint = 'Type 1 keeps the newest row of a key, type 2 its history.';
        this.refuse(this.placeOf(token), `SCD TYPE is 1 or 2, not ${token.image}`, hint);
      }
      clauses.scdType = token.image === '1' ? 1 : 2;
    });
    return 'STORED AS';
  });

  /** `(a, b)` or `* EXCEPT (a, b)`. */
  private readonly columnSelection = this.RULE('columnSelection', (): ColumnSelection => {
    const first = this.LA(1);
    let except = false;
    this.OPTION(() => {
      this.CONSUME(Star);
      this.CONSUME(K.EXCEPT);
      except = true;
    });
    const columns: Name[] = [];
    this.CONSUME(OpenParen);
    this.MANY_SEP({ SEP: Comma, DEF: () => columns.push(this.SUBRULE(this.name)) });
    this.CONSUME(CloseParen);
    return { except, columns, place: this.placeFrom(first) };
  });
}

function columnOf(identifier: Identifier): Expression {
  const { place } = identifier;
  return { node: 'column', name: { parts: [identifier], place }, place };
}
