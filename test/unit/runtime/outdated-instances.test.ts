import { expect, test } from 'vitest';
import { outdatedText } from '../../../src/cli/refresh-plan.ts';
import { outdatedInstances } from '../../../src/runtime/inspect/outdated-instances.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';

const sqlOf = (value: string): string => `CREATE STREAMING TABLE t
    FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, ${value} AS v FROM STREAM(a);`;

async function outdated(world: RefreshWorld): Promise<number> {
  const { log, catalog, pipeline, plan } = await world.outside();
  const [table] = plan.tables;
  if (table === undefined) throw new Error('no table');
  return outdatedInstances({ log, catalog, pipeline, plan, table });
}

test('FR-11 instances that run another definition than the files are counted before a refresh begins', async () => {
  const world = new RefreshWorld(sqlOf('v'), ['a'], 1);
  await world.produce('a', 0, { k: 'x', seq: 1, v: '1' });
  await world.update();
  const service = await world.service();
  try {
    await expect.poll(() => world.log.groupMembers('p.t')).toHaveLength(1);
    expect(await outdated(world)).toBe(0);
    world.sql = sqlOf('upper(v)');
    expect(await outdated(world)).toBe(1);
  } finally {
    await service.stop();
  }
  expect(await outdated(world)).toBe(0);
  expect(outdatedText(1)).toMatch(/^1 instance runs another definition .* stops /);
  expect(outdatedText(2)).toMatch(/^2 instances run another definition .* stop /);
});
