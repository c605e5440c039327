import type { IToken } from 'chevrotain';
import type { FlowBody, Name, Query, Statement, TableBody, ViewColumn } from './ast.ts';
import { OtherStatementGrammar } from './other-statement-grammar.ts';
import { K, OpenParen, Word } from './tokens.ts';

type Header = {
  readonly first: IToken;
  /** OR REFRESH, OR REPLACE, PRIVATE, TEMPORARY as far as they were written, with their place. */
  readonly words: ReadonlyMap<string, IToken>;
};
/**
 * Statements of a pipeline. Invariant: one call of `statement` reads one statement without its
 * semicolon, and either gives its tree or a fault.
 */
export class StatementGrammar extends OtherStatementGrammar {
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
        { GATE: () => this.isRefused(), ALT: () => this.SUBRULE(this.refusedStatement) },
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
        {
          GATE: () => otherKinds.has(this.LA(1).image.toUpperCase()),
          ALT: () => this.refuseKind(this.CONSUME(Word)),
        },
      ]),
  );

  private refuseKind(kind: IToken): Statement {
    return this.ACTION(() => {
      const hint =
        kind.tokenType === K.TABLE
          ? 'A table that flows write is a STREAMING TABLE; a topic that others write is a SOURCE.'
          : undefined;
      return this.refuseByName(kind, `CREATE ${this.upper(kind)}`, hint);
    });
  }

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
      const definition = this.SUBRULE(this.viewDefinition);
      return {
        ...{ node: 'create_materialized_view', name, orRefresh: words.has('OR REFRESH') },
        ...{ ifNotExists, private: words.has('PRIVATE'), ...definition },
        place: this.placeOfHeader(header),
      };
    },
  );

  private readonly createView = this.RULE('createView', (header: Header): Statement => {
    this.CONSUME(K.VIEW);
    const words = this.headerWords(header, 'VIEW', ['OR REPLACE', 'TEMPORARY', 'GLOBAL']);
    const { ifNotExists, name } = this.SUBRULE(this.createdName);
    const definition = this.SUBRULE(this.viewDefinition);
    return {
      ...{ node: 'create_view', name, orReplace: words.has('OR REPLACE'), ifNotExists },
      ...{ temporary: words.has('TEMPORARY'), ...definition },
      place: this.placeOfHeader(header),
    };
  });

  private readonly viewDefinition = this.RULE(
    'viewDefinition',
    (): { columns: readonly ViewColumn[]; body: TableBody; query: Query } => {
      const columns: ViewColumn[] = [];
      const body = this.SUBRULE(this.tableBody, { ARGS: [columns] });
      this.CONSUME(K.AS);
      const query = this.SUBRULE(this.query);
      return { columns, body, query };
    },
  );

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
}

/** Kinds of objects that Spark creates and a pipeline does not. */
const otherKinds: ReadonlySet<string> = new Set([
  ...['CATALOG', 'DATABASE', 'EXTERNAL', 'FUNCTION', 'INDEX', 'NAMESPACE', 'SCHEMA', 'TABLE'],
]);
