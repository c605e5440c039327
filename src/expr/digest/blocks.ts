/**
 * The message padded as MD5 and the SHA family want it: a one bit, zeros, and the length in bits in
 * the last bytes of a block.
 */
export function paddedMessage(
  bytes: Uint8Array,
  blockSize: 64 | 128,
  endian: 'little' | 'big',
): DataView {
  const lengthSize = blockSize / 8;
  const size = Math.ceil((bytes.length + 1 + lengthSize) / blockSize) * blockSize;
  const padded = new Uint8Array(size);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  const bits = BigInt(bytes.length) * 8n;
  view.setBigUint64(size - 8, bits, endian === 'little');
  return view;
}

export function hexOf(words: Iterable<number>): string {
  let out = '';
  for (const word of words) out += (word >>> 0).toString(16).padStart(8, '0');
  return out;
}
