import { describe, expect, test } from 'vitest';
import { refreshComputed } from '../../../src/runtime/refresh/refresh-computed.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';

const current =
  'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);';
const counted = `${current}
CREATE MATERIALIZED VIEW n SCHEDULE EVERY 1 SECOND AS SELECT v, count(*) AS many FROM t GROUP BY v;`;
const kept = `CREATE STREAMING TABLE n (k STRING, seq BIGINT, v STRING);
CREATE FLOW f AS INSERT INTO n BY NAME REPLACE WHERE seq >= 5 SELECT k, seq, v FROM a WHERE seq >= 5;`;

async function filled(sql: string): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql, ['a'], 1);
  const rows = [1, 2, 3].map((k) => ({ k: `k${k}`, seq: 5, v: `v${k}` }));
  await world.produce('a', 0, ...rows);
  await world.update();
  return world;
}

const compacted = { 'cleanup.policy': 'compact', 'retention.ms': '-1' };

function recreate({ log }: RefreshWorld, topic: string): void {
  log.deleteTopic(topic);
  log.createTopic(topic, 1, compacted);
}

const shown = ({ log }: RefreshWorld) => log.readCommitted('n').map(({ value }) => String(value));

/** One more record of the source. */
function more(world: RefreshWorld): Promise<void> {
  return world.produce('a', 0, { k: 'k9', seq: 9, v: 'v9' });
}

describe.concurrent('P053 a topic of a view, or of what it reads, is created again', () => {
  test('the table that it reads: the view does not show a part of it as the whole', async () => {
    const world = await filled(counted);
    const service = await world.service();
    await expect.poll(async () => (await world.outside()).catalog.all('instance').length).toBe(1);
    const before = shown(world);
    recreate(world, 't');
    await more(world);
    await expect(service.ended).rejects.toMatchObject({ code: 'TOPIC_RECREATED' });
    expect(shown(world)).toEqual(before);
    await expect(world.update()).rejects.toMatchObject({ code: 'TOPIC_RECREATED' });
  });

  test('its own: it stops while it runs, and the next start computes it anew', async () => {
    const world = await filled(counted);
    const service = await world.service();
    const stops = async () => (await world.outside()).catalog.all('stop').map(({ value }) => value);
    recreate(world, 'n');
    await expect
      .poll(stops, { timeout: 20_000 })
      .toMatchObject([{ flow: 'n', code: 'TOPIC_RECREATED' }]);
    await service.stop().catch(() => undefined);
    await world.update();
    expect(shown(world)).toHaveLength(3);
  });

  test('its own: who stops it lets go of it, and one that knows the new topic computes it at once', async () => {
    const world = await filled(counted);
    const former = await world.service('former');
    await expect.poll(async () => (await world.outside()).catalog.all('instance').length).toBe(1);
    recreate(world, 'n');
    // Beside the former one, which is a member still.
    const later = await world.service('later');
    await expect.poll(() => shown(world).length, { timeout: 20_000 }).toBe(3);
    await former.stop().catch(() => undefined);
    await later.stop();
  });

  test('that of a REPLACE WHERE flow: rows that it keeps are gone, so nothing starts until it is refreshed', async () => {
    const world = await filled(kept);
    await more(world);
    recreate(world, 'n');
    await expect(world.update()).rejects.toMatchObject({
      code: 'TOPIC_RECREATED',
      message: 'output topic "n" was deleted and created again',
    });
    expect(shown(world)).toEqual([]);
    const { plan, pipeline, log } = world;
    const [view] = plan.materializedViews;
    if (view === undefined) throw new Error('no view');
    const { catalog, clock } = await world.outside();
    await refreshComputed({ log, plan, pipeline, view, catalog, clock, allowLoss: false });
    await world.update();
    expect(shown(world)).toHaveLength(4);
  });
});

describe.concurrent('FR-30 a topic of a view loses its first records', () => {
  test('a materialized view is computed anew by itself', async () => {
    const world = await filled(counted);
    const service = await world.service();
    await world.log.deleteRecords('n', new Map([[0, 2]]));
    const values = () => new Set(shown(world)).size;
    expect(values()).toBe(1);
    await expect.poll(values, { timeout: 20_000 }).toBe(3);
    await service.stop();
    // It is known by now.
    const { end } = world.log.rangeNow('n', 0);
    await world.update();
    expect(world.log.rangeNow('n', 0).end).toBe(end);
  });

  test('a REPLACE WHERE flow stops, while it runs and at the next start', async () => {
    const world = await filled(kept);
    const service = await world.service();
    await world.log.deleteRecords('n', new Map([[0, 2]]));
    const lost = {
      code: 'OFFSET_OUT_OF_RANGE',
      message: 'flow "f" cannot go on: topic "n" has lost its first records',
    };
    const stops = async () => (await world.outside()).catalog.all('stop').map(({ value }) => value);
    await expect.poll(stops, { timeout: 20_000 }).toMatchObject([lost]);
    await service.stop().catch(() => undefined);
    await expect(world.update()).rejects.toMatchObject(lost);
  });

  test('a table that a view reads: the view stops', async () => {
    const world = await filled(counted);
    const before = shown(world);
    await world.log.deleteRecords('t', new Map([[0, 2]]));
    await more(world);
    await expect(world.update()).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
    expect(shown(world)).toEqual(before);
  });
});
