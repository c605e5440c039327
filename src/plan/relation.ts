import type { Place } from '../base/place.ts';
import type { Column, DataType } from '../data/types.ts';
import type { Identifier } from '../sql/ast.ts';
import type { BoundColumn } from './bind/bound-column.ts';
import { type BranchPlan, hiddenColumns, type RowStep, type SourcePlan } from './pipeline-plan.ts';

/**
 * A streaming query: what it reads and what it does to each row. Invariant: all branches end in rows
 * of the same layout, and every column has a position in it.
 */
export type BoundRelation = {
  readonly branches: readonly BoundBranch[];
  readonly columns: readonly BoundColumn[];
  readonly width: number;
  /** Where DISTINCT stands that holds for all columns. */
  readonly distinct: Place | undefined;
  /** LIMIT over all rows; absent: none. */
  readonly limit?: RowLimit | undefined;
};

export type RowLimit = { readonly rows: number; readonly place: Place };

export type BoundBranch = {
  readonly source: SourcePlan;
  readonly steps: readonly RowStep[];
};

export function withStep(relation: BoundRelation, step: RowStep): BoundRelation {
  const branches = relation.branches.map((branch) => ({
    source: branch.source,
    steps: [...branch.steps, step],
  }));
  return { ...relation, branches };
}

/** A source as a relation: its declared columns, then the hidden ones. */
export function sourceRelation(
  source: SourcePlan,
  declared: number,
  qualifier: readonly string[],
  place: Place,
  broken: ReadonlySet<Column> = new Set(),
): BoundRelation {
  return {
    branches: [{ source, steps: [] }],
    width: source.columns.length,
    distinct: undefined,
    columns: source.columns.map((column, index) => ({
      name: column.name,
      type: column.type,
      index,
      qualifier,
      hidden: index >= declared,
      broken: broken.has(column),
      place,
    })),
  };
}

/** A table of the pipeline as a relation: where its records lie is no business of a query. */
export function tableRelation(
  source: SourcePlan,
  qualifier: readonly string[],
  place: Place,
): BoundRelation {
  const declared = source.columns.length - hiddenColumns.length;
  const relation = sourceRelation(source, declared, qualifier, place);
  return { ...relation, columns: relation.columns.slice(0, declared) };
}

/** The same rows under another name: `… AS t`. Hidden columns of an inner query end here. */
export function renamed(relation: BoundRelation, qualifier: readonly string[]): BoundRelation {
  return { ...relation, columns: relation.columns.map((column) => ({ ...column, qualifier })) };
}

/** `… AS t (a, b)`: the visible columns by new names; undefined when their numbers differ. */
export function withColumnNames(
  relation: BoundRelation,
  names: readonly Identifier[],
): BoundRelation | undefined {
  if (relation.columns.filter((column) => !column.hidden).length !== names.length) return undefined;
  let next = 0;
  const columns = relation.columns.map((column) => {
    if (column.hidden) return column;
    const name = names[next++];
    return name === undefined ? column : { ...column, name: name.text };
  });
  return { ...relation, columns };
}

export function branchPlans(relation: BoundRelation): readonly BranchPlan[] {
  return relation.branches.map(({ source, steps }) => ({ source: source.name, steps }));
}

/** The columns that `explode` and its kin append, or undefined where the argument does not suit. */
export function generatedColumns(
  form: 'explode' | 'posexplode' | 'inline',
  type: DataType,
): readonly Column[] | undefined {
  if (form === 'inline') {
    if (type.kind !== 'array' || type.element.kind !== 'struct') return undefined;
    return type.element.fields;
  }
  const position: Column[] = form === 'posexplode' ? [{ name: 'pos', type: { kind: 'int' } }] : [];
  if (type.kind === 'array') return [...position, { name: 'col', type: type.element }];
  if (type.kind === 'map') {
    return [...position, { name: 'key', type: type.key }, { name: 'value', type: type.value }];
  }
  return undefined;
}
