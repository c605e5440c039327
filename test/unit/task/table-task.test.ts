import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteWriter } from '../../../src/data/byte-writer.ts';
import { murmur2 } from '../../../src/data/murmur2.ts';
import {
  provenanceTemplate,
  readProvenance,
  writeProvenance,
} from '../../../src/data/provenance.ts';
import { writeEnvelopeHead } from '../../../src/data/row-envelope.ts';
import { decodeRowSet } from '../../../src/data/row-set.ts';
import { sequenceCodec } from '../../../src/data/sequence.ts';
import { MemoryShuffle, type RowSlice } from '../../../src/task/memory-shuffle.ts';
import { TableTask } from '../../../src/task/table-task.ts';

const codec = sequenceCodec({ kind: 'bigint' });
const template = provenanceTemplate('0123456789abcdef0123456789abcdef', 0, 0);
const topic = 'p.t.repartition';

type MadeRow = { readonly key: number; readonly sequence: bigint; readonly offset: number };

/** Writes a row where the shuffle has its memory; false: its partition is elsewhere. */
function offer(shuffle: MemoryShuffle, partition: number, row: MadeRow): boolean {
  const { key, sequence, offset } = row;
  const provenance = new ByteWriter(64);
  writeProvenance(provenance, template, offset, 0);
  const encoded = new ByteWriter(16);
  codec.encode(sequence, encoded);
  shuffle.beginRow();
  const { rows } = shuffle;
  const keyStart = rows.length;
  rows.ascii(`{"k":${key}}`);
  const valueStart = rows.length;
  writeEnvelopeHead(rows, 0, provenance.buffer, encoded);
  // Of any length, so that an entry has to move now and then, and rows do not fit the room that is left.
  const size = offset % 50 === 7 ? 100_000 : (offset * 37) % 90;
  rows.ascii(`{"k":${key},"o":"${'x'.repeat(size)}"}`);
  return shuffle.offer(partition, {
    keyStart,
    valueStart,
    valueEnd: rows.length,
    keyHash: murmur2(rows.buffer, keyStart, valueStart),
    timestampMs: 0,
  });
}

function shuffled(shuffle: MemoryShuffle, rows: readonly MadeRow[]): readonly RowSlice[] {
  shuffle.begin({ append: () => expect.unreachable('the partition is here') });
  for (const row of rows) expect(offer(shuffle, 0, row)).toBe(true);
  return shuffle.take();
}

const anyRow = fc.record({ key: fc.nat(6), sequence: fc.bigInt(0n, 4n) });
/** Transactions of slices of rows. */
const anyHistory = fc.array(fc.array(fc.array(anyRow, { maxLength: 6 }), { maxLength: 3 }), {
  maxLength: 6,
});

test.each(['row_set', 'rows'] as const)(
  'RU-01 whatever the cache forgets, the state is the rows of the highest sequence of each key, mode %s',
  (output) => {
    fc.assert(
      fc.property(anyHistory, fc.constantFrom(0, 300, 1_000_000), (history, cacheBytesMax) => {
        const task = new TableTask({
          target: {
            table: 't',
            topic: 't',
            partition: 0,
            generation: 0,
            writeSequence: codec.writeText,
            distinct: false,
            recordBytesMax: 1_000_000,
          },
          output,
          rowSetRowsMax: 1000,
          cacheBytesMax,
        });
        const shuffle = new MemoryShuffle(topic);
        shuffle.open(0);
        const store = new Map<string, Buffer>();
        const expected = new Map<string, { sequence: bigint; offsets: number[] }>();
        let offset = 0;
        for (const transaction of history) {
          for (const drawn of transaction) {
            const rows = drawn.map((row) => {
              offset += 1;
              return { ...row, offset };
            });
            for (const { key, sequence, offset: at } of rows) {
              const before = expected.get(`{"k":${key}}`);
              if (before === undefined || sequence > before.sequence) {
                expected.set(`{"k":${key}}`, { sequence, offsets: [at] });
              } else if (sequence === before.sequence) before.offsets.push(at);
            }
            for (const slice of shuffled(shuffle, rows)) {
              task.process(task.keysOf(slice).map((key) => store.get(key)));
            }
          }
          const { entries } = task.effects({ append: () => undefined }, 0);
          for (let index = 0; index < entries.count; index += 1) {
            store.set(entries.key(index), entries.value(index) as Buffer);
          }
          task.applied();
          shuffle.turn();
        }
        const found = new Map(
          [...store].map(([key, entry]) => {
            const rowSet = decodeRowSet(entry);
            const { bytes, start, end } = rowSet?.sequence ?? { bytes: entry, start: 0, end: 0 };
            const offsets = (rowSet?.rows ?? []).map(
              ({ provenance }) => readProvenance(provenance.bytes, provenance.start).offset,
            );
            return [key, { sequence: codec.decode(bytes, start, end), offsets }];
          }),
        );
        expect(found).toEqual(expected);
        const { rows, ...outcomes } = task.counters;
        expect(Object.values(outcomes).reduce((sum, count) => sum + count, 0)).toBe(rows);
        expect(rows).toBe(offset);
      }),
      { numRuns: 300 },
    );
  },
);

test('RU-10 a row of a partition that is elsewhere is not taken; those of a slice that failed are forgotten', () => {
  const shuffle = new MemoryShuffle(topic);
  shuffle.open(1);
  const row = { key: 1, sequence: 1n, offset: 1 };
  shuffle.begin({ append: () => undefined });
  expect(offer(shuffle, 1, row)).toBe(true);
  shuffle.begin({ append: () => undefined });
  expect(shuffle.take()).toEqual([]);
  expect(offer(shuffle, 0, row)).toBe(false);
  shuffle.close(1);
  expect(offer(shuffle, 1, row)).toBe(false);
  expect(shuffle.take()).toEqual([]);
});
