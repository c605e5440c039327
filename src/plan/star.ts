import { FaultError, type Place } from '../base/place.ts';
import type { Expression, Name } from '../sql/ast.ts';
import type { BoundColumn } from './bound-column.ts';
import { nameHint } from './name-hint.ts';
import { nameKey, nameText } from './names.ts';
import { isQualifiedBy, resolveColumn } from './scope.ts';

type Star = Extract<Expression, { node: 'star' }>;

/** What a star stands for: columns, or fields of a struct that are yet to be bound. */
export type StarColumn =
  | { readonly kind: 'column'; readonly column: BoundColumn }
  | { readonly kind: 'field'; readonly name: string; readonly value: Expression };

/** The columns of `*`, `t.*`, `struct_column.*`, without those of EXCEPT and without hidden ones. */
export function expandStar(star: Star, columns: readonly BoundColumn[]): readonly StarColumn[] {
  const all = starColumns(star, columns);
  if (star.except.length === 0) return all;
  const dropped = new Set(star.except.map((name) => exceptName(name, star, all)));
  return all.filter((column) => !dropped.has(nameKey(starName(column))));
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
function exceptName(name: Name, star: Star, all: readonly StarColumn[]): string {
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
      'NOT_SUPPORTED_YET',
      'EXCEPT of a field of a struct is not supported yet',
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
