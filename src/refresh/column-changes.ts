import { formatType } from '../data/type-text.ts';
import type { Column } from '../data/types.ts';
import type { DeployedFlow } from './deployed-flow.ts';
import { compatible, type FlowChange, refresh } from './flow-change.ts';
import { typeChange } from './type-change.ts';

/** What differs in the columns of the table: those that come and go, their names, types and expressions. */
export function columnChanges(before: DeployedFlow, after: DeployedFlow): FlowChange[] {
  const dropped = before.columns.filter(({ name }) => find(after, name) === undefined);
  const added = after.columns.filter(({ name }) => find(before, name) === undefined);
  const renamed = new Map<Column, Column>();
  for (const column of dropped) {
    const twin = added.find(
      (other) => ![...renamed.values()].includes(other) && isTwin(before, column, after, other),
    );
    if (twin !== undefined) renamed.set(column, twin);
  }
  const twins = new Set(renamed.values());
  return [
    ...[...renamed].map(([{ name }, twin]) =>
      refresh('FR-12', `Column "${name}" was renamed to "${twin.name}".`),
    ),
    ...dropped
      .filter((column) => !renamed.has(column))
      .map(({ name }) =>
        after.definition.kind === 'join'
          ? compatible('FR-16', `Column "${name}" is not kept any more: nothing reads it.`)
          : refresh('FR-16', `Column "${name}" was dropped.`),
      ),
    ...added.filter((column) => !twins.has(column)).map(({ name }) => addedColumn(after, name)),
    ...before.columns.flatMap((column) => {
      const now = find(after, column.name);
      return now === undefined ? [] : keptColumnChanges(column, now, { before, after });
    }),
  ];
}

/** What a join keeps has partners that are still to come: each of them would be paired with a row that lacks the column. */
function addedColumn({ definition }: DeployedFlow, name: string): FlowChange {
  return definition.kind === 'join'
    ? refresh(
        'FR-26',
        `Column "${name}" is read from now on, and rows that the join keeps lack it: what comes would find NULL there.`,
      )
    : compatible('FR-18', `Column "${name}" was added; rows that are there lack it.`);
}

/** Computed alike and of one type: the same column by another name. */
function isTwin(before: DeployedFlow, was: Column, after: DeployedFlow, is: Column): boolean {
  const [from, to] = [valuesOf(before, was.name), valuesOf(after, is.name)];
  return (
    formatType(was.type) === formatType(is.type) &&
    from !== undefined &&
    to !== undefined &&
    sameTexts(from, to)
  );
}

function find({ columns }: DeployedFlow, name: string): Column | undefined {
  return columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
}

function keptColumnChanges(
  was: Column,
  is: Column,
  { before, after }: { readonly before: DeployedFlow; readonly after: DeployedFlow },
): FlowChange[] {
  const changes: FlowChange[] = [];
  if (was.name !== is.name) {
    changes.push(refresh('FR-12', `Column "${was.name}" is written as "${is.name}".`));
  }
  const name = is.name.toLowerCase();
  // A change of the key or the sequence was told already.
  if (isKey(before, name) && isKey(after, name)) return changes;
  const changed = columnTypeChange(was, is);
  if (changed !== undefined) return [...changes, changed];
  if (
    !after.definition.sequenceColumns.includes(name) &&
    isComputedOtherwise(before, after, name)
  ) {
    changes.push(
      compatible(
        'FR-11',
        after.definition.kind === 'join'
          ? `Column "${is.name}" is computed otherwise from now on; rows that the join keeps have their former values, and so have pairs that they become part of.`
          : `Column "${is.name}" is computed otherwise from now on; rows that are there keep their values.`,
      ),
    );
  }
  return changes;
}

function columnTypeChange(was: Column, is: Column): FlowChange | undefined {
  const types = `Column "${is.name}" was ${formatType(was.type)} and is ${formatType(is.type)}`;
  switch (typeChange(was.type, is.type)) {
    case 'same':
      return undefined;
    case 'widened':
      return compatible('FR-14', `${types}: every value that is there fits.`);
    case 'narrowed':
      return refresh('FR-14', `${types}: not every value that is there fits.`);
    case 'incompatible':
      return refresh('FR-15', `${types}: values that are there are written otherwise.`);
  }
}

/** Of the columns that both have, keys apart. */
export function typeChanges(before: DeployedFlow, after: DeployedFlow): readonly FlowChange[] {
  return before.columns.flatMap((was) => {
    const is = find(after, was.name);
    if (is === undefined || isKey(after, is.name.toLowerCase())) return [];
    return columnTypeChange(was, is) ?? [];
  });
}

export function isKey({ keys }: DeployedFlow, name: string): boolean {
  return keys.some((key) => key.name.toLowerCase() === name);
}

/** Columns by name in lower case → how each branch computes it; undefined: there is no such column. */
function valuesOf({ columns, definition }: DeployedFlow, name: string) {
  const position = columns.findIndex((column) => column.name.toLowerCase() === name.toLowerCase());
  if (position < 0) return undefined;
  return definition.branches.map(({ values }) => values[position]);
}

/** Only branches that both have are compared: others are changes of the sources. */
export function isComputedOtherwise(
  before: DeployedFlow,
  after: DeployedFlow,
  name: string,
): boolean {
  const [was, is] = [valuesOf(before, name), valuesOf(after, name)];
  if (was === undefined || is === undefined) return false;
  return was.some((value, branch) => branch < is.length && is[branch] !== value);
}

export function sameTexts(
  left: readonly (string | undefined)[],
  right: readonly (string | undefined)[],
): boolean {
  return left.length === right.length && left.every((text, at) => text === right[at]);
}
