import type { Name, Query, QueryBody, Relation } from '../../sql/ast.ts';
import { type BindContext, factsIn } from '../bind/bind-context.ts';
import { nameKey } from '../bind/names.ts';

/**
 * Whether a part of a query reads a stream, seen from the syntax alone: that is what decides which
 * kind of join or union it is, before anything in it is bound.
 */
export function isStreaming(relation: Relation, context: BindContext): boolean {
  switch (relation.node) {
    case 'named':
      return relation.stream || context.isStreamed || isStreamingName(relation.name, context);
    case 'function':
      return relation.stream;
    case 'subquery':
      return relation.stream || isStreamingQuery(relation.query, context);
    case 'join':
      return isStreaming(relation.left, context) || isStreaming(relation.right, context);
    case 'foreign':
      return isStreaming(relation.relation, context);
    case 'unread':
      return true;
    case 'inline':
      return false;
  }
}

export function isStreamingQuery(query: Query, context: BindContext): boolean {
  const { streaming } = factsIn(context);
  const known = streaming.get(query);
  if (known !== undefined) return known;
  const isStream = isStreamingBody(query.body, withCommonTables(query, context));
  streaming.set(query, isStream);
  return isStream;
}

export function isStreamingBody(body: QueryBody, context: BindContext): boolean {
  switch (body.node) {
    case 'select':
      return body.from.some((relation) => isStreaming(relation, context));
    case 'set':
      return isStreamingBody(body.left, context) || isStreamingBody(body.right, context);
    case 'parenthesized':
      return isStreamingQuery(body.query, context);
    case 'table':
      return isStreamingName(body.name, context);
    case 'values':
      return false;
  }
}

function isStreamingName(name: Name, context: BindContext): boolean {
  const common = commonTable(name, context);
  if (common !== undefined)
    return isStreamingQuery(common.query, { ...context, ctes: common.ctes });
  const dataset = context.catalog.find(name);
  if (dataset?.kind !== 'view' || context.views.includes(nameKey(dataset.name))) return false;
  const views = [...context.views, nameKey(dataset.name)];
  return isStreamingQuery(dataset.query, { ...context, ctes: new Map(), views });
}

export function commonTable(name: Name, context: BindContext) {
  const [part] = name.parts;
  return name.parts.length === 1 && part !== undefined
    ? context.ctes.get(nameKey(part.text))
    : undefined;
}

/** The context inside a query: its WITH names, each of which sees those before it. */
export function withCommonTables(query: Query, context: BindContext): BindContext {
  if (query.ctes.length === 0) return context;
  let ctes = context.ctes;
  for (const { name, columns, query: inner } of query.ctes) {
    ctes = new Map([...ctes, [nameKey(name.text), { query: inner, columns, ctes }]]);
  }
  return { ...context, ctes };
}

export function hasWatermark(relation: Relation): boolean {
  switch (relation.node) {
    case 'join':
      return hasWatermark(relation.left) || hasWatermark(relation.right);
    case 'inline':
      return false;
    case 'subquery':
      return relation.watermark !== undefined || queryHasWatermark(relation.query.body);
    default:
      return relation.watermark !== undefined;
  }
}

function queryHasWatermark(body: QueryBody): boolean {
  switch (body.node) {
    case 'select':
      return body.from.some(hasWatermark);
    case 'set':
      return queryHasWatermark(body.left) || queryHasWatermark(body.right);
    case 'parenthesized':
      return queryHasWatermark(body.query.body);
    default:
      return false;
  }
}
