import { expect, test } from 'vitest';
import { checkOutput } from '../../../bench/check-output.ts';
import { PaymentGenerator } from '../../../bench/generate.ts';
import { benchOptions } from '../../../bench/options.ts';
import { writeSource } from '../../../bench/write-source.ts';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';

type Row = { readonly key: number; readonly seq: bigint; readonly json: string };

/** The right result, computed in the plainest way from the source topic. */
function rightRows(log: MemoryLog): Map<number, Row[]> {
  const rows = new Map<number, Row[]>();
  for (const { value } of log.readCommitted('src')) {
    const json = value?.toString('utf8') ?? '';
    const key = Number(/"payment_id":(\d+)/.exec(json)?.[1]);
    const seq = BigInt(/"seq":(\d+)/.exec(json)?.[1] ?? 0);
    const known = rows.get(key) ?? [];
    const level = known[0]?.seq ?? -1n;
    if (seq > level) rows.set(key, [{ key, seq, json }]);
    else if (seq === level) known.push({ key, seq, json });
  }
  return rows;
}

async function written(output: 'row_set' | 'rows') {
  const log = new MemoryLog();
  log.createTopic('src', 3);
  log.createTopic('out', 3);
  const generator = new PaymentGenerator({ work: 'w1-b', records: 3000, seed: 5 });
  await writeSource(log, 'src', 3, generator);
  const rows = rightRows(log);
  for (const [key, set] of rows) {
    if (output === 'row_set') {
      const value = `[${set.map(({ json }) => json).join(',')}]`;
      log.produce('out', key % 3, { key: `{"payment_id":${key}}`, value });
      continue;
    }
    for (const [position, { json }] of set.entries()) {
      const recordKey = `{"payment_id":${key},"_row":${position}}`;
      log.produce('out', key % 3, { key: recordKey, value: json });
    }
  }
  const check = async () => (await checkOutput(log, 'out', output, generator)).differences;
  return { log, rows, check };
}

test.each(['row_set', 'rows'] as const)('a right result has no differences: %s', async (output) => {
  const { check, rows } = await written(output);
  expect(rows.size).toBeGreaterThan(250);
  expect(await check()).toBe(0);
});

test('a lost key, an old row, a repeated row, a mixed row-set and a key of no input are each seen', async () => {
  const { log, rows, check } = await written('row_set');
  const [first, second, third, fourth] = [...rows.values()].map((set) => set[0] as Row);
  const write = (row: Row | undefined, value: string | null) =>
    log.produce('out', (row?.key ?? 0) % 3, { key: `{"payment_id":${row?.key}}`, value });
  write(first, null);
  expect(await check()).toBe(1);
  write(second, `[${second?.json.replace(/"seq":\d+/, '"seq":1')}]`);
  expect(await check()).toBe(2);
  write(third, `[${third?.json},${third?.json}]`);
  expect(await check()).toBe(3);
  write(fourth, `[${fourth?.json},${fourth?.json.replace(/"seq":\d+/, '"seq":1')}]`);
  expect(await check()).toBe(4);
  log.produce('out', 0, {
    key: '{"payment_id":1}',
    value: `[${first?.json.replace(/"payment_id":\d+/, '"payment_id":1')}]`,
  });
  expect(await check()).toBe(5);
});

test('options have the defaults of the documents, and nonsense is refused', () => {
  expect(benchOptions([])).toMatchObject({
    work: 'w1-a',
    records: 2_000_000,
    output: 'row_set',
    state: 'redis',
    commitMs: 1000,
    partitions: 4,
    json: false,
  });
  expect(benchOptions(['--work', 'w2', '--records', '5', '--json'])).toMatchObject({
    work: 'w2',
    records: 5,
    json: true,
  });
  expect(() => benchOptions(['--work', 'w3'])).toThrow('--work takes w1-a, w1-b, w2');
  expect(() => benchOptions(['--records', '1e3x'])).toThrow('--records takes a whole number');
  expect(() => benchOptions(['--colour'])).toThrow();
});
