/** Spark's variant of Murmur3: the bytes behind the last whole word are mixed in one by one. */
export function murmurInt(value: number, seed: number): number {
  return finish(mixHash(seed, mixWord(value)), 4);
}

export function murmurLong(value: bigint, seed: number): number {
  const low = Number(BigInt.asIntN(32, value));
  const high = Number(BigInt.asIntN(32, value >> 32n));
  return finish(mixHash(mixHash(seed, mixWord(low)), mixWord(high)), 8);
}

export function murmurBytes(bytes: Uint8Array, seed: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const aligned = bytes.length - (bytes.length % 4);
  let hash = seed;
  for (let at = 0; at < aligned; at += 4) hash = mixHash(hash, mixWord(view.getInt32(at, true)));
  for (let at = aligned; at < bytes.length; at += 1)
    hash = mixHash(hash, mixWord(view.getInt8(at)));
  return finish(hash, bytes.length);
}

function mixWord(word: number): number {
  const mixed = Math.imul(word, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}

function mixHash(hash: number, word: number): number {
  const mixed = hash ^ word;
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

function finish(hash: number, length: number): number {
  let mixed = hash ^ length;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
