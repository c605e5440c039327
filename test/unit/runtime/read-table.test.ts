import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { FlowError } from '../../../src/base/errors.ts';
import { partitionOf } from '../../../src/data/murmur2.ts';
import { sequenceCodec } from '../../../src/data/sequence.ts';
import type { OutputMode } from '../../../src/plan/pipeline-plan.ts';
import {
  type CommittedSet,
  type ReadTableOptions,
  readTable,
  readTableKeys,
  sequenceOfSet,
} from '../../../src/runtime/inspect/read-table.ts';
import { samplePlan } from '../../support/sample-plan.ts';

const topicId = '0a'.repeat(16);

/** Table `t` of the sample plan, with output records as a worker writes them. */
class WrittenTable {
  readonly log = new MemoryLog();
  readonly options: ReadTableOptions;
  readonly #output: OutputMode;
  readonly #partitions: number;

  constructor(output: OutputMode, partitions = 1) {
    const { tables, flows } = samplePlan(output);
    this.#output = output;
    this.#partitions = partitions;
    this.log.createTopic('t', partitions, { 'cleanup.policy': 'compact' });
    this.options = { log: this.log, table: tables[0] as never, flow: flows[0] as never };
  }

  /** A whole row-set, or one numbered row; without rows, a tombstone. */
  write(k: number, sequence: string, values: readonly string[], position?: number): void {
    const key = `{"k":${k}}`;
    const rows = values.map((v) => `{"k":${k},"seq":${sequence},"v":"${v}"}`);
    const sources = values.map((_, index) => `${topicId}/0@${index}`).join(',');
    const value = this.#output === 'rows' ? (rows[0] ?? null) : `[${rows.join(',')}]`;
    this.log.produce('t', partitionOf(Buffer.from(key), 0, key.length, this.#partitions), {
      key: position === undefined ? key : `{"k":${k},"_row":${position}}`,
      value: values.length === 0 ? null : value,
      headers:
        values.length === 0
          ? { 'tm-gen': '0' }
          : { 'tm-seq': sequence, 'tm-src': sources, 'tm-gen': '0' },
    });
  }

  async all(more: Partial<ReadTableOptions> = {}): Promise<CommittedSet[]> {
    const sets: CommittedSet[] = [];
    for await (const set of readTable({ ...this.options, ...more })) sets.push(set);
    return sets;
  }

  async key(k: number): Promise<CommittedSet | undefined> {
    return (await readTableKeys(this.options, [Buffer.from(`{"k":${k}}`)]))[0];
  }
}

function valuesOf({ rows }: CommittedSet): string[] {
  return rows.map(({ json }) => (JSON.parse(json) as { v: string }).v);
}

describe('mode row_set', () => {
  test('the last record of a key counts, a tombstone deletes, keys stand in their first order', async () => {
    const table = new WrittenTable('row_set');
    table.write(2, '1', ['a']);
    table.write(1, '1', ['b', 'c']);
    table.write(3, '1', ['x']);
    table.write(2, '9007199254740993', ['d']);
    table.write(3, '2', []);
    const sets = await table.all();
    expect(sets.map((set) => [set.key, set.sequence, valuesOf(set)])).toEqual([
      ['{"k":2}', '9007199254740993', ['d']],
      ['{"k":1}', '1', ['b', 'c']],
    ]);
    expect(sets[0]?.rows[0]?.json).toBe('{"k":2,"seq":9007199254740993,"v":"d"}');
    expect(sets[1]?.rows[1]?.sources).toEqual([
      { topicId, partition: 0, offset: 1, branch: 0, index: 0 },
    ]);
    expect(await table.key(3)).toBeUndefined();
    expect(await table.key(2)).toEqual(sets[0]);
  });

  test('several keys are answered in the order of the question, out of their own partitions', async () => {
    const table = new WrittenTable('row_set', 4);
    for (let k = 0; k < 20; k += 1) table.write(k, '1', [`v${k}`]);
    const asked = [19, 99, 3, 3];
    const sets = await readTableKeys(
      table.options,
      asked.map((k) => Buffer.from(`{"k":${k}}`)),
    );
    expect(sets.map((set) => set?.key)).toEqual(['{"k":19}', undefined, '{"k":3}', '{"k":3}']);
    expect(sets[0]?.partition).toBe(partitionOf(Buffer.from('{"k":19}'), 0, 8, 4));
    const partitions = (await table.all()).map(({ partition }) => partition);
    expect(partitions).toEqual([...partitions].sort());
    expect(partitions).toHaveLength(20);
  });

  test('what a transaction wrote is seen after its commit only', async () => {
    const table = new WrittenTable('row_set');
    table.write(1, '1', ['before']);
    const producer = await table.log.openProducer('tx');
    const key = Buffer.from('{"k":1}');
    const value = Buffer.from('[]');
    producer.append('t', 0, {
      key,
      keyStart: 0,
      keyEnd: key.length,
      value,
      valueStart: 0,
      valueEnd: -1,
      headers: key,
      headersStart: 0,
      headersEnd: 0,
      timestampMs: 0,
    });
    expect((await table.all()).map(valuesOf)).toEqual([['before']]);
    await producer.abort();
    expect((await table.all()).map(valuesOf)).toEqual([['before']]);
  });

  test('keys come once each however little may be held', async () => {
    const table = new WrittenTable('row_set', 3);
    const wanted = new Map<string, string[]>();
    for (let at = 0; at < 600; at += 1) {
      const k = (at * 7919) % 150;
      table.write(k, String(at), [`v${at}`]);
      wanted.set(`{"k":${k}}`, [`v${at}`]);
    }
    const sets = await table.all({ heldBytesMax: 2000 });
    expect(sets).toHaveLength(150);
    expect(new Map(sets.map((set) => [set.key, valuesOf(set)]))).toEqual(wanted);
  });
});

describe('mode rows', () => {
  test('rows of a key are together; surplus numbers end with tombstones', async () => {
    const table = new WrittenTable('rows');
    table.write(1, '1', ['a'], 0);
    table.write(2, '1', ['x'], 0);
    table.write(1, '1', ['b'], 1);
    table.write(1, '1', ['c'], 2);
    table.write(1, '2', ['d'], 0);
    table.write(1, '2', [], 1);
    table.write(1, '2', [], 2);
    table.write(2, '1', ['y'], 1);
    expect((await table.all()).map((set) => [set.key, set.sequence, valuesOf(set)])).toEqual([
      ['{"k":1}', '2', ['d']],
      ['{"k":2}', '1', ['x', 'y']],
    ]);
  });

  test('a row of a lower sequence is a leftover', async () => {
    const table = new WrittenTable('rows');
    table.write(1, '9', ['old'], 0);
    table.write(1, '9', ['leftover'], 1);
    table.write(1, '10', ['new'], 0);
    expect((await table.all()).map((set) => [set.sequence, valuesOf(set)])).toEqual([
      ['10', ['new']],
    ]);
  });

  test('a key whose rows are all gone has none', async () => {
    const table = new WrittenTable('rows');
    table.write(1, '1', ['a'], 0);
    table.write(1, '1', [], 0);
    expect(await table.all()).toEqual([]);
  });
});

test('compaction changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ k: fc.nat(5), rows: fc.nat(2) }), { maxLength: 40 }),
      async (writes) => {
        const table = new WrittenTable('row_set', 2);
        for (const [at, { k, rows }] of writes.entries()) {
          table.write(
            k,
            String(at),
            Array.from({ length: rows }, (_, row) => `${at}.${row}`),
          );
        }
        const sortedSets = async () => (await table.all()).sort((a, b) => (a.key < b.key ? -1 : 1));
        const before = await sortedSets();
        table.log.compact('t');
        expect(await sortedSets()).toEqual(before);
      },
    ),
    { numRuns: 50 },
  );
});

test('a record that no pipeline wrote is named', async () => {
  const table = new WrittenTable('row_set');
  table.log.produce('t', 0, { key: '{"k":1}', value: '[{"k":1}]' });
  const error = await table.all().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(FlowError);
  expect(error).toMatchObject({ code: 'RECORD_CORRUPT' });
  expect((error as FlowError).detail).toContain('Partition 0, offset 0');
});

test.each([
  ['a partition', `${'0'.repeat(32)}/99999999999@1`],
  ['an offset', `${'0'.repeat(32)}/0@99999999999999999999`],
  ['a branch', `${'0'.repeat(32)}/0@1#256.0`],
  ['an index', `${'0'.repeat(32)}/0@1#0.99999999999999999999`],
])('a record with %s that none of ours has is named', async (_, source) => {
  const table = new WrittenTable('row_set');
  const headers = { 'tm-seq': '1', 'tm-src': source, 'tm-gen': '0' };
  table.log.produce('t', 0, { key: '{"k":1}', value: '[{"k":1}]', headers });
  await expect(table.all()).rejects.toMatchObject({
    code: 'RECORD_CORRUPT',
    place: { topic: 't', partition: 0, offset: 0 },
  });
});

test('the sequence of another type is told with its record', () => {
  const set = {
    partition: 3,
    key: '{"k":1}',
    sequence: '5.00',
    rows: [{ json: '{}', sources: [], offset: 7 }],
  };
  expect(() => sequenceOfSet(sequenceCodec({ kind: 'bigint' }), set, { topic: 't' })).toThrow(
    expect.objectContaining({
      code: 'RECORD_CORRUPT',
      place: { topic: 't', partition: 3, offset: 7 },
      detail: 'Partition 3, offset 7: "5.00" is no sequence of type bigint.',
    }),
  );
});

test('a table whose topic does not exist yet is told so', async () => {
  const table = new WrittenTable('row_set');
  table.log.deleteTopic('t');
  await expect(table.all()).rejects.toMatchObject({ code: 'TOPIC_MISSING' });
});
