import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { call, literal } from '../call.ts';
import { constantValue, isConstant } from '../compile.ts';
import type { Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { mismatch } from '../faults.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import { exactly, parameter } from '../parameter.ts';
import type { Regex } from '../regex/regex.ts';
import { characters, subBinary, subString } from '../text.ts';
import { arrayOf, mapOf, types } from '../types.ts';
import { regexOf } from './regexp.ts';

const text = parameter.string;

/** What stands for an upper-case letter, a lower-case one, a digit, and all else. */
const maskDefaults = ['X', 'x', 'n', null] as const;

/** Functions that compare, mask and take texts apart. */
export const textToolFunctions: readonly FunctionDefinition[] = [
  strictFunction({
    names: ['levenshtein'],
    parameters: [text, text, parameter.int],
    defaults: [[2_147_483_647, types.int]],
    returns: types.int,
    evaluate: (a, b, most) => {
      const distance = levenshtein(characters(a), characters(b));
      return distance > most ? -1 : distance;
    },
  }),
  strictFunction({
    names: ['jaro_winkler_similarity'],
    parameters: [text, text],
    returns: types.double,
    evaluate: (a, b) => jaroWinkler(a.split(''), b.split('')),
  }),
  strictFunction({
    names: ['soundex'],
    parameters: [exactly(text)],
    returns: types.string,
    evaluate: soundex,
  }),
  { names: ['overlay'], arity: [3, 4], bind: bindOverlay },
  strictFunction({
    names: ['find_in_set'],
    parameters: [text, text],
    returns: types.int,
    evaluate: (word, list) => (word.includes(',') ? 0 : list.split(',').indexOf(word) + 1),
  }),
  { names: ['elt'], arity: [2, Infinity], bind: elt },
  {
    names: ['mask'],
    arity: [1, 5],
    parameterNames: ['str', 'upperchar', 'lowerchar', 'digitchar', 'otherchar'],
    parameterDefaults: [undefined, ...maskDefaults],
    bind: mask,
  },
  strictFunction({
    names: ['quote'],
    parameters: [text],
    returns: types.string,
    evaluate: (s) => `'${s.replaceAll("'", "\\'")}'`,
  }),
  strictFunction({
    names: ['luhn_check'],
    parameters: [text],
    returns: types.boolean,
    evaluate: luhnCheck,
  }),
  strictFunction({
    names: ['sentences'],
    parameters: [text, text, text],
    defaults: [
      ['', types.string],
      ['', types.string],
    ],
    returns: arrayOf(arrayOf(types.string)),
    evaluate: (s) => sentences(s),
  }),
  strictFunction({
    names: ['str_to_map'],
    parameters: [exactly(text), exactly(text), exactly(text)],
    defaults: [
      [',', types.string],
      [':', types.string],
    ],
    returns: mapOf(types.string, types.string),
    prepare: () => strToMap(),
  }),
  { names: ['raise_error'], arity: [1, 1], bind: raiseError },
  { names: ['assert_true'], arity: [1, 2], bind: assertTrue },
];

/** Jaro's similarity, raised by up to four equal characters at the start where it is above 0.7. */
function jaroWinkler(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 && b.length === 0) return 1;
  requireShort('jaro_winkler_similarity', a, b);
  const reach = Math.max(0, Math.floor(Math.max(a.length, b.length) / 2) - 1);
  const isTaken = new Array<boolean>(b.length).fill(false);
  const matchedA: string[] = [];
  a.forEach((character, i) => {
    const from = Math.max(0, i - reach);
    const to = Math.min(b.length - 1, i + reach);
    for (let j = from; j <= to; j += 1) {
      if (isTaken[j] === true || b[j] !== character) continue;
      isTaken[j] = true;
      matchedA.push(character);
      return;
    }
  });
  const m = matchedA.length;
  if (m === 0) return 0;
  const matchedB = b.filter((_, j) => isTaken[j] === true);
  const moved = matchedA.filter((character, i) => character !== matchedB[i]).length / 2;
  const jaro = (m / a.length + m / b.length + (m - moved) / m) / 3;
  if (jaro <= 0.7) return jaro;
  let prefix = 0;
  while (prefix < 4 && prefix < a.length && a[prefix] === b[prefix]) prefix += 1;
  return jaro + prefix * 0.1 * (1 - jaro);
}

/** About as many comparisons as a tenth of a second has: nothing else runs meanwhile. */
const comparisonsMax = 40_000_000;

function requireShort(name: string, a: readonly string[], b: readonly string[]): void {
  if (a.length * b.length <= comparisonsMax) return;
  throw new ExpressionError(
    'LEVENSHTEIN_TOO_LONG',
    `${name} of texts of ${a.length} and ${b.length} characters: the product of both is limited to ${comparisonsMax}`,
  );
}

function levenshtein(a: readonly string[], b: readonly string[]): number {
  requireShort('levenshtein', a, b);
  let last = Int32Array.from({ length: b.length + 1 }, (_, j) => j);
  let current = new Int32Array(b.length + 1);
  for (let i = 0; i < a.length; i += 1) {
    const character = a[i];
    let left = i + 1;
    current[0] = left;
    for (let j = 0; j < b.length; j += 1) {
      const replaced = (last[j] as number) + (character === b[j] ? 0 : 1);
      left = Math.min(replaced, (last[j + 1] as number) + 1, left + 1);
      current[j + 1] = left;
    }
    [last, current] = [current, last];
  }
  return last[b.length] ?? 0;
}

/** By letter from A; 7 stands for H and W, which do not part equal codes. */
const soundexCodes = '01230127022455012623017202';

function soundex(s: string): string {
  const first = s.charAt(0).toUpperCase();
  if (!/^[A-Z]$/.test(first)) return s;
  let out = first;
  let last = codeOf(first);
  for (const character of s.slice(1)) {
    const letter = character.toUpperCase();
    if (!/^[A-Z]$/.test(letter) || character.length > 1) {
      last = '0';
      continue;
    }
    const code = codeOf(letter);
    if (code === '7') continue;
    if (code !== '0' && code !== last) {
      out += code;
      if (out.length === 4) break;
    }
    last = code;
  }
  return out.padEnd(4, '0');
}

function codeOf(letter: string): string {
  return soundexCodes[letter.charCodeAt(0) - 65] ?? '0';
}

const overlayText = strictFunction({
  names: ['overlay'],
  parameters: [text, text, parameter.int, parameter.int],
  defaults: [[-1, types.int]],
  returns: types.string,
  evaluate: overlay,
});

const overlayBytes = strictFunction({
  names: ['overlay'],
  parameters: [parameter.binary, parameter.binary, parameter.int, parameter.int],
  defaults: [[-1, types.int]],
  returns: types.binary,
  evaluate: (bytes, by, position, length) =>
    Buffer.concat([
      subBinary(bytes, 1, position - 1),
      by,
      subBinary(bytes, position + (length >= 0 ? length : by.length), 2_147_483_647),
    ]),
});

/** Both are text, or both are bytes. */
function bindOverlay(c: FunctionCall): Expression {
  const kinds = [argumentAt(c, 0), argumentAt(c, 1)].map((argument) => argument.type.kind);
  if (!kinds.includes('binary')) return overlayText.bind(c);
  if (kinds.every((kind) => kind === 'binary' || kind === 'void')) return overlayBytes.bind(c);
  throw mismatch('DATA_DIFF_TYPES', 'overlay takes two texts or two binaries', c.place);
}

/** Without a length as much is replaced as the new text has. */
function overlay(s: string, by: string, position: number, length: number): string {
  const size = length >= 0 ? length : characters(by).length;
  return subString(s, 1, position - 1) + by + subString(s, position + size, 2_147_483_647);
}

/** The argument at a position from 1; all texts, or all binary. */
function elt(c: FunctionCall): Expression {
  const index = coerceArgument(c.name, argumentAt(c, 0), 0, parameter.int);
  const rest = c.arguments.slice(1);
  const isBinary = rest.every((e) => e.type.kind === 'binary');
  const type: DataType = isBinary ? types.binary : types.string;
  const items = rest.map((e, i) => (isBinary ? e : coerceArgument(c.name, e, i + 1, text)));
  const operation: Operation = {
    name: `elt(${formatType(type)})`,
    deterministic: true,
    compile:
      ([at = () => null, ...choices], context) =>
      (row, frame) => {
        const position = at(row, frame);
        if (position === null) return null;
        const choice = choices[(position as number) - 1];
        if (choice !== undefined) return choice(row, frame);
        throw new ExpressionError(
          'INVALID_ARRAY_INDEX',
          `elt has ${choices.length} values, there is none at ${position}`,
          context.place,
        );
      },
  };
  return call(operation, type, [index, ...items], c.place);
}

/** A replacement that is NULL keeps the characters of its kind. */
function mask(c: FunctionCall): Expression {
  const input = coerceArgument(c.name, argumentAt(c, 0), 0, exactly(text));
  const marks = maskDefaults.map((value, i) => {
    const given = c.arguments[i + 1];
    if (given === undefined) return literal(value, types.string, c.place);
    const mark = coerceArgument(c.name, given, i + 1, exactly(text));
    requireOneCharacter(mark, c);
    return mark;
  });
  const operation: Operation = {
    name: 'mask',
    deterministic: true,
    compile:
      ([subject = () => null, ...rest]) =>
      (row, frame) => {
        const value = subject(row, frame);
        if (value === null) return null;
        const [upper, lower, digit, other] = rest.map((mark) => mark(row, frame) as string | null);
        return characters(value as string)
          .map((character) => {
            if (/^\p{Lu}/u.test(character)) return upper ?? character;
            if (/^\p{Ll}/u.test(character)) return lower ?? character;
            return (/^\p{Nd}/u.test(character) ? digit : other) ?? character;
          })
          .join('');
      },
  };
  return call(operation, types.string, [input, ...marks], c.place);
}

function requireOneCharacter(mark: Expression, c: FunctionCall): void {
  if (!isConstant(mark)) return;
  const value = constantValue(mark, c.timeZone);
  if (value === null || characters(value as string).length === 1) return;
  throw mismatch('INPUT_SIZE_NOT_ONE', 'what mask puts in is one character', mark.place);
}

function luhnCheck(s: string): boolean {
  if (!/^\d+$/.test(s)) return false;
  let sum = 0;
  for (let i = 0; i < s.length; i += 1) {
    let digit = Number(s[s.length - 1 - i]);
    if (i % 2 === 1) digit = digit > 4 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  return sum % 10 === 0;
}

function sentences(s: string): readonly (readonly string[])[] {
  return s
    .split(/[.!?]+(?=\s|$)/u)
    .map((sentence) => sentence.match(/[\p{L}\p{M}\p{N}]+(?:['’.-][\p{L}\p{M}\p{N}]+)*/gu) ?? [])
    .filter((words) => words.length > 0)
    .map((words) => [...words]);
}

/** Delimiters are regular expressions; a key without a value has NULL. */
function strToMap(): (s: string, pairs: string, keys: string) => Value {
  let known = '';
  let split: (s: string) => readonly (readonly [string, string | null])[] = () => [];
  return (s, pairs, keys) => {
    const signature = `${pairs}\0${keys}`;
    if (signature !== known) {
      const between = regexOf('str_to_map', pairs);
      const inside = regexOf('str_to_map', keys);
      split = (whole) =>
        partsOf(whole, between).map((pair) => {
          const match = inside.search(pair);
          if (match === undefined) return [pair, null];
          return [pair.slice(0, match[0]), pair.slice(match[1])];
        });
      known = signature;
    }
    const entries = split(s);
    const seen = new Set(entries.map(([key]) => key));
    if (seen.size < entries.length) {
      throw new ExpressionError(
        'DUPLICATED_MAP_KEY',
        'a key stands twice in the text of str_to_map',
      );
    }
    return { entries };
  };
}

function partsOf(s: string, between: Regex): readonly string[] {
  const parts: string[] = [];
  let last = 0;
  for (const [start = 0, end = 0] of between.matches(s)) {
    if (end === 0) continue;
    parts.push(s.slice(last, start));
    last = end;
  }
  parts.push(s.slice(last));
  return parts;
}

function raiseError(c: FunctionCall): Expression {
  const message = coerceArgument(c.name, c.arguments.at(-1) ?? argumentAt(c, 0), 0, text);
  const operation: Operation = {
    name: 'raise_error',
    deterministic: true,
    compile:
      ([arg = () => null], context) =>
      (row, frame) => {
        const value = arg(row, frame);
        throw new ExpressionError('USER_RAISED_EXCEPTION', String(value ?? 'NULL'), context.place);
      },
  };
  return call(operation, types.void, [message], c.place);
}

function assertTrue(c: FunctionCall): Expression {
  const condition = coerceArgument(c.name, argumentAt(c, 0), 0, parameter.boolean);
  const written = c.arguments[1];
  const message =
    written === undefined
      ? literal('the condition of assert_true does not hold', types.string, c.place)
      : coerceArgument(c.name, written, 1, text);
  const operation: Operation = {
    name: 'assert_true',
    deterministic: true,
    compile:
      ([test = () => null, arg = () => null], context) =>
      (row, frame) => {
        if (test(row, frame) === true) return null;
        const shown = String(arg(row, frame) ?? 'NULL');
        throw new ExpressionError('USER_RAISED_EXCEPTION', shown, context.place);
      },
  };
  return call(operation, types.void, [condition, message], c.place);
}
