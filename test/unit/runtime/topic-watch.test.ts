import { describe, expect, test } from 'vitest';
import type { Log, TopicDescription } from '../../../src/ports/log.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';

const tables = {
  'output topic of a table': {
    sql: 'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);',
    topic: 't',
  },
  'levels topic of a table': {
    sql: 'CREATE STREAMING TABLE t; CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq APPLY AS EMPTY WHEN (v IS NULL) SELECT k, seq, v FROM STREAM(a);',
    topic: 'p.f.levels',
  },
  'output topic of an append flow': {
    sql: 'CREATE STREAMING TABLE t; CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(a);',
    topic: 't',
  },
  'topic of what DISTINCT let through': {
    sql: 'CREATE STREAMING TABLE t; CREATE FLOW f AS INSERT INTO t BY NAME SELECT DISTINCT k, seq, v FROM STREAM(a);',
    topic: 't.f.distinct',
  },
  'output topic of a join': {
    sql: 'CREATE STREAMING TABLE t; CREATE FLOW f AS INSERT INTO t BY NAME SELECT x.k, x.seq, y.v FROM STREAM(a) x JOIN STREAM(b) y ON x.k = y.k;',
    topic: 't',
  },
  'output topic of a table of two flows': {
    sql: 'CREATE STREAMING TABLE t; CREATE FLOW e AS AUTO CDC INTO t FROM STREAM(a) KEYS (k) SEQUENCE BY seq; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(b) KEYS (k) SEQUENCE BY seq;',
    topic: 't',
  },
};

const names = Object.keys(tables) as (keyof typeof tables)[];

describe.concurrent('P053 a topic of a table is deleted and created again while the service runs', () => {
  test.for(names.slice(0, 3))(
    '%s: its flow stops, and does not call a part the whole',
    async (what, { expect }) => {
      const { sql, topic } = tables[what];
      const world = new RefreshWorld(sql, ['a'], 1);
      const rows = Array.from({ length: 20 }, (_, k) => ({ k: `k${k}`, seq: 1, v: 'x' }));
      await world.produce('a', 0, ...rows);
      const service = await world.service();
      const written = (): number => world.log.readCommitted('t').length;
      await expect.poll(written, { timeout: 20_000 }).toBe(20);
      world.recreate(topic);
      const stops = async () => (await world.outside()).catalog.all('stop');
      let seq = 1;
      await expect
        .poll(
          async () => {
            seq += 1;
            await world.produce('a', 0, { k: 'k1', seq, v: 'y' });
            return (await stops()).map(({ value }) => value['code']);
          },
          { timeout: 30_000, interval: 200 },
        )
        .toEqual(['TOPIC_RECREATED']);
      await expect(service.stop()).rejects.toMatchObject({
        code: 'TOPIC_RECREATED',
        message: expect.stringContaining(`"${topic}" was deleted and created again`),
        hint: expect.stringContaining('refresh'),
      });
      await expect(world.update()).rejects.toMatchObject({ code: 'TOPIC_RECREATED' });
    },
  );
});

describe.concurrent('a topic of a table loses its first records while the service runs', () => {
  test.for(names)('FR-30 %s: its flow stops', async (what, { expect }) => {
    const { sql, topic } = tables[what];
    const world = new RefreshWorld(sql, ['a', 'b'], 1);
    const rows = Array.from({ length: 20 }, (_, k) => ({ k: `k${k}`, seq: 1, v: 'x' }));
    await world.produce('a', 0, ...rows);
    await world.produce('b', 0, ...rows);
    world.log.produce('a', 0, { value: '{"k":"gone","seq":1,"v":null}' });
    const service = await world.service();
    const end = (name: string): number => world.log.rangeNow(name, 0).end;
    await expect.poll(() => end('t'), { timeout: 20_000 }).toBeGreaterThanOrEqual(20);
    await expect.poll(() => end(topic), { timeout: 20_000 }).toBeGreaterThanOrEqual(1);
    await world.log.deleteRecords(topic, new Map([[0, 1]]));
    const lost = {
      code: 'OFFSET_OUT_OF_RANGE',
      detail: expect.stringContaining('DeleteRecords'),
      place: { topic, partition: 0, offset: expect.any(Number) },
    };
    // The two of them, and the stage that merges what they send.
    const count = what === 'output topic of a table of two flows' ? 3 : 1;
    const stops = async () => (await world.outside()).catalog.all('stop');
    await expect.poll(async () => (await stops()).length, { timeout: 20_000 }).toBe(count);
    await expect(service.stop()).rejects.toMatchObject(lost);
    await world.produce('a', 0, { k: 'k1', seq: 2, v: 'y' });
    const before = end('t');
    await expect(world.update()).rejects.toMatchObject(lost);
    expect(end('t')).toBe(before);
  });

  test('FR-30 a gap in appended rows is kept, and accepted as others are', async () => {
    const { sql } = tables['output topic of an append flow'];
    const world = new RefreshWorld(sql, ['a'], 1);
    const row = (seq: number) => ({ k: `k${seq}`, seq, v: 'x' });
    await world.produce('a', 0, row(1), row(2), row(3));
    await world.update();
    await world.log.deleteRecords('t', new Map([[0, 2]]));
    await world.produce('a', 0, row(4));
    await expect(world.update()).rejects.toMatchObject({
      hint: expect.stringContaining('--accept-gap f/t/0@0'),
    });
    await world.update({ acceptsGaps: true });
    expect(world.log.readCommitted('t')).toHaveLength(2);
    const { catalog } = await world.outside();
    expect(catalog.get('gap', 'f/t/0@0')?.value).toMatchObject({
      kind: 'rows_gone',
      from: 0,
      to: 2,
      lostRecords: 2,
      acceptedAtMs: expect.any(Number),
    });
    // What goes after it is missed again.
    await world.log.deleteRecords('t', new Map([[0, 3]]));
    await expect(world.update()).rejects.toMatchObject({
      hint: expect.stringContaining('--accept-gap f/t/0@2'),
    });
  });
});

test('P053 a dead-letter topic is created again while the service runs: it stops, and the next one keeps that in mind', async () => {
  const world = new RefreshWorld(
    "CREATE STREAMING TABLE t WITH (dead_letter_topic = 'letters') FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);",
    ['a'],
    1,
  );
  await world.produce('a', 0, { k: 'k1', seq: 1, v: 'x' });
  world.log.produce('a', 0, { value: 'not json{' });
  const service = await world.service();
  const letters = () => world.log.readCommitted('letters').length;
  await expect.poll(letters, { timeout: 20_000 }).toBe(1);
  world.recreate('letters');
  await expect(service.ended).rejects.toMatchObject({
    code: 'TOPIC_RECREATED',
    message: 'dead-letter topic "letters" was deleted and created again',
    hint: expect.stringContaining('tidemark gaps'),
  });
  await world.log.deleteTopics(['letters']);
  world.log.produce('a', 0, { value: 'not json{' });
  await world.update();
  expect(letters()).toBe(1);
  const { catalog } = await world.outside();
  expect(catalog.all('gap').map(({ value }) => value)).toMatchObject([
    { kind: 'dead_letters_gone', flow: 't', topic: 'letters' },
  ]);
});

test('P053 a dead-letter topic is created again: who has none of the flow’s partitions stops it, too, and not again and again', async () => {
  const world = new RefreshWorld(
    "CREATE STREAMING TABLE t WITH (dead_letter_topic = 'letters'); CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(a);",
    ['a'],
    1,
  );
  // The broker that it asks does not know yet: it goes on, and keeps the partition.
  const behind = world.log.connect();
  const known = new Map<string, TopicDescription>();
  const describeTopics: Log['describeTopics'] = async (names) => {
    for (const [name, found] of await behind.describeTopics(names)) {
      if (!known.has(name)) known.set(name, found);
    }
    return known;
  };
  const owner = await world.service(
    'owner',
    new Proxy(behind, {
      get: (log, name: keyof Log) =>
        name === 'describeTopics' ? describeTopics : (log[name] as () => unknown).bind(log),
    }),
  );
  await world.produce('a', 0, { k: 'k1', seq: 1, v: 'x' });
  const written = () => world.log.readCommitted('t').length;
  await expect.poll(written, { timeout: 20_000 }).toBe(1);
  const idle = await world.service('idle');
  world.recreate('letters');
  await expect(idle.ended).rejects.toMatchObject({
    code: 'TOPIC_RECREATED',
    message: 'dead-letter topic "letters" was deleted and created again',
  });
  await world.produce('a', 0, { k: 'k2', seq: 1, v: 'x' });
  await expect.poll(written, { timeout: 20_000 }).toBe(2);
  await owner.stop();
});

test('P053 a topic between the stages is created again while the service runs: what was in it is a gap', async () => {
  const world = new RefreshWorld(tables['output topic of a table'].sql, ['a'], 1);
  await world.produce('a', 0, { k: 'k1', seq: 1, v: 'x' });
  const service = await world.service();
  const written = () => world.log.readCommitted('t').length;
  await expect.poll(written, { timeout: 20_000 }).toBe(1);
  const gaps = async () => (await world.outside()).catalog.all('gap').length;
  world.log.deleteTopic('p.t.repartition');
  const kept = { 'retention.ms': '-1' };
  world.log.createTopic('p.t.repartition', 1, kept);
  await expect(service.ended).rejects.toMatchObject({
    code: 'TOPIC_RECREATED',
    hint: expect.stringContaining('--accept-gap t/p.t.repartition/0@'),
  });
  expect(await gaps()).toBe(1);
  await world.produce('a', 0, { k: 'k1', seq: 2, v: 'y' });
  await world.update({ acceptsGaps: true });
  expect(written()).toBe(2);
});
