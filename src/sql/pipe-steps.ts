import type { Place } from '../base/place.ts';
import type {
  Expression,
  ForeignClause,
  GroupBy,
  Identifier,
  Query,
  QueryBody,
  Relation,
  SelectItem,
  SelectQuery,
} from './ast.ts';

type Star = Extract<Expression, { node: 'star' }>;

/** One step of the pipe syntax, `query |> step`. */
export type PipeStep =
  | { readonly step: 'select'; readonly distinct: boolean; readonly items: readonly SelectItem[] }
  | { readonly step: 'extend'; readonly items: readonly SelectItem[] }
  | { readonly step: 'drop'; readonly columns: readonly Identifier[] }
  | { readonly step: 'alias'; readonly name: Identifier }
  | { readonly step: 'where'; readonly condition: Expression }
  | {
      readonly step: 'combine';
      readonly operator: 'union' | 'intersect' | 'except';
      readonly all: boolean;
      readonly right: QueryBody;
    }
  | {
      readonly step: 'group';
      readonly items: readonly SelectItem[];
      readonly groupBy: GroupBy | undefined;
    }
  | { readonly step: 'join'; readonly join: (left: Relation) => Relation }
  | { readonly step: 'pivot'; readonly clause: ForeignClause }
  | { readonly step: 'organize'; readonly order: Query };

/**
 * The query that the pipe syntax stands for: each step reads the one before it as a subquery.
 * Invariant: nothing but ordinary queries comes out, so that no later stage knows the pipe syntax.
 */
export function applyPipe(query: Query, step: PipeStep, place: Place): Query {
  const whole: Relation = {
    ...{ node: 'subquery', query, stream: false, watermark: undefined, alias: undefined, place },
  };
  const { from, where } = openSelect(query) ?? { from: [whole], where: undefined };
  const selectFrom = (
    items: readonly SelectItem[],
    parts: Partial<Pick<SelectQuery, 'distinct' | 'groupBy'>> = {},
  ): Query => wrap(selectOf({ from, items, place, where, ...parts }));
  switch (step.step) {
    case 'select':
      return selectFrom(step.items, { distinct: step.distinct });
    case 'extend':
      return selectFrom([star(place), ...step.items]);
    case 'drop': {
      const except = step.columns.map((part) => ({ parts: [part], place: part.place }));
      return selectFrom([star(place, except)]);
    }
    case 'alias': {
      const alias = { name: step.name, columns: [] };
      return wrap(selectOf({ from: [{ ...whole, alias }], items: [star(place)], place }));
    }
    case 'where': {
      const condition: Expression =
        where === undefined
          ? step.condition
          : { node: 'binary', operator: 'and', left: where, right: step.condition, place };
      return wrap(selectOf({ from, items: [star(place)], place, where: condition }));
    }
    case 'combine': {
      const left: QueryBody = { node: 'parenthesized', query, place };
      const { operator, all, right } = step;
      return wrap({ node: 'set', operator, all, byName: false, left, right, place });
    }
    case 'group': {
      const keys = step.groupBy?.items ?? [];
      const items = [
        ...keys.map((value) => ({ value, aliases: [], place: value.place })),
        ...step.items,
      ];
      return selectFrom(items, { groupBy: step.groupBy });
    }
    case 'join': {
      const [only, ...others] = from;
      const isOne = only !== undefined && others.length === 0 && where === undefined;
      return wrap(
        selectOf({ from: [step.join(isOne ? only : whole)], items: [star(place)], place }),
      );
    }
    case 'pivot': {
      const pivoted = { node: 'foreign', relation: whole, clause: step.clause } as const;
      const relation = { ...pivoted, watermark: undefined, alias: undefined, place };
      return wrap(selectOf({ from: [relation], items: [star(place)], place }));
    }
    case 'organize':
      return { ...step.order, body: { node: 'parenthesized', query, place }, place };
  }
}

function wrap(body: QueryBody): Query {
  return {
    ...{ ctes: [], body, orderBy: [], otherOrder: undefined, orderPlace: undefined },
    ...{ limit: undefined, offset: undefined, place: body.place },
  };
}

/**
 * The parts of a query that only reads relations and keeps some of their rows: a further step reads the relations
 * themselves, and so knows their columns by the names of the relations.
 */
function openSelect(query: Query): Pick<SelectQuery, 'from' | 'where'> | undefined {
  const { body, ctes, orderBy, otherOrder, limit, offset } = query;
  const isBare =
    ctes.length === 0 &&
    orderBy.length === 0 &&
    otherOrder === undefined &&
    limit === undefined &&
    offset === undefined;
  if (!isBare || body.node !== 'select') return undefined;
  const [item, ...others] = body.items;
  const isStar =
    others.length === 0 &&
    item?.value.node === 'star' &&
    item.value.qualifier === undefined &&
    item.value.except.length === 0;
  const isPlain =
    !body.distinct &&
    body.lateralViews.length === 0 &&
    body.groupBy === undefined &&
    body.having === undefined &&
    body.qualify === undefined &&
    body.windows.length === 0;
  return isStar && isPlain ? body : undefined;
}

function star(place: Place, except: Star['except'] = []): SelectItem {
  return { value: { node: 'star', qualifier: undefined, except, place }, aliases: [], place };
}

type SelectParts = Pick<SelectQuery, 'from' | 'items' | 'place'> &
  Partial<Pick<SelectQuery, 'distinct' | 'where' | 'groupBy'>>;

function selectOf(parts: SelectParts): SelectQuery {
  return {
    ...{ node: 'select', distinct: false, lateralViews: [], where: undefined },
    ...{ groupBy: undefined, having: undefined, qualify: undefined, windows: [] },
    ...parts,
  };
}
