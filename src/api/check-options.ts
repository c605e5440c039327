import { nearestNames } from '../base/nearest-name.ts';
import type { TreeBuilder } from './tree-builder.ts';

/** What an option has to be; those with a question mark may be left out. */
type Kind = keyof typeof kinds;
export type OptionKinds = Readonly<Record<string, Kind | `${Kind}?`>>;

const kinds = {
  any: { is: () => true, words: '' },
  flag: { is: (value: unknown) => typeof value === 'boolean', words: 'true or false' },
  name: { is: (value: unknown) => typeof value === 'string' && value !== '', words: 'a name' },
  names: { is: isNames, words: "a list of column names, such as ['id']" },
  columns: { is: isColumns, words: "the columns with their types, such as { id: 'BIGINT' }" },
  dataset: { is: isNamed, words: 'what source, table or another call of the pipeline gave' },
  query: {
    is: (value: unknown) => typeof value === 'string' || isBuilt(value),
    words: 'a text of SQL, sql`…` or a built query',
  },
  expression: {
    is: (value: unknown) =>
      typeof value === 'string' || typeof value === 'function' || isBuilt(value),
    words: 'a column, an expression or a function of the row',
  },
  selection: {
    is: (value: unknown) => isNames(value) || (isObject(value) && isNames(value['except'])),
    words: "a list of column names, or { except: ['…'] }",
  },
} as const;

/**
 * Tells what is wrong with the options of a call: the compiler says so as well, but nobody has to ask it. Invariant: where
 * it gives true, each option that is known is of its kind.
 */
export function checkOptions(
  what: string,
  options: unknown,
  expected: OptionKinds,
  builder: TreeBuilder,
): boolean {
  if (!isObject(options)) {
    const names = Object.entries(expected).filter(([, kind]) => !kind.endsWith('?'));
    const hint = `Give an object with ${names.map(([name]) => name).join(', ')}.`;
    builder.refuse('OPTION_VALUE', `${what} has no options`, hint);
    return false;
  }
  let isFine = true;
  for (const [name, given] of Object.entries(expected)) {
    const { is, words } = kinds[given.replace('?', '') as Kind];
    const value = options[name];
    if (value === undefined ? given.endsWith('?') : is(value)) continue;
    const fault = value === undefined ? 'is missing' : 'is of no use';
    builder.refuse('OPTION_VALUE', `option "${name}" of ${what} ${fault}`, `It is ${words}.`);
    isFine = false;
  }
  const names = Object.keys(expected);
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue;
    const [nearest] = nearestNames(name, names);
    const hint = nearest === undefined ? '' : `Did you mean "${nearest}"? `;
    builder.refuse(
      'OPTION_UNKNOWN',
      `${what} has no option "${name}"`,
      `${hint}Its options are: ${names.join(', ')}.`,
    );
  }
  return isFine;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isNamed(value: unknown): boolean {
  return isObject(value) && typeof value['name'] === 'string';
}

function isBuilt(value: unknown): boolean {
  return isObject(value) && typeof value['build'] === 'function';
}

function isColumns(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.values(value).every((one) => {
    return typeof one === 'string' || (isObject(one) && typeof one['type'] === 'string');
  });
}
