import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import { call } from '../call.ts';
import { crc32 } from '../digest/crc32.ts';
import { hmac } from '../digest/hmac.ts';
import { md5 } from '../digest/md5.ts';
import { sha1 } from '../digest/sha1.ts';
import { sha2 } from '../digest/sha2.ts';
import type { Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { mismatch } from '../faults.ts';
import { type FunctionCall, type FunctionDefinition, strictFunction } from '../function.ts';
import { parameter } from '../parameter.ts';
import { types } from '../types.ts';
import { type HashFamily, hasher, murmurFamily, xxFamily } from '../value-hash.ts';

/** Digests of bytes, and Spark's hashes of values. */
export const hashFunctions: readonly FunctionDefinition[] = [
  strictFunction({
    names: ['md5'],
    parameters: [parameter.binary],
    returns: types.string,
    evaluate: md5,
  }),
  strictFunction({
    names: ['sha1', 'sha'],
    parameters: [parameter.binary],
    returns: types.string,
    evaluate: sha1,
  }),
  strictFunction({
    names: ['sha2'],
    parameters: [parameter.binary, parameter.int],
    returns: types.string,
    evaluate: (bytes, bits) => sha2(bytes, bits) ?? null,
  }),
  strictFunction({
    names: ['crc32'],
    parameters: [parameter.binary],
    returns: types.bigint,
    evaluate: (bytes) => BigInt(crc32(bytes)),
  }),
  strictFunction({
    names: ['hmac'],
    parameters: [parameter.binary, parameter.binary, parameter.string],
    defaults: [['SHA-256', types.string]],
    returns: types.binary,
    evaluate: (key, message, algorithm) => {
      if (key.length === 0) {
        throw new ExpressionError('INVALID_PARAMETER_VALUE.HMAC_CRYPTO_ERROR', 'the key is empty');
      }
      const mac = hmac(key, message, algorithm);
      if (mac !== undefined) return mac;
      throw new ExpressionError(
        'INVALID_PARAMETER_VALUE.HMAC_ALGORITHM',
        `there is no digest ${algorithm} for hmac`,
      );
    },
  }),
  {
    names: ['hash'],
    arity: [1, Infinity],
    bind: (c) => hashCall(c, types.int, murmurFamily, 42),
  },
  {
    names: ['xxhash64'],
    arity: [1, Infinity],
    bind: (c) => hashCall(c, types.bigint, xxFamily, 42n),
  },
];

function holdsVariant(type: DataType): boolean {
  switch (type.kind) {
    case 'array':
      return holdsVariant(type.element);
    case 'struct':
      return type.fields.some((field) => holdsVariant(field.type));
    default:
      return type.kind === 'variant';
  }
}

function hashCall<H extends number | bigint>(
  c: FunctionCall,
  type: DataType,
  family: HashFamily<H>,
  seed: H,
): Expression {
  for (const argument of c.arguments) {
    if (holdsVariant(argument.type)) {
      throw mismatch('HASH_VARIANT_TYPE', `${c.name} does not take variants`, argument.place);
    }
    if (hasMap(argument.type)) {
      throw mismatch(
        'HASH_MAP_TYPE',
        `${c.name} does not take ${formatType(argument.type)}: equal maps may differ in order`,
        argument.place,
      );
    }
  }
  const hashers = c.arguments.map((argument) => hasher(argument.type, family));
  const operation: Operation = {
    name: `${c.name}(${c.arguments.map((a) => formatType(a.type)).join(',')})`,
    deterministic: true,
    compile: (args) => (row, frame) => {
      let hash = seed;
      for (const [i, arg] of args.entries()) hash = hashers[i]?.(arg(row, frame), hash) ?? hash;
      return hash;
    },
  };
  return call(operation, type, c.arguments, c.place);
}

function hasMap(type: DataType): boolean {
  switch (type.kind) {
    case 'map':
      return true;
    case 'array':
      return hasMap(type.element);
    case 'struct':
      return type.fields.some((field) => hasMap(field.type));
    default:
      return false;
  }
}
