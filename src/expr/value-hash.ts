import { formatType } from '../data/type-text.ts';
import type { DataType } from '../data/types.ts';
import type { CalendarInterval, Value } from '../data/value.ts';
import { murmurBytes, murmurInt, murmurLong } from './digest/murmur3.ts';
import { xxBytes, xxInt, xxLong } from './digest/xxhash64.ts';

/** How a hash takes in words and bytes; the seed of one value is the hash of the one before it. */
export type HashFamily<H> = {
  readonly int: (value: number, seed: H) => H;
  readonly long: (value: bigint, seed: H) => H;
  readonly bytes: (value: Uint8Array, seed: H) => H;
};

export const murmurFamily: HashFamily<number> = {
  int: murmurInt,
  long: murmurLong,
  bytes: murmurBytes,
};

const unsigned = (seed: bigint): bigint => BigInt.asUintN(64, seed);

export const xxFamily: HashFamily<bigint> = {
  int: (value, seed) => xxInt(value, unsigned(seed)),
  long: (value, seed) => xxLong(value, unsigned(seed)),
  bytes: (value, seed) => xxBytes(value, unsigned(seed)),
};

/** Spark's hash of the values of a type; NULL leaves the seed as it is. */
export function hasher<H>(type: DataType, family: HashFamily<H>): (value: Value, seed: H) => H {
  const hash = presentHasher(type, family);
  return (value, seed) => (value === null ? seed : hash(value, seed));
}

function presentHasher<H>(type: DataType, family: HashFamily<H>): (value: Value, seed: H) => H {
  switch (type.kind) {
    case 'void':
      return (_, seed) => seed;
    case 'boolean':
      return (value, seed) => family.int(value === true ? 1 : 0, seed);
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'date':
    case 'interval_year_month':
      return (value, seed) => family.int(value as number, seed);
    case 'bigint':
    case 'timestamp':
    case 'timestamp_ntz':
    case 'time':
    case 'interval_day_time':
      return (value, seed) => family.long(value as bigint, seed);
    case 'float':
      return (value, seed) => family.int(floatBits(value as number), seed);
    case 'double':
      return (value, seed) => family.long(doubleBits(value as number), seed);
    case 'decimal':
      if (type.precision <= 18) return (value, seed) => family.long(value as bigint, seed);
      return (value, seed) => family.bytes(twosComplement(value as bigint), seed);
    case 'string':
      return (value, seed) => family.bytes(Buffer.from(value as string), seed);
    case 'binary':
      return (value, seed) => family.bytes(value as Uint8Array, seed);
    case 'interval':
      return (value, seed) => {
        const { months, days, micros } = value as CalendarInterval;
        return family.int(months, family.int(days, family.long(micros, seed)));
      };
    case 'array': {
      const element = hasher(type.element, family);
      return (value, seed) => (value as readonly Value[]).reduce((h: H, v) => element(v, h), seed);
    }
    case 'struct': {
      const fields = type.fields.map((field) => hasher(field.type, family));
      return (value, seed) =>
        fields.reduce((h, field, i) => field((value as readonly Value[])[i] ?? null, h), seed);
    }
    default:
      throw new TypeError(`no hash of ${formatType(type)}`);
  }
}

const scratch = new DataView(new ArrayBuffer(8));

function floatBits(value: number): number {
  // Both zeros are one value, and so is every NaN.
  scratch.setFloat32(0, value === 0 ? 0 : value);
  return Number.isNaN(value) ? 0x7fc00000 : scratch.getInt32(0);
}

function doubleBits(value: number): bigint {
  scratch.setFloat64(0, value === 0 ? 0 : value);
  return Number.isNaN(value) ? 0x7ff8000000000000n : scratch.getBigInt64(0);
}

/** The shortest big-endian bytes, as Java's BigInteger gives them. */
function twosComplement(value: bigint): Uint8Array {
  let size = 1;
  while (BigInt.asIntN(size * 8, value) !== value) size += 1;
  const hex = BigInt.asUintN(size * 8, value)
    .toString(16)
    .padStart(size * 2, '0');
  return Buffer.from(hex, 'hex');
}
