import type { VariantNode } from '../../data/value.ts';
import { isVariantArray, isVariantObject } from '../../data/variant.ts';

/** A name of a member, or the position of an element. */
export type VariantStep = string | number;

/** `$.a['b c'][0]`; undefined when it is no path. */
export function parseVariantPath(path: string): readonly VariantStep[] | undefined {
  return path.startsWith('$') ? stepsOf(path, 1) : undefined;
}

/** What stands behind the colon in `v:a.b[0]`: a name may be quoted with backticks. */
export function parseColonPath(path: string): readonly VariantStep[] | undefined {
  return stepsOf(path.startsWith('[') ? path : `.${path}`, 0);
}

const stepPattern =
  /\.`((?:[^`]|``)+)`|\.([^.[]+)|\[(\d+)\]|\['((?:[^'\\]|\\.|'')*)'\]|\["((?:[^"\\]|\\.|"")*)"\]/y;

function stepsOf(path: string, from: number): readonly VariantStep[] | undefined {
  const steps: VariantStep[] = [];
  stepPattern.lastIndex = from;
  let end = from;
  for (let match = stepPattern.exec(path); match !== null; match = stepPattern.exec(path)) {
    end = stepPattern.lastIndex;
    const [, quoted, name, index, single, double] = match;
    if (index !== undefined) {
      if (Number(index) > 2_147_483_647) return undefined;
      steps.push(Number(index));
    } else {
      steps.push(quoted?.replaceAll('``', '`') ?? name?.trim() ?? single ?? double ?? '');
    }
  }
  return end === path.length ? steps : undefined;
}

/** The part at a path; undefined when there is none. */
export function findVariant(
  node: VariantNode,
  steps: readonly VariantStep[],
): VariantNode | undefined {
  let found: VariantNode | undefined = node;
  for (const step of steps) {
    if (found === undefined) return undefined;
    if (typeof step === 'number') found = isVariantArray(found) ? found[step] : undefined;
    else found = isVariantObject(found) ? found.get(step) : undefined;
  }
  return found;
}
