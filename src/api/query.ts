import type { Place } from '../base/place.ts';
import type {
  Expression,
  LateralView,
  Query as QueryTree,
  Relation,
  SelectItem,
} from '../sql/ast.ts';
import { callPlace } from './call-place.ts';
import { checkOptions } from './check-options.ts';
import type { Shape } from './column-type.ts';
import { type AnyExpression, call, SqlExpression } from './expression.ts';
import { faultHere } from './fault-here.ts';
import { givenTree, givenTrees, type RowOf, rowOf } from './given-expression.ts';
import type { TreeBuilder } from './tree-builder.ts';

/** A query that was built, as far as the names of its columns and its tree go. */
export type BuiltQuery<Name extends string> = {
  /** Never there: it carries the names of its columns. */
  readonly columnName: Name | undefined;
  build(builder: TreeBuilder): QueryTree;
};

/** Something that queries read by its name. */
export type Readable<Columns extends Shape, Hidden extends Shape = Record<never, never>> = {
  readonly name: string;
  /** Never there: they carry the types. */
  readonly shape: Columns | undefined;
  readonly hidden: Hidden | undefined;
};

type NameIn<Columns> = keyof Columns & string;

type Selected = Readonly<Record<string, AnyExpression>>;

type ShapeOfSelected<Given extends Selected> = {
  readonly [Name in keyof Given]: Given[Name] extends AnyExpression<infer Value> ? Value : unknown;
};

type Element<Value> = NonNullable<Value> extends readonly (infer Item)[] ? Item : unknown;

/** What a query does before it chooses columns; undefined parts are not there. */
type Draft = {
  readonly from: (builder: TreeBuilder) => Relation;
  readonly views: readonly ((builder: TreeBuilder) => LateralView)[];
  readonly where: AnyExpression | undefined;
};

/**
 * A query as it grows, with the columns that it gives. Invariant: each step gives a new query and leaves the old one as
 * it was; what it means is what the same SQL means, in the order of the steps.
 */
export class Query<Columns extends Shape, Hidden extends Shape = Record<never, never>> {
  /** Never there: they carry the types. */
  declare readonly shape: Columns | undefined;
  declare readonly columnName: NameIn<Columns> | undefined;
  readonly #draft: Draft | undefined;
  readonly #build: (builder: TreeBuilder) => QueryTree;

  constructor(build: (builder: TreeBuilder) => QueryTree, draft?: Draft) {
    this.#build = build;
    this.#draft = draft;
  }

  build(builder: TreeBuilder): QueryTree {
    return this.#build(builder);
  }

  where(
    condition: string | AnyExpression | ((row: RowOf<Columns & Hidden>) => AnyExpression),
  ): Query<Columns, Hidden> {
    const draft = this.#open();
    const added = conditionOf(condition, 'where', [rowOf()]);
    return started({ ...draft, where: both(draft.where, added) });
  }

  /** Columns by their names, or new ones by expressions. */
  select<const Name extends NameIn<Columns & Hidden>>(
    ...names: readonly Name[]
  ): Query<Pick<Columns & Hidden, Name>>;
  select<Given extends Selected>(
    columns: (row: RowOf<Columns & Hidden>) => Given,
  ): Query<ShapeOfSelected<Given>>;
  select(...given: readonly (string | ((row: RowOf<Columns & Hidden>) => Selected))[]): unknown {
    return this.#select(false, given);
  }

  /** All columns, and further ones by expressions. */
  withColumns<Given extends Selected>(
    columns: (row: RowOf<Columns & Hidden>) => Given,
  ): Query<Columns & ShapeOfSelected<Given>> {
    return this.#select(true, [columns]);
  }

  #select<Result extends Shape>(
    withAll: boolean,
    given: readonly (string | ((row: RowOf<Columns & Hidden>) => Selected))[],
  ): Query<Result> {
    const draft = this.#open();
    const about = { part: withAll ? 'withColumns' : 'select', place: callPlace() };
    return new Query((builder) =>
      treeOf(draft, builder, [
        ...(withAll ? [starItem(builder)] : []),
        ...given.flatMap((one) => itemsOf(one, about, builder)),
      ]),
    );
  }

  /** SELECT DISTINCT over the columns so far. */
  distinct(): Query<Columns> {
    return new Query((builder) => {
      const tree = this.#build(builder);
      const { body } = tree;
      const isPlain = body.node === 'select' && !body.distinct && tree.limit === undefined;
      if (isPlain) return { ...tree, body: { ...body, distinct: true } };
      return builder.select({ distinct: true, from: [subquery(tree, builder)] });
    });
  }

  limit(rows: number): Query<Columns> {
    if (!Number.isSafeInteger(rows) || rows < 0) {
      throw faultHere('OPTION_VALUE', 'limit has no number of rows', 'Write limit(10).');
    }
    return new Query((builder) => {
      const tree = this.#build(builder);
      const limit: Expression = {
        node: 'number',
        text: String(rows),
        suffix: '',
        place: builder.place,
      };
      if (tree.limit === undefined) return { ...tree, limit };
      return { ...builder.select({ from: [subquery(tree, builder)] }), limit };
    });
  }

  /** A row for each element of an array: its columns, and the element under a name. */
  explode<const Name extends NameIn<Columns & Hidden>, const As extends string>(
    column: Name,
    options: { readonly as: As; readonly outer?: boolean },
  ): Query<Columns & { readonly [Key in As]: Element<(Columns & Hidden)[Name]> }, Hidden> {
    const draft = this.#open();
    const place = callPlace();
    const view = (builder: TreeBuilder): LateralView => {
      const isFine = checkOptions('explode', options, explodeOptions, builder, place);
      const as = isFine ? options.as : column;
      const node = call('explode', rowOf<Shape>()[column] ?? null).build(builder);
      if (node.node !== 'call') throw new TypeError('explode is a call');
      return {
        outer: isFine && options.outer === true,
        call: node,
        table: builder.identifier(`exploded_${as}`),
        columns: [builder.identifier(as)],
        place: builder.place,
      };
    };
    // LATERAL VIEW stands before WHERE: what was filtered before is filtered inside.
    if (draft.where === undefined) return started({ ...draft, views: [...draft.views, view] });
    return started({ ...openOf(this.#build), views: [view] });
  }

  /** The rows of both; columns are matched by position, as in SQL. */
  unionAll(other: BuiltQuery<NameIn<Columns>>): Query<Columns> {
    if (typeof (other as Partial<typeof other> | undefined)?.build !== 'function') {
      const hint = 'Give a built query: unionAll(stream(other)).';
      throw faultHere('OPTION_VALUE', 'unionAll has no query', hint);
    }
    return new Query((builder) =>
      builder.queryOf({
        node: 'set',
        operator: 'union',
        all: true,
        byName: false,
        left: bodyOf(this.#build(builder), builder),
        right: bodyOf(other.build(builder), builder),
        place: builder.place,
      }),
    );
  }

  groupBy<const Name extends NameIn<Columns & Hidden>>(
    ...names: readonly Name[]
  ): Grouped<Columns & Hidden, Name> {
    const draft = this.#open();
    const about = { part: 'groupBy', place: callPlace() };
    return new Grouped((builder, items) => {
      const keys = names.flatMap((name) => itemsOf(name, about, builder));
      const added = items.filter((item) => !isGroupColumn(item, names, builder));
      const tree = treeOf(draft, builder, [...keys, ...added]);
      if (tree.body.node !== 'select') return tree;
      const groupBy = { all: false, items: keys.map(({ value }) => value), place: builder.place };
      return { ...tree, body: { ...tree.body, groupBy } };
    });
  }

  /** Inner join; the columns are chosen with both rows at hand. */
  join<Others extends Shape, OtherHidden extends Shape>(
    other: Query<Others, OtherHidden>,
    on: (left: RowOf<Columns & Hidden>, right: RowOf<Others & OtherHidden>) => AnyExpression,
  ): Joined<Columns & Hidden, Others & OtherHidden> {
    return this.#join('inner', other, on);
  }

  /** Left join: rows without a partner have NULLs on the right. */
  leftJoin<Others extends Shape, OtherHidden extends Shape>(
    other: Query<Others, OtherHidden>,
    on: (
      left: RowOf<Columns & Hidden>,
      right: RowOf<Partial<Others & OtherHidden>>,
    ) => AnyExpression,
  ): Joined<Columns & Hidden, Partial<Others & OtherHidden>> {
    return this.#join<Columns & Hidden, Partial<Others & OtherHidden>>('left', other, on);
  }

  #join<Left extends Shape, Right extends Shape>(
    kind: 'inner' | 'left',
    other: { relation(builder: TreeBuilder, alias: string): Relation },
    on: (left: RowOf<Left>, right: RowOf<Right>) => AnyExpression,
  ): Joined<Left, Right> {
    if (!(other instanceof Query)) {
      const hint =
        'Give a built query: join(stream(other), (left, right) => left.id.eq(right.id)).';
      throw faultHere('OPTION_VALUE', 'join has no query', hint);
    }
    const added = conditionOf(on, 'join', [rowOf('left'), rowOf('right')]);
    return new Joined((builder) => ({
      node: 'join',
      kind,
      natural: false,
      lateral: false,
      left: this.relation(builder, 'left'),
      right: other.relation(builder, 'right'),
      on: added.build(builder),
      using: [],
      place: builder.place,
    }));
  }

  /** The query under an alias; a dataset alone needs no subquery around it. */
  relation(builder: TreeBuilder, alias: string): Relation {
    const named = { name: builder.identifier(alias), columns: [] };
    const draft = this.#draft;
    if (draft !== undefined && draft.where === undefined && draft.views.length === 0) {
      const relation = draft.from(builder);
      if (relation.node === 'named') return { ...relation, alias: named };
    }
    return { ...subquery(this.#build(builder), builder), alias: named };
  }

  #open(): Draft {
    return this.#draft ?? openOf(this.#build);
  }
}

/** A query with its groups, before its aggregates. */
export class Grouped<Columns extends Shape, Keys extends NameIn<Columns>> {
  readonly #build: (builder: TreeBuilder, items: readonly SelectItem[]) => QueryTree;

  constructor(build: (builder: TreeBuilder, items: readonly SelectItem[]) => QueryTree) {
    this.#build = build;
  }

  /** Columns for each group, behind those of `groupBy`, which are there by themselves. */
  aggregate<Given extends Selected>(
    columns: (row: RowOf<Columns>) => Given,
  ): Query<Pick<Columns, Keys> & ShapeOfSelected<Given>> {
    const about = { part: 'aggregate', place: callPlace() };
    return new Query((builder) => this.#build(builder, itemsOf(columns, about, builder)));
  }
}

/** Two queries side by side, before their columns are chosen. */
export class Joined<Left extends Shape, Right extends Shape> {
  readonly #from: (builder: TreeBuilder) => Relation;
  readonly #where: AnyExpression | undefined;

  constructor(from: (builder: TreeBuilder) => Relation, where?: AnyExpression) {
    this.#from = from;
    this.#where = where;
  }

  where(condition: (left: RowOf<Left>, right: RowOf<Right>) => AnyExpression): Joined<Left, Right> {
    const added = conditionOf(condition, 'where', [rowOf('left'), rowOf('right')]);
    return new Joined(this.#from, both(this.#where, added));
  }

  select<Given extends Selected>(
    columns: (left: RowOf<Left>, right: RowOf<Right>) => Given,
  ): Query<ShapeOfSelected<Given>> {
    const draft: Draft = { from: this.#from, views: [], where: this.#where };
    const rows = [rowOf('left'), rowOf('right')];
    const about = { part: 'select', place: callPlace(), rows };
    return new Query((builder) => treeOf(draft, builder, selectedItems(columns, about, builder)));
  }
}

/** Reads a source or table as a stream: each record once, as it arrives. */
export function stream<Columns extends Shape, Hidden extends Shape>(
  readable: Readable<Columns, Hidden>,
  options: { readonly skipChangeCommits?: boolean } = {},
): Query<Columns, Hidden> {
  return named(readable, 'stream', options);
}

/** Reads a source, table or view as it stands, as materialized views do. */
export function from<Columns extends Shape, Hidden extends Shape>(
  readable: Readable<Columns, Hidden>,
): Query<Columns, Hidden> {
  return named(readable, 'from', {});
}

const explodeOptions = { as: 'name', outer: 'flag?' } as const;
const streamOptions = { skipChangeCommits: 'flag?' } as const;

function named<Columns extends Shape, Hidden extends Shape>(
  readable: Readable<Columns, Hidden>,
  call: 'stream' | 'from',
  options: { readonly skipChangeCommits?: boolean },
): Query<Columns, Hidden> {
  // What was not asked of the compiler may be anything.
  const name: unknown = (readable as Partial<typeof readable> | null | undefined)?.name;
  if (typeof name !== 'string' || typeof readable === 'function') {
    const hint = `Give what source, table or view gave: ${call}(bookings).`;
    throw faultHere('OPTION_VALUE', `${call} has no source or table`, hint);
  }
  const place = callPlace();
  return started({
    from: (builder) => {
      const isFine = checkOptions(call, options, streamOptions, builder, place);
      const skips = isFine ? options.skipChangeCommits : undefined;
      return {
        node: 'named',
        name: builder.name(name),
        stream: call === 'stream',
        options:
          skips === undefined
            ? []
            : [{ key: 'skipChangeCommits', value: skips, place: builder.place }],
        watermark: undefined,
        alias: undefined,
        place: builder.place,
      };
    },
    views: [],
    where: undefined,
  });
}

function started<Columns extends Shape, Hidden extends Shape>(
  draft: Draft,
): Query<Columns, Hidden> {
  return new Query((builder) => treeOf(draft, builder, [starItem(builder)]), draft);
}

function openOf(build: (builder: TreeBuilder) => QueryTree): Draft {
  return { from: (builder) => subquery(build(builder), builder), views: [], where: undefined };
}

function treeOf(draft: Draft, builder: TreeBuilder, items: readonly SelectItem[]): QueryTree {
  return builder.select({
    items,
    from: [draft.from(builder)],
    lateralViews: draft.views.map((view) => view(builder)),
    where: draft.where?.build(builder),
  });
}

function subquery(query: QueryTree, builder: TreeBuilder): Extract<Relation, { node: 'subquery' }> {
  const { place } = builder;
  return { node: 'subquery', query, stream: false, watermark: undefined, alias: undefined, place };
}

function bodyOf(query: QueryTree, builder: TreeBuilder): QueryTree['body'] {
  if (query.limit === undefined) return query.body;
  return { node: 'parenthesized', query, place: builder.place };
}

function starItem({ place }: TreeBuilder): SelectItem {
  const value: Expression = { node: 'star', qualifier: undefined, except: [], place };
  return { value, aliases: [], place };
}

type About = { readonly part: string; readonly place: Place };

function itemsOf(given: unknown, about: About, builder: TreeBuilder): readonly SelectItem[] {
  if (typeof given === 'function') {
    return selectedItems(given, { ...about, rows: [rowOf()] }, builder);
  }
  if (typeof given === 'string') {
    return [{ value: builder.column(given), aliases: [], place: builder.place }];
  }
  const { part, place } = about;
  const hint = `Write ${part}('id')${part === 'groupBy' ? '' : `, or ${part}((row) => ({ id: row.id }))`}.`;
  builder.refuse('OPTION_VALUE', `${part} has no column there`, hint, place);
  return [{ value: builder.column(), aliases: [], place: builder.place }];
}

/** A group column that stands among the aggregates again is the one that is there already; nothing else may have its name. */
function isGroupColumn(
  { aliases, value }: SelectItem,
  names: readonly string[],
  builder: TreeBuilder,
): boolean {
  const given = aliases[0]?.text.toLowerCase();
  const name = names.find((one) => one.toLowerCase() === given);
  if (name === undefined) return false;
  const parts = value.node === 'column' ? value.name.parts : [];
  if (parts.length !== 1 || parts[0]?.text.toLowerCase() !== given) {
    builder.refuse(
      'OUTPUT_COLUMN_DUPLICATE',
      `aggregate gives column "${name}", which groupBy gives already`,
      'The columns of groupBy are part of the result: leave this one out of aggregate, or give it another name.',
    );
  }
  return true;
}

function selectedItems(
  columns: unknown,
  about: About & { readonly rows: readonly unknown[] },
  builder: TreeBuilder,
): readonly SelectItem[] {
  return givenTrees(columns, about, builder).map(([name, value]) => ({
    value,
    aliases: [builder.identifier(name)],
    place: builder.place,
  }));
}

function both(before: AnyExpression | undefined, added: AnyExpression): AnyExpression {
  if (before === undefined) return added;
  return new SqlExpression<boolean>(before.build).and(added);
}

function conditionOf(given: unknown, part: string, rows: readonly unknown[]): AnyExpression {
  const about = { part, place: callPlace(), rows };
  return new SqlExpression<boolean>((builder) => givenTree(given, about, builder));
}
