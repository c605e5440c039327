import { formatType, sameType } from '../data/type-text.ts';
import { fault } from '../expr/faults.ts';
import type * as ast from '../sql/ast.ts';
import type { BatchContext } from './batch-context.ts';
import type { BoundBatch } from './batch-plan.ts';
import { aliased } from './batch-relation.ts';
import { nameKey } from './names.ts';

const levelsMax = 100;

/** Whether a query of WITH RECURSIVE reads its own name. */
export function isRecursive({ name, query }: ast.CommonTable): boolean {
  const key = nameKey(name.text);
  const reads = (tree: unknown): boolean => {
    if (Array.isArray(tree)) return tree.some(reads);
    if (typeof tree !== 'object' || tree === null) return false;
    const node = tree as Partial<Extract<ast.Relation, { node: 'named' }>>;
    const isNamed = node.node === 'named' && node.name?.parts.length === 1;
    if (isNamed && nameKey(node.name?.parts[0]?.text ?? '') === key) return true;
    return Object.values(tree).some(reads);
  };
  return reads(query);
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
  if (body.node !== 'set' || body.operator !== 'union') {
    throw fault(
      'INVALID_RECURSIVE_CTE',
      `${cte.name.text} must be an anchor and a step with UNION ALL between them`,
      place,
    );
  }
  if (!body.all) {
    throw fault(
      'UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE',
      'the anchor and the step have UNION ALL between them',
      place,
    );
  }
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
  for (const [i, { type }] of anchor.columns.entries()) {
    const other = step.columns[i]?.type ?? type;
    if (sameType(type, other)) continue;
    throw fault(
      'CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE',
      `column ${i + 1} is ${formatType(type)} in the anchor and ${formatType(other)} in the step`,
      body.place,
    );
  }
  const levels = cte.levels?.node === 'number' ? Number(cte.levels.text) : levelsMax;
  const plan = { node: 'recursion', anchor: anchor.plan, step: step.plan, cell, levels } as const;
  return { plan, columns: anchor.columns };
}
