import { FaultError, type Place } from '../../base/place.ts';
import type { DataType } from '../../data/types.ts';
import type { Expression, Name } from '../../sql/ast.ts';
import type { BoundColumn } from './bound-column.ts';
import { nameHint } from './name-hint.ts';
import { nameKey, nameText } from './names.ts';
import { isQualifiedBy, resolveColumn } from './scope.ts';

type StructType = Extract<DataType, { kind: 'struct' }>;
type Star = Extract<Expression, { node: 'star' }>;

/** What a star stands for: columns, or fields of a struct that are yet to be bound. */
export type StarColumn =
  | { readonly kind: 'column'; readonly column: BoundColumn }
  | { readonly kind: 'field'; readonly name: string; readonly value: Expression };

/** The columns of `*`, `t.*`, `struct_column.*`, without those of EXCEPT and without hidden ones. */
export function expandStar(star: Star, columns: readonly BoundColumn[]): readonly StarColumn[] {
  const all = starColumns(star, columns);
  if (star.replace !== undefined) return replaced(all, star.replace);
  refuseOverlaps(star.except);
  const nested = star.except.filter((name) => isField(name, star, all));
  const whole = star.except.filter((name) => !nested.includes(name));
  const dropped = new Set(whole.map((name) => exceptName(name, star, all)));
  const left = all.filter((column) => !dropped.has(nameKey(starName(column))));
  return nested.length === 0 ? left : left.map((column) => withoutFields(column, nested));
}

function replaced(
  all: readonly StarColumn[],
  changes: NonNullable<Star['replace']>,
): readonly StarColumn[] {
  for (const { name } of changes) exceptName({ parts: [name], place: name.place }, noStar, all);
  return all.map((column) => {
    const own = changes.find(({ name }) => nameKey(name.text) === nameKey(starName(column)));
    return own === undefined ? column : { kind: 'field', name: starName(column), value: own.value };
  });
}

const noStar = { except: [], qualifier: undefined };

function refuseOverlaps(names: readonly Name[]): void {
  const keys = names.map((name) => name.parts.map((part) => `${nameKey(part.text)}.`).join(''));
  for (const [i, name] of names.entries()) {
    if (!keys.some((key, at) => at !== i && (keys[i] ?? '').startsWith(key))) continue;
    const message = `"${nameText(name)}" is left out twice`;
    throw refusal('EXCEPT_OVERLAPPING_COLUMNS', message, name.place, 'Name it once.');
  }
}

/** Whether EXCEPT names a field of a column, and not the column of a relation. */
function isField(name: Name, star: Star, all: readonly StarColumn[]): boolean {
  try {
    exceptName(name, star, all);
    return false;
  } catch {
    return structAt(name, all) !== undefined;
  }
}

/** The struct column that the first part of the name is. */
function structAt(
  name: Name,
  all: readonly StarColumn[],
): { readonly column: BoundColumn; readonly type: StructType } | undefined {
  const [first] = name.parts;
  if (name.parts.length < 2 || first === undefined) return undefined;
  for (const found of all) {
    if (found.kind !== 'column' || nameKey(starName(found)) !== nameKey(first.text)) continue;
    const { column } = found;
    if (column.type.kind === 'struct') return { column, type: column.type };
  }
  return undefined;
}

/** A column without the fields that EXCEPT names, as the struct of the others. */
function withoutFields(column: StarColumn, names: readonly Name[]): StarColumn {
  const own = names.filter((name) => structAt(name, [column]) !== undefined);
  const [first] = own;
  const whole = first === undefined ? undefined : structAt(first, [column]);
  if (first === undefined || whole === undefined) return column;
  const { place } = first;
  const base = { parts: [{ text: starName(column), quoted: true, place }], place };
  const paths = own.map((name) => ({ name, parts: name.parts.slice(1) }));
  return { kind: 'field', name: starName(column), value: structOf(base, whole.type, paths) };
}

type FieldPath = { readonly name: Name; readonly parts: Name['parts'] };

function structOf(base: Name, type: StructType, paths: readonly FieldPath[]): Expression {
  for (const { name, parts } of paths) {
    const [field] = parts;
    if (type.fields.some((one) => nameKey(one.name) === nameKey(field?.text ?? ''))) continue;
    throw refusal('FIELD_NOT_FOUND', `no field ${field?.text ?? ''} to leave out`, name.place);
  }
  const { place } = base;
  const args = type.fields.flatMap((field): readonly Expression[] => {
    const own = paths.filter(({ parts }) => nameKey(parts[0]?.text ?? '') === nameKey(field.name));
    if (own.some(({ parts }) => parts.length === 1)) return [];
    const name = { parts: [...base.parts, { text: field.name, quoted: true, place }], place };
    const deeper = own.map((path) => ({ ...path, parts: path.parts.slice(1) }));
    const value: Expression =
      deeper.length > 0 && field.type.kind === 'struct'
        ? structOf(name, field.type, deeper)
        : { node: 'column', name, place };
    return [{ node: 'string', value: field.name, place }, value];
  });
  return {
    ...{ node: 'call', distinct: false, arguments: args, named: [], filter: undefined, place },
    ...{ ignoreNulls: false, window: undefined },
    name: { parts: [{ text: 'named_struct', quoted: false, place }], place },
  };
}

function starName(column: StarColumn): string {
  return (column.kind === 'column' ? column.column.name : column.name) ?? '';
}

function starColumns(star: Star, columns: readonly BoundColumn[]): readonly StarColumn[] {
  const visible = columns.filter((column) => !column.hidden);
  if (star.qualifier === undefined) return visible.map((column) => ({ kind: 'column', column }));
  const prefix = star.qualifier.parts.map((part) => nameKey(part.text));
  const qualified = visible.filter((column) => isQualifiedBy(column, prefix));
  if (qualified.length > 0) return qualified.map((column) => ({ kind: 'column', column }));
  return structFields(star.qualifier, columns);
}

function structFields(name: Name, columns: readonly BoundColumn[]): readonly StarColumn[] {
  const { column, fields } = resolveColumn(name, {
    columns,
    aliases: [],
    hintFor: () => relationHint(name, columns),
  });
  let type = column.type;
  for (const field of fields) {
    const inner = type.kind === 'struct' ? type.fields : [];
    const found = inner.find((candidate) => nameKey(candidate.name) === nameKey(field.text));
    if (found === undefined) throw notExpandable(name);
    type = found.type;
  }
  if (type.kind !== 'struct') throw notExpandable(name);
  return type.fields.map((field) => ({
    kind: 'field',
    name: field.name,
    value: {
      node: 'column',
      name: {
        parts: [...name.parts, { text: field.name, quoted: true, place: name.place }],
        place: name.place,
      },
      place: name.place,
    },
  }));
}

function relationHint(name: Name, columns: readonly BoundColumn[]): string | undefined {
  const relations = columns.flatMap((column) => column.qualifier.at(-1) ?? []);
  return nameHint(nameText(name), [...new Set(relations)], 'relations');
}

function notExpandable(name: Name): FaultError {
  return new FaultError({
    severity: 'error',
    code: 'CANNOT_RESOLVE_STAR_EXPAND',
    message: `"${nameText(name)}.*" is neither a relation nor a struct`,
    place: name.place,
  });
}

/** The column that EXCEPT names, as a key; it may carry the qualifier of the star or of its relation. */
function exceptName(
  name: Name,
  star: Pick<Star, 'except' | 'qualifier'>,
  all: readonly StarColumn[],
): string {
  const last = name.parts.at(-1);
  const prefix = name.parts.slice(0, -1).map((part) => nameKey(part.text));
  const key = nameKey(last?.text ?? '');
  const qualifier = star.qualifier?.parts.map((part) => nameKey(part.text)) ?? [];
  const named = all.filter(
    (column) =>
      nameKey(starName(column)) === key &&
      (prefix.length === 0 ||
        prefix.join('.') === qualifier.join('.') ||
        (column.kind === 'column' && isQualifiedBy(column.column, prefix))),
  );
  if (named.length > 1) {
    const message = `"${nameText(name)}" names ${named.length} columns of the star`;
    throw refusal('AMBIGUOUS_REFERENCE', message, name.place);
  }
  if (named.length > 0) return key;
  throw unknownExcept(name, all);
}

function unknownExcept(name: Name, all: readonly StarColumn[]): FaultError {
  const [first] = name.parts;
  const isNested =
    name.parts.length > 1 && all.some((c) => nameKey(starName(c)) === nameKey(first?.text ?? ''));
  if (isNested) {
    return refusal(
      'EXCEPT_NESTED_COLUMN_INVALID_TYPE',
      `"${nameText(name)}" is no field of a struct`,
      name.place,
    );
  }
  const names = all.map(starName);
  const hint = nameHint(nameText(name), names, 'columns');
  return refusal(
    'UNRESOLVED_COLUMN.WITH_SUGGESTION',
    `there is no column "${nameText(name)}" to leave out`,
    name.place,
    hint,
  );
}

function refusal(code: string, message: string, place: Place, hint?: string): FaultError {
  return new FaultError({
    severity: 'error',
    code,
    message,
    place,
    ...(hint === undefined ? {} : { hint }),
  });
}
