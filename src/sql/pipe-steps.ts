import type { Place } from '../base/place.ts';
import type {
  Expression,
  ForeignClause,
  GroupBy,
  Identifier,
  Name,
  Query,
  QueryBody,
  Relation,
  SelectItem,
  SelectQuery,
} from './ast.ts';

type Star = Extract<Expression, { node: 'star' }>;

/** A column of SET, and what becomes of it. */
export type ColumnChange = NonNullable<Star['replace']>[number];

/** One step of the pipe syntax, `query |> step`. */
export type PipeStep =
  | {
      readonly step: 'select';
      readonly distinct: boolean;
      readonly items: readonly SelectItem[];
      readonly windows: SelectQuery['windows'];
    }
  | { readonly step: 'set'; readonly changes: readonly ColumnChange[] }
  | { readonly step: 'sample'; readonly clause: ForeignClause }
  | { readonly step: 'extend'; readonly items: readonly SelectItem[] }
  | { readonly step: 'drop'; readonly columns: readonly Name[] }
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
      readonly keys: readonly SelectItem[];
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
    parts: Partial<Pick<SelectQuery, 'distinct' | 'groupBy' | 'windows'>> = {},
  ): Query => wrap(selectOf({ from, items, place, where, ...parts }));
  switch (step.step) {
    case 'select':
      return selectFrom(step.items, { distinct: step.distinct, windows: step.windows });
    case 'set': {
      const [change, ...others] = step.changes;
      if (change === undefined) return query;
      const replaced = { ...star(place).value, replace: [change] };
      // A later change sees what an earlier one made.
      const next = selectFrom([{ value: replaced, aliases: [], place }]);
      return applyPipe(next, { step: 'set', changes: others }, place);
    }
    case 'sample':
      return overClause(whole, step.clause, place);
    case 'extend':
      return selectFrom([star(place), ...step.items]);
    case 'drop': {
      return selectFrom([star(place, step.columns)]);
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
      return selectFrom([...step.keys, ...step.items], { groupBy: step.groupBy });
    }
    case 'join': {
      const [only, ...others] = from;
      const isOne = only !== undefined && others.length === 0 && where === undefined;
      return wrap(
        selectOf({ from: [step.join(isOne ? only : whole)], items: [star(place)], place }),
      );
    }
    case 'pivot':
      return overClause(whole, step.clause, place);
    case 'organize':
      return { ...step.order, body: { node: 'parenthesized', query, place }, place };
  }
}

function overClause(relation: Relation, clause: ForeignClause, place: Place): Query {
  const foreign = { node: 'foreign', relation, clause } as const;
  const from = [{ ...foreign, watermark: undefined, alias: undefined, place }];
  return wrap(selectOf({ from, items: [star(place)], place }));
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
    item.value.except.length === 0 &&
    item.value.replace === undefined;
  const isPlain =
    !body.distinct &&
    body.lateralViews.length === 0 &&
    body.groupBy === undefined &&
    body.having === undefined &&
    body.qualify === undefined &&
    body.windows.length === 0;
  return isStar && isPlain ? body : undefined;
}

function star(place: Place, except: Star['except'] = []): SelectItem & { readonly value: Star } {
  return { value: { node: 'star', qualifier: undefined, except, place }, aliases: [], place };
}

type SelectParts = Pick<SelectQuery, 'from' | 'items' | 'place'> &
  Partial<Pick<SelectQuery, 'distinct' | 'where' | 'groupBy' | 'windows'>>;

function selectOf(parts: SelectParts): SelectQuery {
  return {
    ...{ node: 'select', distinct: false, lateralViews: [], where: undefined },
    ...{ groupBy: undefined, having: undefined, qualify: undefined, windows: [] },
    ...parts,
  };
}
