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

/** One step of the pipe syntax, `query |> step`. */
export type PipeStep =
  | { readonly step: 'select'; readonly distinct: boolean; readonly items: readonly SelectItem[] }
  | { readonly step: 'extend'; readonly items: readonly SelectItem[] }
  | { readonly step: 'drop'; readonly columns: readonly Identifier[] }
  | { readonly step: 'alias'; readonly name: Identifier }
  | { readonly step: 'where'; readonly condition: Expression }
  | {
      readonly step: 'set';
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
  const input: Relation = {
    ...{ node: 'subquery', query, stream: false, watermark: undefined, alias: undefined, place },
  };
  switch (step.step) {
    case 'select':
      return wrap(selectFrom(input, step.items, { distinct: step.distinct }));
    case 'extend':
      return wrap(selectFrom(input, [star(place), ...step.items]));
    case 'drop': {
      const except = step.columns.map((part) => ({ parts: [part], place: part.place }));
      return wrap(selectFrom(input, [star(place, except)]));
    }
    case 'alias': {
      const alias = { name: step.name, columns: [] };
      return wrap(selectFrom({ ...input, alias }, [star(place)]));
    }
    case 'where':
      return wrap(selectFrom(input, [star(place)], { where: step.condition }));
    case 'set': {
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
      return wrap(selectFrom(input, items, { groupBy: step.groupBy }));
    }
    case 'join':
      return wrap(selectFrom(step.join(input), [star(place)]));
    case 'pivot': {
      const pivoted = { node: 'foreign', relation: input, clause: step.clause } as const;
      const relation = { ...pivoted, watermark: undefined, alias: undefined, place };
      return wrap(selectFrom(relation, [star(place)]));
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

function star(
  place: Place,
  except: Extract<Expression, { node: 'star' }>['except'] = [],
): SelectItem {
  return { value: { node: 'star', qualifier: undefined, except, place }, aliases: [], place };
}

function selectFrom(
  relation: Relation,
  items: readonly SelectItem[],
  parts: Partial<Pick<SelectQuery, 'distinct' | 'where' | 'groupBy'>> = {},
): SelectQuery {
  return {
    ...{ node: 'select', distinct: false, items, from: [relation], lateralViews: [] },
    ...{ where: undefined, groupBy: undefined, having: undefined, qualify: undefined },
    ...{ windows: [], place: relation.place },
    ...parts,
  };
}
