import { describe, expect, test } from 'vitest';
import type { RowLoss } from '../../../src/refresh/loss.ts';
import { LostKeys } from '../../../src/refresh/lost-keys.ts';

function lossAt(offset: number): RowLoss {
  return {
    fate: 'lost',
    reason: 'expired',
    sources: [{ topicId: 'a'.repeat(32), partition: 0, offset, branch: 0, index: 0 }],
  };
}

function newKeys(): LostKeys {
  return new LostKeys();
}

function found(keys: LostKeys): Record<string, readonly number[]> {
  return Object.fromEntries(
    [...keys.losses()].map(({ key, rows, level }) => [
      key,
      [...rows, ...(level === undefined ? [] : [level])].map(
        ({ sources }) => sources[0]?.offset ?? -1,
      ),
    ]),
  );
}

describe('whole row-sets', () => {
  test('the last record of a key counts', () => {
    const keys = newKeys();
    keys.record({ key: 'x', position: 0, sequence: '1', losses: [lossAt(1), lossAt(2)] });
    keys.record({ key: 'y', position: 0, sequence: '1', losses: [lossAt(3)] });
    keys.record({ key: 'x', position: 0, sequence: '2', losses: [] });
    keys.record({ key: 'z', position: 0, sequence: '9', losses: [] });
    expect(found(keys)).toEqual({ y: [3] });
    keys.record({ key: 'y', position: 0, sequence: '1', losses: [lossAt(3), lossAt(4)] });
    expect(found(keys)).toEqual({ y: [3, 4] });
    keys.tombstone('y', 0);
    expect(found(keys)).toEqual({});
  });

  test('a key that loses nothing takes no memory', () => {
    const keys = newKeys();
    keys.record({ key: 'x', position: 0, sequence: '1', losses: [] });
    keys.tombstone('y', 0);
    keys.level('z', undefined);
    expect(keys.heldBytes).toBe(0);
    keys.record({ key: 'x', position: 0, sequence: '1', losses: [lossAt(1)] });
    expect(keys.heldBytes).toBeGreaterThan(0);
    keys.record({ key: 'x', position: 0, sequence: '2', losses: [] });
    keys.level('z', lossAt(1));
    keys.level('z', undefined);
    keys.record({ key: 'w', position: 0, sequence: '1', losses: [lossAt(1), lossAt(2)] });
    keys.drop(() => true);
    expect(keys.heldBytes).toBe(0);
    expect(found(keys)).toEqual({});
  });
});

describe('numbered rows', () => {
  test('each number is a record of its own', () => {
    const keys = newKeys();
    keys.record({ key: 'x', position: 0, sequence: '5', losses: [lossAt(1)] });
    keys.record({ key: 'x', position: 1, sequence: '5', losses: [] });
    keys.record({ key: 'x', position: 2, sequence: '5', losses: [lossAt(3)] });
    expect(found(keys)).toEqual({ x: [1, 3] });
    keys.tombstone('x', 0);
    expect(found(keys)).toEqual({ x: [3] });
  });

  test('a row of a higher sequence leaves the rest behind as leftovers without tombstones', () => {
    const keys = newKeys();
    keys.record({ key: 'x', position: 0, sequence: '5', losses: [lossAt(1)] });
    keys.record({ key: 'x', position: 1, sequence: '5', losses: [lossAt(2)] });
    keys.record({ key: 'x', position: 0, sequence: '10', losses: [] });
    expect(found(keys)).toEqual({});
    keys.record({ key: 'x', position: 1, sequence: '10', losses: [lossAt(7)] });
    expect(found(keys)).toEqual({ x: [7] });
  });
});

describe('levels', () => {
  test('a level that can not be read again counts, and a tombstone of it takes it back', () => {
    const keys = newKeys();
    keys.level('x', lossAt(1));
    keys.level('y', lossAt(2));
    keys.level('x', undefined);
    expect(found(keys)).toEqual({ y: [2] });
  });
});
