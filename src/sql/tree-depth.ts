import { FaultError, type Place } from '../base/place.ts';

/** How deep a tree may be: whoever walks it recursively, by a few calls a level, is safe below that. */
const treeDepthMax = 500;

/**
 * Refuses a tree that is too deep to be walked. Long chains such as `a + b + c …` become deep without
 * nesting in the text, so the parser alone does not see it. Invariant: it never recurses itself.
 */
export function checkDepth(tree: unknown): void {
  const pending: { value: unknown; depth: number }[] = [{ value: tree, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next;
    if (typeof value !== 'object' || value === null) continue;
    const isNode = 'place' in value && !Array.isArray(value);
    if (isNode && depth > treeDepthMax) refuse(value.place as Place);
    for (const child of Object.values(value)) {
      if (typeof child === 'object')
        pending.push({ value: child, depth: depth + (isNode ? 1 : 0) });
    }
  }
}

function refuse(place: Place): never {
  throw new FaultError({
    severity: 'error',
    code: 'NESTING_TOO_DEEP',
    message: `more than ${treeDepthMax} operators or branches in one chain`,
    hint: 'Take parts out into views, or use a function of many arguments such as concat_ws or array.',
    place,
  });
}
