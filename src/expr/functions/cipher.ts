import type { Value } from '../../data/value.ts';
import { literal, strictCall } from '../call.ts';
import {
  counterMode,
  decryptBlocks,
  encryptBlocks,
  padded,
  tagBytes,
  unpadded,
} from '../digest/aes.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault } from '../faults.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import { nullOnError } from '../operators/interval-arithmetic.ts';
import { parameter } from '../parameter.ts';
import { types } from '../types.ts';

/** AES in the modes that Spark has. Without an IV of its own an encryption would be another each time. */
export const cipherFunctions: readonly FunctionDefinition[] = [
  { names: ['aes_encrypt'], arity: [2, 6], bind: encrypt },
  { names: ['aes_decrypt'], arity: [2, 5], bind: decrypt },
  { names: ['try_aes_decrypt'], arity: [2, 5], bind: (c) => nullOnError(decrypt(c)) },
];

const nothing = Buffer.alloc(0);

function argumentsOf(
  c: FunctionCall,
  defaults: readonly (readonly [Value, 'string' | 'binary'])[],
): readonly Expression[] {
  const given = c.arguments.map((argument, i) => {
    const kind = i < 2 ? 'binary' : (defaults[i - 2]?.[1] ?? 'binary');
    return coerceArgument(c.name, argument, i, parameter[kind]);
  });
  const rest = defaults.slice(Math.max(0, given.length - 2));
  return [...given, ...rest.map(([value, kind]) => literal(value, types[kind], c.place))];
}

function encrypt(c: FunctionCall): Expression {
  const args = argumentsOf(c, [
    ['GCM', 'string'],
    ['DEFAULT', 'string'],
    [nothing, 'binary'],
    [nothing, 'binary'],
  ]);
  return strictCall({
    name: 'aes_encrypt',
    type: types.binary,
    arguments: args,
    place: c.place,
    prepare:
      () =>
      (
        bytes: Uint8Array,
        key: Uint8Array,
        mode: string,
        padding: string,
        iv: Uint8Array,
        aad: Uint8Array,
      ): Value => {
        checkKey(key);
        const form = formOf(mode, padding);
        if (form === 'ECB') {
          if (iv.length > 0) throw unsupported('AES_MODE_IV', `mode ${mode} takes no IV`);
          if (aad.length > 0) throw unsupported('AES_MODE_AAD', `mode ${mode} takes no AAD`);
          return encryptBlocks(key, padded(bytes));
        }
        const length = form === 'GCM' ? 12 : 16;
        if (iv.length === 0) {
          throw fault(
            'NOT_SUPPORTED',
            `aes_encrypt in mode ${mode} without an IV is not supported`,
            c.place,
            `Give it an IV of ${length} bytes: the result can then be computed again.`,
          );
        }
        if (iv.length !== length) {
          throw invalid('AES_IV_LENGTH', `an IV of mode ${mode} has ${length} bytes`);
        }
        if (form === 'CBC') {
          if (aad.length > 0) throw unsupported('AES_MODE_AAD', `mode ${mode} takes no AAD`);
          return Buffer.concat([iv, encryptBlocks(key, padded(bytes), iv)]);
        }
        const { stream, tagOf } = counterMode(key, iv, bytes);
        return Buffer.concat([iv, stream, tagOf(stream, aad)]);
      },
  });
}

function decrypt(c: FunctionCall): Expression {
  const args = argumentsOf(c, [
    ['GCM', 'string'],
    ['DEFAULT', 'string'],
    [nothing, 'binary'],
  ]);
  return strictCall({
    name: 'aes_decrypt',
    type: types.binary,
    arguments: args,
    place: c.place,
    prepare:
      () =>
      (
        bytes: Uint8Array,
        key: Uint8Array,
        mode: string,
        padding: string,
        aad: Uint8Array,
      ): Value => {
        checkKey(key);
        const form = formOf(mode, padding);
        const plain = decrypted(form, Buffer.from(bytes), key, aad);
        if (plain !== undefined) return plain;
        throw invalid('AES_CRYPTO_ERROR', 'the bytes were not encrypted so, or with another key');
      },
  });
}

function decrypted(
  form: Form,
  bytes: Buffer,
  key: Uint8Array,
  aad: Uint8Array,
): Uint8Array | undefined {
  if (form === 'GCM') {
    if (bytes.length < 12 + tagBytes) return undefined;
    const [iv, cipher] = [bytes.subarray(0, 12), bytes.subarray(12, bytes.length - tagBytes)];
    const { stream, tagOf } = counterMode(key, iv, cipher);
    const tag = bytes.subarray(bytes.length - tagBytes);
    return tag.equals(tagOf(cipher, aad)) ? stream : undefined;
  }
  const cipher = form === 'CBC' ? bytes.subarray(16) : bytes;
  // Nothing at all behind the IV is an empty text.
  if (cipher.length === 0 && bytes.length >= (form === 'CBC' ? 16 : 0)) return cipher;
  if (cipher.length % 16 !== 0) return undefined;
  return unpadded(decryptBlocks(key, cipher, form === 'CBC' ? bytes.subarray(0, 16) : undefined));
}

type Form = 'GCM' | 'CBC' | 'ECB';

function formOf(mode: string, padding: string): Form {
  const [form, filling] = [mode.toUpperCase(), padding.toUpperCase()];
  const isKnown =
    (form === 'GCM' && ['DEFAULT', 'NONE'].includes(filling)) ||
    ((form === 'ECB' || form === 'CBC') && ['DEFAULT', 'PKCS'].includes(filling));
  if (isKnown) return form as Form;
  throw unsupported('AES_MODE', `there is no AES-${mode} with the padding ${padding}`);
}

function checkKey(key: Uint8Array): void {
  if ([16, 24, 32].includes(key.length)) return;
  throw invalid('AES_KEY_LENGTH', `a key has 16, 24 or 32 bytes, not ${key.length}`);
}

function unsupported(kind: string, message: string): ExpressionError {
  return new ExpressionError(`UNSUPPORTED_FEATURE.${kind}`, message);
}

function invalid(kind: string, message: string): ExpressionError {
  return new ExpressionError(`INVALID_PARAMETER_VALUE.${kind}`, message);
}
