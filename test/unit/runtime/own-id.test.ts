import { expect, test } from 'vitest';
import type { CatalogEntry } from '../../../src/runtime/topics/catalog.ts';
import { OwnId } from '../../../src/runtime/worker/own-id.ts';

const idle = (): Promise<void> => Promise.resolve();

function ownId(token = 'one'): OwnId {
  const instance = 'pod-0';
  return new OwnId({ name: 'p-pod-0', instance, token, isTransactional: true, renew: idle });
}

function processAt(position: number, ms: number, token = 'one') {
  const own = ownId(token);
  const entry = { ...own.entry({ position }, ms), offset: position };
  return { own, entry };
}

function holding(entry: CatalogEntry | undefined): { get: () => CatalogEntry | undefined } {
  return { get: () => entry };
}

test('of two processes of one name the one that began first gives way, and is told how to be called', () => {
  const { own } = processAt(10, 1_000);
  const { entry } = processAt(12, 900);
  expect(own.isOvertaken(holding(entry))).toBe(true);
  expect(() => own.refuseOvertaken(holding(entry))).toThrow(
    expect.objectContaining({
      code: 'TASK_MIGRATED',
      hint: expect.stringContaining('--instance.name'),
    }),
  );
});

test('where the catalog stood at the same place, the clock decides', () => {
  const { own } = processAt(10, 1_000);
  expect(own.isOvertaken(holding(processAt(10, 1_001).entry))).toBe(true);
  expect(own.isOvertaken(holding(processAt(10, 999).entry))).toBe(false);
});

test('96042976 of two that began at one place and at one time exactly one gives way, by what tells them apart', () => {
  const one = processAt(10, 1_000, 'one');
  const two = processAt(10, 1_000, 'two');
  expect(one.own.isOvertaken(holding(two.entry))).toBe(true);
  expect(two.own.isOvertaken(holding(one.entry))).toBe(false);
  // A process is no other one than itself, whoever enters it again.
  expect(one.own.isOvertaken(holding(one.entry))).toBe(false);
});

test('what tells them apart decides only where place and time do not', () => {
  const { own } = processAt(10, 1_000, 'two');
  expect(own.isOvertaken(holding(processAt(10, 1_001, 'one').entry))).toBe(true);
  expect(own.isOvertaken(holding(processAt(12, 900, 'one').entry))).toBe(true);
  const later = processAt(12, 900, 'one');
  expect(later.own.isOvertaken(holding(processAt(10, 1_000, 'two').entry))).toBe(false);
});

test('a process gives way to none that began before it, however late it enters itself, nor to one that has ended', () => {
  const { own, entry } = processAt(12, 1_000);
  const again = own.entry({ position: 40 }, 5_000);
  expect(again.value).toEqual(entry.value);
  const earlier = processAt(10, 2_000);
  expect(own.isOvertaken(holding({ ...earlier.entry, offset: 50 }))).toBe(false);
  expect(own.isOvertaken(holding(undefined))).toBe(false);
  expect(() => own.refuseOvertaken(holding({ ...earlier.entry, offset: 50 }))).not.toThrow();
  expect(ownId().isOvertaken(holding(entry))).toBe(false);
});
