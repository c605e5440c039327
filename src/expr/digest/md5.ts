import { paddedMessage } from './blocks.ts';

/** MD5 in lower-case hexadecimal (RFC 1321). */
export function md5(bytes: Uint8Array): string {
  const message = paddedMessage(bytes, 64, 'little');
  let [a0, b0, c0, d0] = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476];
  const words = new Int32Array(16);
  for (let at = 0; at < message.byteLength; at += 64) {
    for (let i = 0; i < 16; i += 1) words[i] = message.getInt32(at + i * 4, true);
    let [a, b, c, d] = [a0, b0, c0, d0];
    for (let i = 0; i < 64; i += 1) {
      const [mix, g] = round(i, b, c, d);
      const sum = (a + mix + (constants[i] ?? 0) + (words[g] ?? 0)) | 0;
      const shift = shifts[(i >> 4) * 4 + (i & 3)] ?? 0;
      [a, d, c, b] = [d, c, b, (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0];
    }
    a0 = (a0 + a) | 0;
    b0 = (b0 + b) | 0;
    c0 = (c0 + c) | 0;
    d0 = (d0 + d) | 0;
  }
  const out = Buffer.alloc(16);
  [a0, b0, c0, d0].forEach((word, i) => {
    out.writeInt32LE(word, i * 4);
  });
  return out.toString('hex');
}

function round(i: number, b: number, c: number, d: number): readonly [number, number] {
  if (i < 16) return [(b & c) | (~b & d), i];
  if (i < 32) return [(d & b) | (~d & c), (5 * i + 1) & 15];
  if (i < 48) return [b ^ c ^ d, (3 * i + 5) & 15];
  return [c ^ (b | ~d), (7 * i) & 15];
}

const shifts = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];

const constants = Int32Array.from(
  { length: 64 },
  (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32) | 0,
);
