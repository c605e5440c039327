import { findAggregate } from '../../expr/aggregate-registry.ts';
import { fault } from '../../expr/faults.ts';
import { findGenerator } from '../../expr/generator.ts';
import type * as ast from '../../sql/ast.ts';
import { functionName } from '../bind/bind-call.ts';
import { sparkName } from '../bind/spark-name.ts';

/**
 * A select list that holds a generator beside aggregates or GROUP BY, as two queries: the groups with what
 * the generator takes, and the generator over them. undefined for all others.
 * Invariant: what GROUP BY and HAVING name is what they name in Spark, where the inputs of the generator
 * that are no constants are items called `_gen_input_<n>`.
 */
export function overGroups(select: ast.SelectQuery): ast.SelectQuery | undefined {
  const generators = select.items.filter((item) => generatorOf(item.value) !== undefined);
  const [only, second] = generators;
  const isGrouped = select.groupBy !== undefined || select.items.some(({ value }) => sums(value));
  const hasStar = select.items.some((item) => item.value.node === 'star');
  if (only === undefined || !isGrouped || hasStar) return undefined;
  if (second !== undefined) {
    throw fault(
      'UNSUPPORTED_GENERATOR.MULTI_GENERATOR',
      'beside aggregates there is one generator only',
      second.place,
      'Put the others into a query around this one.',
    );
  }
  const inner: ast.SelectItem[] = [];
  const keep = (value: ast.Expression, name: string): ast.Expression => {
    const { place } = value;
    const text = inner.some((item) => item.aliases[0]?.text.toLowerCase() === name.toLowerCase())
      ? `_item_${inner.length}`
      : name;
    const alias = { text, quoted: true, place };
    inner.push({ value, aliases: [alias], place });
    return { node: 'column', name: { parts: [alias], place }, place };
  };
  const outer = select.items.map((item): ast.SelectItem => {
    const call = item === only ? generatorOf(item.value) : undefined;
    if (call !== undefined) {
      const inputs = call.arguments.map((argument, i) =>
        isConstant(argument) ? argument : keep(argument, `_gen_input_${i}`),
      );
      const value: ast.Expression = { ...call, arguments: inputs };
      return item.value.node === 'alias'
        ? { ...item, value: { ...item.value, value } }
        : { ...item, value };
    }
    const { value, place } = item;
    const [alias] = item.aliases;
    const name = alias ?? { text: sparkName(value), quoted: true, place };
    return { value: keep(value, alias?.text ?? `_item_${inner.length}`), aliases: [name], place };
  });
  const { place } = select;
  if (inner.length === 0) keep({ node: 'null', place }, '_item_0');
  const groups = { ...select, items: inner, distinct: false };
  const query: ast.Query = {
    ...{ ctes: [], body: groups, orderBy: [], otherOrder: undefined, orderPlace: undefined },
    ...{ limit: undefined, offset: undefined, place },
  };
  const from: ast.Relation = {
    ...{ node: 'subquery', query, stream: false, watermark: undefined, alias: undefined, place },
  };
  return {
    ...{ node: 'select', distinct: select.distinct, items: outer, from: [from], lateralViews: [] },
    ...{ where: undefined, groupBy: undefined, having: undefined, qualify: undefined },
    ...{ windows: [], place },
  };
}

function generatorOf(node: ast.Expression): ast.CallExpression | undefined {
  if (node.node === 'alias') return generatorOf(node.value);
  if (node.node !== 'call' || node.window !== undefined) return undefined;
  const found = findGenerator(functionName(node));
  return found === undefined || found.definition.isTableFunction === true ? undefined : node;
}

/** Whether an aggregate stands in the expression. */
function sums(node: ast.Expression): boolean {
  return holds(
    node,
    (part) =>
      part.node === 'call' &&
      part.window === undefined &&
      findAggregate(functionName(part)) !== undefined,
  );
}

function isConstant(node: ast.Expression): boolean {
  return !holds(node, (part) => part.node === 'column' || part.node === 'star') && !sums(node);
}

/** Looks at the parts of an expression, but not into subqueries. */
function holds(root: ast.Expression, test: (node: ast.Expression) => boolean): boolean {
  const visit = (tree: unknown): boolean => {
    if (Array.isArray(tree)) return tree.some(visit);
    if (typeof tree !== 'object' || tree === null) return false;
    if ('node' in tree && test(tree as ast.Expression)) return true;
    return Object.entries(tree).some(([key, part]) => key !== 'query' && visit(part));
  };
  return visit(root);
}
