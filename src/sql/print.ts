import type {
  AutoCdc,
  ColumnSelection,
  Constraint,
  Expression,
  FlowBody,
  Name,
  Query,
  Statement,
  TableBody,
  TypeNode,
  ViewColumn,
} from './ast.ts';
import { QueryPrinter } from './print-query.ts';
import { literalOfText } from './text-literal.ts';

/**
 * The canonical text of a tree: one spelling for each meaning, on one line, without a semicolon.
 * Invariant: parsing the text gives the same tree, apart from places.
 */
export function printStatement(statement: Statement): string {
  return printer.statement(statement);
}

export function printQuery(query: Query): string {
  return printer.query(query);
}

export function printExpression(expression: Expression): string {
  return printer.expression(expression);
}

export function printType(type: TypeNode): string {
  return printer.type(type);
}

class StatementPrinter extends QueryPrinter {
  statement(statement: Statement): string {
    switch (statement.node) {
      case 'create_source':
        return this.#create(statement, statement.orReplace ? 'OR REPLACE SOURCE' : 'SOURCE');
      case 'create_streaming_table': {
        const table = this.#create(statement, `${refreshed(statement)}STREAMING TABLE`);
        return (
          table + (statement.flow === undefined ? '' : ` ${this.#defaultFlow(statement.flow)}`)
        );
      }
      case 'create_materialized_view': {
        const view = this.#create(statement, `${refreshed(statement)}MATERIALIZED VIEW`);
        return `${view} AS ${this.query(statement.query)}`;
      }
      case 'create_view': {
        const temporary = statement.temporary ? 'TEMPORARY ' : '';
        const words = `${statement.orReplace ? 'OR REPLACE ' : ''}${temporary}VIEW`;
        return `${this.#create(statement, words)} AS ${this.query(statement.query)}`;
      }
      case 'create_flow': {
        const comment =
          statement.comment === undefined ? '' : ` COMMENT ${literalOfText(statement.comment)}`;
        const body = this.#namedFlow(statement.body, statement.target);
        return `CREATE FLOW ${this.name(statement.name)}${comment} AS ${body}`;
      }
      case 'apply_changes':
        return `APPLY CHANGES INTO ${this.name(statement.target)} ${this.#autoCdc(statement.cdc)}`;
      case 'create_sink':
        return this.#create(statement, 'SINK');
      case 'set': {
        const key = statement.key
          .split('.')
          .map((text) => `\`${text.replaceAll('`', '``')}\``)
          .join('.');
        const value =
          typeof statement.value === 'string'
            ? literalOfText(statement.value)
            : String(statement.value).toUpperCase();
        return `SET ${key} = ${value}`;
      }
      case 'foreign':
        return statement.clause.text;
      case 'query':
        return this.query(statement.query);
    }
  }

  #create(
    statement: {
      readonly name: Name;
      readonly ifNotExists: boolean;
      readonly body: TableBody;
      readonly columns?: readonly ViewColumn[];
    },
    words: string,
  ): string {
    const named = (statement.columns ?? []).map((column) => this.#viewColumn(column));
    const exists = statement.ifNotExists ? ' IF NOT EXISTS' : '';
    return `CREATE ${words}${exists} ${this.name(statement.name)}${this.#tableBody(statement.body, named)}`;
  }

  #viewColumn({ name, type, notNull, comment }: ViewColumn): string {
    return [
      this.identifier(name),
      ...(type === undefined ? [] : [this.type(type)]),
      ...(notNull ? ['NOT NULL'] : []),
      ...(comment === undefined ? [] : [`COMMENT ${literalOfText(comment)}`]),
    ].join(' ');
  }

  #tableBody(
    { columns, constraints, comment, options, clauses }: TableBody,
    named: readonly string[],
  ): string {
    const isElement = (clause: string): boolean => elementClauses.test(clause);
    const elements = [
      ...named,
      ...columns.map((column) => this.column(column)),
      ...constraints.map((constraint) => this.#constraint(constraint)),
      ...clauses.filter(({ clause }) => isElement(clause)).map(({ text }) => text),
    ];
    return [
      ...(elements.length === 0 ? [] : [` (${elements.join(', ')})`]),
      ...(comment === undefined ? [] : [` COMMENT ${literalOfText(comment)}`]),
      ...options.map((option) => ` ${option.clause.toUpperCase()} ${this.options([option])}`),
      ...clauses.filter(({ clause }) => !isElement(clause)).map(({ text }) => ` ${text}`),
    ].join('');
  }

  #constraint({ name, condition, action }: Constraint): string {
    const violation = {
      warn: '',
      drop: ' ON VIOLATION DROP ROW',
      fail: ' ON VIOLATION FAIL UPDATE',
    };
    const expect = `EXPECT (${this.expression(condition)})`;
    return `CONSTRAINT ${this.identifier(name)} ${expect}${violation[action]}`;
  }

  #defaultFlow(body: FlowBody): string {
    if (body.node === 'auto_cdc') return `FLOW AUTO CDC ${this.#autoCdc(body.cdc)}`;
    const replaces = this.#replaces(body);
    const query = this.query(body.query);
    const byName = body.byName ? 'BY NAME ' : '';
    if (replaces !== '' && !body.once) return `FLOW ${replaces}${byName}${query}`;
    if (replaces === '' && !body.once && body.byName) return `AS ${query}`;
    return `FLOW INSERT ${body.once ? 'ONCE ' : ''}${byName}${replaces}${query}`;
  }

  #namedFlow(body: FlowBody, target: Name): string {
    if (body.node === 'auto_cdc') {
      const once = body.cdc.once ? 'ONCE ' : '';
      return `AUTO CDC ${once}INTO ${this.name(target)} ${this.#autoCdc(body.cdc)}`;
    }
    const once = body.once ? 'ONCE ' : '';
    const byName = body.byName ? 'BY NAME ' : '';
    const query = this.query(body.query);
    return `INSERT ${once}INTO ${this.name(target)} ${byName}${this.#replaces(body)}${query}`;
  }

  #replaces({ replaceUsing, replaceWhere }: Extract<FlowBody, { node: 'insert' }>): string {
    if (replaceWhere !== undefined) return `REPLACE WHERE ${this.expression(replaceWhere)} `;
    if (replaceUsing === undefined) return '';
    const { keys, sequence, emptyWhen } = replaceUsing;
    return [
      `REPLACE USING ${this.identifiers(keys)} `,
      ...(sequence === undefined ? [] : [`SEQUENCE BY ${this.expressions(sequence)} `]),
      ...(emptyWhen === undefined ? [] : [`APPLY AS EMPTY WHEN (${this.expression(emptyWhen)}) `]),
    ].join('');
  }

  #autoCdc(cdc: AutoCdc): string {
    const ignored =
      cdc.ignoreNullColumns === undefined ? '' : ` ON ${this.#selection(cdc.ignoreNullColumns)}`;
    return [
      `FROM ${this.relation(cdc.source)}`,
      ...(cdc.keys.length === 0 ? [] : [`KEYS (${this.expressions(cdc.keys)})`]),
      ...(cdc.ignoreNullUpdates ? [`IGNORE NULL UPDATES${ignored}`] : []),
      ...(cdc.deleteWhen === undefined
        ? []
        : [`APPLY AS DELETE WHEN ${this.expression(cdc.deleteWhen)}`]),
      ...(cdc.truncateWhen === undefined
        ? []
        : [`APPLY AS TRUNCATE WHEN ${this.expression(cdc.truncateWhen)}`]),
      ...(cdc.sequence === undefined ? [] : [`SEQUENCE BY ${this.expressions(cdc.sequence)}`]),
      ...(cdc.columns === undefined ? [] : [`COLUMNS ${this.#selection(cdc.columns)}`]),
      ...(cdc.scdType === undefined ? [] : [`STORED AS SCD TYPE ${cdc.scdType}`]),
      ...(cdc.trackHistory === undefined
        ? []
        : [`TRACK HISTORY ON ${this.#selection(cdc.trackHistory)}`]),
    ].join(' ');
  }

  #selection({ except, columns }: ColumnSelection): string {
    return `${except ? '* EXCEPT ' : ''}${this.names(columns)}`;
  }
}

function refreshed(statement: { readonly orRefresh: boolean; readonly private: boolean }): string {
  return `${statement.orRefresh ? 'OR REFRESH ' : ''}${statement.private ? 'PRIVATE ' : ''}`;
}

const elementClauses = /^(?:PRIMARY KEY|FOREIGN KEY|UNIQUE|CHECK)$/;

const printer = new StatementPrinter();
