import type { Place } from '../../base/place.ts';
import type { Column } from '../../data/types.ts';
import { fault } from '../../expr/faults.ts';
import type * as ast from '../../sql/ast.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { nameKey } from '../bind/names.ts';
import type { BatchRelation } from './batch-context.ts';

/** What the columns of a relation are called, and where they stand in its rows. */
export function asColumns(
  columns: readonly Column[],
  qualifier: readonly string[],
  place: Place,
  broken: ReadonlySet<Column> = new Set(),
): readonly BoundColumn[] {
  return columns.map((column, index) => ({
    name: column.name,
    type: column.type,
    index,
    qualifier,
    hidden: false,
    broken: broken.has(column),
    place,
  }));
}

export function qualified(relation: BatchRelation, qualifier: readonly string[]): BatchRelation {
  return { ...relation, columns: relation.columns.map((column) => ({ ...column, qualifier })) };
}

export function aliased(relation: BatchRelation, alias: ast.TableAlias | undefined): BatchRelation {
  const visible = relation.columns.filter((column) => !column.hidden);
  if (alias === undefined) return { ...relation, columns: visible };
  const named = qualified({ ...relation, columns: visible }, [nameKey(alias.name.text)]);
  if (alias.columns.length === 0) return named;
  if (alias.columns.length !== visible.length) {
    throw fault(
      'ASSIGNMENT_ARITY_MISMATCH',
      `the alias names ${alias.columns.length} columns of ${visible.length}`,
      alias.name.place,
    );
  }
  return {
    ...named,
    columns: named.columns.map((column, i) => ({
      ...column,
      name: alias.columns[i]?.text ?? column.name,
    })),
  };
}

/** Positions in a row: hidden columns have some too. */
export function widthOf(relation: BatchRelation): number {
  return Math.max(0, ...relation.columns.map((column) => column.index + 1));
}
