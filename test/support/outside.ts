import { systemClock } from '../../src/adapters/system/system-clock.ts';
import type { OutsideOptions } from '../../src/runtime/refresh/refresh-checkpoints.ts';
import { Catalog } from '../../src/runtime/topics/catalog.ts';
import type { RefreshWorld } from './refresh-world.ts';

/** What a command that changes checkpoints from outside is given. */
export async function outside(world: RefreshWorld): Promise<OutsideOptions & { waitMs: number }> {
  const catalog = new Catalog(world.log, 'p.catalog');
  await catalog.read();
  return {
    log: world.log,
    catalog,
    clock: systemClock,
    pipeline: 'p',
    plan: world.plan,
    listener: () => undefined,
    command: 'test',
    token: `test-${Math.random()}`,
    waitMs: 150,
  };
}

/** The first flow of the pipeline as its files are now. */
export function flowOf(world: RefreshWorld) {
  const [flow] = world.plan.flows;
  if (flow === undefined) throw new Error('the pipeline has a flow');
  return flow;
}

/** An instance of the pipeline that is gone holds a checkpoint in a transaction which nobody has ended. */
export async function leaveOpen(world: RefreshWorld, group: string, topic = 'a'): Promise<void> {
  const dead = world.log.connect();
  const member = dead.joinGroup({
    group,
    topics: [topic],
    instanceId: undefined,
    sessionTimeoutMs: 50,
    rebalanceTimeoutMs: 50,
  });
  const { identity } = await member.rejoin();
  const producer = await world.log
    .connect({ betweenCommitSteps: () => new Promise(() => undefined) })
    .openProducer('p-dead');
  const offsets = [{ topic, partition: 0, offset: 3, metadata: '' }];
  void producer.commit([{ member: identity, offsets }]);
  await systemClock.sleep(5);
  const { catalog } = await outside(world);
  await catalog.write([{ kind: 'instance', name: 'p-dead', value: {} }], 0);
  dead.kill();
  await systemClock.sleep(80);
}
