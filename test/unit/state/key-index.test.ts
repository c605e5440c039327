import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EntryColumns } from '../../../src/adapters/embedded/entry-columns.ts';
import { KeyIndex } from '../../../src/adapters/embedded/key-index.ts';
import { putByteText } from '../../../src/data/byte-text.ts';

/** Columns of some keys; with `hashBits`, of hashes that collide. */
function columnsOf(keys: readonly string[], hashBits = 32): EntryColumns {
  const columns = new EntryColumns();
  columns.reset(Buffer.alloc(keys.reduce((sum, key) => sum + key.length, 0)), keys.length);
  let position = 0;
  for (const key of keys) {
    putByteText(columns.bytes, position, key);
    columns.add(position, key.length, 0, 0);
    position += key.length;
  }
  if (hashBits < 32) {
    const mask = 2 ** hashBits - 1;
    for (let index = 0; index < columns.count; index++) {
      columns.hashes[index] = (columns.hashes[index] ?? 0) & mask;
    }
  }
  return columns;
}

function expectSame(index: KeyIndex, model: Map<string, number>, hashBits: number): void {
  expect(index.size).toBe(model.size);
  const keys = [...model.keys()];
  const columns = columnsOf(keys, hashBits);
  const found: number[] = [];
  index.probe(columns, (at) => {
    const entry = index.find(columns, at);
    found.push(entry < 0 ? -1 : index.positionOf(entry));
    if (entry >= 0 && index.keyOf(entry) !== keys[at]) found.push(-2);
  });
  expect(found.join()).toBe([...model.values()].join());
  const used: string[] = [];
  for (let entry = 0; entry < index.entryLimit; entry++) {
    if (index.isUsed(entry)) used.push(index.keyOf(entry));
  }
  expect(used.sort().join()).toBe(keys.sort().join());
}

test.each([
  ['of 32 bits', 32],
  ['of 3 bits, so that most collide', 3],
  ['that are all the same', 0],
])('any inserts, updates and removals equal a map, under hashes %s', (_name, hashBits) => {
  const key = fc.oneof(
    fc.string({ unit: 'binary-ascii', maxLength: 5 }),
    fc.integer({ min: 0, max: 60 }).map((number) => `k${number}`),
    fc.integer({ min: 100, max: 300 }).map((length) => 'x'.repeat(length)),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(key, fc.boolean()), { maxLength: 300 }), (steps) => {
      const index = new KeyIndex();
      const model = new Map<string, number>();
      for (const [number, [name, isRemoval]] of steps.entries()) {
        const columns = columnsOf([name], hashBits);
        let entry = index.find(columns, 0);
        expect(entry >= 0).toBe(model.has(name));
        if (isRemoval) {
          if (entry >= 0) index.remove(columns, 0, entry);
          model.delete(name);
          continue;
        }
        if (entry < 0) entry = index.insert(columns, 0);
        index.place(entry, number, number * 2, number * 3);
        expect([index.segmentOf(entry), index.lengthOf(entry)]).toEqual([number, number * 3]);
        model.set(name, number * 2);
      }
      expectSame(index, model, hashBits);
    }),
  );
});

test('it grows to many keys and gives the space of removed ones back', () => {
  const index = new KeyIndex();
  const model = new Map<string, number>();
  const keys = Array.from({ length: 60_000 }, (_, number) => `key number ${number}`);
  const columns = columnsOf(keys);
  index.probe(columns, (at) => {
    index.place(index.insert(columns, at), 1, at, 0);
    model.set(keys[at] ?? '', at);
  });
  expectSame(index, model, 32);
  const keyBytes = keys.reduce((sum, key) => sum + key.length, 0);
  expect((index.byteLength - keyBytes) / keys.length).toBeLessThan(60);
  for (let at = 0; at < keys.length; at++) {
    if (at % 10 === 0) continue;
    index.remove(columns, at, index.find(columns, at));
    model.delete(keys[at] ?? '');
  }
  expectSame(index, model, 32);
  const before = index.byteLength;
  for (let round = 0; round < 5; round++) {
    const others = columnsOf(keys.map((key) => `${key} of round ${round}`).slice(0, 20_000));
    index.probe(others, (at) => index.place(index.insert(others, at), 2, at, 0));
    for (let at = 0; at < others.count; at++) index.remove(others, at, index.find(others, at));
  }
  expectSame(index, model, 32);
  expect(index.byteLength).toBeLessThanOrEqual(before + 3 * 2 ** 20);
});

test('a giant key takes a chunk of its own', () => {
  const index = new KeyIndex();
  const keys = ['a', 'g'.repeat(3_000_000), 'b', 'h'.repeat(1 << 20), 'c'];
  const columns = columnsOf(keys);
  for (let at = 0; at < keys.length; at++) index.place(index.insert(columns, at), 1, at, 0);
  expectSame(index, new Map(keys.map((key, at) => [key, at])), 32);
});
