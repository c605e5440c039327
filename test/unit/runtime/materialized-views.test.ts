import { afterEach, describe, expect, test } from 'vitest';
import { rowDecoder } from '../../../src/data/row-decoder.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import type { Log } from '../../../src/ports/log.ts';
import { appendCopy } from '../../../src/runtime/refresh/append-copy.ts';
import { overriding } from '../../../src/runtime/refresh/overriding.ts';
import type { RuntimeEvent } from '../../../src/runtime/runtime-events.ts';
import { readViewStatus } from '../../../src/runtime/views/view-status.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { plainValue } from '../../../src/testing/pipeline/plain-value.ts';
import { Random } from '../../../src/testing/random.ts';
import { headerOf, planned, workerOf, worldOf } from '../../support/append-world.ts';

const orders = 'CREATE SOURCE orders (region STRING, item STRING, qty INT, seq BIGINT);';

const current = `${orders}
CREATE STREAMING TABLE newest FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, item, qty, seq FROM STREAM(orders);`;

const totals = `${current}
CREATE MATERIALIZED VIEW totals AS
SELECT region, count(*) AS n, sum(qty) AS total FROM newest GROUP BY region;`;

let world: PipelineWorld;

afterEach(() => world.close());

async function update(sql?: string): Promise<void> {
  const process = await world.startProcess('one', sql === undefined ? undefined : planned(sql));
  await world.untilCaughtUp(process);
  await world.stop(process);
}

/** A triggered update, as `run --once` does it. */
async function updateOnce(sql: string): Promise<Awaited<ReturnType<typeof workerOf>>> {
  const worker = await workerOf(world, sql, { once: true });
  await worker.run();
  return worker;
}

function order(region: string | null, item: string, qty: number | null, seq: number): void {
  world.produce('orders', { value: JSON.stringify({ region, item, qty, seq }) });
}

function rowsOf(name: string, sql: string): string[] {
  const table = planned(sql).tables.find((one) => one.name === name);
  if (table === undefined) throw new Error(`no table ${name}`);
  const decode = rowDecoder(table.columns);
  return world
    .rows(table)
    .map(({ row }) =>
      decode(row)
        .map((value, at) => String(plainValue(table.columns[at]?.type ?? { kind: 'void' }, value)))
        .join('|'),
    )
    .sort();
}

const written = (topic: string) => world.log.readCommitted(topic);

test('FL-06 an update computes its views though others go on writing their inputs', async () => {
  world = worldOf(totals, 1);
  order('EU', 'a', 2, 1);
  await updateOnce(current);
  // Whoever asks how far the input goes finds one more record, and one behind it whose transaction is open.
  const log = world.log.connect();
  const reader = log.openReader();
  reader.assign('newest', 0, 0);
  const [slice] = await reader.poll(1_000);
  if (slice?.records.next() !== true) throw new Error('the table has no record');
  const other = await log.openProducer('somebody');
  let isLookedAt = false;
  const busy = overriding(log as Log, {
    committedOffsets: (group, topic, partitions) => {
      isLookedAt ||= group === 'test.totals';
      return log.committedOffsets(group, topic, partitions);
    },
    offsetRanges: async (topic, partitions) => {
      if (topic === 'newest' && isLookedAt) {
        await other.commit([]);
        appendCopy(other, 'newest', 0, slice.records);
        await other.drain();
      }
      return log.offsetRanges(topic, partitions);
    },
  });
  const worker = await workerOf(world, totals, { once: true }, busy);
  await worker.run();
  expect(worker.isUpdateOver).toBe(true);
  expect(rowsOf('totals', totals)).toEqual(['EU|1|2']);
});

describe('FL-28 materialized views', () => {
  test('only differences are written: changed groups, and tombstones for those that are gone', async () => {
    world = worldOf(totals);
    order('EU', 'a', 2, 1);
    order('EU', 'b', 3, 1);
    order('US', 'a', 1, 1);
    await updateOnce(totals);
    expect(rowsOf('totals', totals)).toEqual(['EU|2|5', 'US|1|1']);
    expect(written('totals')).toHaveLength(2);
    order('EU', 'c', 9, 2);
    await updateOnce(totals);
    expect(rowsOf('totals', totals)).toEqual(['EU|1|9', 'US|1|1']);
    const records = written('totals');
    expect(records).toHaveLength(3);
    const last = records.find((record) => headerOf(record, 'tm-seq') === '2');
    expect(last?.key?.toString('utf8')).toBe('{"region":"EU"}');
    expect(last?.value?.toString('utf8')).toBe('[{"region":"EU","n":1,"total":9}]');
    expect(last === undefined ? '' : headerOf(last, 'tm-src')).toMatch(/^[0-9a-f]{32}\/\d@2$/);
    const topics = await world.log.describeTopics(['totals']);
    expect(topics.get('totals')?.configs.get('cleanup.policy')).toBe('compact');
    expect(topics.get('totals')?.partitions).toBe(2);
  });

  test('a group that is gone is deleted, and a row without groups is known by its digest', async () => {
    const sql = `${current}
CREATE MATERIALIZED VIEW large AS SELECT region, qty FROM newest WHERE qty > 1;`;
    world = worldOf(sql);
    order('EU', 'a', 2, 1);
    order('EU', 'b', 2, 1);
    order('US', 'a', 5, 1);
    await update();
    expect(rowsOf('large', sql)).toEqual(['EU|2', 'EU|2', 'US|5']);
    const keys = written('large').map(({ key }) => key?.toString('utf8') ?? '');
    expect(keys).toHaveLength(2);
    for (const key of keys) expect(key).toMatch(/^\{"_hash":"[0-9a-f]{40}"\}$/);
    order('EU', 'c', 1, 2);
    await update();
    expect(rowsOf('large', sql)).toEqual(['US|5']);
    expect(written('large').filter(({ value }) => value === null)).toHaveLength(1);
  });

  test('FL-05 an update over inputs that stand computes and writes nothing', async () => {
    world = worldOf(totals);
    order('EU', 'a', 2, 1);
    await updateOnce(totals);
    const records = written('totals').length;
    const [before] = await readViewStatus({
      log: world.log.connect(),
      plan: planned(totals),
      pipeline: 'test',
    });
    await updateOnce(totals);
    const [after] = await readViewStatus({
      log: world.log.connect(),
      plan: planned(totals),
      pipeline: 'test',
    });
    expect(written('totals')).toHaveLength(records);
    expect(after).toEqual(before);
    expect(after).toMatchObject({ view: 'totals', state: 'current', last: { run: 1, rows: 1 } });
    order('EU', 'b', 1, 2);
    const [stale] = await readViewStatus({
      log: world.log.connect(),
      plan: planned(totals),
      pipeline: 'test',
    });
    // Not its own inputs have changed yet, but those of the table that it reads.
    expect(stale?.state).toBe('current');
  });

  test('FL-28 what a dead owner has left open in its commit does not hold the view up', async () => {
    world = worldOf(totals);
    order('EU', 'a', 2, 1);
    await updateOnce(totals);
    const dead = world.log.connect({ betweenCommitSteps: () => new Promise(() => {}) });
    const producer = await dead.openProducer('test.totals');
    const member = { group: 'test.totals', memberId: '', instanceId: undefined, generation: -1 };
    const offsets = [{ topic: 'newest', partition: 0, offset: 0, metadata: '' }];
    void producer.commit([{ member, offsets }]);
    order('EU', 'b', 3, 1);
    const startedMs = world.clock.monotonic();
    await update();
    expect(rowsOf('totals', totals)).toEqual(['EU|2|5']);
    // Long before the transaction of the dead would time out.
    expect(world.clock.monotonic() - startedMs).toBeLessThan(20_000);
  });

  test('FL-02 FL-17 sources, tables, views and other materialized views are read as they stand', async () => {
    const sql = `${current}
CREATE STREAMING TABLE log AS SELECT region, qty FROM STREAM(orders);
CREATE SOURCE names (region STRING, name STRING);
CREATE VIEW named AS SELECT n.name, t.qty FROM newest t LEFT JOIN names n ON n.region = t.region;
CREATE MATERIALIZED VIEW best AS SELECT * FROM sums ORDER BY total DESC, name LIMIT 1;
CREATE MATERIALIZED VIEW sums AS SELECT name, sum(qty) AS total FROM named GROUP BY name;
CREATE MATERIALIZED VIEW ranked AS
SELECT region, qty, rank() OVER (PARTITION BY region ORDER BY qty) AS place FROM log;
CREATE MATERIALIZED VIEW all_rows AS SELECT count(*) AS n FROM log;`;
    world = worldOf(sql);
    world.produce('names', { value: '{"region":"EU","name":"Europe"}' });
    order('EU', 'a', 2, 1);
    order('EU', 'b', 3, 1);
    order('US', 'a', 4, 1);
    order('EU', 'c', 1, 0);
    const worker = await updateOnce(sql);
    expect(rowsOf('sums', sql)).toEqual(['Europe|5', 'null|4']);
    expect(rowsOf('best', sql)).toEqual(['Europe|5']);
    expect(rowsOf('ranked', sql)).toEqual(['EU|1|1', 'EU|2|2', 'EU|3|3', 'US|4|1']);
    expect(rowsOf('all_rows', sql)).toEqual(['4']);
    expect(written('all_rows')[0]?.key?.toString('utf8')).toBe('{}');
    expect(worker.progress().views?.map(({ view, last }) => [view, last?.rows])).toEqual([
      ['sums', 2],
      ['best', 1],
      ['ranked', 4],
      ['all_rows', 1],
    ]);
  });

  test('the rows of AUTO CDC tables are read with their history', async () => {
    const sql = `CREATE SOURCE changes (id INT, name STRING, op STRING, seq BIGINT);
CREATE STREAMING TABLE people;
CREATE FLOW people AS AUTO CDC INTO people FROM STREAM(changes) KEYS (id)
APPLY AS DELETE WHEN op = 'd' SEQUENCE BY seq COLUMNS * EXCEPT (op) STORED AS SCD TYPE 2;
CREATE MATERIALIZED VIEW names AS
SELECT name, count(*) AS n FROM people WHERE __END_AT IS NULL GROUP BY name;`;
    world = worldOf(sql);
    const changes = [
      [1, 'a', 'i', 1],
      [1, 'b', 'u', 2],
      [2, 'b', 'i', 1],
      [3, 'c', 'i', 1],
      [3, null, 'd', 2],
    ] as const;
    for (const [id, name, op, seq] of changes) {
      world.produce('changes', { value: JSON.stringify({ id, name, op, seq }) });
    }
    await updateOnce(sql);
    expect(rowsOf('names', sql)).toEqual(['b|2']);
  });

  test('a pipeline of views alone runs, also over nothing', async () => {
    const sql = `${orders} CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM orders;`;
    world = worldOf(sql);
    await updateOnce(sql);
    expect(rowsOf('counted', sql)).toEqual(['0']);
    order('EU', 'a', 1, 1);
    await updateOnce(sql);
    expect(rowsOf('counted', sql)).toEqual(['1']);
  });

  test('FR-24 another query is computed anew, and its differences are written', async () => {
    world = worldOf(totals);
    order('EU', 'a', 2, 1);
    order('US', 'a', 3, 1);
    await update();
    const other = totals.replace('sum(qty)', 'max(qty) * 0');
    await update(other);
    expect(rowsOf('totals', other)).toEqual(['EU|1|0', 'US|1|0']);
  });

  test('expectations: counted, dropped, and one that fails leaves the view as it was', async () => {
    const sql = `${current}
CREATE VIEW clean (CONSTRAINT known EXPECT (region IS NOT NULL) ON VIOLATION DROP ROW)
AS SELECT * FROM newest;
CREATE MATERIALIZED VIEW totals (
  CONSTRAINT small EXPECT (total < 100) ON VIOLATION FAIL UPDATE,
  CONSTRAINT many EXPECT (n > 1)
) AS SELECT region, count(*) AS n, sum(qty) AS total FROM clean GROUP BY region;`;
    world = worldOf(sql);
    order('EU', 'a', 2, 1);
    order('EU', 'b', 3, 1);
    order(null, 'a', 1, 1);
    const worker = await updateOnce(sql);
    expect(rowsOf('totals', sql)).toEqual(['EU|2|5']);
    expect(worker.progress().views?.[0]?.last?.expectations).toEqual({
      'clean.known': { passed: 2, failed: 1 },
      small: { passed: 1, failed: 0 },
      many: { passed: 1, failed: 0 },
    });
    order('EU', 'c', 500, 2);
    await expect(updateOnce(sql)).rejects.toMatchObject({
      code: 'EXPECTATION_FAILED',
      message: 'expectation "small" of materialized view "totals" failed',
    });
    expect(rowsOf('totals', sql)).toEqual(['EU|2|5']);
    expect(rowsOf('newest', sql)).toHaveLength(2);
  });

  test('an expression that fails is told with its class, and the other views go on', async () => {
    const sql = `${totals}
CREATE MATERIALIZED VIEW shares AS SELECT region, 1 / sum(qty) AS share FROM newest GROUP BY region;
CREATE MATERIALIZED VIEW regions AS SELECT DISTINCT region FROM newest;`;
    world = worldOf(sql);
    order('EU', 'a', 0, 1);
    await expect(updateOnce(sql)).rejects.toMatchObject({
      code: 'BAD_ROW',
      message: 'materialized view "shares" cannot be computed',
    });
    expect(rowsOf('totals', sql)).toEqual(['EU|1|0']);
    expect(rowsOf('regions', sql)).toEqual(['EU']);
  });

  test.each([
    [
      'a row of another type',
      '[{"region":"EU","item":"a","qty":"two","seq":9}]',
      '9',
      'column "qty" is no INT in a row',
    ],
    ['what is no row', '[7]', '9', 'a row is no JSON object'],
  ])(
    '%s in the topic of its table fails the view alone, and its record is told',
    async (_, value, seq, what) => {
      const sql = `${totals}
CREATE STREAMING TABLE other FLOW REPLACE USING (item) SEQUENCE BY seq BY NAME SELECT item, seq FROM STREAM(orders);
CREATE MATERIALIZED VIEW items AS SELECT item FROM other;`;
      world = worldOf(sql, 1);
      order('EU', 'a', 2, 1);
      await updateOnce(sql);
      const headers = { 'tm-seq': seq, 'tm-src': `${'0'.repeat(32)}/0@0`, 'tm-gen': '0' };
      const offset = world.log.readCommitted('newest').length;
      world.log.produce('newest', 0, { key: '{"region":"EU"}', value, headers });
      order('US', 'b', 1, 1);
      await expect(updateOnce(sql)).rejects.toMatchObject({
        code: 'RECORD_CORRUPT',
        message: 'topic "newest" holds a record that is not one of ours',
        place: { topic: 'newest', partition: 0 },
        detail: expect.stringContaining(what),
        hint: expect.stringContaining('tidemark refresh'),
      });
      expect(offset).toBe(1);
      expect(rowsOf('items', sql)).toEqual(['a', 'b']);
      expect(rowsOf('totals', sql)).toEqual(['EU|1|2']);
    },
  );

  test('a service that goes on tells of the view that cannot be computed, and computes the others', async () => {
    const sql = `${totals}
CREATE STREAMING TABLE other FLOW REPLACE USING (item) SEQUENCE BY seq BY NAME SELECT item, seq FROM STREAM(orders);
CREATE MATERIALIZED VIEW items AS SELECT item FROM other;`;
    world = worldOf(sql, 1);
    order('EU', 'a', 2, 1);
    await updateOnce(current);
    const headers = { 'tm-seq': '9', 'tm-src': `${'0'.repeat(32)}/0@0`, 'tm-gen': '0' };
    const value = '[{"region":"EU","item":"a","qty":"two","seq":9}]';
    world.log.produce('newest', 0, { key: '{"region":"EU"}', value, headers });
    const events: RuntimeEvent[] = [];
    const listener = (event: RuntimeEvent) => events.push(event);
    const worker = await workerOf(world, sql, {}, world.log.connect(), listener);
    const running = worker.run();
    while (!events.some(({ event }) => event === 'flow_failed')) await world.clock.sleep(20);
    while (rowsOf('items', sql).length === 0) await world.clock.sleep(20);
    const [failed] = events.filter(({ event }) => event === 'flow_failed');
    expect(failed).toMatchObject({ flow: 'totals', error: { code: 'RECORD_CORRUPT' } });
    const views = worker.progress().views ?? [];
    expect(views.map(({ view, failed: why }) => [view, why?.code])).toEqual([
      ['totals', 'RECORD_CORRUPT'],
      ['items', undefined],
    ]);
    await worker.stop();
    await running.catch(() => undefined);
  });

  test('a fault of the service itself among the views ends it, and is not kept', async () => {
    world = worldOf(totals, 1);
    const log = world.log.connect();
    const broken = new Proxy(log, {
      get(inner, name) {
        if (name !== 'joinGroup')
          return (inner[name as keyof Log] as unknown as () => unknown).bind(inner);
        return (options: Parameters<Log['joinGroup']>[0]) => {
          const member = inner.joinGroup(options);
          if (options.group !== 'test.totals') return member;
          return new Proxy(member, {
            get: (_, called) => {
              if (called === 'close' || called === 'leave') return async () => undefined;
              throw new RangeError('a fault of ours');
            },
          });
        };
      },
    });
    const worker = await workerOf(world, totals, {}, broken);
    await expect(worker.run()).rejects.toThrow('a fault of ours');
  });

  test('two instances compute a view once, and both end when it is up to date', async () => {
    world = worldOf(totals);
    for (let n = 0; n < 20; n += 1) order(`R${n % 3}`, 'a', n, 1);
    const workers = await Promise.all(
      ['one', 'two'].map((instance) => workerOf(world, totals, { once: true, instance })),
    );
    await Promise.all(workers.map((worker) => worker.run()));
    expect(rowsOf('totals', totals)).toEqual(['R0|7|63', 'R1|7|70', 'R2|6|57']);
    expect(written('totals')).toHaveLength(3);
  });

  test.each([1, 2, 3, 4])(
    'processes that die at any time leave no half view: seed %i',
    async (seed) => {
      const random = new Random(seed);
      world = worldOf(totals);
      for (let turn = 0; turn < 8; turn += 1) {
        for (let n = 0; n < 10; n += 1) order(`R${random.below(4)}`, 'a', random.below(9), turn);
        const process = await world.startProcess('one');
        await world.clock.sleep(random.below(120));
        world.kill(process);
      }
      await update();
      const expected = new Map<string, number[]>();
      for (const row of rowsOf('newest', totals)) {
        const [region = '', , qty] = row.split('|');
        expected.set(region, [...(expected.get(region) ?? []), Number(qty)]);
      }
      expect(rowsOf('totals', totals)).toEqual(
        [...expected]
          .map(
            ([region, qty]) => `${region}|${qty.length}|${qty.reduce((sum, one) => sum + one, 0)}`,
          )
          .sort(),
      );
    },
  );

  test('a view that depends on the clock is computed by each update', async () => {
    const sql = `${current}
CREATE MATERIALIZED VIEW seen AS SELECT count(*) AS n, max(current_timestamp()) AS at FROM newest;`;
    world = worldOf(sql);
    order('EU', 'a', 1, 1);
    await updateOnce(sql);
    const [first] = rowsOf('seen', sql);
    await world.clock.sleep(5_000);
    await updateOnce(sql);
    const [second] = rowsOf('seen', sql);
    expect(second).not.toBe(first);
    expect(second?.split('|')[0]).toBe('1');
  });
});

describe('what a materialized view cannot be', () => {
  test.each([
    ['STREAM in it', 'SELECT * FROM STREAM(newest)', 'NOT_SUPPORTED'],
    ['an unknown name', 'SELECT * FROM newst', 'TABLE_OR_VIEW_NOT_FOUND'],
    ['an unknown column', 'SELECT regio FROM newest', 'UNRESOLVED_COLUMN.WITH_SUGGESTION'],
    [
      'two columns of one name',
      'SELECT region, qty AS region FROM newest',
      'OUTPUT_COLUMN_DUPLICATE',
    ],
    ['a column without a type', 'SELECT NULL AS nothing FROM newest', 'OUTPUT_COLUMN_UNTYPED'],
    ['itself', 'SELECT * FROM m', 'TABLE_CYCLE'],
  ])('%s', (_, query, code) => {
    world = worldOf(current);
    const text = `${current} CREATE MATERIALIZED VIEW m AS ${query};`;
    const { plan, faults } = planPipeline([{ file: 'm.sql', text }]);
    expect(faults.map((fault) => fault.code)).toEqual([code]);
    expect(plan).toBeUndefined();
  });

  test('its name is that of its checkpoint, and no flow may have it', () => {
    world = worldOf(current);
    const text = `${totals} CREATE STREAMING TABLE t;
CREATE FLOW totals AS INSERT INTO t BY NAME SELECT region FROM STREAM(orders);`;
    const { faults } = planPipeline([{ file: 'm.sql', text }]);
    expect(faults.map(({ code }) => code)).toEqual(['FLOW_NAME_TAKEN']);
  });
});
