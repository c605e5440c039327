import { EOF, type IToken, type TokenType } from 'chevrotain';
import type {
  ColumnDefinition,
  Constraint,
  FlowBody,
  ForeignClause,
  Identifier,
  Name,
  Option,
  OptionValue,
  Query,
  Statement,
  TableBody,
} from './ast.ts';
import { FlowGrammar } from './flow-grammar.ts';
import {
  CloseParen,
  Colon,
  Comma,
  Dot,
  Equal,
  K,
  Minus,
  Numeral,
  OpenParen,
  Text,
  Word,
} from './tokens.ts';

type Header = {
  readonly first: IToken;
  /** OR REFRESH, OR REPLACE, PRIVATE, TEMPORARY as far as they were written, with their place. */
  readonly words: ReadonlyMap<string, IToken>;
};
type Body = {
  columns: ColumnDefinition[];
  constraints: Constraint[];
  comment: string | undefined;
  options: (Option & { readonly clause: 'with' | 'options' | 'tblproperties' })[];
  clauses: ForeignClause[];
};

/**
 * Statements of a pipeline. Invariant: one call of `statement` reads one statement without its
 * semicolon, and either gives its tree or a fault.
 */
export class StatementGrammar extends FlowGrammar {
  constructor(validate = false) {
    super(validate);
    this.performSelfAnalysis();
  }

  readonly statement = this.RULE(
    'statement',
    (): Statement =>
      this.OR<Statement>([
        { ALT: () => this.SUBRULE(this.create) },
        { ALT: () => this.SUBRULE(this.set) },
        { ALT: () => this.SUBRULE(this.applyChanges) },
        { ALT: () => this.SUBRULE(this.insert) },
        { ALT: () => this.SUBRULE(this.use) },
        {
          GATE: () => this.startsQuery(1) || this.is(1, OpenParen, K.SELECT),
          ALT: () => {
            const query = this.SUBRULE(this.query);
            return { node: 'query', query, place: query.place };
          },
        },
      ]),
  );

  // -------------------------------------------------------------- CREATE

  private readonly create = this.RULE('create', (): Statement => {
    const first = this.CONSUME(K.CREATE);
    const words = new Map<string, IToken>();
    this.OPTION(() => {
      const or = this.CONSUME(K.OR);
      const word = this.OR([
        { ALT: () => this.CONSUME(K.REFRESH) },
        { ALT: () => this.CONSUME(K.REPLACE) },
      ]);
      words.set(`OR ${this.upper(word)}`, or);
    });
    this.MANY(() => {
      const word = this.OR2([
        { ALT: () => this.CONSUME(K.PRIVATE) },
        { ALT: () => this.CONSUME(K.TEMPORARY) },
        { ALT: () => this.CONSUME(K.TEMP) },
        { ALT: () => this.CONSUME(K.GLOBAL) },
      ]);
      this.ACTION(() => words.set(this.upper(word).replace(/^TEMP$/, 'TEMPORARY'), word));
    });
    return this.SUBRULE(this.created, { ARGS: [{ first, words }] });
  });

  private readonly created = this.RULE(
    'created',
    (header: Header): Statement =>
      this.OR<Statement>([
        { ALT: () => this.SUBRULE(this.createSource, { ARGS: [header] }) },
        { ALT: () => this.SUBRULE(this.createStreamingTable, { ARGS: [header] }) },
        { ALT: () => this.SUBRULE(this.createMaterializedView, { ARGS: [header] }) },
        { ALT: () => this.SUBRULE(this.createView, { ARGS: [header] }) },
        { ALT: () => this.SUBRULE(this.createFlow, { ARGS: [header] }) },
        { ALT: () => this.SUBRULE(this.createSink, { ARGS: [header] }) },
      ]),
  );

  /** Which of the words in front were written; a word that does not belong to this kind is refused. */
  private headerWords(
    header: Header,
    kind: string,
    allowed: readonly string[],
  ): ReadonlySet<string> {
    return (
      this.ACTION(() => {
        for (const [word, token] of header.words) {
          if (allowed.includes(word)) continue;
          const instead = allowed.find(
            (other) => other.startsWith('OR ') && word.startsWith('OR '),
          );
          const hint =
            instead === undefined ? `Remove ${word}.` : `Write CREATE ${instead} ${kind}.`;
          this.refuse(this.placeOf(token), `${kind} takes no ${word}`, hint);
        }
        return new Set(header.words.keys());
      }) ?? new Set<string>()
    );
  }

  private readonly createSource = this.RULE('createSource', (header: Header): Statement => {
    this.CONSUME(K.SOURCE);
    const words = this.headerWords(header, 'SOURCE', ['OR REPLACE']);
    const { ifNotExists, name } = this.SUBRULE(this.createdName);
    const body = this.SUBRULE(this.tableBody);
    const orReplace = words.has('OR REPLACE');
    return {
      node: 'create_source',
      name,
      orReplace,
      ifNotExists,
      body,
      place: this.placeOfHeader(header),
    };
  });

  private placeOfHeader(header: Header): Statement['place'] {
    // A header does not exist either while the grammar is recorded.
    return this.ACTION(() => this.placeFrom(header.first));
  }

  private readonly createdName = this.RULE(
    'createdName',
    (): { ifNotExists: boolean; name: Name } => {
      let ifNotExists = false;
      this.OPTION({
        GATE: () => this.is(2, K.NOT),
        DEF: () => {
          this.SUBRULE(this.ifNotExists);
          ifNotExists = true;
        },
      });
      return { ifNotExists, name: this.SUBRULE(this.name) };
    },
  );

  private readonly createStreamingTable = this.RULE(
    'createStreamingTable',
    (header: Header): Statement => {
      this.CONSUME(K.STREAMING);
      this.CONSUME(K.TABLE);
      const words = this.headerWords(header, 'STREAMING TABLE', ['OR REFRESH', 'PRIVATE']);
      const { ifNotExists, name } = this.SUBRULE(this.createdName);
      const body = this.SUBRULE(this.tableBody);
      let flow: FlowBody | undefined;
      this.OPTION(() => {
        this.OR([
          {
            ALT: () => {
              const as = this.CONSUME(K.AS);
              const query = this.SUBRULE(this.query);
              const place = this.placeFrom(as);
              flow = {
                ...{ node: 'insert', once: false, byName: true, replaceUsing: undefined },
                ...{ replaceWhere: undefined, query, place },
              };
            },
          },
          {
            ALT: () => {
              this.CONSUME(K.FLOW);
              flow = this.SUBRULE(this.defaultFlow);
            },
          },
        ]);
      });
      return {
        ...{
          node: 'create_streaming_table',
          name,
          orRefresh: words.has('OR REFRESH'),
          ifNotExists,
        },
        ...{ private: words.has('PRIVATE'), body, flow, place: this.placeOfHeader(header) },
      };
    },
  );

  private readonly createMaterializedView = this.RULE(
    'createMaterializedView',
    (header: Header): Statement => {
      this.CONSUME(K.MATERIALIZED);
      this.CONSUME(K.VIEW);
      const words = this.headerWords(header, 'MATERIALIZED VIEW', ['OR REFRESH', 'PRIVATE']);
      const { ifNotExists, name } = this.SUBRULE(this.createdName);
      const body = this.SUBRULE(this.tableBody);
      this.CONSUME(K.AS);
      const query = this.SUBRULE(this.query);
      return {
        ...{ node: 'create_materialized_view', name, orRefresh: words.has('OR REFRESH') },
        ...{ ifNotExists, private: words.has('PRIVATE'), body, query },
        place: this.placeOfHeader(header),
      };
    },
  );

  /** Names of columns in front of AS rename what the query gives: they become an alias around it. */
  private readonly createView = this.RULE('createView', (header: Header): Statement => {
    this.CONSUME(K.VIEW);
    const words = this.headerWords(header, 'VIEW', ['OR REPLACE', 'TEMPORARY', 'GLOBAL']);
    const { ifNotExists, name } = this.SUBRULE(this.createdName);
    let columns: Identifier[] = [];
    this.OPTION({
      GATE: () => this.is(3, Comma, CloseParen, K.COMMENT),
      DEF: () => {
        columns = this.SUBRULE(this.viewColumns);
      },
    });
    const body = this.SUBRULE(this.tableBody);
    this.CONSUME(K.AS);
    const inner = this.SUBRULE(this.query);
    const query = columns.length === 0 ? inner : renamed(inner, columns);
    return {
      ...{ node: 'create_view', name, orReplace: words.has('OR REPLACE'), ifNotExists },
      ...{ temporary: words.has('TEMPORARY'), body, query, place: this.placeOfHeader(header) },
    };
  });

  private readonly viewColumns = this.RULE('viewColumns', (): Identifier[] => {
    const columns: Identifier[] = [];
    this.CONSUME(OpenParen);
    this.AT_LEAST_ONE_SEP({
      SEP: Comma,
      DEF: () => {
        columns.push(this.SUBRULE(this.identifier));
        this.OPTION(() => {
          this.CONSUME(K.COMMENT);
          this.SUBRULE(this.text);
        });
      },
    });
    this.CONSUME(CloseParen);
    return columns;
  });

  private readonly createFlow = this.RULE('createFlow', (header: Header): Statement => {
    this.CONSUME(K.FLOW);
    this.headerWords(header, 'FLOW', []);
    let comment: string | undefined;
    const name = this.SUBRULE(this.name);
    this.OPTION(() => {
      this.CONSUME(K.COMMENT);
      comment = this.SUBRULE(this.text);
    });
    this.CONSUME(K.AS);
    const { target, body } = this.SUBRULE(this.namedFlow);
    return { node: 'create_flow', name, comment, target, body, place: this.placeOfHeader(header) };
  });

  private readonly createSink = this.RULE('createSink', (header: Header): Statement => {
    this.CONSUME(K.SINK);
    this.headerWords(header, 'SINK', []);
    const { ifNotExists, name } = this.SUBRULE(this.createdName);
    const body = this.SUBRULE(this.tableBody);
    return { node: 'create_sink', name, ifNotExists, body, place: this.placeOfHeader(header) };
  });

  // -------------------------------------------------------------- what a table is made of

  private readonly tableBody = this.RULE('tableBody', (): TableBody => {
    const body: Body = {
      columns: [],
      constraints: [],
      comment: undefined,
      options: [],
      clauses: [],
    };
    this.OPTION(() => {
      this.CONSUME(OpenParen);
      this.MANY_SEP({ SEP: Comma, DEF: () => this.SUBRULE(this.tableElement, { ARGS: [body] }) });
      this.CONSUME(CloseParen);
    });
    this.MANY(() => this.SUBRULE(this.tableClause, { ARGS: [body] }));
    return body;
  });

  private readonly tableElement = this.RULE('tableElement', (body: Body): void => {
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
        ALT: () => {
          const column = this.SUBRULE(this.column);
          this.ACTION(() => body.columns.push(column));
        },
      },
    ]);
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
  private skipUntil(ends: ReadonlySet<TokenType>): void {
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
      { GATE: () => this.isWord(2), ALT: () => this.looseClause(this.CONSUME(K.WITH)) },
      { GATE: () => this.is(2, K.POLICY), ALT: () => this.looseClause(this.CONSUME(K.REFRESH)) },
    ]);
    return this.foreignClause(name, first);
  });

  private looseClause(word: IToken): string {
    return this.ACTION(() => {
      const second = this.LA(1).image.toUpperCase();
      this.skipUntil(clauseStarts);
      const first = this.upper(word);
      return /^(?:SCHEDULE|TRIGGER)$/.test(first) ? first : `${first} ${second}`;
    });
  }

  // -------------------------------------------------------------- other statements

  private readonly applyChanges = this.RULE('applyChanges', (): Statement => {
    const first = this.CONSUME(K.APPLY);
    this.CONSUME(K.CHANGES);
    this.CONSUME(K.INTO);
    const target = this.SUBRULE(this.name);
    const cdc = this.SUBRULE(this.autoCdc, { ARGS: [first] });
    return { node: 'apply_changes', target, cdc, place: this.placeFrom(first) };
  });

  /** INSERT without CREATE FLOW. */
  private readonly insert = this.RULE('insert', (): Statement => {
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

  private readonly use = this.RULE('use', (): Statement => {
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
  private readonly set = this.RULE('set', (): Statement => {
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

  private readonly settingKey = this.RULE('settingKey', (): string => {
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

  private readonly settingValue = this.RULE(
    'settingValue',
    (): OptionValue =>
      this.OR<OptionValue>([
        { GATE: () => this.endsAtOrBehind(2), ALT: () => this.SUBRULE(this.optionValue) },
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

  /** Whether a literal alone is left: one token, or a sign and one. */
  private endsAtOrBehind(distance: number): boolean {
    if (this.is(distance, EOF)) return this.is(1, Text, Numeral, K.TRUE, K.FALSE);
    return this.sees(Minus, Numeral) && this.is(distance + 1, EOF);
  }
}

/** `SELECT * FROM (query) AS v(a, b)`. */
function renamed(query: Query, columns: readonly Identifier[]): Query {
  const { place } = query;
  const name = { text: 'v', quoted: false, place };
  const star = { node: 'star', qualifier: undefined, except: [], place } as const;
  const from = [
    {
      ...({ node: 'subquery', query, stream: false, watermark: undefined } as const),
      ...{ alias: { name, columns }, place },
    },
  ];
  return {
    ctes: [],
    body: {
      ...{ node: 'select', distinct: false, items: [{ value: star, aliases: [], place }], from },
      ...{ lateralViews: [], where: undefined, groupBy: undefined, having: undefined },
      ...{ qualify: undefined, windows: [], place },
    },
    ...{ orderBy: [], otherOrder: undefined, orderPlace: undefined, limit: undefined },
    ...{ offset: undefined, place },
  };
}

const clauseStarts: ReadonlySet<TokenType> = new Set([
  ...[K.COMMENT, K.WITH, K.OPTIONS, K.TBLPROPERTIES, K.USING, K.PARTITIONED, K.CLUSTER, K.LOCATION],
  ...[K.DEFAULT, K.SCHEDULE, K.TRIGGER, K.STORED, K.CLUSTERED, K.ROW, K.AS, K.FLOW],
]);
