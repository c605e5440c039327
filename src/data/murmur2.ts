/**
 * Kafka's murmur2 over a span of bytes, as a signed 32-bit number.
 * Invariant: it equals the hash of Kafka's own producers, so keyed records of any client meet in one partition.
 */
export function murmur2(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const blocksEnd = end - (length & 3);
  let hash = seed ^ length;
  for (let at = start; at < blocksEnd; at += 4) {
    const block =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    hash = mixed(hash, block);
  }
  return finished(hash, bytes, blocksEnd, end);
}

/** The same, where the view of the bytes is at hand: for what is hashed once a record. */
export function murmur2Of(bytes: Uint8Array, view: DataView, start: number, end: number): number {
  const length = end - start;
  const blocksEnd = end - (length & 3);
  let hash = seed ^ length;
  for (let at = start; at < blocksEnd; at += 4) hash = mixed(hash, view.getInt32(at, true));
  return finished(hash, bytes, blocksEnd, end);
}

function mixed(hash: number, bytes: number): number {
  let block = Math.imul(bytes, multiplier);
  block ^= block >>> 24;
  return Math.imul(hash, multiplier) ^ Math.imul(block, multiplier);
}

/** With the bytes that are no whole block. */
function finished(mix: number, bytes: Uint8Array, at: number, end: number): number {
  let hash = mix;
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
