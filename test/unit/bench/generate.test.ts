import { describe, expect, test } from 'vitest';
import { type ExpectedKey, PaymentGenerator, readOutputRow } from '../../../bench/generate.ts';
import type { Work } from '../../../bench/options.ts';

function generate(work: Work, records: number, seed = 1) {
  const generator = new PaymentGenerator({ work, records, seed });
  const keys: (string | null)[] = [];
  const values: string[] = [];
  for (let chunk = generator.next(); chunk !== undefined; chunk = generator.next()) {
    const { bytes } = chunk;
    for (let index = 0; index < chunk.count; index += 1) {
      const keyEnd = chunk.keyEnds[index] ?? -1;
      keys.push(keyEnd < 0 ? null : bytes.toString('latin1', chunk.keyStarts[index], keyEnd));
      values.push(bytes.toString('latin1', chunk.valueStarts[index], chunk.valueEnds[index]));
    }
  }
  return { keys, values, expected: new Map(generator.expected()) };
}

/** The definition, over what the records say. */
function recompute(values: readonly string[]): Map<number, ExpectedKey> {
  const sets = new Map<number, ExpectedKey>();
  for (const { paymentId, sequence, hash } of values.map(readOutputRow)) {
    const set = sets.get(paymentId);
    if (set === undefined || sequence > set.sequence) {
      sets.set(paymentId, { sequence, rows: 1, hash });
    } else if (sequence === set.sequence) {
      sets.set(paymentId, { sequence, rows: set.rows + 1, hash: (set.hash + hash) >>> 0 });
    }
  }
  return sets;
}

describe.each(['w1-a', 'w1-b', 'w2', 'w2-a'] as const)('%s', (work) => {
  const generated = generate(work, 25_000);

  test('the same seed gives the same bytes, another one does not', () => {
    expect(generate(work, 25_000)).toEqual(generated);
    expect(generate(work, 25_000, 2).values).not.toEqual(generated.values);
  });

  test('what is expected is what the records themselves say', () => {
    expect(generated.values).toHaveLength(25_000);
    expect(generated.expected).toEqual(recompute(generated.values));
  });

  test('sequences need more than a double, and records are of about 200 bytes', () => {
    const sizes = generated.values.map(({ length }) => length);
    const mean = sizes.reduce((sum, size) => sum + size) / sizes.length;
    expect(mean).toBeGreaterThan(190);
    expect(mean).toBeLessThan(210);
    for (const { sequence } of generated.expected.values()) {
      expect(sequence > BigInt(Number.MAX_SAFE_INTEGER)).toBe(true);
    }
  });

  test('only the keyed variants have record keys', () => {
    const expected = generated.values.map((value) =>
      work.endsWith('-a') ? null : String(readOutputRow(value).paymentId),
    );
    expect(generated.keys).toEqual(expected);
  });
});

test('w1 ties one record in twenty and draws its keys evenly, w2 draws them by Zipf', () => {
  const even = [...generate('w1-a', 50_000).expected.values()];
  const tied = even.filter(({ rows }) => rows > 1).length;
  expect(even.length).toBeGreaterThan(4_900);
  expect(tied / even.length).toBeGreaterThan(0.03);
  expect(tied / even.length).toBeLessThan(0.08);
  const counts = new Map<number, number>();
  for (const { paymentId } of generate('w2', 50_000).values.map(readOutputRow)) {
    counts.set(paymentId, (counts.get(paymentId) ?? 0) + 1);
  }
  const first = counts.get(10_000_000) ?? 0;
  const second = counts.get(10_000_001) ?? 0;
  expect(first / second).toBeGreaterThan(2 ** 1.1 * 0.9);
  expect(first / second).toBeLessThan(2 ** 1.1 * 1.1);
});
