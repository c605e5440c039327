import { paddedMessage } from './blocks.ts';

/** SHA-2 in lower-case hexadecimal (FIPS 180-4); undefined for a size that does not exist. */
export function sha2(bytes: Uint8Array, bits: number): string | undefined {
  switch (bits) {
    case 224:
      return sha256(bytes, start224).slice(0, 56);
    case 0:
    case 256:
      return sha256(bytes, start256);
    case 384:
      return sha512(bytes, start384).slice(0, 96);
    case 512:
      return sha512(bytes, start512);
    default:
      return undefined;
  }
}

const mask64 = (1n << 64n) - 1n;

/** The first 64 bits behind the point of the square or cube roots of the first primes. */
function rootBits(root: 2n | 3n, count: number, skip = 0): readonly bigint[] {
  return primes(count + skip)
    .slice(skip)
    .map((prime) => integerRoot(BigInt(prime) << (64n * root), root) & mask64);
}

function primes(count: number): readonly number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n += 1) {
    if (found.every((p) => n % p !== 0)) found.push(n);
  }
  return found;
}

/** The greatest integer whose square or cube is at most the value. */
function integerRoot(value: bigint, root: 2n | 3n): bigint {
  let low = 0n;
  let high = 1n << 70n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** root <= value) low = middle;
    else high = middle;
  }
  return low;
}

const start512 = rootBits(2n, 8);
const start384 = rootBits(2n, 8, 8);
const constants512 = rootBits(3n, 80);
const start256 = Int32Array.from(start512, (word) => Number(word >> 32n));
/** SHA-224 takes the lower halves of SHA-384's words. */
const start224 = Int32Array.from(start384, (word) => Number(word & 0xffffffffn));
const constants256 = Int32Array.from(constants512.slice(0, 64), (word) => Number(word >> 32n));

function at(words: Int32Array, i: number): number {
  return words[i] ?? 0;
}

function rotate32(value: number, by: number): number {
  return (value >>> by) | (value << (32 - by));
}

function sha256(bytes: Uint8Array, start: Int32Array): string {
  const message = paddedMessage(bytes, 64, 'big');
  const state = Int32Array.from(start);
  const words = new Int32Array(64);
  for (let offset = 0; offset < message.byteLength; offset += 64) {
    for (let i = 0; i < 16; i += 1) words[i] = message.getInt32(offset + i * 4);
    for (let i = 16; i < 64; i += 1) {
      const w15 = at(words, i - 15);
      const w2 = at(words, i - 2);
      const s0 = rotate32(w15, 7) ^ rotate32(w15, 18) ^ (w15 >>> 3);
      const s1 = rotate32(w2, 17) ^ rotate32(w2, 19) ^ (w2 >>> 10);
      words[i] = (at(words, i - 16) + s0 + at(words, i - 7) + s1) | 0;
    }
    compress256(state, words);
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

function compress256(state: Int32Array, words: Int32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i += 1) {
    const s1 = rotate32(e, 6) ^ rotate32(e, 11) ^ rotate32(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + s1 + choice + at(constants256, i) + at(words, i)) | 0;
    const s0 = rotate32(a, 2) ^ rotate32(a, 13) ^ rotate32(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + s0 + majority) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((value, i) => {
    state[i] = (at(state, i) + value) | 0;
  });
}

function rotate64(value: bigint, by: bigint): bigint {
  return ((value >> by) | (value << (64n - by))) & mask64;
}

function sha512(bytes: Uint8Array, start: readonly bigint[]): string {
  const message = paddedMessage(bytes, 128, 'big');
  const state = [...start];
  const words = new BigUint64Array(80);
  for (let offset = 0; offset < message.byteLength; offset += 128) {
    for (let i = 0; i < 16; i += 1) words[i] = message.getBigUint64(offset + i * 8);
    for (let i = 16; i < 80; i += 1) {
      const w15 = words[i - 15] ?? 0n;
      const w2 = words[i - 2] ?? 0n;
      const s0 = rotate64(w15, 1n) ^ rotate64(w15, 8n) ^ (w15 >> 7n);
      const s1 = rotate64(w2, 19n) ^ rotate64(w2, 61n) ^ (w2 >> 6n);
      words[i] = ((words[i - 16] ?? 0n) + s0 + (words[i - 7] ?? 0n) + s1) & mask64;
    }
    compress512(state, words);
  }
  return state.map((word) => word.toString(16).padStart(16, '0')).join('');
}

function compress512(state: bigint[], words: BigUint64Array): void {
  let [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n, f = 0n, g = 0n, h = 0n] = state;
  for (let i = 0; i < 80; i += 1) {
    const s1 = rotate64(e, 14n) ^ rotate64(e, 18n) ^ rotate64(e, 41n);
    const choice = (e & f) ^ (~e & mask64 & g);
    const first = (h + s1 + choice + (constants512[i] ?? 0n) + (words[i] ?? 0n)) & mask64;
    const s0 = rotate64(a, 28n) ^ rotate64(a, 34n) ^ rotate64(a, 39n);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = (s0 + majority) & mask64;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) & mask64, c, b, a, (first + second) & mask64];
  }
  [a, b, c, d, e, f, g, h].forEach((value, i) => {
    state[i] = ((state[i] ?? 0n) + value) & mask64;
  });
}
