import { expect, test } from 'vitest';
import { viewOf } from '../../../src/data/byte-copy.ts';
import { KeyTable, userField } from '../../../src/task/key/key-table.ts';

/** More than a block holds, and far more than the first one has room for at first. */
const count = 3000;

function keyOf(number: number): DataView {
  return viewOf(Buffer.from(`{"k":${number}}`));
}

test('keys keep their numbers and values while their table grows, and after it was cleared', () => {
  const table = new KeyTable();
  for (const round of [1, 2]) {
    for (let number = 0; number < count; number += 1) {
      const key = keyOf(number);
      const entry = table.insert(number * 7919, key, 0, key.byteLength);
      const value = viewOf(Buffer.from(`${round}-${number}`));
      table.setValue(entry, value, 0, value.byteLength);
      table.recordBlock(entry)[table.recordStart(entry) + userField] = number * round;
    }
    for (let number = 0; number < count; number += 1) {
      const key = keyOf(number);
      const entry = table.find(number * 7919, key, 0, key.byteLength);
      const start = table.valueStart(entry);
      const end = start + table.valueLength(entry);
      expect(table.valueBytes(entry).toString('latin1', start, end)).toBe(`${round}-${number}`);
      expect(table.recordBlock(entry)[table.recordStart(entry) + userField]).toBe(number * round);
    }
    table.clear();
  }
});
