import { type Fault, FaultError } from '../../base/place.ts';
import type { DataType } from '../../data/types.ts';
import type { Expression } from '../../expr/expression.ts';
import type { CallExpression, Identifier, Name } from '../../sql/ast.ts';
import { AlreadyReported } from '../faults.ts';
import { isRawRow, rawRowHint } from '../kafka-columns.ts';
import type { BoundColumn } from './bound-column.ts';
import { nameHint } from './name-hint.ts';
import { nameKey, nameText } from './names.ts';

/** The alias of an earlier item of the same select list. */
export type LateralAlias = {
  readonly name: string;
  readonly type: DataType;
  readonly index: number;
  readonly broken: boolean;
};

/** What names mean for one row: the columns of what is read, then the aliases before the expression. */
export type RowScope = {
  readonly columns: readonly BoundColumn[];
  readonly aliases: readonly LateralAlias[];
  /** The column that stands for a call, such as one of `window`. */
  readonly callOf?: (call: CallExpression) => BoundColumn | undefined;
  /** A hint for a name that is not found, from the clause that it stands in. */
  readonly hintFor?: (name: string) => string | undefined;
};

export type ColumnReference = {
  readonly column: Extract<Expression, { node: 'column' }>;
  /** Names that follow the column's: fields of a struct. */
  readonly fields: readonly Identifier[];
};

/**
 * Resolves a name as Spark does: as many parts as possible are the relation, the next is the column,
 * the rest are fields; a column of the relation wins over an alias. Throws what cannot be resolved.
 */
export function resolveColumn(name: Name, scope: RowScope): ColumnReference {
  // It stands for text that could not be read.
  if (name.parts.length === 0) throw new AlreadyReported(name.place);
  for (let qualifiers = Math.min(3, name.parts.length - 1); qualifiers >= 0; qualifiers--) {
    const found = candidates(name, qualifiers, scope.columns);
    const first = found[0];
    if (first === undefined) continue;
    if (found.length > 1) throw ambiguous(name, found);
    return reference(name, first, qualifiers);
  }
  const alias = resolveAlias(name, scope);
  if (alias !== undefined) return reference(name, alias, 0);
  throw unresolved(name, scope);
}

/** The columns that a name with so many qualifiers may mean; visible ones win over hidden ones. */
function candidates(
  name: Name,
  qualifiers: number,
  columns: readonly BoundColumn[],
): readonly BoundColumn[] {
  const column = name.parts[qualifiers];
  if (column === undefined) return [];
  const prefix = name.parts.slice(0, qualifiers).map((part) => nameKey(part.text));
  const found = columns.filter(
    (candidate) =>
      candidate.name !== undefined &&
      nameKey(candidate.name) === nameKey(column.text) &&
      isQualifiedBy(candidate, prefix),
  );
  const visible = found.filter((candidate) => !candidate.hidden);
  return visible.length > 0 ? visible : found;
}

export function isQualifiedBy(column: BoundColumn, prefix: readonly string[]): boolean {
  const tail = prefix.length === 0 ? [] : column.qualifier.slice(-prefix.length);
  return tail.length === prefix.length && tail.every((part, i) => part === prefix[i]);
}

function resolveAlias(name: Name, scope: RowScope): LateralAlias | undefined {
  const [first] = name.parts;
  const found = scope.aliases.filter((alias) => nameKey(alias.name) === nameKey(first?.text ?? ''));
  if (found.length < 2) return found[0];
  throw faultError(name, {
    code: 'AMBIGUOUS_LATERAL_COLUMN_ALIAS',
    message: `the alias "${first?.text ?? ''}" stands ${found.length} times in the select list`,
    hint: 'Give the columns different names.',
  });
}

function reference(
  name: Name,
  column: { name: string | undefined; type: DataType; index: number; broken: boolean },
  qualifiers: number,
): ColumnReference {
  if (column.broken) throw new AlreadyReported(name.place);
  return {
    column: {
      node: 'column',
      type: column.type,
      index: column.index,
      name: column.name ?? '',
      place: name.place,
    },
    fields: name.parts.slice(qualifiers + 1),
  };
}

function ambiguous(name: Name, found: readonly BoundColumn[]): FaultError {
  const owners = [...new Set(found.map((column) => column.qualifier.join('.')))].filter(
    (owner) => owner !== '',
  );
  return faultError(name, {
    code: 'AMBIGUOUS_REFERENCE',
    message: `the name "${nameText(name)}" may mean ${found.length} columns`,
    hint:
      owners.length > 1
        ? `Say which one: ${owners.map((owner) => `${owner}.${nameText(name)}`).join(' or ')}.`
        : 'Give the columns different names in the inner query.',
  });
}

function unresolved(name: Name, scope: RowScope): FaultError {
  const text = nameText(name);
  const visible = scope.columns.filter((column) => !column.hidden);
  const names = [...visible, ...scope.aliases].flatMap(({ name: known }) => known ?? []);
  const last = name.parts.at(-1)?.text ?? text;
  const known = scope.hintFor?.(text) ?? nameHint(last, [...new Set(names)], 'columns');
  const hint = isRawRow(visible) ? [known, rawRowHint].join(' ').trim() : known;
  return faultError(name, {
    code:
      names.length === 0
        ? 'UNRESOLVED_COLUMN.WITHOUT_SUGGESTION'
        : 'UNRESOLVED_COLUMN.WITH_SUGGESTION',
    message: `there is no column "${text}"`,
    ...(hint === undefined ? {} : { hint }),
  });
}

function faultError(name: Name, fault: Omit<Fault, 'severity' | 'place'>): FaultError {
  return new FaultError({ severity: 'error', ...fault, place: name.place });
}
