import { expect, test } from 'vitest';
import { oncePer, oncePerPair } from '../../../src/base/once-per.ts';

test('what is derived from an object is derived once, also where there is nothing', () => {
  const asked: object[] = [];
  const sizeOf = oncePer((items: readonly number[]) => {
    asked.push(items);
    return items.length === 0 ? undefined : items.length;
  });
  const [two, none] = [[1, 2], []];
  expect([sizeOf(two), sizeOf(none), sizeOf(two), sizeOf(none)]).toEqual([
    2,
    undefined,
    2,
    undefined,
  ]);
  expect(asked).toEqual([two, none]);
  expect(sizeOf([1, 2])).toBe(2);
  expect(asked).toHaveLength(3);
});

test('of two objects it is derived once for both together', () => {
  const texts = oncePerPair((left: { name: string }, right: { name: string }) => [
    left.name + right.name,
  ]);
  const [a, b] = [{ name: 'a' }, { name: 'b' }];
  expect(texts(a, b)).toBe(texts(a, b));
  expect(texts(a, b)).toEqual(['ab']);
  expect(texts(b, a)).toEqual(['ba']);
  expect(texts(a, a)).toEqual(['aa']);
});
