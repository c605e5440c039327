import type { Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { literal, strictCall } from '../call.ts';
import { decodeText, encodeText } from '../charset.ts';
import { constantValue, isConstant } from '../compile.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { mismatch } from '../faults.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import { nullSafeEqual } from '../operators/comparison.ts';
import { caseWhen } from '../operators/conditional.ts';
import { nullOnError } from '../operators/interval-arithmetic.ts';
import { exactly, oneOf, parameter } from '../parameter.ts';
import { types } from '../types.ts';
import { parseUrl } from '../url.ts';
import { regexOf } from './regexp.ts';

/** Bytes as text and text as bytes: hexadecimal, base 64, character sets, URLs. */
export const encodingFunctions: readonly FunctionDefinition[] = [
  strictFunction({
    names: ['hex'],
    parameters: [
      oneOf<bigint | Uint8Array | string>([parameter.bigint, parameter.binary, parameter.string]),
    ],
    returns: types.string,
    evaluate: (value) =>
      typeof value === 'bigint'
        ? BigInt.asUintN(64, value).toString(16).toUpperCase()
        : Buffer.from(value as string)
            .toString('hex')
            .toUpperCase(),
  }),
  strictFunction({
    names: ['unhex'],
    parameters: [parameter.string],
    returns: types.binary,
    evaluate: (text) => bytesOfHex(text) ?? null,
  }),
  strictFunction({
    names: ['base64'],
    parameters: [parameter.binary],
    returns: types.string,
    evaluate: (bytes) => Buffer.from(bytes).toString('base64'),
  }),
  strictFunction({
    names: ['unbase64'],
    parameters: [parameter.string],
    returns: types.binary,
    evaluate: fromBase64,
  }),
  strictFunction({
    names: ['to_base32'],
    parameters: [parameter.binary],
    returns: types.string,
    evaluate: base32,
  }),
  strictFunction({
    names: ['from_base32'],
    parameters: [parameter.string],
    returns: types.binary,
    evaluate: fromBase32,
  }),
  strictFunction({
    names: ['encode'],
    parameters: [parameter.string, parameter.string],
    returns: types.binary,
    evaluate: encodeText,
  }),
  { names: ['decode'], arity: [2, Infinity], bind: decode },
  { names: ['to_binary'], arity: [1, 2], bind: bindToBinary },
  {
    names: ['try_to_binary'],
    arity: [1, 2],
    bind: (c) => nullOnError(toBinaryFunction.bind(c)),
  },
  strictFunction({
    names: ['bin'],
    parameters: [parameter.bigint],
    returns: types.string,
    evaluate: (value) => BigInt.asUintN(64, value).toString(2),
  }),
  strictFunction({
    names: ['conv'],
    parameters: [parameter.string, parameter.int, parameter.int],
    returns: types.string,
    evaluate: (text, from, to) => converted(text, from, to),
  }),
  strictFunction({
    names: ['url_encode'],
    parameters: [parameter.string],
    returns: types.string,
    evaluate: urlEncode,
  }),
  strictFunction({
    names: ['url_decode'],
    parameters: [parameter.string],
    returns: types.string,
    evaluate: (text) => {
      const decoded = urlDecode(text);
      if (decoded === undefined) {
        throw new ExpressionError('CANNOT_DECODE_URL', 'the text has a wrong % sequence');
      }
      return decoded;
    },
  }),
  strictFunction({
    names: ['try_url_decode'],
    parameters: [parameter.string],
    returns: types.string,
    evaluate: (text) => urlDecode(text) ?? null,
  }),
  { names: ['parse_url'], arity: [2, 3], bind: (c) => urlPart(c, false) },
  { names: ['try_parse_url'], arity: [2, 3], bind: (c) => urlPart(c, true) },
];

function bytesOfHex(text: string): Uint8Array | undefined {
  if (!/^[0-9a-fA-F]*$/.test(text)) return undefined;
  return Buffer.from(text.length % 2 === 0 ? text : `0${text}`, 'hex');
}

const base32Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes: Uint8Array): string {
  let out = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) out += base32Alphabet[(held >> (bits - 5)) & 31];
    held &= 0xff;
  }
  if (bits > 0) out += base32Alphabet[(held << (5 - bits)) & 31];
  return out.padEnd(Math.ceil(out.length / 8) * 8, '=');
}

/** Characters that stand for nothing are passed over; so is what fills no byte, but a byte of its own. */
function fromBase32(text: string): Uint8Array {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const character of text.toUpperCase()) {
    const value = base32Alphabet.indexOf(character);
    if (value < 0) continue;
    held = ((held << 5) | value) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((held >> bits) & 0xff);
    }
  }
  return Uint8Array.from(bytes);
}

const decodeBytes = strictFunction({
  names: ['decode'],
  parameters: [parameter.binary, parameter.string],
  returns: types.string,
  evaluate: decodeText,
});

/** With two arguments bytes as text; with more a choice by value, in which NULL equals NULL. */
function decode(c: FunctionCall): Expression {
  if (c.arguments.length === 2) return decodeBytes.bind(c);
  const subject = argumentAt(c, 0);
  const rest = c.arguments.slice(1);
  const branches = [];
  for (let i = 0; i + 1 < rest.length; i += 2) {
    const [wanted, result] = [rest[i], rest[i + 1]];
    if (wanted === undefined || result === undefined) break;
    branches.push({ when: nullSafeEqual(subject, wanted, wanted.place), result });
  }
  // Without a value for the rest it is a text that is NULL, which has its say in the type.
  const otherwise = rest.length % 2 === 1 ? rest.at(-1) : literal(null, types.string, c.place);
  return caseWhen(branches, otherwise, c.place);
}

function toBinary(text: string, format: string): Uint8Array {
  switch (format.toLowerCase()) {
    case 'utf-8':
    case 'utf8':
      return Buffer.from(text, 'utf8');
    case 'hex': {
      const bytes = bytesOfHex(text);
      if (bytes !== undefined) return bytes;
      break;
    }
    case 'base64': {
      // Between the signs that fill it up there is no white space.
      const [, letters = '', rest = ''] = /^([^=]*)(=*)\s*$/.exec(text) ?? [undefined, '?'];
      const clean = letters.replace(/[\r\n\t ]/g, '') + rest;
      if (clean.length % 4 !== 1 && /^[A-Za-z0-9+/]*={0,2}$/.test(clean)) {
        return Buffer.from(clean, 'base64');
      }
      break;
    }
    default:
      throw new ExpressionError(
        'INVALID_PARAMETER_VALUE.BINARY_FORMAT',
        `to_binary knows hex, utf-8 and base64, not '${format}'`,
      );
  }
  throw new ExpressionError('CONVERSION_INVALID_INPUT', `the text is no ${format}`);
}

/** What is no letter of the alphabet is skipped; one letter alone makes no byte. */
function fromBase64(text: string): Uint8Array {
  const letters = text.replace(/[^A-Za-z0-9+/]/g, '');
  if (letters.length % 4 !== 1) return Buffer.from(letters, 'base64');
  throw new ExpressionError('CONVERSION_INVALID_INPUT', 'the text is no base64');
}

/** A constant name of an encoding must be one. */
function bindToBinary(c: FunctionCall): Expression {
  const format = c.arguments[1];
  if (format !== undefined && isConstant(format)) {
    const value = constantValue(format, c.timeZone);
    if (value !== null && !/^(?:hex|utf-?8|base64)$/i.test(String(value))) {
      throw mismatch('INVALID_ARG_VALUE', `${c.name} knows hex, utf-8 and base64`, format.place);
    }
  }
  return toBinaryFunction.bind(c);
}

const toBinaryFunction = strictFunction({
  names: ['to_binary'],
  parameters: [parameter.string, parameter.string],
  defaults: [['hex', types.string]],
  returns: types.binary,
  evaluate: toBinary,
});

/** A number in another base; a negative target base asks for a signed result. */
function converted(text: string, from: number, to: number): string | null {
  const base = Math.abs(to);
  if (from < 2 || from > 36 || base < 2 || base > 36) return null;
  const trimmed = text.trim();
  const isNegative = trimmed.startsWith('-');
  let value = 0n;
  for (const character of isNegative ? trimmed.slice(1) : trimmed) {
    const digit = Number.parseInt(character, 36);
    if (Number.isNaN(digit) || digit >= from) break;
    value = value * BigInt(from) + BigInt(digit);
    if (value >= 1n << 64n) {
      throw new ExpressionError('ARITHMETIC_OVERFLOW', 'the number of conv does not fit 64 bits');
    }
  }
  if (trimmed === '') return null;
  const unsigned = BigInt.asUintN(64, isNegative ? -value : value);
  const shown = to < 0 ? BigInt.asIntN(64, unsigned) : unsigned;
  const digits = shown.toString(base).toUpperCase();
  return digits === '0' && isNegative && to < 0 ? '-0' : digits;
}

function urlEncode(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

function urlDecode(text: string): string | undefined {
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined;
  const bytes = text
    .replaceAll('+', ' ')
    .replace(/(?:%[0-9a-fA-F]{2})+/g, (run) =>
      Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
    );
  return bytes;
}

function urlPart(c: FunctionCall, isTry: boolean): Expression {
  const args = c.arguments.map((a, i) => coerceArgument(c.name, a, i, exactly(parameter.string)));
  return strictCall({
    name: `${c.name}/${args.length}`,
    type: types.string,
    arguments: args,
    place: c.place,
    prepare:
      () =>
      (text: string, part: string, key?: string): Value => {
        const url = parseUrl(text);
        if (url === undefined) {
          if (isTry) return null;
          throw new ExpressionError('INVALID_URL', 'the text is no URL');
        }
        if (key === undefined) return url[part as keyof typeof url] ?? null;
        return part === 'QUERY' ? queryValue(url.QUERY, key) : null;
      },
  });
}

/** The key is a part of a regular expression, as in Spark. */
function queryValue(query: string | undefined, key: string): string | null {
  if (query === undefined) return null;
  const regex = regexOf('parse_url', `(&|^)${key}=([^&]*)`);
  const match = regex.search(query);
  return match === undefined ? null : query.slice(match[4] ?? 0, match[5] ?? 0);
}
