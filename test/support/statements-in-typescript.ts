import { type Pipeline, pipeline, sql, Table } from '../../src/index.ts';
import type { AutoCdc, ColumnSelection, Expression, Name, Statement } from '../../src/sql/ast.ts';
import { printExpression, printQuery, printType } from '../../src/sql/print.ts';

/** What a generated program hands over where a written one has types. */
type Loose = Record<string, unknown>;

/** Says statements of SQL once more in TypeScript; undefined where one of them has no form there. */
export function inTypeScript(statements: readonly Statement[]): Pipeline | undefined {
  const made = pipeline();
  const calls = made as unknown as Record<string, (...args: readonly unknown[]) => unknown>;
  return statements.every((statement) => say(statement, calls)) ? made : undefined;
}

function say(
  statement: Statement,
  calls: Record<string, (...args: readonly unknown[]) => unknown>,
): boolean {
  const call = (name: string, ...args: readonly unknown[]): unknown => calls[name]?.(...args);
  switch (statement.node) {
    case 'set':
      call('set', statement.key, statement.value);
      return true;
    case 'create_source':
      call('source', textOf(statement.name), bodyOf(statement));
      return true;
    case 'create_sink':
      call('sink', textOf(statement.name), bodyOf(statement));
      return true;
    case 'create_view':
    case 'create_materialized_view': {
      const kind = statement.node === 'create_view' ? 'view' : 'materializedView';
      const name = textOf(statement.name);
      const query = printQuery(statement.query);
      expectations(statement, call(kind, { ...bodyOf(statement), name, query }));
      return true;
    }
    case 'create_streaming_table': {
      const name = textOf(statement.name);
      const { flow } = statement;
      const table = { ...bodyOf(statement), name };
      if (flow === undefined || flow.node === 'auto_cdc') {
        expectations(statement, call('createStreamingTable', table));
        if (flow === undefined) return true;
        call('autoCdcFlow', { target: new Table(name), ...cdcOf(flow.cdc) });
        return isNamed(flow.cdc);
      }
      if (flow.once || flow.replaceWhere !== undefined) return false;
      expectations(statement, call('table', { ...table, ...insertOf(flow) }));
      return flow.byName || flow.replaceUsing === undefined;
    }
    case 'create_flow': {
      const { body } = statement;
      const shared = {
        name: textOf(statement.name),
        target: new Table(textOf(statement.target)),
        ...(statement.comment === undefined ? {} : { comment: statement.comment }),
      };
      if (body.node === 'auto_cdc') {
        call('autoCdcFlow', { ...shared, ...cdcOf(body.cdc) });
        return isNamed(body.cdc);
      }
      const kind =
        body.replaceWhere === undefined
          ? body.replaceUsing === undefined
            ? 'appendFlow'
            : 'replaceFlow'
          : 'replaceWhereFlow';
      call(kind, { ...shared, ...insertOf(body) });
      return body.byName;
    }
    case 'apply_changes':
      call('autoCdcFlow', { target: new Table(textOf(statement.target)), ...cdcOf(statement.cdc) });
      return isNamed(statement.cdc);
    case 'foreign':
    case 'query':
      return false;
  }
}

function textOf(name: Name): string {
  return name.parts.map(({ text }) => text).join('.');
}

function isNamed({ source, keys, sequence }: AutoCdc): boolean {
  const isStream = source.node === 'named' && source.stream && source.options.length === 0;
  return isStream && sequence?.length === 1 && keys.every(({ node }) => node === 'column');
}

function bodyOf({ body }: Extract<Statement, { readonly body: { columns: unknown } }>): Loose {
  const columns = Object.fromEntries(
    body.columns.map(({ name, type, notNull, comment }) => [
      name.text,
      {
        type: printType(type),
        notNull,
        ...(comment === undefined ? {} : { comment }),
      },
    ]),
  );
  const options = body.options.filter(({ clause }) => clause !== 'tblproperties');
  return {
    ...(body.columns.length === 0 ? {} : { columns }),
    ...(body.comment === undefined ? {} : { comment: body.comment }),
    with: Object.fromEntries(options.map(({ key, value }) => [key, value])),
  };
}

function expectations(
  { body }: Extract<Statement, { readonly body: { columns: unknown } }>,
  made: unknown,
): void {
  const names = { warn: 'expect', drop: 'expectOrDrop', fail: 'expectOrFail' } as const;
  for (const { name, condition, action } of body.constraints) {
    const table = made as Table<Record<string, unknown>>;
    table[names[action]](name.text, printExpression(condition));
  }
}

function insertOf(body: Extract<Statement, { node: 'create_flow' }>['body']): Loose {
  if (body.node !== 'insert') return {};
  const { replaceUsing: using, replaceWhere, once } = body;
  return {
    query: printQuery(body.query),
    ...(once ? { once } : {}),
    ...(replaceWhere === undefined ? {} : { replaceWhere: printExpression(replaceWhere) }),
    ...(using === undefined ? {} : { replaceUsing: using.keys.map(({ text }) => text) }),
    ...(using?.sequence === undefined ? {} : { sequenceBy: columnOrSql(using.sequence[0]) }),
    ...(using?.emptyWhen === undefined ? {} : { emptyWhen: printExpression(using.emptyWhen) }),
  };
}

function columnOrSql(expression: Expression | undefined): unknown {
  if (expression?.node === 'column' && expression.name.parts.length === 1) {
    return expression.name.parts[0]?.text;
  }
  const text = expression === undefined ? 'NULL' : printExpression(expression);
  return sql(Object.assign([text], { raw: [text] }) as TemplateStringsArray);
}

function cdcOf(cdc: AutoCdc): Loose {
  const selection = ({ except, columns }: ColumnSelection): unknown => {
    const names = columns.map(textOf);
    return except ? { except: names } : names;
  };
  return {
    source: { name: cdc.source.node === 'named' ? textOf(cdc.source.name) : 'nothing' },
    keys: cdc.keys.map((key) => (key.node === 'column' ? textOf(key.name) : '')),
    sequenceBy: columnOrSql(cdc.sequence?.[0]),
    ...(cdc.once ? { once: true } : {}),
    ...(cdc.ignoreNullUpdates
      ? {
          ignoreNullUpdates:
            cdc.ignoreNullColumns === undefined ? true : selection(cdc.ignoreNullColumns),
        }
      : {}),
    ...(cdc.deleteWhen === undefined ? {} : { applyAsDeletes: printExpression(cdc.deleteWhen) }),
    ...(cdc.truncateWhen === undefined
      ? {}
      : { applyAsTruncates: printExpression(cdc.truncateWhen) }),
    ...(cdc.columns === undefined ? {} : { columns: selection(cdc.columns) }),
    ...(cdc.scdType === undefined ? {} : { storedAsScdType: cdc.scdType }),
    ...(cdc.trackHistory === undefined ? {} : { trackHistory: selection(cdc.trackHistory) }),
  };
}
