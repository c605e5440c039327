import { afterEach, describe, expect, test } from 'vitest';
import { rowDecoder } from '../../../src/data/row-decoder.ts';
import {
  type ComputedReport,
  refreshComputed,
} from '../../../src/runtime/refresh/refresh-computed.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import { readViewStatus } from '../../../src/runtime/views/view-status.ts';
import { setPause } from '../../../src/runtime/worker/pauses.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { plainValue } from '../../../src/testing/pipeline/plain-value.ts';
import { Random } from '../../../src/testing/random.ts';
import { headerOf, planned, workerOf, worldOf } from '../../support/append-world.ts';

const sales = 'CREATE SOURCE sales (day DATE, shop STRING, amount INT);\n';
const columns = '(day DATE, shop STRING, amount INT)';

/** The rows of `sales` from a day on take the place of those that the table has from that day on. */
function since(day: string, { given = columns, clause = '', query = '' } = {}): string {
  const from = `day >= DATE'${day}'`;
  return `${sales}CREATE STREAMING TABLE kept ${given};
CREATE FLOW f AS INSERT INTO ${clause} kept BY NAME REPLACE WHERE ${from}
${query === '' ? `SELECT day, shop, amount FROM sales WHERE ${from}` : query};`;
}

let world: PipelineWorld;

afterEach(() => world.close());

function sell(day: string, shop: string, amount: number): void {
  world.produce('sales', { value: JSON.stringify({ day, shop, amount }) });
}

async function update(sql: string): Promise<void> {
  await (await workerOf(world, sql, { once: true })).run();
}

function rows(sql: string, name = 'kept'): string[] {
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

/** Loses what a source topic holds, as retention does. */
async function forget(topic: string): Promise<void> {
  const log = world.log.connect();
  const { partitions = 0 } = (await log.describeTopics([topic])).get(topic) ?? {};
  const numbers = Array.from({ length: partitions }, (_, partition) => partition);
  for (const [partition, { end }] of await log.offsetRanges(topic, numbers)) {
    await log.deleteRecords(topic, new Map([[partition, end]]));
  }
}

const written = (topic: string) => world.log.readCommitted(topic);

describe('CH-03 REPLACE WHERE', () => {
  test('only rows that meet the condition change, also those of which nothing is left', async () => {
    world = worldOf(since('2026-03-01'));
    sell('2026-03-01', 'a', 1);
    sell('2026-03-01', 'a', 1);
    sell('2026-03-02', 'b', 2);
    await update(since('2026-03-01'));
    const all = ['2026-03-01|a|1', '2026-03-01|a|1', '2026-03-02|b|2'];
    expect(rows(since('2026-03-01'))).toEqual(all);
    const before = written('kept').length;
    await forget('sales');
    sell('2026-03-02', 'c', 3);
    sell('2026-03-03', 'd', 4);
    await update(since('2026-03-02'));
    const later = since('2026-03-02');
    expect(rows(later)).toEqual([
      ...['2026-03-01|a|1', '2026-03-01|a|1'],
      ...['2026-03-02|c|3', '2026-03-03|d|4'],
    ]);
    const changes = written('kept').filter((one) => headerOf(one, 'tm-seq') !== '1');
    expect(written('kept')).toHaveLength(before + 3);
    expect(changes.map(({ value }) => value?.toString('utf8') ?? 'gone').sort()).toEqual([
      '[{"day":"2026-03-02","shop":"c","amount":3}]',
      '[{"day":"2026-03-03","shop":"d","amount":4}]',
      'gone',
    ]);
  });

  test('NULL does not meet the condition: such a row stays', async () => {
    const wide = since('2026-03-01').replaceAll("day >= DATE'2026-03-01'", 'amount > 0');
    const all = since('2026-03-01').replaceAll("day >= DATE'2026-03-01'", '1 = 1');
    world = worldOf(all);
    world.produce('sales', { value: '{"shop":"none"}' });
    sell('2026-03-01', 'a', 1);
    await update(all);
    await forget('sales');
    await update(wide);
    expect(rows(wide)).toEqual(['null|none|null']);
  });

  test('an update over inputs that stand computes nothing; another condition is computed at once', async () => {
    world = worldOf(since('2026-03-01'));
    sell('2026-03-01', 'a', 1);
    await update(since('2026-03-01'));
    const records = written('kept').length;
    await update(since('2026-03-01'));
    const status = async (sql: string) => {
      const [first] = await readViewStatus({
        log: world.log.connect(),
        plan: planned(sql),
        pipeline: 'test',
      });
      return first;
    };
    expect(await status(since('2026-03-01'))).toMatchObject({
      ...{ view: 'f', kind: 'replace_where', table: 'kept', topic: 'kept', group: 'test.f' },
      ...{ state: 'current', pausedSinceMs: undefined },
      last: { run: 1, rows: 1, changed: 1 },
    });
    expect(written('kept')).toHaveLength(records);
    expect((await status(since('2026-02-01')))?.state).toBe('stale');
    await update(since('2026-02-01'));
    expect((await status(since('2026-02-01')))?.last).toMatchObject({ run: 2, changed: 0 });
  });

  test('a row of the query that does not meet the condition fails the flow, and the table stays as it was', async () => {
    const good = since('2026-03-01');
    const wide = since('2026-03-01', { query: 'SELECT day, shop, amount FROM sales' });
    world = worldOf(good);
    sell('2026-03-02', 'a', 1);
    await update(good);
    sell('2026-02-28', 'b', 2);
    await expect(update(wide)).rejects.toMatchObject({
      code: 'REPLACE_WHERE_OUTSIDE',
      message: 'flow "f" gives a row that its REPLACE WHERE does not replace',
      detail: expect.stringContaining('{"day":"2026-02-28","shop":"b","amount":2}') as string,
      logDetail: expect.not.stringContaining('2026-02-28') as string,
    });
    expect(rows(good)).toEqual(['2026-03-02|a|1']);
  });

  test('expectations of the table judge what the query gives, never what stays', async () => {
    const loose = since('2026-03-01');
    const strict = (action: string): string =>
      since('2026-03-02', {
        given: `(day DATE, shop STRING, amount INT, CONSTRAINT paid EXPECT (amount > 1) ${action})`,
      });
    world = worldOf(loose);
    sell('2026-03-01', 'a', 1);
    sell('2026-03-02', 'b', 1);
    sell('2026-03-02', 'c', 2);
    await update(loose);
    await update(strict('ON VIOLATION DROP ROW'));
    expect(rows(loose)).toEqual(['2026-03-01|a|1', '2026-03-02|c|2']);
    const sql = strict('ON VIOLATION DROP ROW');
    const [status] = await readViewStatus({
      log: world.log.connect(),
      plan: planned(sql),
      pipeline: 'test',
    });
    expect(status?.last?.expectations).toEqual({ paid: { passed: 1, failed: 1 } });
    await expect(update(strict('ON VIOLATION FAIL UPDATE'))).rejects.toMatchObject({
      code: 'EXPECTATION_FAILED',
    });
    expect(rows(loose)).toEqual(['2026-03-01|a|1', '2026-03-02|c|2']);
  });

  test('columns that the query lacks are NULL, and a column that is new is NULL in rows that stay', async () => {
    const before = since('2026-03-01');
    const wider = since('2026-03-02', {
      given: '(day DATE, shop STRING, amount BIGINT, note STRING)',
    });
    world = worldOf(before);
    sell('2026-03-01', 'a', 1);
    await update(before);
    sell('2026-03-02', 'b', 2);
    await update(wider);
    expect(rows(wider)).toEqual(['2026-03-01|a|1|null', '2026-03-02|b|2|null']);
  });

  test.each([
    ['FR-14', '(day DATE, shop STRING, amount SMALLINT)', 'CAST(amount AS SMALLINT) AS amount'],
    ['FR-15', '(day DATE, shop STRING, amount STRING)', 'CAST(amount AS STRING) AS amount'],
    ['FR-16', '(day DATE, shop STRING)', ''],
  ])(
    '%s rows that stay are not those of another definition: the start is refused',
    async (id, given, amount) => {
      const before = since('2026-03-01');
      const from = "day >= DATE'2026-03-01'";
      const query = `SELECT ${['day', 'shop', amount].filter((one) => one !== '').join(', ')} FROM sales WHERE ${from}`;
      const after = since('2026-03-01', { given, query });
      world = worldOf(before);
      sell('2026-03-01', 'a', 1);
      await update(before);
      for (const sql of [after, after.replace('CREATE FLOW f AS', 'CREATE FLOW renamed AS')]) {
        await expect(workerOf(world, sql, { once: true })).rejects.toMatchObject({
          code: 'DEFINITION_CHANGED',
          detail: expect.stringContaining(`(${id})`) as string,
        });
      }
      expect(rows(before)).toEqual(['2026-03-01|a|1']);
    },
  );

  test('it reads tables and materialized views of the pipeline, and is read by them, in their order', async () => {
    const sql = `${sales}
CREATE MATERIALIZED VIEW top AS SELECT shop, total FROM recent ORDER BY total DESC LIMIT 1;
CREATE STREAMING TABLE recent (shop STRING, total BIGINT)
FLOW REPLACE WHERE total >= 10 BY NAME SELECT shop, total FROM by_shop WHERE total >= 10;
CREATE MATERIALIZED VIEW by_shop AS SELECT shop, sum(amount) AS total FROM raw GROUP BY shop;
CREATE STREAMING TABLE raw AS SELECT * FROM STREAM(sales);`;
    world = worldOf(sql);
    sell('2026-03-01', 'a', 4);
    sell('2026-03-01', 'a', 7);
    sell('2026-03-01', 'b', 12);
    await update(sql);
    expect(rows(sql, 'recent')).toEqual(['a|11', 'b|12']);
    expect(rows(sql, 'top')).toEqual(['b|12']);
    sell('2026-03-01', 'a', 2);
    await update(sql);
    expect(rows(sql, 'recent')).toEqual(['a|13', 'b|12']);
    expect(rows(sql, 'top')).toEqual(['a|13']);
  });

  test('the service computes it when something came in, and leaves it alone while it is paused', async () => {
    const sql = since('2026-03-01');
    world = worldOf(sql);
    sell('2026-03-01', 'a', 1);
    const process = await world.startProcess('one');
    await world.untilCaughtUp(process);
    expect(rows(sql)).toEqual(['2026-03-01|a|1']);
    await world.stop(process);
    const catalog = new Catalog(world.log, 'test.catalog');
    const wish = (isPaused: boolean) =>
      setPause(catalog, 'f', { isPaused, command: 'test', nowMs: 1_000 });
    await wish(true);
    const [status] = await readViewStatus({
      log: world.log,
      plan: planned(sql),
      pipeline: 'test',
      catalog,
    });
    expect(status).toMatchObject({ view: 'f', pausedSinceMs: 1_000 });
    await expect(workerOf(world, sql, { once: true })).rejects.toMatchObject({
      message: 'every flow is paused',
    });
    await wish(false);
    await catalog.close();
    sell('2026-03-02', 'b', 2);
    await update(sql);
    expect(rows(sql)).toHaveLength(2);
  });

  test('the clock may decide what is replaced; then it is computed by each update', async () => {
    const sql = since('2026-03-01').replaceAll("day >= DATE'2026-03-01'", 'day <= current_date()');
    world = worldOf(sql);
    sell('2001-03-01', 'a', 1);
    await update(sql);
    await update(sql);
    const [status] = await readViewStatus({
      log: world.log.connect(),
      plan: planned(sql),
      pipeline: 'test',
    });
    expect(status?.last).toMatchObject({ run: 2, rows: 1, changed: 0 });
  });

  test('SX-18 ONCE: it runs one time, whatever comes in or changes', async () => {
    const sql = since('2026-03-01', { clause: 'ONCE' });
    expect(planned(sql).materializedViews[0]?.replaceWhere?.once).toBe(true);
    world = worldOf(sql);
    sell('2026-03-01', 'a', 1);
    await update(sql);
    sell('2026-03-02', 'b', 2);
    await update(sql);
    await update(since('2026-02-01', { clause: 'ONCE' }));
    expect(rows(sql)).toEqual(['2026-03-01|a|1']);
  });

  test('a process that dies at any moment leaves the old rows or the new ones', async () => {
    const sql = since('2026-03-01');
    world = worldOf(sql);
    sell('2026-02-01', 'never', 0);
    const seen = new Set<string>();
    for (let round = 0; round < 12; round += 1) {
      await forget('sales');
      for (let n = 0; n < 5; n += 1) sell('2026-03-01', `${round}`, n);
      const process = await world.startProcess(`p${round}`);
      await world.clock.sleep(round * 3);
      world.kill(process);
      const found = rows(sql);
      const rounds = new Set(found.map((row) => row.split('|')[1] ?? ''));
      expect(rounds.size).toBeLessThanOrEqual(1);
      expect([0, 5]).toContain(found.length);
      for (const one of rounds) seen.add(one);
    }
    await update(sql);
    expect(rows(sql)).toEqual([0, 1, 2, 3, 4].map((n) => `2026-03-01|11|${n}`));
    expect(seen.size).toBeGreaterThan(0);
  });

  test('any conditions, one after another, give what deleting and inserting gives', async () => {
    const random = new Random(20_260_301);
    world = worldOf(since('2026-03-01'), 3);
    let model: string[] = [];
    for (let round = 0; round < 25; round += 1) {
      await forget('sales');
      const [low, high] = [random.below(6), random.below(6)].toSorted((a, b) => a - b);
      const where = `amount BETWEEN ${low} AND ${high}`;
      const sql = since('2026-03-01').replaceAll("day >= DATE'2026-03-01'", where);
      const isMet = (row: string): boolean => {
        const amount = Number(row.split('|')[2]);
        return amount >= (low ?? 0) && amount <= (high ?? 0);
      };
      const given = Array.from({ length: random.below(6) }, () => {
        const [shop, amount] = ['abc'[random.below(3)] ?? '', random.below(6)];
        sell('2026-03-01', shop, amount);
        return `2026-03-01|${shop}|${amount}`;
      });
      await update(sql);
      model = [...model.filter((row) => !isMet(row)), ...given.filter(isMet)].sort();
      expect(rows(sql)).toEqual(model);
    }
  });

  test('records are those of a table: provenance, run and generation', async () => {
    const sql = since('2026-03-01');
    world = worldOf(sql);
    sell('2026-03-01', 'a', 1);
    await update(sql);
    const [record] = written('kept');
    if (record === undefined) throw new Error('nothing was written');
    expect(record.key?.toString('utf8')).toMatch(/^\{"_hash":"[0-9a-f]{40}"\}$/);
    expect(headerOf(record, 'tm-seq')).toBe('1');
    expect(headerOf(record, 'tm-gen')).toBe('0');
    expect(headerOf(record, 'tm-src')).toMatch(/^[0-9a-f]{32}\/\d@1$/);
  });
});

describe('a full refresh of the table of a REPLACE WHERE flow', () => {
  async function refresh(sql: string, allowLoss = false): Promise<ComputedReport> {
    const plan = planned(sql);
    const [view] = plan.materializedViews;
    if (view === undefined) throw new Error('no REPLACE WHERE flow');
    const catalog = new Catalog(world.log, 'test.catalog');
    const log = world.log.connect();
    const { clock } = world;
    try {
      return await refreshComputed({
        log,
        plan,
        pipeline: 'test',
        view,
        clock,
        catalog,
        allowLoss,
      });
    } finally {
      await catalog.close();
    }
  }

  test('FR-01 FR-05 rows that no update computes go, and only when that is accepted', async () => {
    const later = since('2026-03-02');
    world = worldOf(later);
    sell('2026-03-01', 'a', 1);
    sell('2026-03-02', 'b', 2);
    await update(since('2026-03-01'));
    await update(later);
    await expect(refresh(later)).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
      message: 'a refresh of table "kept" would lose 1 of its 2 rows',
    });
    await update(later);
    expect(rows(later)).toHaveLength(2);
    const report = await refresh(later, true);
    expect(report).toMatchObject({
      ...{ table: 'kept', generation: 1, lossless: false, lost: { keys: 1, rows: 1 }, rows: 2 },
      downstream: [],
    });
    expect(rows(later)).toHaveLength(2);
    await update(later);
    expect(rows(later)).toEqual(['2026-03-02|b|2']);
    await update(later);
    sell('2026-03-03', 'c', 3);
    await update(later);
    expect(rows(later)).toEqual(['2026-03-02|b|2', '2026-03-03|c|3']);
    const generations = written('kept').map((one) => headerOf(one, 'tm-gen'));
    expect(new Set(generations)).toEqual(new Set(['0', '1']));
  });

  test('FR-05 rows whose records have expired go, and only when that is accepted', async () => {
    const sql = since('2026-03-01');
    world = worldOf(sql);
    sell('2026-03-01', 'a', 1);
    sell('2026-03-02', 'b', 2);
    await update(sql);
    const partitions = await world.log.offsetRanges('sales', [0, 1]);
    const [gone] = [...partitions].filter(([, { end }]) => end > 0);
    await world.log.deleteRecords('sales', new Map([[gone?.[0] ?? 0, 1]]));
    await expect(refresh(sql)).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
      message: 'a refresh of table "kept" would lose 1 of its 2 rows',
    });
    const report = await refresh(sql, true);
    expect(report).toMatchObject({ lossless: false, lost: { keys: 1, rows: 1 }, rows: 2 });
  });

  test('FL-18 one that ran once runs again', async () => {
    const sql = since('2026-03-01', { clause: 'ONCE' });
    world = worldOf(sql);
    sell('2026-03-01', 'a', 1);
    await update(sql);
    sell('2026-03-02', 'b', 2);
    await update(sql);
    expect(rows(sql)).toHaveLength(1);
    expect(await refresh(sql)).toMatchObject({ lossless: true, generation: 1 });
    await update(sql);
    expect(rows(sql)).toHaveLength(2);
    sell('2026-03-03', 'c', 3);
    await update(sql);
    expect(rows(sql)).toHaveLength(2);
  });

  test('FR-11 a definition that rows which stay contradict is computed from nothing', async () => {
    const before = since('2026-03-01');
    const after = since('2026-03-01', {
      given: '(day DATE, shop STRING)',
      query: "SELECT day, shop FROM sales WHERE day >= DATE'2026-03-01'",
    });
    world = worldOf(before);
    sell('2026-03-01', 'a', 1);
    await update(before);
    await expect(update(after)).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
    await refresh(after);
    await update(after);
    expect(rows(after)).toEqual(['2026-03-01|a']);
  });

  test('a process that dies on the way leaves the rows of one generation', async () => {
    const later = since('2026-03-02');
    world = worldOf(later);
    sell('2026-03-01', 'a', 1);
    sell('2026-03-02', 'b', 2);
    await update(since('2026-03-01'));
    await refresh(later, true);
    for (let round = 0; round < 8; round += 1) {
      const process = await world.startProcess(`p${round}`, planned(later));
      await world.clock.sleep(round * 4);
      world.kill(process);
      expect([1, 2]).toContain(rows(later).length);
    }
    await update(later);
    expect(rows(later)).toEqual(['2026-03-02|b|2']);
  });
});
