import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { partitionOf } from '../../../src/data/murmur2.ts';
import { StatusReader } from '../../../src/runtime/inspect/pipeline-status.ts';
import { readAppendedRows } from '../../../src/runtime/views/read-appended-rows.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import {
  headerOf,
  killedRun,
  planned,
  valuesOf,
  workerOf,
  worldOf,
} from '../../support/append-world.ts';

const orders = `CREATE SOURCE orders (region STRING, item STRING, qty INT, seq BIGINT);
CREATE STREAMING TABLE log AS SELECT region, item, qty, seq FROM STREAM(orders);`;

const regions = `CREATE SOURCE west (id INT, name STRING); CREATE SOURCE east (id INT, name STRING);
CREATE SOURCE north (id INT, name STRING);
CREATE STREAMING TABLE customers_us;
CREATE FLOW append_west AS INSERT INTO customers_us BY NAME SELECT id, name FROM STREAM(west);
CREATE FLOW append_east AS INSERT INTO customers_us BY NAME SELECT id, name FROM STREAM(east);`;
const northFlow =
  'CREATE FLOW append_north AS INSERT INTO customers_us BY NAME SELECT id, name FROM STREAM(north);';

const chain = `CREATE SOURCE src (k STRING, seq BIGINT, n INT);
CREATE STREAMING TABLE gold FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, n FROM STREAM(silver);
CREATE STREAMING TABLE silver AS SELECT k, seq, n FROM STREAM(bronze) WHERE n >= 0;
CREATE STREAMING TABLE bronze AS SELECT * FROM STREAM(src);`;

let world: PipelineWorld;

afterEach(() => world.close());

async function settled(sql?: string): Promise<void> {
  const process =
    sql === undefined
      ? await world.startProcess('one')
      : await world.startProcess('one', planned(sql));
  await world.untilCaughtUp(process);
  await world.stop(process);
}

function order(index: number): string {
  return `{"region":"R${index % 50}","item":"i${index}","qty":1,"seq":${Math.floor(index / 100)}}`;
}

function customer(id: number, name: string): string {
  return `{"id":${id},"name":"${name}"}`;
}

function committed(flow: string, topic: string): (number | undefined)[] {
  return [0, 1].map(
    (partition) => world.log.committedNow(`test.${flow}`, topic, partition)?.offset,
  );
}

describe('append flows', () => {
  test('FL-07, FL-08, FL-22, SX-12 the default flow appends one record a row, and never takes one back', async () => {
    world = worldOf(orders);
    world.produce('orders', { key: 'k1', value: order(1) });
    world.produce('orders', { value: order(2) }, 1);
    world.produce('orders', { key: 'k1', value: order(1) });
    world.produce('orders', { key: 'k1', value: null });
    await settled();
    const records = world.log.readCommitted('log');
    expect(valuesOf(records)).toEqual([order(1), order(1), order(2)]);
    const topics = await world.log.describeTopics(['log', 'test.log.repartition']);
    expect(topics.get('log')?.configs.get('cleanup.policy')).toBe('delete');
    expect(topics.get('log')?.configs.get('retention.ms')).toBe('-1');
    expect(topics.has('test.log.repartition')).toBe(false);
    const source = (await world.log.describeTopics(['orders'])).get('orders')?.topicId ?? '';
    const hex = Buffer.from(source, 'base64url').toString('hex');
    for (const record of records) {
      const key = record.key?.toString('utf8') ?? null;
      const partition = key === null ? 1 : partitionOf(Buffer.from('k1'), 0, 2, 2);
      expect(record.partition).toBe(partition);
      expect(headerOf(record, 'tm-gen')).toBe('0');
      expect(headerOf(record, 'tm-src')).toMatch(new RegExp(`/${partition}@\\d+$`));
      if (source.length === 22) expect(headerOf(record, 'tm-src')?.slice(0, 32)).toBe(hex);
    }
    const flow = planned(orders).flows[0];
    const account = flow === undefined ? undefined : await world.account(flow);
    expect(account?.source).toMatchObject({ records: 4, tombstones: 1, rows: 3, handedOn: 3 });
  });

  test('the account holds: rows = filtered + dropped + handed on, and bad rows are dead letters', async () => {
    const sql = `CREATE SOURCE s (k STRING, n INT);
      CREATE STREAMING TABLE t (CONSTRAINT small EXPECT (n < 9) ON VIOLATION DROP ROW)
        WITH (dead_letter_topic = 't.dlq') AS SELECT k, 10 div n AS d, n FROM STREAM(s) WHERE k <> 'x';`;
    world = worldOf(sql.replace('(CONSTRAINT', '(k STRING, d BIGINT, n INT, CONSTRAINT'));
    for (const value of [
      '{"k":"a","n":5}',
      '{"k":"x","n":1}',
      '{"k":"b","n":9}',
      '{"k":"c","n":0}',
      '{',
      '{"k":"d","n":2}',
    ]) {
      world.produce('s', { value });
    }
    await settled();
    expect(valuesOf(world.log.readCommitted('t'))).toEqual([
      '{"k":"a","d":2,"n":5}',
      '{"k":"d","d":5,"n":2}',
    ]);
    expect(valuesOf(world.deadLetters())).toEqual(['{', '{"k":"c","n":0}']);
    const [flow] = planned(
      sql.replace('(CONSTRAINT', '(k STRING, d BIGINT, n INT, CONSTRAINT'),
    ).flows;
    const account = flow === undefined ? undefined : await world.account(flow);
    expect(account?.source).toMatchObject({
      records: 6,
      decoded: 4,
      deadLettered: 2,
      rows: 4,
      filtered: 1,
      dropped: 1,
      handedOn: 2,
    });
  });

  test('FL-10, FL-12, FL-13, FL-19 several topics into one table, each flow with its checkpoint, killed again and again', async () => {
    const sql = regions + northFlow;
    world = worldOf(sql, 2, 3);
    const expected: string[] = [];
    const portion = (part: number) => () => {
      for (let id = part * 10; id < part * 10 + 10; id += 1) {
        for (const topic of ['west', 'east', 'north']) {
          world.produce(topic, { key: String(id), value: customer(id, topic) });
          expected.push(customer(id, topic));
        }
      }
    };
    await killedRun(
      world,
      Array.from({ length: 12 }, (_, part) => portion(part)),
    );
    expect(valuesOf(world.log.readCommitted('customers_us'))).toEqual(expected.sort());
    for (const topic of ['west', 'east', 'north']) {
      const ends = [0, 1].map((partition) => world.log.rangeNow(topic, partition).end);
      expect(committed(`append_${topic}`, topic)).toEqual(ends);
    }
    const status = new StatusReader(planned(sql), 'test', world.log, systemClock);
    const flows = await status.read();
    expect(flows.map(({ flow, table, group }) => `${table} ${flow} ${group}`)).toEqual([
      'customers_us append_west test.append_west',
      'customers_us append_east test.append_east',
      'customers_us append_north test.append_north',
    ]);
    expect(flows.flatMap(({ topics }) => topics.map(({ stage }) => stage))).toEqual([
      'source',
      'source',
      'source',
    ]);
    await status.close();
  });

  test('FL-11, FL-14 a source is added without a refresh: old flows go on, old rows stay', async () => {
    world = worldOf(regions);
    world.produce('west', { value: customer(1, 'w') });
    world.produce('east', { value: customer(2, 'e') });
    world.produce('north', { value: customer(3, 'n') });
    await settled();
    const before = world.log.readCommitted('customers_us');
    const offsets = [committed('append_west', 'west'), committed('append_east', 'east')];
    await settled(regions + northFlow);
    const after = world.log.readCommitted('customers_us');
    expect(valuesOf(after)).toEqual([customer(1, 'w'), customer(2, 'e'), customer(3, 'n')]);
    expect([committed('append_west', 'west'), committed('append_east', 'east')]).toEqual(offsets);
    const places = after.map(({ partition, offset }) => `${partition}@${offset}`);
    for (const { partition, offset } of before) expect(places).toContain(`${partition}@${offset}`);
  });

  test('FL-14 FR-20 a further side of a UNION ALL is another source: refused, and a flow of its own is offered', async () => {
    const one = `CREATE SOURCE west (id INT); CREATE SOURCE east (id INT);
CREATE STREAMING TABLE all_of_them AS SELECT id FROM STREAM(west)`;
    world = worldOf(`${one};`);
    world.produce('west', { value: '{"id":1}' });
    await settled(`${one};`);
    const united = `${one} UNION ALL SELECT id FROM STREAM(east);`;
    await expect(workerOf(world, united, { once: true })).rejects.toMatchObject({
      code: 'DEFINITION_CHANGED',
      detail: expect.stringContaining('(FR-20)') as string,
      hint: expect.stringContaining('refresh the table fully') as string,
    });
    await expect(workerOf(world, united, { once: true })).rejects.toMatchObject({
      hint: expect.stringContaining('with a flow of its own (CREATE FLOW') as string,
    });
    expect(valuesOf(world.log.readCommitted('all_of_them'))).toEqual(['{"id":1}']);
  });

  test('a new flow may bring a column: rows of the others have it as NULL', async () => {
    world = worldOf(
      `CREATE SOURCE a (id INT); CREATE SOURCE b (id INT, note STRING); CREATE STREAMING TABLE t;
       CREATE FLOW f AS INSERT INTO t BY NAME SELECT id FROM STREAM(a);
       CREATE FLOW g AS INSERT INTO t BY NAME SELECT note, id FROM STREAM(b);`,
    );
    world.produce('a', { value: '{"id":1}' });
    world.produce('b', { value: '{"id":2,"note":"x"}' });
    await settled();
    expect(valuesOf(world.log.readCommitted('t'))).toEqual([
      '{"id":1,"note":null}',
      '{"id":2,"note":"x"}',
    ]);
  });

  test('SX-14, SX-16 in two steps the flow is the same, and goes on from the same checkpoint', async () => {
    const query = 'SELECT region, item, qty, seq FROM STREAM(orders);';
    const [source] = orders.split('\n');
    const short = `${source} CREATE STREAMING TABLE log AS ${query}`;
    const long = `${source} CREATE STREAMING TABLE log; CREATE FLOW log AS INSERT INTO log BY NAME ${query}`;
    const [a, b] = [planned(short), planned(long)];
    expect(b.flows[0]?.fingerprint).toBe(a.flows[0]?.fingerprint);
    expect(b.flows[0]?.definition).toEqual(a.flows[0]?.definition);
    expect({ ...b.tables[0], place: undefined }).toEqual({ ...a.tables[0], place: undefined });
    world = worldOf(short);
    world.produce('orders', { value: order(1) });
    await settled();
    world.produce('orders', { value: order(2) });
    await settled(long);
    expect(valuesOf(world.log.readCommitted('log'))).toEqual([order(1), order(2)]);
  });

  test('P083, FL-10 5000 rows, slices of any size, killed at random: none missing, none twice', async () => {
    world = worldOf(orders, 4, 97);
    const portions = Array.from({ length: 10 }, (_, part) => () => {
      for (let index = part * 500; index < part * 500 + 500; index += 1) {
        world.produce('orders', { value: order(index) }, index % 4);
      }
    });
    await killedRun(world, portions);
    const values = valuesOf(world.log.readCommitted('log'));
    expect(values).toHaveLength(5000);
    expect(new Set(values).size).toBe(5000);
  });

  test('P065, P081 a second worker comes and goes while rows are written: each is there once', async () => {
    world = worldOf(orders, 4, 50);
    let next = 0;
    const feed = (): void => {
      for (const end = next + 800; next < end; next += 1) {
        world.produce('orders', { value: order(next) }, next % 4);
      }
    };
    feed();
    const first = await world.startProcess('one');
    for (let round = 0; round < 4; round += 1) {
      feed();
      const second = await world.startProcess(`other-${round}`);
      await world.clock.sleep(15 + round * 11);
      feed();
      if (round % 2 === 0) {
        await world.stop(second);
      } else {
        // It keeps its partitions, and maybe a transaction, until its session ends.
        world.kill(second);
      }
    }
    await world.untilCaughtUp(first);
    await world.stop(first);
    const values = valuesOf(world.log.readCommitted('log'));
    expect(new Set(values).size).toBe(next);
    expect(values).toHaveLength(next);
  });

  test('P115 a checkpoint behind the start of the log is where it goes on', async () => {
    world = worldOf(orders, 1);
    for (let index = 0; index < 6; index += 1) world.produce('orders', { value: order(index) });
    await settled();
    await world.log.deleteRecords('orders', new Map([[0, 3]]));
    for (let index = 6; index < 10; index += 1) world.produce('orders', { value: order(index) });
    await settled();
    expect(valuesOf(world.log.readCommitted('log'))).toHaveLength(10);
  });

  test('P051 lost checkpoints stop the flow: nothing is appended twice', async () => {
    world = worldOf(orders, 2);
    for (let index = 0; index < 8; index += 1) world.produce('orders', { value: order(index) });
    await settled();
    await world.log.deleteCheckpoints('test.log');
    world.produce('orders', { value: order(9) });
    await expect(settled()).rejects.toMatchObject({ code: 'CHECKPOINT_MISSING' });
    expect(valuesOf(world.log.readCommitted('log'))).toHaveLength(8);
  });

  test('an output topic that would drop rows is refused', async () => {
    world = worldOf(orders, 1);
    await world.log.createTopics([
      {
        name: 'log',
        partitions: 1,
        replicationFactor: -1,
        configs: { 'cleanup.policy': 'delete', 'retention.ms': '60000' },
      },
    ]);
    await expect(settled()).rejects.toMatchObject({ code: 'TOPIC_CONFIG' });
  });

  test('dump reads rows by partition and offset, each with its source', async () => {
    world = worldOf(orders, 2);
    for (let index = 0; index < 4; index += 1)
      world.produce('orders', { value: order(index) }, index % 2);
    await settled();
    const [table] = planned(orders).tables;
    const rows: string[] = [];
    if (table !== undefined) {
      for await (const group of readAppendedRows({ log: world.log, table })) {
        for (const { json, sources } of group.rows) {
          rows.push(`${json} ${sources[0]?.partition}@${sources[0]?.offset}`);
        }
      }
    }
    expect(rows).toEqual([
      `${order(0)} 0@0`,
      `${order(2)} 0@1`,
      `${order(1)} 1@0`,
      `${order(3)} 1@1`,
    ]);
  });
});

describe('tables that read tables', () => {
  test('FL-01, FL-02, FL-03, FL-04, FL-27 an update goes table by table: all that was there at its start is in the last one', async () => {
    world = worldOf(chain, 2, 5);
    for (let index = 0; index < 200; index += 1) {
      world.produce('src', { value: `{"k":"k${index % 20}","seq":${index},"n":${index % 7}}` });
    }
    const worker = await workerOf(world, chain, { once: true });
    await worker.run();
    expect(world.log.readCommitted('bronze')).toHaveLength(200);
    expect(world.log.readCommitted('silver')).toHaveLength(200);
    const [gold] = planned(chain).tables.filter(({ name }) => name === 'gold');
    const rows = gold === undefined ? [] : world.rows(gold);
    expect(rows).toHaveLength(20);
    // FL-05 nothing new: nothing is read again.
    const again = await workerOf(world, chain, { once: true });
    await again.run();
    expect(again.progress().records).toBe(0);
  });

  test('a row keeps the place of its first source, through every table', async () => {
    world = worldOf(chain, 2);
    world.produce('src', { value: '{"k":"a","seq":1,"n":-1}' }, 1);
    world.produce('src', { value: '{"k":"a","seq":2,"n":1}' }, 1);
    await settled();
    const [last] = world.log.readCommitted('gold');
    const source = last === undefined ? undefined : headerOf(last, 'tm-src');
    expect(source).toMatch(/\/1@1$/);
    const silver = world.log.readCommitted('silver').map((one) => headerOf(one, 'tm-src'));
    expect(silver).toEqual([source]);
  });

  test('FL-10, FL-27 a chain that is killed again and again loses and repeats nothing, ties included', async () => {
    world = worldOf(chain, 2, 4);
    const portions = Array.from({ length: 14 }, (_, part) => () => {
      for (let index = 0; index < 12; index += 1) {
        // Two records of one key and sequence, equal in every column: two rows.
        const row = `{"k":"k${index % 3}","seq":${part},"n":${index % 2}}`;
        world.produce('src', { value: row });
      }
    });
    await killedRun(world, portions);
    expect(world.log.readCommitted('bronze')).toHaveLength(14 * 12);
    const [gold] = planned(chain).tables.filter(({ name }) => name === 'gold');
    expect(gold === undefined ? [] : world.rows(gold)).toHaveLength(12);
  });

  test('rows of one record that come over two tables and a generator stay rows of their own', async () => {
    const sql = `CREATE SOURCE src (k STRING, seq BIGINT, items ARRAY<INT>);
      CREATE STREAMING TABLE a AS SELECT k, seq, explode(items) AS n, items FROM STREAM(src);
      CREATE STREAMING TABLE b AS SELECT k, seq, n FROM STREAM(a);
      CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
        SELECT k, seq, n FROM STREAM(b) UNION ALL SELECT k, seq, explode(items) FROM STREAM(a);`;
    world = worldOf(sql, 2);
    world.produce('src', { value: '{"k":"a","seq":1,"items":[5,5,6]}' });
    await settled();
    const [table] = planned(sql).tables.filter(({ name }) => name === 't');
    const rows = table === undefined ? [] : world.rows(table);
    // 3 elements over table b; each of the 3 rows of table a exploded once more.
    expect(rows).toHaveLength(3 + 9);
    expect(new Set(rows.map(({ sources }) => sources.join())).size).toBe(12);
  });

  test('P071, FL-27 an instance that is gone for good holds up no reader of its tables', async () => {
    world = worldOf(chain, 4, 10);
    const feed = (from: number): void => {
      for (let index = from; index < from + 100; index += 1) {
        const value = `{"k":"k${index}","seq":${index},"n":${index}}`;
        world.produce('src', { value }, index % 4);
      }
    };
    feed(0);
    const stays = await world.startProcess('stays');
    for (let round = 1; round <= 3; round += 1) {
      const goes = await world.startProcess(`goes-${round}`);
      feed(round * 100);
      await world.clock.sleep(10 + round * 17);
      world.kill(goes);
    }
    await world.untilCaughtUp(stays);
    await world.stop(stays);
    expect(world.log.readCommitted('bronze')).toHaveLength(400);
    const [gold] = planned(chain).tables.filter(({ name }) => name === 'gold');
    expect(gold === undefined ? [] : world.rows(gold)).toHaveLength(400);
  });

  test('FL-27 a circle of tables is an error that lists it', () => {
    world = worldOf(chain);
    expect(() =>
      planned(`CREATE STREAMING TABLE a AS SELECT k FROM STREAM(b); CREATE STREAMING TABLE b AS SELECT k FROM STREAM(c);
        CREATE STREAMING TABLE c AS SELECT k FROM STREAM(a);`),
    ).toThrow('"a" reads "b" reads "c" reads "a": a circle');
  });

  test('a record of somebody else in the topic of a table stops its readers', async () => {
    world = worldOf(chain, 1);
    world.produce('src', { value: '{"k":"a","seq":1,"n":1}' });
    await settled();
    world.log.produce('bronze', 0, { value: '{"k":"b","seq":1,"n":1}' });
    const worker = await workerOf(world, chain, { once: true });
    // The other flows come to their end first, that which reads the stopped flow's table too.
    await expect(worker.run()).rejects.toMatchObject({ code: 'RECORD_CORRUPT' });
    expect(worker.progress().flows.flatMap(({ flow, failed }) => failed?.code ?? flow)).toEqual([
      'gold',
      'RECORD_CORRUPT',
      'bronze',
    ]);
  });
});
