import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RuntimeEvent } from '../../../src/runtime/runtime-events.ts';
import { fenceOthers } from '../../../src/runtime/takeover/takeover.ts';
import { Catalog, catalogRecord } from '../../../src/runtime/topics/catalog.ts';
import { lockFlows } from '../../../src/runtime/topics/locks.ts';
import { forgetWriter, nameWriter } from '../../../src/runtime/topics/named-writers.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { worldOf } from '../../support/append-world.ts';

const topic = 'test.catalog';
const writer = 'test.h.result';
let world: PipelineWorld;
let catalog: Catalog;

beforeEach(async () => {
  world = worldOf(
    'CREATE SOURCE s (k STRING); CREATE STREAMING TABLE t AS SELECT k FROM STREAM(s);',
    1,
  );
  await world.log.createTopics([
    { name: topic, partitions: 1, replicationFactor: -1, configs: {} },
  ]);
  catalog = new Catalog(world.log, topic);
});

afterEach(async () => {
  await catalog.close();
  world.close();
});

/** Somebody dies with a record of the catalog in its transaction, before or after an instance enters itself. */
async function dieOpen(): Promise<void> {
  const dead = await world.log.connect().openProducer(writer);
  const entry = { kind: 'once' as const, name: 'h', value: {} };
  dead.append(topic, 0, catalogRecord(entry, 1));
  await dead.drain();
}

/** By somebody who does not look at what he has written. */
async function enterUnseen(entry: Parameters<typeof catalogRecord>[0]): Promise<void> {
  const producer = await world.log.connect().openProducer(undefined);
  producer.append(topic, 0, catalogRecord(entry, 1));
  await producer.commit([]);
}

test('P071 whoever enters a lock sees what others entered before, also behind what a dead writer left open', async () => {
  await nameWriter(catalog, writer, 1);
  await dieOpen();
  const lock = { flow: 'h', command: 'refresh t', token: 'first', untilMs: null, sinceMs: 1 };
  await enterUnseen({ kind: 'lock', name: 'h/first', value: lock });
  const second = { flow: 'h', command: 'refresh t', token: 'second', untilMs: undefined };
  await expect(lockFlows(catalog, [second], 2)).rejects.toMatchObject({ code: 'TABLE_LOCKED' });
  expect(catalog.get('lock', 'h/second')).toBeUndefined();
  expect(catalog.get('once', 'h')).toBeUndefined();
});

test('P071 an instance whose entry is hidden behind what a dead writer left open in the catalog is fenced as well', async () => {
  await nameWriter(catalog, writer, 1);
  await dieOpen();
  await enterUnseen({ kind: 'instance', name: 'test-pod-7', value: {} });
  await catalog.read();
  expect(catalog.get('instance', 'test-pod-7')).toBeUndefined();
  const events: RuntimeEvent[] = [];
  await fenceOthers(
    { catalog, log: world.log, listener: (event) => events.push(event), own: undefined },
    'it may hold a topic',
  );
  const fenced = events.flatMap((one) => (one.event === 'fencing' ? [one.transactionalId] : []));
  expect(fenced).toEqual([writer, 'test-pod-7']);
  expect(catalog.get('once', 'h')).toBeUndefined();
});

test('a writer is entered once, and forgotten once it is done', async () => {
  const position = await nameWriter(catalog, writer, 1).then(() => catalog.position);
  await nameWriter(catalog, writer, 2);
  expect(catalog.position).toBe(position);
  expect(catalog.all('instance').map(({ name }) => name)).toEqual([writer]);
  await forgetWriter(catalog, writer, 3);
  await forgetWriter(catalog, writer, 4);
  expect(catalog.all('instance')).toEqual([]);
  expect(catalog.position).toBe(position + 1);
});
