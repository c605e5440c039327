/** The rounds of AES over one block. Invariant: nothing of it depends on time, chance or what ran before. */
export class AesBlocks {
  readonly #keys: Uint8Array;
  readonly #rounds: number;

  /** A key of 16, 24 or 32 bytes. */
  constructor(key: Uint8Array) {
    this.#rounds = key.length / 4 + 6;
    this.#keys = expandKey(key, this.#rounds);
  }

  encrypt(block: Uint8Array): Uint8Array {
    const state = Uint8Array.from(block);
    this.#addKey(state, 0);
    for (let round = 1; round <= this.#rounds; round += 1) {
      for (let i = 0; i < 16; i += 1) state[i] = sbox[state[i] ?? 0] ?? 0;
      shiftRows(state, 1);
      if (round < this.#rounds) mixColumns(state, [2, 3, 1, 1]);
      this.#addKey(state, round);
    }
    return state;
  }

  decrypt(block: Uint8Array): Uint8Array {
    const state = Uint8Array.from(block);
    for (let round = this.#rounds; round >= 1; round -= 1) {
      this.#addKey(state, round);
      if (round < this.#rounds) mixColumns(state, [14, 11, 13, 9]);
      shiftRows(state, 3);
      for (let i = 0; i < 16; i += 1) state[i] = inverse[state[i] ?? 0] ?? 0;
    }
    this.#addKey(state, 0);
    return state;
  }

  #addKey(state: Uint8Array, round: number): void {
    for (let i = 0; i < 16; i += 1) {
      state[i] = (state[i] ?? 0) ^ (this.#keys[round * 16 + i] ?? 0);
    }
  }
}

function double(value: number): number {
  return ((value << 1) ^ (value & 0x80 ? 0x11b : 0)) & 0xff;
}

function times(a: number, b: number): number {
  let product = 0;
  for (let [left, right] = [a, b]; right > 0; right >>= 1) {
    if (right & 1) product ^= left;
    left = double(left);
  }
  return product;
}

const sbox = new Uint8Array(256);
const inverse = new Uint8Array(256);
// Each byte's inverse in the field, then the affine map; 3 generates all of them.
for (let [power, reciprocal, count] = [1, 1, 0]; count < 255; count += 1) {
  const rotated = [1, 2, 3, 4].map((by) => ((reciprocal << by) | (reciprocal >> (8 - by))) & 0xff);
  sbox[power] = rotated.reduce((sum, one) => sum ^ one, reciprocal) ^ 0x63;
  power ^= double(power);
  reciprocal = times(reciprocal, 0xf6);
}
sbox[0] = 0x63;
for (const [from, to] of sbox.entries()) inverse[to] = from;

function expandKey(key: Uint8Array, rounds: number): Uint8Array {
  const keys = new Uint8Array(16 * (rounds + 1));
  keys.set(key);
  let constant = 1;
  for (let at = key.length; at < keys.length; at += 4) {
    let word = [...keys.subarray(at - 4, at)];
    if (at % key.length === 0) {
      word = [...word.slice(1), ...word.slice(0, 1)].map((byte) => sbox[byte] ?? 0);
      word[0] = (word[0] ?? 0) ^ constant;
      constant = double(constant);
    } else if (key.length > 24 && at % key.length === 16) {
      word = word.map((byte) => sbox[byte] ?? 0);
    }
    for (const [i, byte] of word.entries()) keys[at + i] = (keys[at - key.length + i] ?? 0) ^ byte;
  }
  return keys;
}

function shiftRows(state: Uint8Array, by: number): void {
  const before = Uint8Array.from(state);
  for (let i = 0; i < 16; i += 1) {
    const row = i % 4;
    state[i] = before[(i + 4 * row * by) % 16] ?? 0;
  }
}

function mixColumns(state: Uint8Array, factors: readonly number[]): void {
  for (let column = 0; column < 16; column += 4) {
    const before = state.slice(column, column + 4);
    for (let row = 0; row < 4; row += 1) {
      state[column + row] = before.reduce(
        (sum, byte, i) => sum ^ times(byte, factors[(i - row + 4) % 4] ?? 0),
        0,
      );
    }
  }
}

function xor(a: Uint8Array, b: Uint8Array): Uint8Array {
  return a.map((byte, i) => byte ^ (b[i] ?? 0));
}

function blocksOf(bytes: Uint8Array): readonly Uint8Array[] {
  const count = Math.ceil(bytes.length / 16);
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * 16, i * 16 + 16));
}

/** Fills the last block, a whole one where nothing is missing, with how many bytes it adds. */
export function padded(bytes: Uint8Array): Uint8Array {
  const missing = 16 - (bytes.length % 16);
  return Buffer.concat([bytes, Buffer.alloc(missing, missing)]);
}

/** Undefined where the end is no such padding. */
export function unpadded(bytes: Uint8Array): Uint8Array | undefined {
  const count = bytes.at(-1) ?? 0;
  if (count < 1 || count > 16 || count > bytes.length) return undefined;
  const end = bytes.subarray(bytes.length - count);
  return end.every((byte) => byte === count) ? bytes.subarray(0, bytes.length - count) : undefined;
}

/** Block by block; `iv` chains them (CBC), without it each stands by itself (ECB). */
export function encryptBlocks(key: Uint8Array, bytes: Uint8Array, iv?: Uint8Array): Uint8Array {
  const aes = new AesBlocks(key);
  let chained = iv;
  return Buffer.concat(
    blocksOf(bytes).map((block) => {
      const cipher = aes.encrypt(chained === undefined ? block : xor(block, chained));
      if (chained !== undefined) chained = cipher;
      return cipher;
    }),
  );
}

export function decryptBlocks(key: Uint8Array, bytes: Uint8Array, iv?: Uint8Array): Uint8Array {
  const aes = new AesBlocks(key);
  let chained = iv;
  return Buffer.concat(
    blocksOf(bytes).map((block) => {
      const plain = aes.decrypt(block);
      const result = chained === undefined ? plain : xor(plain, chained);
      if (chained !== undefined) chained = block;
      return result;
    }),
  );
}

export const tagBytes = 16;

/** Galois counter mode with an IV of 12 bytes: the stream is the same both ways; the tag is of the ciphertext. */
export function counterMode(
  key: Uint8Array,
  iv: Uint8Array,
  bytes: Uint8Array,
): {
  readonly stream: Uint8Array;
  readonly tagOf: (cipher: Uint8Array, aad: Uint8Array) => Uint8Array;
} {
  const aes = new AesBlocks(key);
  const counter = (count: number): Uint8Array => {
    const block = Buffer.alloc(16);
    block.set(iv);
    block.writeUInt32BE(count, 12);
    return aes.encrypt(block);
  };
  const stream = Buffer.concat(blocksOf(bytes).map((block, i) => xor(block, counter(i + 2))));
  const hashKey = numberOf(aes.encrypt(new Uint8Array(16)));
  const tagOf = (cipher: Uint8Array, aad: Uint8Array): Uint8Array => {
    const lengths = Buffer.alloc(16);
    lengths.writeBigUInt64BE(BigInt(aad.length) * 8n, 0);
    lengths.writeBigUInt64BE(BigInt(cipher.length) * 8n, 8);
    let hash = 0n;
    for (const block of [...blocksOf(aad), ...blocksOf(cipher), lengths]) {
      hash = galoisTimes(hash ^ numberOf(block), hashKey);
    }
    return xor(bytesOf(hash), counter(1));
  };
  return { stream, tagOf };
}

function numberOf(block: Uint8Array): bigint {
  const whole = Buffer.alloc(16);
  whole.set(block);
  return (whole.readBigUInt64BE(0) << 64n) | whole.readBigUInt64BE(8);
}

function bytesOf(value: bigint): Uint8Array {
  const block = Buffer.alloc(16);
  block.writeBigUInt64BE(value >> 64n, 0);
  block.writeBigUInt64BE(BigInt.asUintN(64, value), 8);
  return block;
}

/** Bits run from the most significant one on, as the mode has them. */
function galoisTimes(a: bigint, b: bigint): bigint {
  let product = 0n;
  let factor = b;
  for (let bit = 127n; bit >= 0n; bit -= 1n) {
    if ((a >> bit) & 1n) product ^= factor;
    factor = factor & 1n ? (factor >> 1n) ^ (0xe1n << 120n) : factor >> 1n;
  }
  return product;
}
