import type { Expression, Identifier, Query, SelectItem, ViewColumn } from '../sql/ast.ts';
import { nameKey } from './bind/names.ts';
import { type FaultList, planFault, planWarning } from './faults.ts';

/**
 * The query of a view under the names that stand in front of it: `SELECT a, CAST(b AS type) AS b FROM (query) AS v(a, b)`.
 * Invariant: names go to columns by their places, as many as the query has; without names the query is as it was written.
 */
export function namedQuery(query: Query, columns: readonly ViewColumn[], faults: FaultList): Query {
  if (columns.length === 0) return query;
  const { place } = query;
  checkColumns(columns, faults);
  const names = columns.map(({ name }) => name);
  const alias = { name: { text: 'v', quoted: false, place }, columns: names };
  return {
    ctes: [],
    body: {
      ...({ node: 'select', distinct: false, items: columns.map(itemOf) } as const),
      from: [{ node: 'subquery', query, stream: false, watermark: undefined, alias, place }],
      ...{ lateralViews: [], where: undefined, groupBy: undefined, having: undefined },
      ...{ qualify: undefined, windows: [], place },
    },
    ...{ orderBy: [], otherOrder: undefined, orderPlace: undefined, limit: undefined },
    ...{ offset: undefined, place },
  };
}

function itemOf({ name, type, place }: ViewColumn): SelectItem {
  const value: Expression = {
    ...{ node: 'column', name: { parts: [name], place: name.place } },
    place: name.place,
  };
  if (type === undefined) return { value, aliases: [], place };
  return { value: { node: 'cast', value, type, isTry: false, place }, aliases: [name], place };
}

function checkColumns(columns: readonly ViewColumn[], faults: FaultList): void {
  const seen = new Map<string, Identifier>();
  for (const { name, notNull } of columns) {
    const { text, place } = name;
    if (seen.has(nameKey(text))) {
      const message = `column "${text}" stands twice in front of the query`;
      const detail = 'Column names are the same whatever their case.';
      faults.add(planFault('COLUMN_DUPLICATE', message, place, { detail }));
    }
    seen.set(nameKey(text), name);
    if (!notNull) continue;
    const message = `NOT NULL on column "${text}" is not enforced`;
    const hint = `Write CONSTRAINT ${text}_given EXPECT (${text} IS NOT NULL) ON VIOLATION DROP ROW on the view.`;
    faults.add(planWarning('NOT_NULL_IGNORED', message, place, { hint }));
  }
}
