import { formatType } from '../data/type-text.ts';
import type { Column } from '../data/types.ts';
import type { Expression } from '../expr/expression.ts';
import type { Constraint } from '../sql/ast.ts';
import type { BatchPlan, BoundBatch } from './batch/batch-plan.ts';
import { asCondition } from './bind/as-condition.ts';
import { bindRow } from './bind/bind-row.ts';
import { nameKey } from './bind/names.ts';
import type { RowScope } from './bind/scope.ts';
import type { Catalog, MaterializedViewDataset, TableDataset, ViewDataset } from './catalog.ts';
import { viewExpectationName } from './counted-expectations.ts';
import { chanceIn, operationName } from './explain/chance.ts';
import { sketch } from './explain/sketch.ts';
import { type FaultList, planFault, planWarning } from './faults.ts';
import { columnNode } from './flows/move-columns.ts';
import { checkRowExpression } from './flows/row-rules.ts';
import type { ExpectationPlan, ExpectStep } from './pipeline-plan.ts';
import type { BoundRelation } from './relation.ts';

/** A column of the table; `broken` where its fault was told, so that nothing more is said of it. */
export type JudgedColumn = Column & { readonly broken?: boolean };

type Around = {
  readonly catalog: Catalog;
  readonly texts: ReadonlyMap<string, string>;
  readonly faults: FaultList;
};

/** Binds the expectations of a table over its columns; where those are not known, only their form is checked. */
export function checkExpectations(
  table: TableDataset,
  columns: readonly JudgedColumn[] | undefined,
  around: Around,
): readonly ExpectationPlan[] {
  const names = columns?.map(({ name }) => name) ?? [];
  return table.constraints.flatMap((constraint) => {
    const scope = columns === undefined ? undefined : scopeOf(table, columns);
    const found = bindExpectation(constraint, scope, around);
    if (found === undefined) return [];
    const sql = textOf(constraint, around.texts) ?? sketch(found, names);
    return [planOf(constraint, found, sql)];
  });
}

/** The step in which the rows of a view are judged; undefined where it has no expectation. */
export function viewExpectations(
  view: ViewDataset,
  relation: BoundRelation,
  around: Around,
): ExpectStep | undefined {
  if (view.constraints.length === 0) return undefined;
  const visible = relation.columns.filter(({ hidden }) => !hidden);
  const names: string[] = [];
  for (const { index, name } of visible) names[index] = name ?? '';
  const expectations = view.constraints.flatMap((constraint) => {
    const found = bindExpectation(constraint, { aliases: [], columns: visible }, around);
    if (found === undefined) return [];
    const sql = textOf(constraint, around.texts) ?? sketch(found, names);
    return [planOf(constraint, found, sql)];
  });
  // Only the error of one that stops the flow shows a row.
  const shown = expectations.some(({ action }) => action === 'fail') ? visible : [];
  const columns = shown.map((column) => ({
    name: column.name ?? '',
    value: columnNode(column),
  }));
  return { step: 'expect', view: view.name, columns, expectations };
}

function planOf({ name, action }: Constraint, condition: Expression, sql: string): ExpectationPlan {
  return { name: name.text, condition: asCondition(condition, 'EXPECT'), action, sql };
}

/** A query over tables with the expectations of what it is called; undefined: one of them has a fault. */
export function batchExpectations(
  dataset: ViewDataset | MaterializedViewDataset,
  { plan, columns }: BoundBatch,
  around: Around,
): BatchPlan | undefined {
  const { constraints, kind, name } = dataset;
  if (constraints.length === 0) return plan;
  const names = columns.map((column) => column.name ?? '');
  const expectations = constraints.flatMap((constraint) => {
    const found = bindExpectation(constraint, { aliases: [], columns }, around);
    if (found === undefined) return [];
    return [planOf(constraint, found, textOf(constraint, around.texts) ?? sketch(found, names))];
  });
  if (expectations.length < constraints.length) return undefined;
  return {
    node: 'expect',
    input: plan,
    owner: `${kind} "${name}"`,
    prefix: kind === 'view' ? viewExpectationName(name, '') : '',
    columns: columns.map((column) => ({ name: column.name ?? '', type: column.type })),
    expectations,
  };
}

/** undefined: it has a fault, or the columns are not known. */
function bindExpectation(
  { condition, name }: Constraint,
  scope: RowScope | undefined,
  around: Around,
): Expression | undefined {
  const clause = { clause: 'an expectation', allowsGenerator: false, hasWatermark: false };
  if (!checkRowExpression(condition, clause, around.faults) || scope === undefined)
    return undefined;
  const bound = bindRow(condition, scope, around);
  if (bound === undefined) return undefined;
  if (bound.type.kind !== 'boolean' && bound.type.kind !== 'void') {
    const message = `expectation "${name.text}" needs a boolean, not ${formatType(bound.type)}`;
    const hint = 'Compare the value with something.';
    around.faults.add(planFault('EXPECTATION_TYPE', message, condition.place, { hint }));
    return undefined;
  }
  const chance = chanceIn(bound);
  if (chance !== undefined) {
    const message = `expectation "${name.text}" depends on ${operationName(chance)}`;
    const detail = 'A row that is checked again may then be judged differently.';
    around.faults.add(planWarning('NONDETERMINISTIC', message, chance.place, { detail }));
  }
  return bound;
}

export function scopeOf(table: TableDataset, columns: readonly JudgedColumn[]): RowScope {
  return {
    aliases: [],
    columns: columns.map(({ name, type, broken }, index) => ({
      name,
      type,
      index,
      qualifier: [nameKey(table.name)],
      hidden: false,
      broken: broken === true,
      place: table.place,
    })),
  };
}

/** The condition as it was written, on one line; undefined where there is no text, as in TypeScript. */
export function textOf(
  { condition }: Pick<Constraint, 'condition'>,
  texts: ReadonlyMap<string, string>,
): string | undefined {
  const { file, start, end } = condition.place;
  const text = texts.get(file)?.slice(start, end).replace(/\s+/gu, ' ').trim();
  return text === '' ? undefined : text;
}
