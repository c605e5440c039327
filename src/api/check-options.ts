import { nearestNames } from '../base/nearest-name.ts';
import type { Place } from '../base/place.ts';
import { isExpression } from './expression.ts';
import type { TreeBuilder } from './tree-builder.ts';

/** What an option has to be; those with a question mark may be left out. */
type Kind = keyof typeof kinds;
export type OptionKinds = Readonly<Record<string, Kind | `${Kind}?`>>;

const kinds = {
  // Of use by another rule, which tells what is wrong with it.
  any: { is: () => true, words: '' },
  flag: { is: (value: unknown) => typeof value === 'boolean', words: 'true or false' },
  text: { is: (value: unknown) => typeof value === 'string', words: 'a text' },
  name: { is: (value: unknown) => typeof value === 'string' && value !== '', words: 'a name' },
  names: { is: isNames, words: "a list of column names, such as ['id']" },
  setting: { is: isSetting, words: 'a text, a number, or true or false' },
  settings: {
    is: (value: unknown) => isObject(value) && Object.values(value).every(isSetting),
    words: "an object of options by the names of SQL, such as { max_sequence: '100' }",
  },
  columns: {
    is: isColumns,
    words:
      "the columns with their types, such as { id: 'BIGINT' } or { id: { type: 'BIGINT', notNull: true, comment: '…' } }",
  },
  dataset: { is: isNamed, words: 'what source, table or another call of the pipeline gave' },
  query: {
    is: (value: unknown) => typeof value === 'string' || isExpression(value),
    words: 'a text of SQL, sql`…` or a built query',
  },
  expression: { is: isGiven, words: 'a column, an expression or a function of the row' },
  conditions: {
    is: (value: unknown) => isObject(value) && Object.values(value).every(isGiven),
    words: "an object of conditions by their names, such as { priced: 'total > 0' }",
  },
  selection: { is: isSelection, words: "a list of column names, or { except: ['…'] }" },
  nulls: {
    is: (value: unknown) => typeof value === 'boolean' || isSelection(value),
    words: "true or false, a list of column names, or { except: ['…'] }",
  },
  scdType: {
    is: (value: unknown) => [1, 2, '1', '2'].some((one) => one === value),
    words: '1 (the newest row of each key) or 2 (its history)',
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
  place: Place = builder.place,
): boolean {
  if (!isObject(options)) {
    const names = Object.entries(expected).filter(([, kind]) => !kind.endsWith('?'));
    const named = names.length > 0 ? names : Object.entries(expected);
    const hint = `Give an object with ${named.map(([name]) => name).join(', ')}.`;
    builder.refuse('OPTION_VALUE', `${what} has no options`, hint, place);
    return false;
  }
  let isFine = true;
  for (const [name, given] of Object.entries(expected)) {
    const { is, words } = kinds[given.replace('?', '') as Kind];
    const value = options[name];
    if (value === undefined ? given.endsWith('?') : is(value)) continue;
    const fault = value === undefined ? 'is missing' : 'is of no use';
    const hint = given.startsWith('dataset') ? datasetHint(value, name, words) : `It is ${words}.`;
    builder.refuse('OPTION_VALUE', `option "${name}" of ${what} ${fault}`, hint, place);
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
      place,
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

function isSetting(value: unknown): boolean {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}

function isGiven(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'function' || isExpression(value);
}

function isSelection(value: unknown): boolean {
  if (isNames(value)) return true;
  return isObject(value) && Object.keys(value).join() === 'except' && isNames(value['except']);
}

/** A query in place of what it reads is the mistake that SQL, which says FROM STREAM(…), leads to. */
function datasetHint(value: unknown, option: string, words: string): string {
  if (!isExpression(value)) return `It is ${words}.`;
  return `Write ${option}: feed, without stream(): it is read as a stream by itself. A query is given a name first: ${option}: p.view({ name: '…', query }).`;
}

function isColumns(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.values(value).every((one) => {
    if (typeof one === 'string') return true;
    if (!isObject(one) || typeof one['type'] !== 'string') return false;
    const { type: _, notNull = false, comment = '', ...others } = one;
    return (
      typeof notNull === 'boolean' &&
      typeof comment === 'string' &&
      Object.keys(others).length === 0
    );
  });
}
