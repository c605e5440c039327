import { Random } from '../src/testing/random.ts';
import type { Work } from './options.ts';

export type GenerateOptions = {
  readonly work: Work;
  readonly records: number;
  /** Distinct keys to draw from; undefined: what the work says. */
  readonly keys?: number | undefined;
  readonly seed: number;
};

/** A run of records in one buffer; one object is made per chunk, none per record. */
export type GeneratedChunk = {
  readonly bytes: Buffer;
  readonly count: number;
  /** Spans in `bytes`; `keyEnds` is -1 where the record has no key. */
  readonly keyStarts: Int32Array;
  readonly keyEnds: Int32Array;
  readonly valueStarts: Int32Array;
  readonly valueEnds: Int32Array;
};

/** What a right result holds for one key. */
export type ExpectedKey = {
  readonly sequence: bigint;
  readonly rows: number;
  /** Sum of `rowHash` over the rows, so that their order does not matter. */
  readonly hash: number;
};

/** Both workloads: a payments table, keyed by payment_id, its sequence beyond 2^53. */
export const benchSource =
  'payment_id BIGINT, seq BIGINT, amount DECIMAL(10,2), currency STRING, status STRING, updated_at TIMESTAMP, note STRING';

const chunkRecordsMax = 10_000;
const firstPaymentId = 10_000_000;
/** In the range of nanoseconds since 1970, so that a double cannot hold it. */
const firstSequence = 1_795_990_000_000_000_000n;
const tiePermille = 50;
const latePermille = 100;
const statuses = ['CREATED', 'AUTHORIZED', 'CAPTURED', 'SETTLED', 'REFUNDED', 'FAILED'];
const currencies = ['EUR', 'USD', 'GBP', 'CHF'];

/**
 * The records of a benchmark, from a seed: the same options give the same bytes, on any machine.
 * Invariant: what a right result is, is recorded while the records are made, from the drawn numbers and
 * never from the product's own code.
 *
 * `w1-a` has 200,000 keys (a tenth of its records) and no record keys, `w1-b` the same with record keys,
 * `w2` has half as many keys as records, drawn by Zipf's law with exponent 1.1, `w2-a` the same without record keys; `keys` sets another number. One record in twenty ties with the
 * highest sequence of its key so far, one in ten comes late.
 */
export class PaymentGenerator {
  readonly keys: number;
  readonly #options: GenerateOptions;
  readonly #random: Random;
  readonly #drawKey: () => number;
  /** By key: sequence above the first one, rows and hash at that sequence. 0 rows: not seen. */
  readonly #sequences: Float64Array;
  readonly #rows: Int32Array;
  readonly #hashes: Uint32Array;
  #made = 0;

  constructor(options: GenerateOptions) {
    const { work, records, keys, seed } = options;
    this.#options = options;
    const isZipf = work === 'w2' || work === 'w2-a';
    this.keys = keys ?? Math.max(1, Math.floor(isZipf ? records / 2 : records / 10));
    this.#random = new Random(seed);
    this.#drawKey = isZipf
      ? zipf(this.keys, 1.1, this.#random)
      : () => this.#random.below(this.keys);
    this.#sequences = new Float64Array(this.keys);
    this.#rows = new Int32Array(this.keys);
    this.#hashes = new Uint32Array(this.keys);
  }

  /** The next records, at most `chunkRecordsMax`; undefined after the last one. */
  next(): GeneratedChunk | undefined {
    const count = Math.min(chunkRecordsMax, this.#options.records - this.#made);
    if (count <= 0) return undefined;
    const keyed = this.#options.work === 'w1-b' || this.#options.work === 'w2';
    const bytes = Buffer.allocUnsafeSlow(count * 320);
    const keyStarts = new Int32Array(count);
    const keyEnds = new Int32Array(count).fill(-1);
    const valueStarts = new Int32Array(count);
    const valueEnds = new Int32Array(count);
    let size = 0;
    for (let index = 0; index < count; index += 1) {
      const key = this.#drawKey();
      keyStarts[index] = size;
      if (keyed) {
        size += bytes.write(String(firstPaymentId + key), size, 'latin1');
        keyEnds[index] = size;
      }
      valueStarts[index] = size;
      size += bytes.write(this.#record(key), size, 'latin1');
      valueEnds[index] = size;
    }
    return { bytes: bytes.subarray(0, size), count, keyStarts, keyEnds, valueStarts, valueEnds };
  }

  /** Complete after the last chunk. */
  *expected(): Generator<readonly [paymentId: number, ExpectedKey]> {
    for (let key = 0; key < this.keys; key += 1) {
      const rows = this.#rows[key] ?? 0;
      if (rows === 0) continue;
      const sequence = firstSequence + BigInt(this.#sequences[key] ?? 0);
      yield [firstPaymentId + key, { sequence, rows, hash: this.#hashes[key] ?? 0 }];
    }
  }

  #record(key: number): string {
    const random = this.#random;
    const at = this.#made;
    this.#made = at + 1;
    const level = this.#sequences[key] ?? 0;
    const isSeen = (this.#rows[key] ?? 0) > 0;
    const fate = random.below(1000);
    let sequence = at * 1_000_003 + random.below(1000) + 1_000_000;
    if (isSeen && fate < tiePermille) sequence = level;
    else if (isSeen && fate < tiePermille + latePermille)
      sequence = level - 1 - random.below(900_000);
    const amount = `${random.below(1000)}.${String(random.below(100)).padStart(2, '0')}`;
    const currency = random.pick(currencies) ?? '';
    const status = random.pick(statuses) ?? '';
    const second = String(at % 60).padStart(2, '0');
    const milli = String(at % 1000).padStart(3, '0');
    const updatedAt = `2026-11-30T01:14:${second}.${milli}`;
    const note = `order ${at % 99_991} via "web" checkout, attempt ${at % 7}`;
    this.#account(key, sequence, rowHash([amount, currency, status, updatedAt, note]));
    return (
      `{"payment_id":${firstPaymentId + key},"seq":${firstSequence + BigInt(sequence)},` +
      `"amount":${amount},"currency":"${currency}","status":"${status}",` +
      `"updated_at":"${updatedAt}Z","note":"${note.replaceAll('"', '\\"')}"}`
    );
  }

  #account(key: number, sequence: number, hash: number): void {
    const level = this.#sequences[key] ?? 0;
    const rows = this.#rows[key] ?? 0;
    if (rows === 0 || sequence > level) {
      this.#sequences[key] = sequence;
      this.#rows[key] = 1;
      this.#hashes[key] = hash;
    } else if (sequence === level) {
      this.#rows[key] = rows + 1;
      this.#hashes[key] = ((this.#hashes[key] ?? 0) + hash) >>> 0;
    }
  }
}

/** The key, sequence and hash of a row as the output topic holds it, to compare with `expected`. */
export function readOutputRow(json: string): {
  readonly paymentId: number;
  readonly sequence: bigint;
  readonly hash: number;
} {
  const row = JSON.parse(json) as Readonly<Record<string, string | number>>;
  // The number itself is beyond what JSON.parse keeps.
  const sequence = BigInt(/"seq":(\d+)/.exec(json)?.[1] ?? -1);
  const amount = Number(row['amount']).toFixed(2);
  const updatedAt = String(row['updated_at']).slice(0, 'yyyy-MM-ddTHH:mm:ss.SSS'.length);
  const parts = [amount, row['currency'], row['status'], updatedAt, row['note']].map(String);
  return { paymentId: Number(row['payment_id']), sequence, hash: rowHash(parts) };
}

/** FNV-1a over the UTF-16 units of all parts, each followed by a separator. */
function rowHash(parts: readonly string[]): number {
  let hash = 0x811c9dc5;
  for (const part of parts) {
    for (let index = 0; index < part.length; index += 1) {
      hash = Math.imul(hash ^ part.charCodeAt(index), 0x01000193);
    }
    hash = Math.imul(hash ^ 0x1f, 0x01000193);
  }
  return hash >>> 0;
}

/**
 * Draws from 0 to `count` - 1, the frequency of the n-th falling as 1 / n^exponent: rejection-inversion
 * after Hörmann and Derflinger, exact and in constant time. The exponent is not 1.
 */
function zipf(count: number, exponent: number, random: Random): () => number {
  const power = 1 - exponent;
  const integral = (x: number) => (x ** power - 1) / power;
  const inverse = (y: number) => (1 + y * power) ** (1 / power);
  const top = integral(1.5) - 1;
  const bottom = integral(count + 0.5);
  const shortcut = 2 - inverse(integral(2.5) - 2 ** -exponent);
  return () => {
    for (;;) {
      const y = bottom + random.fraction() * (top - bottom);
      const x = inverse(y);
      const rank = Math.min(count, Math.max(1, Math.round(x)));
      if (rank - x <= shortcut || y >= integral(rank + 0.5) - rank ** -exponent) return rank - 1;
    }
  };
}
