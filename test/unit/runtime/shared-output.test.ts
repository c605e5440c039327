import { expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import type { Log, LogReader } from '../../../src/ports/log.ts';
import { overriding } from '../../../src/runtime/refresh/overriding.ts';
import { ownedByOthers } from '../../../src/runtime/topics/other-owners.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';

const sqlOf = (name: string): string =>
  `CREATE STREAMING TABLE ${name} WITH (topic = 'shared') FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);`;

/** Two pipelines on one log, both of which name topic "shared". */
async function two(): Promise<readonly [RefreshWorld, RefreshWorld]> {
  const first = new RefreshWorld(sqlOf('t'), ['a'], 1);
  const second = new RefreshWorld(sqlOf('u'), [], 1, first.log);
  second.pipeline = 'q';
  return [first, second];
}

const ownedBy = (owner: string) => ({
  code: 'TOPIC_CONFIG',
  message: `topic "shared" is written by pipeline "${owner}"`,
  hint: expect.stringContaining("WITH (topic = '…')"),
});

test.each([
  ['one after the other, before anything is written', false, false],
  ['one after the other, with rows in it', true, false],
  ['the other way round', true, true],
])(
  'two pipelines name one output topic, %s: the later one is told whose it is',
  async (_, isFilled, isTurned) => {
    const worlds = await two();
    const [first, later] = isTurned ? worlds.toReversed() : worlds;
    if (first === undefined || later === undefined) throw new Error('no worlds');
    if (isFilled) await worlds[0].produce('a', 0, { k: 'k1', seq: 1, v: 'x' });
    await first.update();
    const before = first.log.rangeNow('shared', 0);
    const refused = ownedBy(first.pipeline);
    await expect(later.update()).rejects.toMatchObject(refused);
    // Told by the check that a start makes, nothing is entered that could hold up the first one.
    await expect(later.update()).rejects.toMatchObject(refused);
    expect(first.log.rangeNow('shared', 0)).toEqual(before);
    await worlds[0].produce('a', 0, { k: 'k2', seq: 2, v: 'y' });
    await first.update();
    expect(first.log.rangeNow('shared', 0).end).toBeGreaterThan(before.end);
  },
);

test('two pipelines name one output topic and start at once: no more than one goes on', async () => {
  for (let round = 0; round < 5; round += 1) {
    const [first, second] = await two();
    await first.produce('a', 0, { k: 'k1', seq: 1, v: 'x' });
    const ends = await Promise.allSettled([first.update(), second.update()]);
    const refused = ends.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThanOrEqual(1);
    expect(first.log.readCommitted('shared').length).toBe(2 - refused.length);
  }
});

test('a topic that only has the name of a catalog is no pipeline', async () => {
  const [first] = await two();
  first.log.createTopic('product.catalog', 1);
  first.log.produce('product.catalog', 0, { key: 'shoes', value: '{}' });
  first.log.createTopic('other.catalog', 4);
  await first.produce('a', 0, { k: 'k1', seq: 1, v: 'x' });
  await first.update();
  expect(first.log.readCommitted('shared')).toHaveLength(1);
});

test('P053 the catalog of another pipeline is deleted while it is read: it has nothing to tell any more', async () => {
  const memory = new MemoryLog({ clock: systemClock });
  memory.createTopic('gone.catalog', 1);
  memory.produce('gone.catalog', 0, { value: '{}' });
  const log = overriding(memory as Log, {
    openReader: () => {
      const reader = memory.openReader();
      return overriding<LogReader>(reader, {
        poll: () => {
          if (memory.partitionCountNow('gone.catalog') > 0) memory.deleteTopic('gone.catalog');
          return Promise.resolve([]);
        },
      });
    },
  });
  const topics = [{ name: 't', topicId: 'of-t' }];
  expect(await ownedByOthers({ log, pipeline: 'p' }, topics)).toEqual([]);
});
