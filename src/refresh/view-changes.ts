import { formatType } from '../data/type-text.ts';
import type { Column } from '../data/types.ts';
import type { ViewDefinition } from '../plan/flows/view-definition.ts';
import type { FlowChange } from './flow-change.ts';
import { typeChange } from './type-change.ts';

/** A change of a materialized view, which is never refused: the next update computes the view anew. */
export type ViewChange = {
  readonly id: 'FR-11' | 'FR-24' | 'FR-25' | 'FR-26' | 'FR-27';
  readonly text: string;
};

/**
 * What differs between the definition of a materialized view that was computed last and the present one. Invariant: it is
 * empty exactly when the fingerprints are equal.
 */
export function viewChanges(before: ViewDefinition, after: ViewDefinition): readonly ViewChange[] {
  if (before.fingerprint === after.fingerprint) return [];
  const changes = [
    ...aggregateChanges(before.aggregates, after.aggregates),
    ...groupChanges(before.groups, after.groups),
    ...joinChanges(before.joins, after.joins),
  ];
  return changes.length > 0 ? changes : [{ id: 'FR-11', text: 'The query changed.' }];
}

function aggregateChanges(was: readonly string[], is: readonly string[]): readonly ViewChange[] {
  if (was.length !== is.length) {
    const verb = is.length > was.length ? 'added' : 'removed';
    return [
      {
        id: 'FR-25',
        text: `An aggregate was ${verb}: there were ${was.length}, there are ${is.length}.`,
      },
    ];
  }
  return isSame(was, is) ? [] : [{ id: 'FR-24', text: 'An aggregate is computed otherwise.' }];
}

function groupChanges(was: readonly string[], is: readonly string[]): readonly ViewChange[] {
  if (isSame(was, is)) return [];
  return [
    {
      id: 'FR-24',
      text: `It was grouped by ${was.length} keys and is grouped by ${is.length}${was.length === is.length ? ' others' : ''}.`,
    },
  ];
}

function joinChanges(was: readonly string[], is: readonly string[]): readonly ViewChange[] {
  if (was.length !== is.length) {
    return [{ id: 'FR-27', text: `It joined ${was.length} times and joins ${is.length} times.` }];
  }
  return isSame(was, is)
    ? []
    : [{ id: 'FR-26', text: 'A join has another kind, key or condition.' }];
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((text, at) => text === right[at]);
}

/**
 * What keeps the rows that a REPLACE WHERE flow left in its table from being rows of the present definition. Invariant:
 * without one, each of them reads as it was written, and columns that are new are NULL in it.
 */
export function keptRowChanges(
  before: readonly Column[],
  after: readonly Column[],
): readonly FlowChange[] {
  return before.flatMap((column) => keptColumnChange(column, after) ?? []);
}

function keptColumnChange(
  { name, type }: Column,
  after: readonly Column[],
): FlowChange | undefined {
  const change = (id: FlowChange['id'], text: string): FlowChange => ({
    id,
    effect: 'refresh',
    text,
  });
  const now = after.find((column) => column.name.toLowerCase() === name.toLowerCase());
  if (now === undefined) return change('FR-16', `Column "${name}" was dropped or renamed.`);
  if (now.name !== name) return change('FR-12', `Column "${name}" is written as "${now.name}".`);
  const types = `Column "${name}" was ${formatType(type)} and is ${formatType(now.type)}`;
  switch (typeChange(type, now.type)) {
    case 'same':
    case 'widened':
      return undefined;
    case 'narrowed':
      return change('FR-14', `${types}: not every value that is there fits.`);
    case 'incompatible':
      return change('FR-15', `${types}: values that are there are written otherwise.`);
  }
}

/** undefined: there is none, or the entry is not one of this form. */
export function readViewDefinition(
  value: Readonly<Record<string, unknown>> | undefined,
): ViewDefinition | undefined {
  const isWhole =
    Array.isArray(value?.['groups']) &&
    Array.isArray(value['aggregates']) &&
    Array.isArray(value['joins']) &&
    typeof value['fingerprint'] === 'string';
  return isWhole ? (value as unknown as ViewDefinition) : undefined;
}
