import type { FaultError, Place } from '../../src/base/place.ts';
import type { Column, DataType } from '../../src/data/types.ts';
import type { Row } from '../../src/data/value.ts';
import { castTo, commonTypeOf, commonTypeWithoutStrings } from '../../src/expr/coerce.ts';
import { compile, newFrame } from '../../src/expr/compile.ts';
import type { Expression } from '../../src/expr/expression.ts';
import { fault } from '../../src/expr/faults.ts';
import { bindExpression, type ExpressionScope } from '../../src/plan/bind-expression.ts';
import type * as ast from '../../src/sql/ast.ts';
import { parseQuery } from '../../src/sql/parse.ts';

/**
 * Runs a query over values in memory: projection, filter, VALUES, subqueries and CTEs. It exists to
 * evaluate expressions in tests; whatever else a query has is refused as NOT_SUPPORTED.
 */
export type Source = { readonly columns: readonly Column[]; readonly rows: readonly Row[] };

export type Answer = { readonly columns: readonly Column[]; readonly rows: readonly Row[] };

type ScopeColumn = Column & { readonly qualifier: string | undefined };
type Table = { readonly columns: readonly ScopeColumn[]; readonly rows: readonly Row[] };

const timeZone = 'UTC';
const nowMicros = 1_764_504_000_000_000n;

export function runQuery(sql: string, source: Source): Answer {
  const { columns, rows } = source;
  const ctes = new Map<string, Table>([
    ['src', { columns: columns.map((c) => ({ ...c, qualifier: 'src' })), rows }],
  ]);
  return run(parseQuery(sql, 'case.sql'), ctes);
}

type Ctes = ReadonlyMap<string, Table>;

function notSupported(what: string, place: Place): FaultError {
  return fault('NOT_SUPPORTED', `${what} is not supported by the runner`, place);
}

function run(query: ast.Query, outer: Ctes): Table {
  const ctes = new Map(outer);
  for (const cte of query.ctes) {
    ctes.set(
      cte.name.text.toLowerCase(),
      renamed(run(cte.query, ctes), cte.name.text, cte.columns),
    );
  }
  if (query.orderBy.length > 0 || query.limit !== undefined || query.offset !== undefined) {
    throw notSupported('order', query.place);
  }
  return runBody(query.body, ctes);
}

function runBody(body: ast.QueryBody, ctes: Ctes): Table {
  switch (body.node) {
    case 'select':
      return runSelect(body, ctes);
    case 'values':
      return values(body);
    case 'parenthesized':
      return run(body.query, ctes);
    case 'set':
      return unionAll(body, ctes);
    default:
      throw notSupported(body.node, body.place);
  }
}

function renamed(
  table: Table,
  qualifier: string | undefined,
  names: readonly ast.Identifier[],
): Table {
  return {
    rows: table.rows,
    columns: table.columns.map((column, i) => ({
      name: names[i]?.text ?? column.name,
      type: column.type,
      qualifier: qualifier ?? column.qualifier,
    })),
  };
}

function values(body: Extract<ast.QueryBody, { node: 'values' }>): Table {
  const scope: ExpressionScope = { timeZone, resolve: (name) => unresolved(name, []) };
  const bound = body.rows.map((row) => {
    const [only] = row;
    const items = row.length === 1 && only?.node === 'tuple' ? only.items : row;
    return items.map((item) => bindExpression(item, scope));
  });
  const width = bound[0]?.length ?? 0;
  const columns: ScopeColumn[] = [];
  for (let i = 0; i < width; i += 1) {
    const type = commonTypeOf(
      bound.map((row) => row[i]?.type ?? { kind: 'void' as const }),
      commonTypeWithoutStrings,
    );
    if (type === undefined) {
      throw fault(
        'INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE',
        'a column of VALUES has no common type',
        body.place,
      );
    }
    columns.push({ name: `col${i + 1}`, type, qualifier: undefined });
  }
  const rows = bound.map((row) =>
    row.map((item, i) => evaluate(castTo(item, columns[i]?.type ?? item.type), [])),
  );
  return renamed({ columns, rows }, body.alias?.name.text, body.alias?.columns ?? []);
}

function evaluate(expression: Expression, row: Row): Row[number] {
  return compile(expression, { timeZone })(row, newFrame(nowMicros));
}

function unionAll(body: Extract<ast.QueryBody, { node: 'set' }>, ctes: Ctes): Table {
  if (body.operator !== 'union' || !body.all || body.byName) {
    throw notSupported(body.operator, body.place);
  }
  const sides = [runBody(body.left, ctes), runBody(body.right, ctes)];
  const [left] = sides;
  const columns = (left?.columns ?? []).map((column, i) => {
    const type = commonTypeOf(sides.map((side) => side.columns[i]?.type ?? column.type));
    if (type === undefined) throw fault('INCOMPATIBLE_COLUMN_TYPE', 'no common type', body.place);
    return { ...column, type };
  });
  const rows = sides.flatMap((side) =>
    side.rows.map((row) =>
      side.columns.map((column, i) => {
        const value: Expression = {
          node: 'column',
          index: i,
          name: column.name,
          type: column.type,
          place: body.place,
        };
        return evaluate(castTo(value, columns[i]?.type ?? column.type), row);
      }),
    ),
  );
  return { columns, rows };
}

function runRelation(relation: ast.Relation, ctes: Ctes): Table {
  switch (relation.node) {
    case 'named': {
      const name = relation.name.parts.map((part) => part.text).join('.');
      const found = ctes.get(name.toLowerCase());
      if (found === undefined) throw fault('TABLE_OR_VIEW_NOT_FOUND', name, relation.place);
      return renamed(found, relation.alias?.name.text ?? name, relation.alias?.columns ?? []);
    }
    case 'subquery':
      return renamed(
        run(relation.query, ctes),
        relation.alias?.name.text,
        relation.alias?.columns ?? [],
      );
    case 'inline':
      return values(relation.values);
    default:
      throw notSupported(relation.node, relation.place);
  }
}

function runSelect(select: ast.SelectQuery, ctes: Ctes): Table {
  for (const [what, present] of [
    ['DISTINCT', select.distinct],
    ['GROUP BY', select.groupBy !== undefined],
    ['HAVING', select.having !== undefined],
    ['LATERAL VIEW', select.lateralViews.length > 0],
    ['a join', select.from.length > 1],
  ] as const) {
    if (present) throw notSupported(what, select.place);
  }
  const [from] = select.from;
  const table: Table = from === undefined ? { columns: [], rows: [[]] } : runRelation(from, ctes);
  const aliases = new Map<string, Expression>();
  const scope = scopeOf(table, aliases);
  const columns: Column[] = [];
  const items: Expression[] = [];
  const where =
    select.where === undefined ? undefined : condition(select.where, scopeOf(table, new Map()));
  for (const item of select.items) {
    if (item.value.node === 'star') {
      for (const found of star(item.value, table)) {
        columns.push({ name: found.name, type: found.column.type });
        items.push(found.column);
      }
      continue;
    }
    const value = bindExpression(item.value, scope);
    const [alias] = item.aliases;
    columns.push({ name: alias?.text ?? nameOf(item.value), type: value.type });
    items.push(value);
    if (alias !== undefined) aliases.set(alias.text.toLowerCase(), value);
  }
  const evaluators = items.map((item) => compile(item, { timeZone }));
  const filter = where === undefined ? undefined : compile(where, { timeZone });
  const frame = newFrame(nowMicros);
  const rows = table.rows
    .filter((row) => filter === undefined || filter(row, frame) === true)
    .map((row) => evaluators.map((evaluator) => evaluator(row, frame)));
  return { columns: columns.map((column) => ({ ...column, qualifier: undefined })), rows };
}

function condition(node: ast.Expression, scope: ExpressionScope): Expression {
  const bound = bindExpression(node, scope);
  if (bound.type.kind !== 'boolean') {
    throw fault('DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN', 'WHERE needs a boolean', bound.place);
  }
  return bound;
}

function nameOf(node: ast.Expression): string {
  if (node.node === 'column') return node.name.parts.at(-1)?.text ?? '';
  return node.node === 'field' ? node.field.text : 'expr';
}

function scopeOf(table: Table, aliases: ReadonlyMap<string, Expression>): ExpressionScope {
  return {
    timeZone,
    star: (node) => star(node, table),
    resolve: (name) => {
      const parts = name.parts.map((part) => part.text.toLowerCase());
      for (const qualifiers of [1, 0]) {
        if (parts.length <= qualifiers) continue;
        const found = table.columns.flatMap((column, index) =>
          column.name.toLowerCase() === parts[qualifiers] &&
          (qualifiers === 0 || column.qualifier?.toLowerCase() === parts[0])
            ? [{ column, index }]
            : [],
        );
        const [first] = found;
        if (first === undefined) continue;
        if (found.length > 1) throw fault('AMBIGUOUS_REFERENCE', 'ambiguous', name.place);
        return {
          column: columnOf(first.column, first.index, name.place),
          fields: name.parts.slice(qualifiers + 1),
        };
      }
      const alias = aliases.get(parts[0] ?? '');
      if (alias !== undefined) return { column: alias, fields: name.parts.slice(1) };
      return unresolved(name, table.columns);
    },
  };
}

function columnOf(column: Column, index: number, place: Place): Expression {
  return { node: 'column', index, name: column.name, type: column.type, place };
}

function unresolved(name: ast.Name, columns: readonly Column[]): never {
  throw fault(
    columns.length === 0
      ? 'UNRESOLVED_COLUMN.WITHOUT_SUGGESTION'
      : 'UNRESOLVED_COLUMN.WITH_SUGGESTION',
    `no column ${name.parts.map((part) => part.text).join('.')}`,
    name.place,
  );
}

function star(
  node: Extract<ast.Expression, { node: 'star' }>,
  table: Table,
): { name: string; column: Expression }[] {
  const except = new Set(node.except.map((name) => name.parts.at(-1)?.text.toLowerCase()));
  const all = table.columns.map((column, index) => ({
    column,
    name: column.name,
    value: columnOf(column, index, node.place),
  }));
  const qualifier = node.qualifier?.parts.map((part) => part.text.toLowerCase()).join('.');
  const ofTable = all.filter(
    ({ column }) => qualifier === undefined || column.qualifier?.toLowerCase() === qualifier,
  );
  if (ofTable.length === 0 && qualifier !== undefined) return starOfStruct(node, all);
  return ofTable
    .filter(({ name }) => !except.has(name.toLowerCase()))
    .map(({ name, value }) => ({ name, column: value }));
}

function starOfStruct(
  node: Extract<ast.Expression, { node: 'star' }>,
  all: readonly { readonly name: string; readonly value: Expression }[],
): { name: string; column: Expression }[] {
  const wanted = node.qualifier?.parts.at(-1);
  const found = all.find(({ name }) => name.toLowerCase() === wanted?.text.toLowerCase());
  const type: DataType | undefined = found?.value.type;
  if (found === undefined || wanted === undefined || type?.kind !== 'struct') {
    throw fault('CANNOT_RESOLVE_STAR_EXPAND', 'nothing to expand', node.place);
  }
  const scope: ExpressionScope = {
    timeZone,
    resolve: () => ({ column: found.value, fields: [] }),
  };
  return type.fields.map((field) => ({
    name: field.name,
    column: bindExpression(
      {
        node: 'field',
        value: { node: 'column', name: { parts: [wanted], place: node.place }, place: node.place },
        field: { text: field.name, quoted: false, place: node.place },
        place: node.place,
      },
      scope,
    ),
  }));
}
