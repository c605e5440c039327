import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeRowSet, encodeRowSet, type RowSet } from '../../../src/data/row-set.ts';
import { KeyRowSet, type MergeInput } from '../../../src/operators/replace-using.ts';

type Input = { readonly sequence: number; readonly source: number; readonly text: string };

function span(bytes: Buffer) {
  return { bytes, start: 0, end: bytes.length };
}

function mergeInput({ sequence, source, text }: Input): MergeInput {
  const sequenceBytes = Buffer.alloc(8);
  sequenceBytes.writeBigInt64BE(BigInt(sequence));
  const provenance = Buffer.alloc(36);
  provenance.writeUInt32BE(source, 24);
  return {
    sequence: span(sequenceBytes),
    provenance: span(provenance),
    row: span(Buffer.from(text)),
  };
}

function rowsOf(rowSet: RowSet | undefined): string[] {
  return (rowSet?.rows ?? []).map(({ row }) => row.bytes.toString('utf8', row.start, row.end));
}

function merged(
  inputs: readonly Input[],
  order: 'provenance' | 'arrival' = 'provenance',
): KeyRowSet {
  const key = new KeyRowSet(undefined, { order, distinct: false });
  for (const input of inputs) key.merge(mergeInput(input));
  return key;
}

/** Each source gives one row, always with the same sequence and text: what a log guarantees. */
const history = fc
  .uniqueArray(fc.nat(50), { maxLength: 30 })
  .chain((sources) =>
    fc.tuple(
      ...sources.map((source) => fc.record({ sequence: fc.nat(4), source: fc.constant(source) })),
    ),
  )
  .map((inputs) => inputs.map((input) => ({ ...input, text: `row ${input.source}` })));

test('RU-11 a higher sequence replaces, an equal one joins, a lower one changes nothing', () => {
  const key = new KeyRowSet(undefined, { order: 'provenance', distinct: false });
  expect(key.merge(mergeInput({ sequence: 5, source: 1, text: 'a' }))).toBe('new');
  expect(key.merge(mergeInput({ sequence: 5, source: 2, text: 'b' }))).toBe('tied');
  expect(key.merge(mergeInput({ sequence: 4, source: 3, text: 'c' }))).toBe('superseded');
  expect(rowsOf(key.rowSet)).toEqual(['a', 'b']);
  expect(key.merge(mergeInput({ sequence: 6, source: 4, text: 'd' }))).toBe('replacing');
  expect(rowsOf(key.rowSet)).toEqual(['d']);
});

test('RU-10 the row-set has the same bytes whatever the order of arrival', () => {
  fc.assert(
    fc.property(
      history.chain((inputs) =>
        fc.tuple(fc.constant(inputs), fc.shuffledSubarray(inputs, { minLength: inputs.length })),
      ),
      ([inputs, shuffled]) => {
        const rowSet = merged(inputs).rowSet;
        const other = merged(shuffled).rowSet;
        expect(rowSet === undefined ? undefined : encodeRowSet(rowSet)).toEqual(
          other === undefined ? undefined : encodeRowSet(other),
        );
      },
    ),
  );
});

test('RU-14 rows that are delivered again change nothing, whatever the order of the rows', () => {
  fc.assert(
    fc.property(
      history,
      fc.array(fc.nat(1000)),
      fc.constantFrom('provenance', 'arrival'),
      (inputs, again, order) => {
        const key = merged(inputs, order as 'provenance' | 'arrival');
        const before = rowsOf(key.rowSet);
        for (const pick of again) {
          const input = inputs[pick % Math.max(inputs.length, 1)];
          if (input === undefined) continue;
          expect(['duplicate', 'superseded']).toContain(key.merge(mergeInput(input)));
        }
        expect(rowsOf(key.rowSet)).toEqual(before);
      },
    ),
  );
});

test('RU-03 the row-set is every row of the highest sequence, and no other', () => {
  fc.assert(
    fc.property(history, (inputs) => {
      const highest = Math.max(...inputs.map(({ sequence }) => sequence));
      const expected = inputs
        .filter(({ sequence }) => sequence === highest)
        .map(({ text }) => text);
      expect(rowsOf(merged(inputs).rowSet).sort()).toEqual(expected.sort());
    }),
  );
});

test('a row of the same provenance from a newer definition takes the place of the old one', () => {
  const key = merged([{ sequence: 1, source: 1, text: 'old' }]);
  expect(key.merge(mergeInput({ sequence: 1, source: 1, text: 'new' }))).toBe('duplicate');
  expect(rowsOf(key.rowSet)).toEqual(['new']);
});

test('RU-05 ties stay across a round trip through the state store', () => {
  fc.assert(
    fc.property(history, fc.nat(30), (inputs, cut) => {
      const first = merged(inputs.slice(0, cut)).rowSet;
      const stored = first === undefined ? undefined : decodeRowSet(encodeRowSet(first));
      const key = new KeyRowSet(stored, { order: 'provenance', distinct: false });
      for (const input of inputs.slice(cut)) key.merge(mergeInput(input));
      expect(rowsOf(key.rowSet)).toEqual(rowsOf(merged(inputs).rowSet));
    }),
  );
});

test('OP-04 an equal row of a DISTINCT query joins with its provenance and counts as distinct', () => {
  const key = new KeyRowSet(undefined, { order: 'provenance', distinct: true });
  key.merge(mergeInput({ sequence: 1, source: 1, text: 'same' }));
  expect(key.merge(mergeInput({ sequence: 1, source: 2, text: 'same' }))).toBe('distinct');
  expect(key.merge(mergeInput({ sequence: 1, source: 3, text: 'other' }))).toBe('tied');
  expect(key.rowCount).toBe(3);
});
