import { printJson, quoteJson } from './json-print.ts';
import { isArray, isObject, type JsonNode } from './json-tree.ts';

/** A step of a JSON path: a member, an element, or all elements. */
export type JsonStep =
  | { readonly step: 'name'; readonly name: string }
  | { readonly step: 'index'; readonly index: number }
  | { readonly step: 'all' };

/** `$.a['b'][0][*]`; undefined when it is no path. */
export function parseJsonPath(path: string): readonly JsonStep[] | undefined {
  if (!path.startsWith('$')) return undefined;
  const steps: JsonStep[] = [];
  // Space before a name is nothing, behind it it belongs to the name.
  const pattern = /\.\s*([^.[\s][^.[]*)|\['\s*([^'?\s][^'?]*)'\]|\[(\d+)\]|\[\*\]/y;
  let end = 1;
  pattern.lastIndex = end;
  for (let match = pattern.exec(path); match !== null; match = pattern.exec(path)) {
    end = pattern.lastIndex;
    const name = match[1] ?? match[2];
    // A wildcard for members parses, and finds nothing, as in Spark.
    if (name !== undefined) steps.push({ step: 'name', name });
    else if (match[3] !== undefined) steps.push({ step: 'index', index: Number(match[3]) });
    else steps.push({ step: 'all' });
  }
  return path.slice(end).trim() === '' ? steps : undefined;
}

/** How a match is written: a string alone without quotes, or as JSON, or merged into the array around. */
type Style = 'raw' | 'quoted' | 'flatten';

/**
 * The text of what a path finds, by Hive's rules that Spark keeps: a single match of `[*]` stands
 * alone, several make an array; NULL members are no match. undefined: nothing is found.
 */
export function findJson(node: JsonNode, path: readonly JsonStep[]): string | undefined {
  const found = evaluate(node, path, 'raw');
  return found.length === 0 ? undefined : found.join(',');
}

/** The texts that a match writes, one after the other. */
function evaluate(node: JsonNode, path: readonly JsonStep[], style: Style): readonly string[] {
  const [step, ...rest] = path;
  if (step === undefined) return written(node, style);
  if (step.step === 'name') {
    return isObject(node) ? member(node.members, step.name, rest, style) : [];
  }
  if (!isArray(node)) return [];
  if (step.step === 'index') {
    const element = node[step.index];
    if (element === undefined) return [];
    return evaluate(element, rest, rest[0]?.step === 'all' ? 'quoted' : style);
  }
  return all(node, rest, style);
}

function written(node: JsonNode, style: Style): readonly string[] {
  if (typeof node === 'string') return [style === 'raw' ? node : quoteJson(node)];
  if (style === 'flatten' && isArray(node)) return node.flatMap((n) => written(n, style));
  return [printJson(node)];
}

/** The first member of that name that matches; NULL does not. */
function member(
  members: readonly (readonly [string, JsonNode])[],
  name: string,
  rest: readonly JsonStep[],
  style: Style,
): readonly string[] {
  for (const [found, value] of members) {
    if (found !== name || value === null) continue;
    const texts = evaluate(value, rest, style);
    if (texts.length > 0) return texts;
  }
  return [];
}

function all(
  elements: readonly JsonNode[],
  rest: readonly JsonStep[],
  style: Style,
): readonly string[] {
  const [next, ...further] = rest;
  if (next?.step === 'all') {
    const texts = elements.flatMap((element) => evaluateNested(element, further));
    return texts.length === 0 ? [] : [`[${texts.join(',')}]`];
  }
  if (style === 'quoted') {
    const texts = elements.flatMap((element) => evaluate(element, rest, 'quoted'));
    return texts.length === 0 ? [] : [`[${texts.join(',')}]`];
  }
  const inner: Style = style === 'raw' ? 'quoted' : 'flatten';
  const matches = elements
    .map((element) => evaluate(element, rest, inner))
    .filter((t) => t.length > 0);
  if (matches.length === 0) return [];
  const texts = matches.flat();
  return matches.length === 1 ? texts : [`[${texts.join(',')}]`];
}

/** The elements of `[*][*]` lose both arrays. */
function evaluateNested(element: JsonNode, rest: readonly JsonStep[]): readonly string[] {
  return evaluate(element, rest, 'flatten');
}
