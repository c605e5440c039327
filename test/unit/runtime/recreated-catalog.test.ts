import { describe, expect, test } from 'vitest';
import { RefreshWorld } from '../../support/refresh-world.ts';

const sql =
  'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);';
const second = `${sql}
CREATE STREAMING TABLE u FLOW REPLACE USING (v) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);`;

describe.concurrent('P053 the catalog topic is deleted and created again while the service runs', () => {
  test.each([
    ['one flow', sql],
    ['two flows', second],
  ])('%s: the service ends and says so, and no later one goes on', async (_, text) => {
    const world = new RefreshWorld(text, ['a'], 1);
    await world.produce('a', 0, { k: 'k1', seq: 1, v: 'x' });
    const service = await world.service();
    await expect.poll(() => world.log.readCommitted('t').length, { timeout: 20_000 }).toBe(1);
    world.log.deleteTopic('p.catalog');
    world.log.createTopic('p.catalog', 1, { 'cleanup.policy': 'compact', 'retention.ms': '-1' });
    await expect(service.ended).rejects.toMatchObject({
      code: 'DEFINITION_MISSING',
      message: expect.stringContaining('catalog topic "p.catalog" was deleted'),
      hint: expect.stringContaining('tidemark refresh TABLE --in-place'),
    });
    await world.produce('a', 0, { k: 'k1', seq: 2, v: 'y' });
    await expect(world.update()).rejects.toMatchObject({ code: 'DEFINITION_MISSING' });
    expect(world.log.readCommitted('t')).toHaveLength(1);
  });
});
