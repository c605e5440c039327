import type { Variant, VariantNode } from '../../data/value.ts';
import { isVariantArray, isVariantObject, variantObject } from '../../data/variant.ts';
import { argumentAt } from '../arguments.ts';
import { call, strictCall } from '../call.ts';
import { canCast } from '../cast-rules.ts';
import { castTo } from '../coerce.ts';
import { constantValue, isConstant } from '../compile.ts';
import type { Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { mismatch } from '../faults.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import { exactly, parameter } from '../parameter.ts';
import { types } from '../types.ts';
import { parseVariantPath, type VariantStep } from '../variant/variant-path.ts';

const variant = exactly(parameter.variant);
const pathText = exactly(parameter.string);

/** Changes of semi-structured values. Invariant: the value that was given stays as it is. */
export const variantChangeFunctions: readonly FunctionDefinition[] = [
  ...change('variant_set', 4, (node, steps, value, mayCreate) =>
    setAt(node, steps, value, mayCreate),
  ),
  ...change('variant_insert', 3, insertAt),
  ...change('variant_array_append', 3, appendAt),
  { names: ['variant_delete'], arity: [2, Infinity], bind: variantDelete },
  { names: ['variant_strip_nulls'], arity: [1, 2], bind: stripNulls },
];

/** A path that meets a value of another kind; turned into the error of the function that walks it. */
class PathMismatch extends Error {}

type Change = (
  node: VariantNode,
  steps: readonly VariantStep[],
  value: VariantNode,
  mayCreate: boolean,
) => VariantNode;

/** The function and its `try_` form, which is NULL where the path does not fit the value. */
function change(name: string, most: number, apply: Change): readonly FunctionDefinition[] {
  return [name, `try_${name}`].map((full) => ({
    names: [full],
    arity: [3, most],
    ...(most === 4 && { isRequired: true as const }),
    bind: (c) => bindChange(c, apply, name === 'variant_array_append', full !== name),
  }));
}

function bindChange(
  c: FunctionCall,
  apply: Change,
  takesRoot: boolean,
  isTry: boolean,
): Expression {
  const target = coerceArgument(c.name, argumentAt(c, 0), 0, variant);
  const path = coerceArgument(c.name, argumentAt(c, 1), 1, pathText);
  const given = argumentAt(c, 2);
  if (!canCast(given.type, types.variant)) {
    throw mismatch(
      'CAST_WITHOUT_SUGGESTION',
      `the value of ${c.name} can't become a variant`,
      given.place,
    );
  }
  const mayCreate = c.arguments[3] === undefined ? true : flagOf(c, 3);
  return strictCall({
    name: `${c.name}(${mayCreate})`,
    type: types.variant,
    arguments: [target, path, castTo(given, types.variant)],
    place: c.place,
    prepare: () => {
      const stepsOf = pathReader(c.name, takesRoot);
      return (from: Variant, text: string, value: Variant) => {
        const steps = stepsOf(text);
        if (mayCreate === null) return null;
        try {
          return { variant: apply(from.variant, steps, value.variant, mayCreate) };
        } catch (error) {
          if (isTry && error instanceof DuplicateName) return null;
          if (!(error instanceof PathMismatch)) throw error;
          if (isTry) return null;
          throw new ExpressionError(
            'VARIANT_PATH_TYPE_MISMATCH',
            `the path '${text}' of ${c.name} does not fit the variant`,
          );
        }
      };
    },
  });
}

class DuplicateName extends ExpressionError {}

function flagOf(c: FunctionCall, index: number): boolean | null {
  const flag = coerceArgument(c.name, argumentAt(c, index), index, parameter.boolean);
  if (isConstant(flag)) return constantValue(flag, c.timeZone) as boolean | null;
  throw mismatch(
    'NON_FOLDABLE_INPUT',
    `argument ${index + 1} of ${c.name} must be constant`,
    flag.place,
  );
}

function pathReader(name: string, takesRoot: boolean): (text: string) => readonly VariantStep[] {
  let known: string | undefined;
  let steps: readonly VariantStep[] | undefined;
  return (text) => {
    if (text !== known) [known, steps] = [text, parseVariantPath(text)];
    if (steps !== undefined && (takesRoot || steps.length > 0)) return steps;
    throw new ExpressionError('INVALID_VARIANT_PATH', `'${text}' is no path that ${name} takes`);
  };
}

// ---------------------------------------------------------------- the changes

function setAt(
  node: VariantNode,
  [step, ...rest]: readonly VariantStep[],
  value: VariantNode,
  mayCreate: boolean,
): VariantNode {
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const items = itemsOf(node);
    const old = items[step];
    if (old === undefined) return mayCreate ? extended(items, step, created(rest, value)) : node;
    return items.with(step, setAt(old, rest, value, mayCreate));
  }
  const members = membersOf(node);
  const old = members.get(step);
  if (old === undefined) return mayCreate ? withMember(members, step, created(rest, value)) : node;
  return withMember(members, step, setAt(old, rest, value, mayCreate));
}

function insertAt(
  node: VariantNode,
  [step, ...rest]: readonly VariantStep[],
  value: VariantNode,
): VariantNode {
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const items = itemsOf(node);
    const old = items[step];
    if (old === undefined) return extended(items, step, created(rest, value));
    return rest.length === 0
      ? items.toSpliced(step, 0, value)
      : items.with(step, insertAt(old, rest, value));
  }
  const members = membersOf(node);
  const old = members.get(step);
  if (old === undefined) return withMember(members, step, created(rest, value));
  if (rest.length > 0) return withMember(members, step, insertAt(old, rest, value));
  throw new DuplicateName('VARIANT_DUPLICATE_KEY', `the object has a member ${step} already`);
}

function appendAt(
  node: VariantNode,
  [step, ...rest]: readonly VariantStep[],
  value: VariantNode,
): VariantNode {
  if (step === undefined) return [...itemsOf(node), value];
  if (typeof step === 'number') {
    const items = itemsOf(node);
    const old = items[step];
    return old === undefined ? node : items.with(step, appendAt(old, rest, value));
  }
  const members = membersOf(node);
  const old = members.get(step);
  return old === undefined ? node : withMember(members, step, appendAt(old, rest, value));
}

/** What does not fit the path has nothing to delete. */
function deleteAt(node: VariantNode, [step, ...rest]: readonly VariantStep[]): VariantNode {
  if (typeof step === 'number') {
    if (!isVariantArray(node)) return node;
    const old = node[step];
    if (old === undefined) return node;
    return rest.length === 0 ? node.toSpliced(step, 1) : node.with(step, deleteAt(old, rest));
  }
  if (step === undefined || !isVariantObject(node)) return node;
  const old = node.get(step);
  if (old === undefined) return node;
  if (rest.length > 0) return withMember(node, step, deleteAt(old, rest));
  return new Map([...node].filter(([name]) => name !== step));
}

function created(steps: readonly VariantStep[], value: VariantNode): VariantNode {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  const inner = created(rest, value);
  return typeof step === 'number' ? extended([], step, inner) : new Map([[step, inner]]);
}

function extended(
  items: readonly VariantNode[],
  index: number,
  value: VariantNode,
): readonly VariantNode[] {
  return [...items, ...new Array<VariantNode>(index - items.length).fill(null), value];
}

function itemsOf(node: VariantNode): readonly VariantNode[] {
  if (isVariantArray(node)) return node;
  throw new PathMismatch();
}

function membersOf(node: VariantNode): ReadonlyMap<string, VariantNode> {
  if (isVariantObject(node)) return node;
  throw new PathMismatch();
}

function withMember(
  members: ReadonlyMap<string, VariantNode>,
  name: string,
  value: VariantNode,
): VariantNode {
  return variantObject([...new Map(members).set(name, value)]) ?? null;
}

// ---------------------------------------------------------------- deleting

function variantDelete(c: FunctionCall): Expression {
  const args = c.arguments.map((a, i) =>
    coerceArgument(c.name, a, i, i === 0 ? variant : pathText),
  );
  const operation: Operation = {
    name: 'variant_delete',
    deterministic: true,
    compile: ([target = () => null, ...paths]) => {
      const readers = paths.map(() => pathReader(c.name, false));
      return (row, frame) => {
        const given = target(row, frame) as Variant | null;
        if (given === null) return null;
        let node = given.variant;
        for (const [i, path] of paths.entries()) {
          const text = path(row, frame);
          if (text !== null) node = deleteAt(node, readers[i]?.(text as string) ?? []);
        }
        return { variant: node };
      };
    },
  };
  return call(operation, types.variant, args, c.place);
}

function stripNulls(c: FunctionCall): Expression {
  const target = coerceArgument(c.name, argumentAt(c, 0), 0, variant);
  const fromArrays = c.arguments[1] === undefined ? true : flagOf(c, 1);
  return strictCall({
    name: `variant_strip_nulls(${fromArrays})`,
    type: types.variant,
    arguments: [target],
    place: c.place,
    prepare: () => (given: Variant) =>
      fromArrays === null ? null : { variant: stripped(given.variant, fromArrays) },
  });
}

function stripped(node: VariantNode, fromArrays: boolean): VariantNode {
  if (isVariantArray(node)) {
    const kept = fromArrays ? node.filter((item) => item !== null) : node;
    return kept.map((item) => stripped(item, fromArrays));
  }
  if (!isVariantObject(node)) return node;
  const kept = [...node].filter(([, item]) => item !== null);
  return new Map(kept.map(([name, item]) => [name, stripped(item, fromArrays)]));
}
