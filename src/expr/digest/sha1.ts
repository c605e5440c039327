import { hexOf, paddedMessage } from './blocks.ts';

/** SHA-1 in lower-case hexadecimal (FIPS 180-4). */
export function sha1(bytes: Uint8Array): string {
  const message = paddedMessage(bytes, 64, 'big');
  const state = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0);
  const words = new Int32Array(80);
  for (let at = 0; at < message.byteLength; at += 64) {
    for (let i = 0; i < 16; i += 1) words[i] = message.getInt32(at + i * 4);
    for (let i = 16; i < 80; i += 1) {
      words[i] = rotate(
        word(words, i - 3) ^ word(words, i - 8) ^ word(words, i - 14) ^ word(words, i - 16),
        1,
      );
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0] = state;
    for (let i = 0; i < 80; i += 1) {
      const next = (rotate(a, 5) + mix(i, b, c, d) + e + word(words, i)) | 0;
      [e, d, c, b, a] = [d, c, rotate(b, 30), a, next];
    }
    [a, b, c, d, e].forEach((value, i) => {
      state[i] = (word(state, i) + value) | 0;
    });
  }
  return hexOf(state);
}

function word(words: Int32Array, i: number): number {
  return words[i] ?? 0;
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

function mix(i: number, b: number, c: number, d: number): number {
  if (i < 20) return (((b & c) | (~b & d)) + 0x5a827999) | 0;
  if (i < 40) return ((b ^ c ^ d) + 0x6ed9eba1) | 0;
  if (i < 60) return (((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc) | 0;
  return ((b ^ c ^ d) + 0xca62c1d6) | 0;
}
