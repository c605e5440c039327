import { expect, test } from 'vitest';
import { OutgoingBatches } from '../../../../src/adapters/kafka/outgoing-batches.ts';
import { RecordBatchCursor } from '../../../../src/adapters/kafka/wire/record-batch-reader.ts';
import { Random } from '../../../../src/testing/random.ts';
import { textRecord } from '../../../support/log-worker.ts';

const options = {
  producerId: 7n,
  producerEpoch: 3,
  transactional: true,
} as const;

function sequenceOf(bytes: Buffer): number {
  return bytes.readInt32BE(53);
}

function valuesOf(bytes: Buffer): string[] {
  const cursor = new RecordBatchCursor({
    topic: 't',
    partition: 0,
    bytes,
    position: 0,
    abortedTransactions: null,
  });
  const values: string[] = [];
  while (cursor.next()) {
    values.push(cursor.bytes.toString('utf8', cursor.valueStart, cursor.valueEnd));
  }
  return values;
}

test('a batch waits until it is full, or is asked for', () => {
  const batches = new OutgoingBatches('t', 0, 'none', () => 180);
  batches.append(textRecord('k', 'x'.repeat(60)), 0);
  expect(batches.hasNext(0, false)).toBe(false);
  expect(batches.hasNext(0, true)).toBe(true);
  batches.append(textRecord('k', 'y'.repeat(60)), 0);
  expect(batches.hasNext(0, false)).toBe(true);
});

test('a batch that failed is given again as it was, and the sequence grows by its records', () => {
  const batches = new OutgoingBatches('t', 0, 'none', () => 1_000);
  batches.append(textRecord('k', 'a'), 0);
  batches.append(textRecord('k', 'b'), 0);
  const first = batches.next(options);
  expect(batches.next(options)).toBe(first);
  expect(sequenceOf(first?.bytes ?? Buffer.alloc(100))).toBe(0);
  batches.acknowledge();
  batches.append(textRecord('k', 'c'), 0);
  const second = batches.next(options);
  expect(sequenceOf(second?.bytes ?? Buffer.alloc(100))).toBe(2);
  expect(valuesOf(second?.bytes ?? Buffer.alloc(0))).toEqual(['c']);
});

test('records of two transactions never share a batch', () => {
  const batches = new OutgoingBatches('t', 0, 'none', () => 1_000);
  batches.append(textRecord('k', 'a'), 0);
  batches.append(textRecord('k', 'b'), 1);
  expect(valuesOf(batches.next(options)?.bytes ?? Buffer.alloc(0))).toEqual(['a']);
  batches.acknowledge();
  expect(batches.isEmpty(0)).toBe(true);
  expect(batches.hasNext(0, true)).toBe(false);
  expect(batches.hasNext(1, true)).toBe(true);
});

test('a record that is larger than a batch goes alone', () => {
  const batches = new OutgoingBatches('t', 0, 'none', () => 200);
  batches.append(textRecord('k', 'a'), 0);
  batches.append(textRecord('k', 'x'.repeat(5_000)), 0);
  batches.append(textRecord('k', 'b'), 0);
  const counts: number[] = [];
  for (let batch = batches.next(options); batch !== undefined; batch = batches.next(options)) {
    counts.push(batch.recordCount);
    batches.acknowledge();
  }
  expect(counts).toEqual([1, 1, 1]);
});

test('the bytes taken are those of the batches, so that they add up again', () => {
  const batches = new OutgoingBatches('t', 0, 'none', () => 300);
  let taken = 0;
  for (let index = 0; index < 50; index += 1) {
    taken += batches.append(textRecord(`k${index}`, 'v'.repeat(index)), 0);
  }
  let given = 0;
  for (let batch = batches.next(options); batch !== undefined; batch = batches.next(options)) {
    given += batch.plainBytes;
    batches.acknowledge();
  }
  expect(given).toBe(taken);
});

test.each([
  ['acknowledged', 0, true],
  ['given up once, whose request may still be on its way', 1, false],
])('memory of a batch that was %s holds a later one: %#', (_name, failures, isUsedAgain) => {
  const batches = new OutgoingBatches('t', 0, 'lz4', () => 1_000_000);
  const random = new Random(3);
  const noise = (): string => Array.from({ length: 90_000 }, () => random.below(10)).join('');
  const memoryOf = (): ArrayBufferLike | undefined => {
    batches.append(textRecord('k', noise()), 0);
    const bytes = batches.next(options)?.bytes;
    expect(bytes === undefined ? [] : valuesOf(bytes)).toHaveLength(1);
    batches.failures = failures;
    batches.acknowledge();
    return bytes?.buffer;
  };
  // What other tests gave back is taken first.
  const memories = [memoryOf(), memoryOf(), memoryOf()];
  expect(memories[2] === memories[1]).toBe(isUsedAgain);
});

test('a batch that is full is compressed at once, one that is not when it is sent', () => {
  const batches = new OutgoingBatches('t', 0, 'lz4', () => 10_000);
  let taken = 0;
  for (let index = 0; index < 25; index += 1) {
    taken += batches.append(textRecord(`k${index}`, 'v'.repeat(1_000)), 0);
  }
  const sizes: number[] = [];
  let given = 0;
  const values: string[] = [];
  for (let batch = batches.next(options); batch !== undefined; batch = batches.next(options)) {
    sizes.push(batch.bytes.length);
    given += batch.plainBytes;
    values.push(...valuesOf(batch.bytes));
    batches.acknowledge();
  }
  expect(values).toHaveLength(25);
  expect(given).toBe(taken);
  expect(Math.max(...sizes)).toBeLessThan(1_000);
});
