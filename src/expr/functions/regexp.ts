import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { strictCall } from '../call.ts';
import { constantValue, isConstant } from '../compile.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import { type Parameter, parameter } from '../parameter.ts';
import { Regex, type RegexMatch } from '../regex/regex.ts';
import { RegexSyntaxError } from '../regex/regex-tree.ts';
import { characters } from '../text.ts';
import { arrayOf, types } from '../types.ts';

/** Regular expressions, by an engine of our own that no pattern can hang. */
export const regexpFunctions: readonly FunctionDefinition[] = [
  regexp(
    ['rlike', 'regexp', 'regexp_like'],
    [2, 2],
    types.boolean,
    (regex) => (text) => regex.search(text) !== undefined,
  ),
  regexp(
    ['regexp_replace'],
    [3, 4],
    types.string,
    (regex) => (text, replacement, position) =>
      replaced(regex, text, replacement as string, (position ?? 1) as number),
  ),
  regexp(['regexp_extract'], [2, 3], types.string, (regex) => (text, group) => {
    const match = regex.search(text);
    if (match === undefined) return '';
    return groupText(text, match, checkedGroup(regex, 'regexp_extract', (group ?? 1) as number));
  }),
  regexp(['regexp_extract_all'], [2, 3], arrayOf(types.string), (regex) => (text, group) => {
    const index = (group ?? 1) as number;
    return Array.from(regex.matches(text), (match) =>
      groupText(text, match, checkedGroup(regex, 'regexp_extract_all', index)),
    );
  }),
  regexp(
    ['regexp_count'],
    [2, 2],
    types.int,
    (regex) => (text) => Array.from(regex.matches(text)).length,
  ),
  regexp(['regexp_substr'], [2, 2], types.string, (regex) => (text) => {
    const match = regex.search(text);
    const found = match === undefined ? '' : groupText(text, match, 0);
    return found === '' ? null : found;
  }),
  regexp(['regexp_instr'], [2, 3], types.int, (regex) => (text) => {
    const match = regex.search(text);
    return match === undefined ? 0 : characters(text.slice(0, match[0])).length + 1;
  }),
  regexp(
    ['split'],
    [2, 3],
    arrayOf(types.string),
    (regex, pattern) => (text, limit) => splitText(regex, pattern, text, (limit ?? -1) as number),
  ),
];

type Use = (
  regex: Regex,
  pattern: string,
) => (text: string, third?: Value, fourth?: Value) => Value;

const restRules: Readonly<Record<string, readonly Parameter<Value>[]>> = {
  regexp_replace: [parameter.string, parameter.int],
};

/** A function of a text and a pattern, and of up to two arguments more. */
function regexp(
  names: readonly string[],
  arity: readonly [number, number],
  type: DataType,
  use: Use,
): FunctionDefinition {
  const [name = ''] = names;
  return {
    names,
    arity,
    bind: (c) => {
      const rest = restRules[name] ?? [parameter.int, parameter.int];
      const rules = [parameter.string, parameter.string, ...rest];
      const args = c.arguments.map((a, i) =>
        coerceArgument(c.name, a, i, rules[i] ?? parameter.any),
      );
      checkConstantPattern(c, args[1]);
      checkConstantPosition(c, args[3]);
      return strictCall({
        name: `${name}/${args.length}`,
        type,
        arguments: args,
        place: c.place,
        prepare: () => {
          let known: string | undefined;
          let apply: ReturnType<Use> = () => null;
          return (text: string, pattern: string, third?: Value, fourth?: Value) => {
            if (pattern !== known) {
              apply = use(regexOf(name, pattern), pattern);
              known = pattern;
            }
            return apply(text, third, fourth);
          };
        },
      });
    },
  };
}

/** Where `regexp_replace` begins. */
function checkConstantPosition(c: FunctionCall, position: Expression | undefined): void {
  if (position === undefined || !isConstant(position)) return;
  const at = constantValue(position, c.timeZone);
  if (typeof at !== 'number' || at > 0) return;
  throw mismatch('VALUE_OUT_OF_RANGE', `positions of ${c.name} count from 1`, position.place);
}

/** A constant pattern that is wrong is told when the query is checked. */
function checkConstantPattern(c: FunctionCall, pattern: Expression | undefined): void {
  if (pattern === undefined || pattern.node !== 'literal' || !isConstant(pattern)) return;
  const text = constantValue(pattern, c.timeZone);
  if (typeof text !== 'string') return;
  try {
    new Regex(text);
  } catch (error) {
    if (!(error instanceof RegexSyntaxError)) throw error;
    throw fault('INVALID_PARAMETER_VALUE.PATTERN', patternText(c.name, error), pattern.place);
  }
}

function patternText(name: string, error: RegexSyntaxError): string {
  return `the pattern of ${name} is no regular expression: ${error.message}`;
}

/** Throws ExpressionError for a pattern that is none. */
export function regexOf(name: string, pattern: string): Regex {
  try {
    return new Regex(pattern);
  } catch (error) {
    if (!(error instanceof RegexSyntaxError)) throw error;
    throw new ExpressionError('INVALID_PARAMETER_VALUE.PATTERN', patternText(name, error));
  }
}

function checkedGroup(regex: Regex, name: string, index: number): number {
  if (index >= 0 && index <= regex.groupCount) return index;
  throw new ExpressionError(
    'INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX',
    `the pattern of ${name} has ${regex.groupCount} groups, there is no group ${index}`,
  );
}

/** A group that took no part in the match is the empty text. */
function groupText(text: string, match: RegexMatch, index: number): string {
  const start = match[index * 2] ?? -1;
  return start < 0 ? '' : text.slice(start, match[index * 2 + 1]);
}

function replaced(regex: Regex, text: string, replacement: string, position: number): string {
  if (position < 1) {
    throw new ExpressionError(
      'INVALID_PARAMETER_VALUE.POSITION',
      'positions of regexp_replace count from 1',
    );
  }
  const from =
    position === 1
      ? 0
      : characters(text)
          .slice(0, position - 1)
          .join('').length;
  if (from >= text.length && position > 1) return text;
  // As in Java, what is wrong with it is found out by the first match.
  let parts: readonly (string | number)[] | undefined;
  const subject = text.slice(from);
  let out = text.slice(0, from);
  let last = 0;
  for (const match of regex.matches(subject)) {
    const [start = 0, end = 0] = match;
    out += subject.slice(last, start);
    parts ??= parseReplacement(regex, replacement);
    for (const part of parts)
      out += typeof part === 'string' ? part : groupText(subject, match, part);
    last = end;
  }
  return out + subject.slice(last);
}

/** Texts, and numbers of groups for `$1` and `${name}`. */
function parseReplacement(regex: Regex, replacement: string): readonly (string | number)[] {
  const parts: (string | number)[] = [];
  const pattern = /\\([\s\S])|\$\{([A-Za-z][A-Za-z0-9]*)\}|\$(\d+)|([^\\$]+)|([\s\S])/g;
  for (const [, escaped, name, digits, plain] of replacement.matchAll(pattern)) {
    if (plain !== undefined) parts.push(plain);
    else if (escaped !== undefined) parts.push(escaped);
    else if (name !== undefined) parts.push(regex.groupNamed(name) ?? badReplacement(name));
    else if (digits !== undefined) parts.push(...groupReference(regex, digits));
    else badReplacement('$');
  }
  return parts;
}

/** As many digits as there are groups for; the others are text. */
function groupReference(regex: Regex, digits: string): readonly (string | number)[] {
  let index = Number(digits[0]);
  if (index > regex.groupCount) badReplacement(digits);
  let used = 1;
  while (used < digits.length && index * 10 + Number(digits[used]) <= regex.groupCount) {
    index = index * 10 + Number(digits[used]);
    used += 1;
  }
  return used === digits.length ? [index] : [index, digits.slice(used)];
}

function badReplacement(shown: string): never {
  throw new ExpressionError(
    'INVALID_REGEXP_REPLACE',
    `the replacement of regexp_replace names no group with ${shown}`,
  );
}

/** Trailing empty parts stay; a match without length at the start gives no empty part. */
function splitText(regex: Regex, pattern: string, text: string, limit: number): readonly string[] {
  if (pattern === '' && text !== '') return splitCharacters(text, limit);
  const parts: string[] = [];
  let last = 0;
  for (const [start = 0, end = 0] of regex.matches(text)) {
    if (limit > 0 && parts.length === limit - 1) break;
    if (end === 0) continue;
    parts.push(text.slice(last, start));
    last = end;
  }
  parts.push(text.slice(last));
  return parts;
}

function splitCharacters(text: string, limit: number): readonly string[] {
  const all = characters(text);
  if (limit <= 0 || all.length <= limit) return all;
  return [...all.slice(0, limit - 1), all.slice(limit - 1).join('')];
}
