import { expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import {
  hasBegun,
  type LockFacts,
  lockFlows,
  lockOf,
  markBegun,
  refuseLocked,
  unlockFlows,
} from '../../../src/runtime/topics/locks.ts';

function newCatalogs(count: number): Catalog[] {
  const log = new MemoryLog();
  log.createTopic('p.catalog', 1, { 'cleanup.policy': 'compact' });
  return Array.from({ length: count }, () => new Catalog(log.connect(), 'p.catalog'));
}

function lock(token: string, more: Partial<LockFacts> = {}): LockFacts {
  return { flow: 'f', command: `command ${token}`, token, untilMs: undefined, ...more };
}

test('a lock holds its flow alone, for everybody, until it is let go', async () => {
  const [one, two] = newCatalogs(2) as [Catalog, Catalog];
  await lockFlows(one, [lock('a')], 0);
  await two.read();
  expect(() => refuseLocked(two, 'f', 1)).toThrow(
    expect.objectContaining({ code: 'TABLE_LOCKED', detail: expect.stringContaining('command a') }),
  );
  refuseLocked(two, 'g', 1);
  await expect(lockFlows(two, [lock('b')], 1)).rejects.toMatchObject({ code: 'TABLE_LOCKED' });
  await unlockFlows(one, [lock('a')], 2);
  await two.read();
  refuseLocked(two, 'f', 3);
  await lockFlows(two, [lock('b')], 3);
});

test('of two that lock at once exactly one goes on', async () => {
  for (let round = 0; round < 20; round += 1) {
    const catalogs = newCatalogs(3);
    const outcomes = await Promise.allSettled(
      catalogs.map((catalog, at) => lockFlows(catalog, [lock(`t${at}`)], 0)),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  }
});

test('a lock with an end is nobody’s after it; one without outlives its command', async () => {
  const [one, two] = newCatalogs(2) as [Catalog, Catalog];
  await lockFlows(one, [lock('a', { untilMs: 100 })], 0);
  await two.read();
  expect(lockOf(two, 'f', 99)).toBeDefined();
  expect(lockOf(two, 'f', 100)).toBeUndefined();
  await lockFlows(two, [lock('b')], 101);
  await one.read();
  expect(lockOf(one, 'f', 1e12)).toBeDefined();
});

test('the next attempt of the same command goes on with its lock, and knows whether it had begun', async () => {
  const [one, two] = newCatalogs(2) as [Catalog, Catalog];
  await lockFlows(one, [lock('refresh t')], 0);
  await two.read();
  expect(hasBegun(two, 'f', 'refresh t')).toBe(false);
  await markBegun(one, [lock('refresh t')], 1);
  await lockFlows(two, [lock('refresh t')], 5);
  expect(hasBegun(two, 'f', 'refresh t')).toBe(true);
  expect(hasBegun(two, 'f', 'other')).toBe(false);
});

test('where one of several flows is held none is locked', async () => {
  const [one, two] = newCatalogs(2) as [Catalog, Catalog];
  await lockFlows(one, [lock('a', { flow: 'g' })], 0);
  const both = [lock('b', { flow: 'f' }), lock('b', { flow: 'g' })];
  await expect(lockFlows(two, both, 1)).rejects.toMatchObject({ code: 'TABLE_LOCKED' });
  await one.read();
  expect(lockOf(one, 'f', 2)).toBeUndefined();
});
