import type { Column } from '../data/types.ts';
import type { ColumnDefinition, Constraint, Identifier } from '../sql/ast.ts';
import { nameKey } from './bind/names.ts';
import { resolveType } from './bind/resolve-type.ts';
import { type FaultList, notSupportedYet, planFault, planWarning } from './faults.ts';

/** Declared columns, those without a type that can be read among them. */
export type ReadColumns = {
  readonly columns: readonly Column[];
  /** The columns whose type could not be read: no more is said of them. */
  readonly broken: ReadonlySet<Column>;
};

/** Declared columns with their types; `broken` when one of them has no type that can be read. */
export function readColumns(
  definitions: readonly ColumnDefinition[],
  faults: FaultList,
): readonly Column[] | 'broken' {
  const read = readAllColumns(definitions, faults);
  const isWhole = read.broken.size === 0 && read.columns.length === definitions.length;
  return isWhole ? read.columns : 'broken';
}

/** The same, with the columns that can be read where others cannot. */
export function readAllColumns(
  definitions: readonly ColumnDefinition[],
  faults: FaultList,
): ReadColumns {
  const columns: Column[] = [];
  const broken = new Set<Column>();
  const seen = new Set<string>();
  for (const definition of definitions) {
    const { text, place } = definition.name;
    if (seen.has(nameKey(text))) {
      const message = `column "${text}" is declared twice`;
      const detail = 'Column names are the same whatever their case.';
      faults.add(planFault('COLUMN_DUPLICATE', message, place, { detail }));
      continue;
    }
    seen.add(nameKey(text));
    checkColumnOptions(definition, faults);
    const type = faults.attempt(() => resolveType(definition.type));
    const column: Column = { name: text, type: type ?? { kind: 'void' } };
    if (type === undefined) broken.add(column);
    columns.push(column);
  }
  return { columns, broken };
}

function checkColumnOptions(definition: ColumnDefinition, faults: FaultList): void {
  if (definition.notNull) {
    const { text, place } = definition.name;
    faults.add(
      planWarning('NOT_NULL_IGNORED', `NOT NULL on column "${text}" is not enforced`, place, {
        hint: `Write CONSTRAINT ${text}_given EXPECT (${text} IS NOT NULL) ON VIOLATION DROP ROW on the table.`,
      }),
    );
  }
  if (definition.defaultValue !== undefined) {
    const hint = 'Use coalesce in the query.';
    faults.add(notSupportedYet('DEFAULT of a column', definition.defaultValue.place, hint));
  }
}

/** Each expectation of a table is counted under a name of its own. */
export function checkConstraintNames(constraints: readonly Constraint[], faults: FaultList): void {
  const seen = new Map<string, Identifier>();
  for (const { name } of constraints) {
    if (seen.has(nameKey(name.text))) {
      const message = `expectation "${name.text}" is declared twice`;
      const hint = 'Each expectation is counted under its own name: rename one.';
      faults.add(planFault('CONSTRAINT_DUPLICATE', message, name.place, { hint }));
    }
    seen.set(nameKey(name.text), name);
  }
}
