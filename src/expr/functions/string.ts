import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { call, literal, strictCall } from '../call.ts';
import { castTo } from '../coerce.ts';
import type { Evaluator, Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import { coalesce } from '../operators/conditional.ts';
import { escapeOf, like } from '../operators/like.ts';
import { oneOf, parameter, parameterOf } from '../parameter.ts';
import { indexOfZero, textLength } from '../row-errors.ts';
import { characters, padded, paddedBytes, subBinary, subString, trimSet } from '../text.ts';
import { arrayOf, isAtomic, types } from '../types.ts';

const text = parameter.string;
const int = parameter.int;

/** Functions of text. Invariant: positions and lengths count code points, never UTF-16 units. */
export const stringFunctions: readonly FunctionDefinition[] = [
  strictFunction({
    names: ['upper', 'ucase'],
    parameters: [text],
    returns: types.string,
    evaluate: (s) => s.toUpperCase(),
  }),
  strictFunction({
    names: ['lower', 'lcase'],
    parameters: [text],
    returns: types.string,
    evaluate: (s) => s.toLowerCase(),
  }),
  strictFunction({
    names: ['length', 'char_length', 'character_length', 'len'],
    parameters: [parameter.stringOrBinary],
    returns: types.int,
    prepare: ({ types: [type] }) =>
      type?.kind === 'binary' ? (bytes) => bytes.length : (s) => codePointCount(s as string),
  }),
  strictFunction({
    names: ['octet_length'],
    parameters: [parameter.stringOrBinary],
    returns: types.int,
    evaluate: (s) => (typeof s === 'string' ? Buffer.byteLength(s) : s.length),
  }),
  strictFunction({
    names: ['bit_length'],
    parameters: [parameter.stringOrBinary],
    returns: types.int,
    evaluate: (s) => (typeof s === 'string' ? Buffer.byteLength(s) : s.length) * 8,
  }),
  { names: ['trim'], arity: [1, 2], bind: (c) => trimmed(c, true, true, false) },
  { names: ['btrim'], arity: [1, 2], bind: (c) => trimmed(c, true, true, true) },
  { names: ['ltrim'], arity: [1, 2], bind: (c) => trimmed(c, true, false, false) },
  { names: ['rtrim'], arity: [1, 2], bind: (c) => trimmed(c, false, true, false) },
  strictFunction({
    names: ['substring', 'substr'],
    parameters: [parameter.stringOrBinary, int, int],
    defaults: [[2_147_483_647, types.int]],
    returns: ([value]) => (value?.type.kind === 'binary' ? types.binary : types.string),
    evaluate: (value, start, length) =>
      typeof value === 'string' ? subString(value, start, length) : subBinary(value, start, length),
  }),
  strictFunction({
    names: ['left'],
    parameters: [parameter.stringOrBinary, int],
    returns: ([value]) => (value?.type.kind === 'binary' ? types.binary : types.string),
    evaluate: (value, length) =>
      typeof value === 'string' ? subString(value, 1, length) : subBinary(value, 1, length),
  }),
  strictFunction({
    names: ['right'],
    parameters: [text, int],
    returns: types.string,
    evaluate: (value, length) => (length <= 0 ? '' : subString(value, -length, length)),
  }),
  strictFunction({
    names: ['replace'],
    parameters: [text, text, text],
    defaults: [['', types.string]],
    returns: types.string,
    evaluate: (s, search, by) => (search === '' ? s : s.replaceAll(search, () => by)),
  }),
  strictFunction({
    names: ['repeat'],
    parameters: [text, int],
    returns: types.string,
    evaluate: (s, n) => (textLength(s.length * n, 'repeat') <= 0 ? '' : s.repeat(n)),
  }),
  padFunction('lpad'),
  padFunction('rpad'),
  strictFunction({
    names: ['instr'],
    parameters: [text, text, int, int],
    defaults: [
      [1, types.int],
      [1, types.int],
    ],
    returns: types.int,
    evaluate: occurrenceOf,
  }),
  { names: ['locate', 'position'], arity: [2, 3], bind: locate },
  test(
    'startswith',
    (s, part) => s.startsWith(part),
    (b, part) => b.subarray(0, part.length).equals(part),
  ),
  test(
    'endswith',
    (s, part) => s.endsWith(part),
    (b, part) => b.length >= part.length && b.subarray(b.length - part.length).equals(part),
  ),
  test(
    'contains',
    (s, part) => s.includes(part),
    (b, part) => b.includes(part),
  ),
  likeFunction('like'),
  likeFunction('ilike'),
  { names: ['concat_ws'], arity: [1, Infinity], bind: concatWithSeparator },
  strictFunction({
    names: ['split_part'],
    parameters: [text, text, int],
    returns: types.string,
    evaluate: splitPart,
  }),
  strictFunction({
    names: ['ascii'],
    parameters: [text],
    returns: types.int,
    evaluate: (s) => s.codePointAt(0) ?? 0,
  }),
  strictFunction({
    names: ['chr', 'char'],
    parameters: [parameter.bigint],
    returns: types.string,
    evaluate: (n) => (n < 0n ? '' : String.fromCharCode(Number(n & 0xffn))),
  }),
  strictFunction({
    names: ['space'],
    parameters: [int],
    returns: types.string,
    evaluate: (n) => ' '.repeat(Math.max(textLength(n, 'space'), 0)),
  }),
  strictFunction({
    names: ['translate'],
    parameters: [text, text, text],
    returns: types.string,
    evaluate: translate,
  }),
  strictFunction({
    names: ['initcap'],
    parameters: [text],
    returns: types.string,
    evaluate: (s) =>
      s.replace(
        /([^ ])([^ ]*)/gu,
        (_, first: string, rest: string) => titled(first) + rest.toLowerCase(),
      ),
  }),
  strictFunction({
    names: ['substring_index'],
    parameters: [text, text, int],
    returns: types.string,
    evaluate: substringIndex,
  }),
];

/** Of a letter whose capital is two letters only the first one is a capital. */
function titled(character: string): string {
  const [first = '', ...rest] = character.toUpperCase();
  return first + rest.join('').toLowerCase();
}

function codePointCount(s: string): number {
  let count = 0;
  for (let i = 0; i < s.length; i += 1) {
    // The second half of a pair is no character of its own.
    if ((s.charCodeAt(i) & 0xfc00) !== 0xdc00) count += 1;
  }
  return count;
}

function positionOf(s: string, search: string, start: number): number {
  if (search === '') return start === 1 ? 1 : start <= codePointCount(s) + 1 ? start : 0;
  const from =
    start === 1
      ? 0
      : characters(s)
          .slice(0, start - 1)
          .join('').length;
  const at = s.indexOf(search, from);
  return at < 0 ? 0 : codePointCount(s.slice(0, at)) + 1;
}

const located = strictFunction({
  names: ['locate'],
  parameters: [text, text, int],
  defaults: [[1, types.int]],
  returns: types.int,
  evaluate: (search, s, start) =>
    start <= 0 ? 0 : search === '' ? 1 : positionOf(s, search, start),
});

/** From a start that is NULL nothing is found. */
function locate(c: FunctionCall): Expression {
  const start = c.arguments[2];
  if (start === undefined) return located.bind(c);
  const known = coalesce(
    [coerceArgument(c.name, start, 2, int), literal(0, types.int, c.place)],
    c.place,
  );
  return located.bind({ ...c, arguments: [argumentAt(c, 0), argumentAt(c, 1), known] });
}

/** From a negative start it is looked for backwards; occurrences may overlap. */
function occurrenceOf(s: string, search: string, start: number, occurrence: number): number {
  if (occurrence <= 0) {
    throw new ExpressionError(
      'INVALID_PARAMETER_VALUE.OCCURRENCE',
      `the occurrence of instr must be positive, not ${occurrence}`,
    );
  }
  if (search === '') return 1;
  if (start === 1 && occurrence === 1) return positionOf(s, search, 1);
  if (start === 0) return 0;
  const [all, wanted] = [characters(s), characters(search)];
  const isAt = (from: number): boolean => wanted.every((one, i) => all[from + i] === one);
  const step = start > 0 ? 1 : -1;
  let left = occurrence;
  for (let i = start > 0 ? start - 1 : all.length + start; i >= 0 && i < all.length; i += step) {
    if (isAt(i)) left -= 1;
    if (left === 0) return i + 1;
  }
  return 0;
}

function trimmed(c: FunctionCall, start: boolean, end: boolean, textFirst: boolean): Expression {
  const args = c.arguments.map((a, i) => coerceArgument(c.name, a, i, text));
  const isReversed = args.length === 2 && !textFirst;
  const ordered = isReversed ? [...args].reverse() : args;
  return strictCall({
    name: c.name,
    type: types.string,
    arguments: ordered,
    place: c.place,
    prepare: () => (s: string, set?: string) => trimSet(s, set ?? ' ', start, end),
  });
}

/** Bytes are filled with bytes (zeros unless it is said); where one of both is text, both are. */
function padFunction(name: 'lpad' | 'rpad'): FunctionDefinition {
  const ofText = strictFunction({
    names: [name],
    parameters: [text, int, text],
    defaults: [[' ', types.string]],
    returns: types.string,
    evaluate: (s, length, pad) => padded(s, textLength(length, name), pad, name === 'lpad'),
  });
  const ofBytes = strictFunction({
    names: [name],
    parameters: [parameter.binary, int, parameter.binary],
    defaults: [[new Uint8Array(1), types.binary]],
    returns: types.binary,
    evaluate: (bytes, length, pad) =>
      paddedBytes(bytes, textLength(length, name), pad, name === 'lpad'),
  });
  return {
    ...ofText,
    bind: (c) => {
      const [value, , pad = value] = c.arguments;
      const isBinary = value?.type.kind === 'binary' && pad?.type.kind === 'binary';
      return (isBinary ? ofBytes : ofText).bind(c);
    },
  };
}

function test(
  name: string,
  onText: (s: string, part: string) => boolean,
  onBytes: (b: Buffer, part: Buffer) => boolean,
): FunctionDefinition {
  return {
    names: [name],
    arity: [2, 2],
    bind: (c) => {
      const isBinary = c.arguments.every((a) => a.type.kind === 'binary');
      const rule = isBinary ? parameter.binary : text;
      const args = c.arguments.map((a, i) => coerceArgument(name, a, i, oneOf<Value>([rule])));
      return strictCall({
        name: `${name}(${isBinary ? 'binary' : 'string'})`,
        type: types.boolean,
        arguments: args,
        place: c.place,
        prepare: () =>
          isBinary
            ? (b: Uint8Array, part: Uint8Array) => onBytes(Buffer.from(b), Buffer.from(part))
            : onText,
      });
    },
  };
}

function likeFunction(name: 'like' | 'ilike'): FunctionDefinition {
  return {
    names: [name],
    arity: [2, 3],
    bind: (c) =>
      like(name, argumentAt(c, 0), argumentAt(c, 1), {
        escapeCharacter: escapeOf(c.arguments[2], c.timeZone),
        place: c.place,
      }),
  };
}

/** Arguments are strings and arrays of strings; NULLs are left out, only a NULL separator gives NULL. */
function concatWithSeparator(c: FunctionCall): Expression {
  const args = c.arguments.map((argument, i) => {
    if (i > 0 && argument.type.kind === 'array' && isPlain(argument.type.element)) {
      return castTo(argument, arrayOf(types.string));
    }
    const strings = parameterOf(arrayOf(types.string));
    return coerceArgument(c.name, argument, i, i === 0 ? text : oneOf<Value>([text, strings]));
  });
  const operation: Operation = {
    name: `concat_ws(${args.map((a) => a.type.kind).join(',')})`,
    deterministic: true,
    compile: ([separator = () => null, ...rest]) => joiner(separator, rest),
  };
  return call(operation, types.string, args, c.place);
}

/** Elements that have parts are no texts, and are not printed. */
function isPlain(type: DataType): boolean {
  return isAtomic(type) || type.kind === 'void';
}

function joiner(separator: Evaluator, parts: readonly Evaluator[]): Evaluator {
  return (row, frame) => {
    const between = separator(row, frame);
    if (between === null) return null;
    const texts: string[] = [];
    for (const part of parts) {
      const value = part(row, frame);
      if (Array.isArray(value)) {
        for (const element of value as readonly Value[]) {
          if (element !== null) texts.push(element as string);
        }
      } else if (value !== null) {
        texts.push(value as string);
      }
    }
    return texts.join(between as string);
  };
}

function splitPart(s: string, delimiter: string, index: number): string {
  if (index === 0) throw indexOfZero();
  const parts = delimiter === '' ? [s] : s.split(delimiter);
  return parts[index > 0 ? index - 1 : parts.length + index] ?? '';
}

/** Of a character that stands twice in `from` the first one counts; one without a partner is dropped. */
function translate(s: string, from: string, to: string): string {
  const targets = characters(to);
  const map = new Map<string, string>();
  characters(from).forEach((character, i) => {
    if (!map.has(character)) map.set(character, targets[i] ?? '');
  });
  return characters(s)
    .map((character) => map.get(character) ?? character)
    .join('');
}

function substringIndex(s: string, delimiter: string, count: number): string {
  if (delimiter === '' || count === 0) return '';
  const parts = s.split(delimiter);
  if (Math.abs(count) >= parts.length) return s;
  return (count > 0 ? parts.slice(0, count) : parts.slice(count)).join(delimiter);
}
