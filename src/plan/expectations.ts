import { formatType } from '../data/type-text.ts';
import type { Column } from '../data/types.ts';
import type { Constraint } from '../sql/ast.ts';
import { bindRow } from './bind-row.ts';
import { asCondition } from './bind-select.ts';
import type { Catalog, TableDataset } from './catalog.ts';
import { chanceIn, operationName } from './chance.ts';
import { type FaultList, planFault, planWarning } from './faults.ts';
import { nameKey } from './names.ts';
import type { ExpectationPlan } from './pipeline-plan.ts';
import { checkRowExpression } from './row-rules.ts';
import type { RowScope } from './scope.ts';
import { sketch } from './sketch.ts';

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
  const expectations: ExpectationPlan[] = [];
  for (const constraint of table.constraints) {
    const { condition, name, action } = constraint;
    const clause = { clause: 'an expectation', allowsGenerator: false, hasWatermark: false };
    if (!checkRowExpression(condition, clause, around.faults) || columns === undefined) continue;
    const bound = bindRow(condition, scopeOf(table, columns), around);
    if (bound === undefined) continue;
    if (bound.type.kind !== 'boolean' && bound.type.kind !== 'void') {
      const message = `expectation "${name.text}" needs a boolean, not ${formatType(bound.type)}`;
      const hint = 'Compare the value with something.';
      around.faults.add(planFault('EXPECTATION_TYPE', message, condition.place, { hint }));
      continue;
    }
    const chance = chanceIn(bound);
    if (chance !== undefined) {
      const message = `expectation "${name.text}" depends on ${operationName(chance)}`;
      const detail = 'A row that is checked again may then be judged differently.';
      around.faults.add(planWarning('NONDETERMINISTIC', message, chance.place, { detail }));
    }
    const names = columns.map((column) => column.name);
    const sql = textOf(constraint, around.texts) ?? sketch(bound, names);
    expectations.push({ name: name.text, condition: asCondition(bound, 'EXPECT'), action, sql });
  }
  return expectations;
}

function scopeOf(table: TableDataset, columns: readonly JudgedColumn[]): RowScope {
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
function textOf({ condition }: Constraint, texts: ReadonlyMap<string, string>): string | undefined {
  const { file, start, end } = condition.place;
  const text = texts.get(file)?.slice(start, end).replace(/\s+/gu, ' ').trim();
  return text === '' ? undefined : text;
}
