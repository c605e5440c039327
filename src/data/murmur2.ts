/**
 * Kafka's murmur2 over a span of bytes, as a signed 32-bit number.
 * Invariant: it equals the hash of Kafka's own producers, so keyed records of any client meet in one partition.
 */
export function murmur2(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  let hash = seed ^ length;
  let at = start;
  for (const blocksEnd = end - (length & 3); at < blocksEnd; at += 4) {
    let block =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    block = Math.imul(block, multiplier);
    block ^= block >>> 24;
    hash = Math.imul(hash, multiplier) ^ Math.imul(block, multiplier);
  }
  const rest = end - at;
  if (rest === 3) hash ^= (bytes[at + 2] as number) << 16;
  if (rest >= 2) hash ^= (bytes[at + 1] as number) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ (bytes[at] as number), multiplier);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, multiplier);
  return hash ^ (hash >>> 15);
}

/** The partition that Kafka's default partitioner gives to a record with this key. */
export function partitionOf(
  bytes: Uint8Array,
  start: number,
  end: number,
  partitions: number,
): number {
  return partitionOfHash(murmur2(bytes, start, end), partitions);
}

/** The sign bit is masked, not negated: that is what Kafka's clients do. */
export function partitionOfHash(hash: number, partitions: number): number {
  return (hash & 0x7fff_ffff) % partitions;
}

const seed = 0x9747_b28c | 0;
const multiplier = 0x5bd1_e995;
