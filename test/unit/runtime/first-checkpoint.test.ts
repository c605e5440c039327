import { expect, test } from 'vitest';
import { defaultWorkerSettings, startWorker } from '../../../src/runtime/worker/start-worker.ts';
import { planned, worldOf } from '../../support/append-world.ts';

const sql = `CREATE SOURCE src (k INT, seq BIGINT);
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(src);
CREATE STREAMING TABLE u FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(src);`;

test('P047 a flow has its first checkpoint before the next one joins its group, however long that takes', async () => {
  const world = worldOf(sql, 1);
  const client = world.log.connect();
  const joinGroup = client.joinGroup.bind(client);
  let joined = 0;
  client.joinGroup = (options) => {
    const member = joinGroup(options);
    joined += 1;
    if (joined > 1) member.rejoin = () => new Promise(() => undefined);
    return member;
  };
  const worker = await startWorker({
    plan: planned(sql),
    log: client,
    state: world.state,
    clock: world.clock,
    listener: () => undefined,
    replicationFactor: -1,
    settings: { ...defaultWorkerSettings, pipeline: 'test', instance: 'one', token: 'one' },
  });
  void worker.run();
  await world.clock.sleep(5_000);
  expect(world.log.committedNow('test.t', 'src', 0)).toMatchObject({ offset: 0 });
  client.kill();
  world.close();
});
