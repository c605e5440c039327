import { expect, test } from 'vitest';
import { PendingAnswer } from '../../../src/runtime/worker/pending-answer.ts';
import { ManualClock } from '../../../src/testing/manual-clock.ts';

test('what is pending is not asked again, and an answer is taken once', async () => {
  const pending = new PendingAnswer<number>();
  const asked: ((answer: number) => void)[] = [];
  const question = () => new Promise<number>((resolve) => asked.push(resolve));
  expect([pending.isPending, pending.hasAnswer, pending.take()]).toEqual([false, false, undefined]);
  const first = pending.ask(question);
  expect(pending.ask(question)).toBe(first);
  expect([asked.length, pending.isPending, pending.hasAnswer]).toEqual([1, true, false]);
  asked[0]?.(7);
  await first;
  expect([pending.isPending, pending.hasAnswer]).toEqual([true, true]);
  await pending.ask(question);
  expect(asked.length).toBe(1);
  expect([pending.take(), pending.take(), pending.isPending]).toEqual([7, undefined, false]);
  void pending.ask(question);
  expect(asked.length).toBe(2);
});

test('a failure is thrown to whoever takes it, not to whoever asked, and then one may ask again', async () => {
  const pending = new PendingAnswer<number>();
  await pending.ask(() => Promise.reject(new Error('lost')));
  expect(pending.hasAnswer).toBe(true);
  expect(() => pending.take()).toThrow('lost');
  await pending.ask(() => Promise.resolve(1));
  expect(pending.take()).toBe(1);
});

test('an answer that does not come within the time is that of the next look, which asks nothing anew', async () => {
  const clock = new ManualClock();
  const pending = new PendingAnswer<number>();
  const asked: ((answer: number) => void)[] = [];
  const question = () => new Promise<number>((resolve) => asked.push(resolve));
  const first = pending.within(clock, 100, question);
  await clock.advance(100);
  expect(await first).toBeUndefined();
  asked[0]?.(7);
  expect(await pending.within(clock, 100, question)).toBe(7);
  expect(asked.length).toBe(1);
  await expect(pending.within(clock, 100, () => Promise.reject(new Error('lost')))).rejects.toThrow(
    'lost',
  );
});
