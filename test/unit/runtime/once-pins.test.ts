import { expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import { pinOnce, readPins, recordOnceDone } from '../../../src/runtime/views/once-pins.ts';
import { planned } from '../../support/append-world.ts';

const plan = planned(`CREATE SOURCE s (id INT); CREATE STREAMING TABLE t;
CREATE FLOW f AS INSERT INTO ONCE t BY NAME SELECT id FROM s;`);
const [flow] = plan.flows;
const topics = [{ topic: 's', partitions: 1 }];

function world() {
  const log = new MemoryLog();
  log.createTopic('s', 1);
  log.createTopic('p.catalog', 1, { 'cleanup.policy': 'compact' });
  log.produce('s', 0, { value: '{"id":1}' });
  const catalog = (): Catalog => new Catalog(log.connect(), 'p.catalog');
  return { log, catalog };
}

function endsOf(pins: ReturnType<typeof readPins>): unknown {
  return pins?.ends.get('s');
}

test('FL-16 pins that were written first hold, whoever wakes up later and writes what there is by then', async () => {
  if (flow === undefined) throw new Error('the plan has no flow');
  const { log, catalog } = world();
  const [sleeper, owner] = [catalog(), catalog()];
  await sleeper.read();
  await owner.read();
  const options = { flow, topics, log: log.connect(), nowMs: 0, listener: () => undefined };
  expect(endsOf(await pinOnce({ ...options, catalog: owner }))).toEqual([1]);
  log.produce('s', 0, { value: '{"id":2}' });
  // It knows of no pins: it looked before they were there.
  expect(endsOf(await pinOnce({ ...options, catalog: sleeper }))).toEqual([1]);
  for (const compacted of [false, true]) {
    if (compacted) log.compact('p.catalog');
    const later = catalog();
    await later.read();
    expect(endsOf(readPins(flow, later)), `compacted: ${compacted}`).toEqual([1]);
  }
  await owner.read();
  await recordOnceDone(owner, 'f', 0);
  log.compact('p.catalog');
  const last = catalog();
  await last.read();
  expect(readPins(flow, last)).toMatchObject({ isDone: true });
  expect(endsOf(readPins(flow, last))).toEqual([1]);
});

test('FL-16 pins of a generation that is past hold no more', async () => {
  if (flow === undefined) throw new Error('the plan has no flow');
  const { log, catalog } = world();
  const [former, now] = [catalog(), catalog()];
  await former.read();
  const options = { flow, topics, log: log.connect(), nowMs: 0, listener: () => undefined };
  await pinOnce({ ...options, catalog: now });
  await now.write([{ kind: 'generation', name: 'f', value: { generation: 1 } }], 0);
  log.produce('s', 0, { value: '{"id":2}' });
  expect(endsOf(await pinOnce({ ...options, catalog: now }))).toEqual([2]);
  // Somebody who was away meanwhile writes for the generation that he knows.
  await former.write([{ kind: 'once', name: 'f', value: { generation: 0, ends: { s: [1] } } }], 0);
  await now.read();
  expect(endsOf(readPins(flow, now))).toEqual([2]);
});
