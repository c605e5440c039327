import type { Place } from '../../base/place.ts';
import { formatType, sameType } from '../../data/type-text.ts';
import { findAggregate } from '../../expr/aggregate-registry.ts';
import { castTo } from '../../expr/coerce.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import type * as ast from '../../sql/ast.ts';
import { nameKey } from '../bind/names.ts';
import { columnNode } from '../flows/move-columns.ts';
import { aliased } from './batch-columns.ts';
import type { BatchContext } from './batch-context.ts';
import type { BoundBatch } from './batch-plan.ts';
import { unionType } from './batch-relation.ts';

const levelsMax = 100;

/** Whether a query of WITH RECURSIVE reads its own name. */
export function isRecursive({ name, query }: ast.CommonTable): boolean {
  return reads(query, nameKey(name.text));
}

/** Whether the name means another common table that the query itself defines. */
export function isShadowed({ name, query }: ast.CommonTable): boolean {
  return query.ctes.some((inner) => nameKey(inner.name.text) === nameKey(name.text));
}

function reads(root: unknown, key: string): boolean {
  const visit = (tree: unknown): boolean => {
    if (Array.isArray(tree)) return tree.some(visit);
    if (typeof tree !== 'object' || tree === null) return false;
    const node = tree as Partial<Extract<ast.Relation, { node: 'named' }>>;
    const isNamed = node.node === 'named' && node.name?.parts.length === 1;
    if (isNamed && nameKey(node.name?.parts[0]?.text ?? '') === key) return true;
    return Object.values(tree).some(visit);
  };
  return visit(root);
}

/** A round sees only the rows of the round before, so what needs all rows, or their absence, has no meaning there. */
function checkPlaces(step: ast.QueryBody, key: string): void {
  const refuse = (place: Place): never => {
    throw fault(
      'INVALID_RECURSIVE_REFERENCE.PLACE',
      'a recursive query is aggregated, sorted, or on the optional side of a join',
      place,
      'Do that outside of the recursion.',
    );
  };
  const visit = (tree: unknown): void => {
    if (Array.isArray(tree)) for (const part of tree) visit(part);
    if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) return;
    const node = tree as Partial<Omit<ast.SelectQuery, 'node'>> &
      Partial<Pick<ast.Query, 'body' | 'orderBy'>> &
      Partial<Pick<Join, 'kind' | 'left' | 'right'>> & { readonly node?: string };
    if (node.node === 'select' && reads(node.from, key) && isWhole(node)) refuse(step.place);
    const [order] = node.orderBy ?? [];
    if (order !== undefined && reads(node.body, key)) refuse(order.value.place);
    if (node.kind !== undefined && optionalSides(node).some((side) => reads(side, key))) {
      refuse(step.place);
    }
    for (const part of Object.values(tree)) visit(part);
  };
  visit(step);
}

type Join = Extract<ast.Relation, { node: 'join' }>;

function optionalSides({
  kind,
  left,
  right,
}: Partial<Pick<Join, 'kind' | 'left' | 'right'>>): unknown[] {
  switch (kind) {
    case 'left':
    case 'left_semi':
    case 'left_anti':
      return [right];
    case 'right':
      return [left];
    case 'full':
      return [left, right];
    default:
      return [];
  }
}

function isWhole(select: Partial<Omit<ast.SelectQuery, 'node'>>): boolean {
  const aggregates = (tree: unknown): boolean => {
    if (Array.isArray(tree)) return tree.some(aggregates);
    if (typeof tree !== 'object' || tree === null) return false;
    const node = tree as Partial<ast.CallExpression> & { readonly body?: unknown };
    if (node.node === 'call' && node.name !== undefined) {
      const name = node.name.parts.at(-1)?.text.toLowerCase() ?? '';
      if (node.window !== undefined || findAggregate(name) !== undefined) return true;
    }
    return Object.entries(tree).some(([key, part]) => key !== 'query' && aggregates(part));
  };
  const { groupBy, having, distinct, items } = select;
  return groupBy !== undefined || having !== undefined || distinct === true || aggregates(items);
}

/**
 * `anchor UNION ALL step`: the step reads what the round before gave, until a round gives nothing.
 * Invariant: the types are those of the anchor.
 */
export function bindRecursion(
  cte: ast.CommonTable,
  context: BatchContext,
  bindBody: (body: ast.QueryBody, context: BatchContext) => BoundBatch,
): BoundBatch {
  const { body } = cte.query;
  const { place } = cte.name;
  const key = nameKey(cte.name.text);
  const { orderBy, limit, offset } = cte.query;
  const isPlain = orderBy.length === 0 && limit === undefined && offset === undefined;
  if (
    body.node !== 'set' ||
    body.operator !== 'union' ||
    !isPlain ||
    reads([body.left, cte.query.ctes], key)
  ) {
    throw fault(
      'INVALID_RECURSIVE_CTE',
      `${cte.name.text} must be an anchor and a step with UNION ALL between them`,
      place,
      'Only the step, which stands behind UNION ALL, reads the name.',
    );
  }
  if (!body.all) {
    throw fault(
      'UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE',
      'the anchor and the step have UNION ALL between them',
      place,
    );
  }
  checkPlaces(body.right, key);
  const anchor = aliased(bindBody(body.left, context), { name: cte.name, columns: cte.columns });
  const cell = { rows: [] };
  const own = { bind: () => ({ plan: { node: 'round', cell } as const, columns: anchor.columns }) };
  const within = { ...context, ctes: new Map(context.ctes).set(nameKey(cte.name.text), own) };
  const step = bindBody(body.right, within);
  if (step.columns.length !== anchor.columns.length) {
    throw fault(
      'NUM_COLUMNS_MISMATCH',
      `UNION ALL of ${anchor.columns.length} and ${step.columns.length} columns`,
      body.place,
    );
  }
  const values: Expression[] = step.columns.map(columnNode);
  for (const [i, { type }] of anchor.columns.entries()) {
    const other = step.columns[i]?.type ?? type;
    if (sameType(type, other)) continue;
    const common = unionType([type, other]);
    const value = values[i];
    if (common !== undefined && value !== undefined && sameType(common, type)) {
      values[i] = castTo(value, type);
      continue;
    }
    throw fault(
      'CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE',
      `column ${i + 1} is ${formatType(type)} in the anchor and ${formatType(other)} in the step`,
      body.place,
    );
  }
  const levels = cte.levels?.node === 'number' ? Number(cte.levels.text) : levelsMax;
  const next = { node: 'project', input: step.plan, values } as const;
  const plan = { node: 'recursion', anchor: anchor.plan, step: next, cell, levels } as const;
  return { plan, columns: anchor.columns };
}
