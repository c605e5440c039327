/** xxHash64 as Spark applies it to the values of each type; hashes are signed. */
const p1 = 0x9e3779b185ebca87n;
const p2 = 0xc2b2ae3d27d4eb4fn;
const p3 = 0x165667b19e3779f9n;
const p4 = 0x85ebca77c2b2ae63n;
const p5 = 0x27d4eb2f165667c5n;
const mask = (1n << 64n) - 1n;

export function xxInt(value: number, seed: bigint): bigint {
  let hash = (seed + p5 + 4n) & mask;
  hash ^= (BigInt(value >>> 0) * p1) & mask;
  hash = (rotate(hash, 23n) * p2 + p3) & mask;
  return finish(hash);
}

export function xxLong(value: bigint, seed: bigint): bigint {
  let hash = (seed + p5 + 8n) & mask;
  hash ^= round(0n, BigInt.asUintN(64, value));
  hash = (rotate(hash, 27n) * p1 + p4) & mask;
  return finish(hash);
}

export function xxBytes(bytes: Uint8Array, seed: bigint): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let hash: bigint;
  if (bytes.length >= 32) {
    const lanes = [seed + p1 + p2, seed + p2, seed, seed - p1].map((lane) =>
      BigInt.asUintN(64, lane),
    );
    for (; at + 32 <= bytes.length; at += 32) {
      for (let i = 0; i < 4; i += 1) {
        lanes[i] = round(lanes[i] ?? 0n, view.getBigUint64(at + i * 8, true));
      }
    }
    hash = joinLanes(lanes);
  } else {
    hash = (seed + p5) & mask;
  }
  hash = BigInt.asUintN(64, hash + BigInt(bytes.length));
  for (; at + 8 <= bytes.length; at += 8) {
    hash ^= round(0n, view.getBigUint64(at, true));
    hash = (rotate(hash, 27n) * p1 + p4) & mask;
  }
  if (at + 4 <= bytes.length) {
    hash ^= (BigInt(view.getUint32(at, true)) * p1) & mask;
    hash = (rotate(hash, 23n) * p2 + p3) & mask;
    at += 4;
  }
  for (; at < bytes.length; at += 1) {
    hash ^= (BigInt(view.getUint8(at)) * p5) & mask;
    hash = (rotate(hash, 11n) * p1) & mask;
  }
  return finish(hash);
}

function joinLanes(lanes: readonly bigint[]): bigint {
  const [a = 0n, b = 0n, c = 0n, d = 0n] = lanes;
  let hash = (rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n)) & mask;
  for (const lane of lanes) hash = ((hash ^ round(0n, lane)) * p1 + p4) & mask;
  return hash;
}

function rotate(value: bigint, by: bigint): bigint {
  return ((value << by) | (value >> (64n - by))) & mask;
}

function round(accumulator: bigint, input: bigint): bigint {
  return (rotate((accumulator + input * p2) & mask, 31n) * p1) & mask;
}

function finish(hash: bigint): bigint {
  let mixed = ((hash ^ (hash >> 33n)) * p2) & mask;
  mixed = ((mixed ^ (mixed >> 29n)) * p3) & mask;
  return BigInt.asIntN(64, mixed ^ (mixed >> 32n));
}
