import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readEntries } from '../../../src/adapters/embedded/batch-format.ts';
import { EntryColumns } from '../../../src/adapters/embedded/entry-columns.ts';
import { viewOf } from '../../../src/data/byte-copy.ts';
import { HeaderWriter, headerName, readHeaders } from '../../../src/data/record-headers.ts';
import { StateEntries } from '../../../src/data/state-entries.ts';

type Pair = readonly [string, Buffer | undefined];

/** Large buffers byte by byte would take the comparison of the framework minutes. */
function isEqual(left: readonly Pair[], right: readonly Pair[]): boolean {
  return left.every(([key, value], index) => {
    const [otherKey, other] = right[index] ?? ['', undefined];
    return (
      key === otherKey &&
      (value === undefined ? other === undefined : other?.equals(value) === true)
    );
  });
}

const anyBytes = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const anyEntry = fc.record({
  key: anyBytes,
  value: fc.option(
    fc.oneof(
      anyBytes,
      fc.constantFrom(70_000, 2_000_000).map((size) => Buffer.alloc(size, 7)),
    ),
    { nil: undefined },
  ),
  /** Whether key and value lie one behind the other, or apart. */
  gap: fc.nat(2),
});

test('ST-01 packed entries are those that were added, one by one and as the log takes them', () => {
  fc.assert(
    fc.property(fc.array(anyEntry, { maxLength: 30 }), (added) => {
      const entries = new StateEntries();
      for (const { key, value, gap } of added) {
        if (value === undefined) {
          entries.addText(key.toString('latin1'), undefined);
          continue;
        }
        const bytes = Buffer.concat([Buffer.from('..'), key, Buffer.alloc(gap), value]);
        const valueStart = 2 + key.length + gap;
        entries.add(viewOf(bytes), 2, 2 + key.length, valueStart, bytes.length);
      }
      const expected: Pair[] = added.map(({ key, value }) => [key.toString('latin1'), value]);
      const found: Pair[] = added.map((_, index) => [entries.key(index), entries.value(index)]);
      expect(entries.count).toBe(added.length);
      expect(isEqual(found, expected)).toBe(true);
      const whole = Buffer.concat([Buffer.alloc(5), ...entries.pages]);
      const columns = new EntryColumns();
      columns.reset(whole, added.length);
      expect(readEntries(columns, 5, whole.length, added.length)).toBe(whole.length);
      const taken: Pair[] = added.map(({ value }, index) => {
        const start = columns.keyStarts[index] ?? 0;
        const keyEnd = start + (columns.keyLengths[index] ?? 0);
        const from = columns.valueStarts[index] ?? 0;
        return [
          whole.toString('latin1', start, keyEnd),
          value === undefined
            ? undefined
            : whole.subarray(from, from + (columns.valueLengths[index] ?? 0)),
        ];
      });
      expect(isEqual(taken, expected)).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test('memory that entries gave back holds those that come later, and none of theirs', () => {
  const pairs = (count: number, byte: number): Pair[] =>
    Array.from({ length: count }, (_, index) => [`${byte}-${index}`, Buffer.alloc(300, byte)]);
  const before = StateEntries.of(pairs(20_000, 1));
  const pages = before.pages.map(({ buffer }) => buffer);
  before.release();
  expect(before.count).toBe(0);
  expect(before.pages).toEqual([]);
  const expected = pairs(9_000, 2);
  const after = StateEntries.of(expected);
  expect(after.pages.every(({ buffer }) => pages.includes(buffer))).toBe(true);
  const found = expected.map((_, index): Pair => [after.key(index), after.value(index)]);
  expect(isEqual(found, expected)).toBe(true);
  // What was given back may go on, too.
  before.addText('once more', Buffer.alloc(3));
  expect([before.key(0), before.value(0)]).toEqual(['once more', Buffer.alloc(3)]);
});

test('a header whose value is written in place has its length before it, however long it is', () => {
  const headers = new HeaderWriter();
  const lengths = [0, 1, 63, 64, 127, 128, 8_191, 8_192, 20_000];
  headers.begin(lengths.length);
  for (const length of lengths) {
    headers.open(headerName('h'));
    headers.writer.bytes(Buffer.alloc(length, 0x61));
    headers.close();
  }
  const { buffer, length: end } = headers.writer;
  expect(readHeaders(buffer, 0, end).map(({ value }) => value?.toString().length)).toEqual(lengths);
});
