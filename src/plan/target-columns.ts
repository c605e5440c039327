import type { Place } from '../base/place.ts';
import { isOrderable } from '../data/compare.ts';
import { formatType } from '../data/type-text.ts';
import type { Column, DataType } from '../data/types.ts';
import { literal } from '../expr/call.ts';
import { canStoreAssign } from '../expr/cast-rules.ts';
import { castTo } from '../expr/coerce.ts';
import type { BoundColumn } from './bind/bound-column.ts';
import { listed, nameHint } from './bind/name-hint.ts';
import { nameKey } from './bind/names.ts';
import type { TableDataset } from './catalog.ts';
import { type FaultList, planFault, planWarning } from './faults.ts';
import { columnNode } from './flows/move-columns.ts';
import { isRawRow, rawRowHint } from './kafka-columns.ts';
import type { ProjectedColumn } from './pipeline-plan.ts';
import type { BoundRelation } from './relation.ts';

/** The columns of a target, and how the row of the query becomes a row of it. */
export type TargetColumns = {
  readonly columns: readonly TargetColumn[];
  readonly projection: readonly ProjectedColumn[];
};

export type TargetColumn = Column & {
  /** The query gives it; otherwise it is declared and always NULL. */
  readonly given: boolean;
  /** Its type is not known, because of a fault that was told. */
  readonly broken: boolean;
};

/**
 * Matches the query's columns with the target's by name. Invariant: the projection has one column for
 * each of the target's, in its order and of its type.
 */
export function matchTarget(
  table: TableDataset,
  relation: Pick<BoundRelation, 'columns' | 'distinct'>,
  faults: FaultList,
): TargetColumns {
  const given = relation.columns.filter((column) => !column.hidden);
  checkNames(given, faults);
  if (table.columns === undefined || table.columns === 'broken') {
    return undeclaredTarget(given, table.columns === 'broken', faults);
  }
  return declaredTarget(table, table.columns, { given, relation }, faults);
}

function checkNames(given: readonly BoundColumn[], faults: FaultList): void {
  const seen = new Map<string, BoundColumn>();
  for (const column of given) {
    if (column.name === undefined) {
      if (column.broken) continue;
      faults.add(
        planFault('OUTPUT_COLUMN_UNNAMED', 'a column of the query has no name', column.place, {
          detail: 'BY NAME stores each column under its name.',
          hint: 'Name it: … AS name.',
        }),
      );
      continue;
    }
    const key = nameKey(column.name);
    const before = seen.get(key);
    if (before === undefined) seen.set(key, column);
    else {
      faults.add(
        planFault(
          'OUTPUT_COLUMN_DUPLICATE',
          `two columns of the query are called "${column.name}"`,
          column.place,
          {
            detail: `The other one stands at line ${before.place.line}, column ${before.place.column}. Column names are the same whatever their case.`,
            hint: 'Rename one of them: … AS name, or leave it out: * EXCEPT (name).',
          },
        ),
      );
    }
  }
}

function undeclaredTarget(
  given: readonly BoundColumn[],
  isBroken: boolean,
  faults: FaultList,
): TargetColumns {
  const columns: TargetColumn[] = [];
  for (const { name, type, broken, place } of given) {
    if (!broken && hasVoid(type)) {
      const message = `column "${name ?? ''}" is NULL in every row, so it has no type`;
      const hint = 'Cast it: CAST(NULL AS STRING).';
      faults.add(planFault('OUTPUT_COLUMN_UNTYPED', message, place, { hint }));
    }
    columns.push({ name: name ?? '', type, given: true, broken: broken || isBroken });
  }
  return {
    columns,
    projection: given.map((column) => ({ name: column.name ?? '', value: columnNode(column) })),
  };
}

/** The columns of several queries by name, in the order in which they first appear, each of the first type that it has. */
export function unitedColumns(queries: readonly BoundRelation[]): readonly Column[] | 'broken' {
  const united = new Map<string, Column>();
  for (const { columns } of queries) {
    for (const { name, type, hidden, broken } of columns) {
      if (hidden) continue;
      if (broken || name === undefined) return 'broken';
      const before = united.get(nameKey(name));
      if (before === undefined) united.set(nameKey(name), { name, type });
      else if (hasVoid(before.type) && !hasVoid(type)) {
        united.set(nameKey(name), { name: before.name, type });
      }
    }
  }
  const columns = [...united.values()];
  // Where no query gives a type, each is matched alone, and told so.
  return columns.some(({ type }) => hasVoid(type)) ? 'broken' : columns;
}

function hasVoid(type: DataType): boolean {
  switch (type.kind) {
    case 'void':
      return true;
    case 'array':
      return hasVoid(type.element);
    case 'map':
      return hasVoid(type.key) || hasVoid(type.value);
    case 'struct':
      return type.fields.some((field) => hasVoid(field.type));
    default:
      return false;
  }
}

function declaredTarget(
  table: TableDataset,
  declared: readonly Column[],
  query: { given: readonly BoundColumn[]; relation: Pick<BoundRelation, 'distinct'> },
  faults: FaultList,
): TargetColumns {
  checkExtra(table, declared, query.given, faults);
  const columns: TargetColumn[] = [];
  const projection: ProjectedColumn[] = [];
  for (const column of declared) {
    const found = query.given.find(({ name }) => nameKey(name ?? '') === nameKey(column.name));
    if (found === undefined) {
      columns.push({ ...column, given: false, broken: false });
      projection.push({ name: column.name, value: literal(null, column.type, table.place) });
      continue;
    }
    columns.push({ ...column, given: true, broken: false });
    const isFine =
      !found.broken &&
      checkAssignment(column, found, query.relation.distinct !== undefined, faults);
    const value = isFine
      ? faults.attempt(() => castTo(columnNode(found), column.type, 'store', found.place))
      : undefined;
    projection.push({
      name: column.name,
      value: value ?? literal(null, column.type, found.place),
    });
  }
  return { columns, projection };
}

function checkExtra(
  table: TableDataset,
  declared: readonly Column[],
  given: readonly BoundColumn[],
  faults: FaultList,
): void {
  const names = declared.map((column) => column.name);
  // What one star gives is one mistake.
  const byPlace = new Map<Place, string[]>();
  for (const { name, place } of given) {
    if (name === undefined || names.some((known) => nameKey(known) === nameKey(name))) continue;
    byPlace.set(place, [...(byPlace.get(place) ?? []), name]);
  }
  for (const [place, extra] of byPlace) {
    const [first = ''] = extra;
    const isOne = extra.length === 1;
    const noun = `columns of "${table.name}"`;
    const known = isOne
      ? nameHint(first, names, noun)
      : `The ${noun} are ${listed(names.slice(0, namesShown), 'and')}.`;
    const remedy = isOne
      ? 'Declare the column, or leave it out of the query.'
      : `Declare them, or name the columns that you want instead of the star.${isRawRow(given) ? ` ${rawRowHint}` : ''}`;
    faults.add(
      planFault(
        'TARGET_COLUMN_UNKNOWN',
        `streaming table "${table.name}" declares no ${isOne ? 'column' : 'columns'} ${listed(extra.slice(0, namesShown), 'and')}`,
        place,
        { hint: `${known ?? ''} ${remedy}`.trim() },
      ),
    );
  }
}

const namesShown = 12;

function checkAssignment(
  target: Column,
  found: BoundColumn,
  isDistinct: boolean,
  faults: FaultList,
): boolean {
  const [from, to] = [formatType(found.type), formatType(target.type)];
  if (!canStoreAssign(found.type, target.type)) {
    faults.add(
      planFault(
        'TARGET_COLUMN_TYPE',
        `column "${target.name}" is declared ${to}, and the query gives ${from}`,
        found.place,
        {
          hint: `Write CAST(… AS ${to.toUpperCase()}) if that is what you mean, or declare the column ${from.toUpperCase()}.`,
        },
      ),
    );
    return false;
  }
  warnOfNarrow(target, found, faults);
  if (!isDistinct || keepsDistinct(found.type, target.type)) return true;
  faults.add(
    planFault(
      'DISTINCT_CAST',
      `storing column "${target.name}" as ${to} could make distinct rows equal`,
      found.place,
      { hint: `Cast it under DISTINCT: CAST(… AS ${to.toUpperCase()}).` },
    ),
  );
  return false;
}

function warnOfNarrow(target: Column, found: BoundColumn, faults: FaultList): void {
  const loss = narrowLoss(found.type, target.type);
  if (loss === undefined) return;
  const [from, to] = [found.type, target.type].map((type) => formatType(type).toUpperCase());
  const message = `column "${target.name}" is declared ${to}, and the query gives ${from}`;
  faults.add(
    planWarning('TARGET_COLUMN_NARROW', message, found.place, {
      detail: loss,
      hint: `Declare it ${from}, or write CAST(… AS ${to}) if no such value comes.`,
    }),
  );
}

function narrowLoss(from: DataType, to: DataType): string | undefined {
  if (from.kind === 'double' && to.kind === 'float') {
    return 'A value keeps about 7 of its 16 digits, and a large one becomes infinite.';
  }
  const losses: string[] = [];
  const [source, kept] = [from, to].map(wholeDigits);
  if (source !== undefined && kept !== undefined && kept < source) {
    losses.push('A row with a value out of its range becomes a bad row.');
  }
  if (from.kind === 'decimal' && to.kind === 'decimal' && to.scale < from.scale) {
    losses.push(
      to.scale === 0
        ? 'A value is rounded to a whole number.'
        : `A value is rounded to ${to.scale} digit${to.scale === 1 ? '' : 's'} behind the point.`,
    );
  }
  return losses.length === 0 ? undefined : losses.join(' ');
}

/** How many digits before the point a number may have. */
function wholeDigits(type: DataType): number | undefined {
  if (type.kind === 'decimal') return type.precision - type.scale;
  return integralDigits[integralOrder.indexOf(type.kind)];
}

const integralOrder: readonly string[] = ['tinyint', 'smallint', 'int', 'bigint'];
const integralDigits: readonly number[] = [3, 5, 10, 19];

/** Whether a cast maps different values to different values. */
export function keepsDistinct(from: DataType, to: DataType): boolean {
  if (formatType(from) === formatType(to) || from.kind === 'void') return true;
  const source = integralOrder.indexOf(from.kind);
  switch (to.kind) {
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'bigint':
      // A narrowing cast fails where it would lose something, so what passes is the same number.
      return source >= 0;
    case 'decimal':
      if (source >= 0) return to.precision - to.scale >= (integralDigits[source] ?? 0);
      return from.kind === 'decimal' && to.scale >= from.scale;
    case 'double':
      return from.kind === 'float' || (source >= 0 && source < 3);
    case 'string':
      return isOrderable(from) && from.kind !== 'float' && from.kind !== 'double';
    case 'timestamp':
    case 'timestamp_ntz':
      return from.kind === 'date';
    default:
      return false;
  }
}
