import { expect, test } from 'vitest';
import { RateLimiter } from '../../../src/adapters/http/rate-limiter.ts';

test('a burst is let through, then as many as the rate allows', () => {
  const limiter = new RateLimiter({ perSecond: 2, burst: 4 });
  const taken = Array.from({ length: 6 }, () => limiter.take('a', 1_000));
  expect(taken).toEqual([0, 0, 0, 0, 1, 1]);
  expect(limiter.take('a', 1_500)).toBe(0);
  expect(limiter.take('a', 1_500)).toBe(1);
  expect(limiter.take('a', 60_000)).toBe(0);
});

test('addresses do not share a bucket', () => {
  const limiter = new RateLimiter({ perSecond: 1, burst: 1 });
  expect(limiter.take('a', 0)).toBe(0);
  expect(limiter.take('a', 0)).toBe(1);
  expect(limiter.take('b', 0)).toBe(0);
});

test('the address that was seen longest ago is forgotten first', () => {
  const limiter = new RateLimiter({ perSecond: 0.001, burst: 1 });
  expect(limiter.take('first', 0)).toBe(0);
  expect(limiter.take('kept', 0)).toBe(0);
  for (let index = 0; index < 998; index += 1) limiter.take(`other ${index}`, 0);
  expect(limiter.take('kept', 1)).toBeGreaterThan(0);
  limiter.take('one more', 1);
  expect(limiter.take('first', 1)).toBe(0);
});
