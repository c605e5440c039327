import { expect, test } from 'vitest';
import { isUnreadable, TrialAccount, trialSpans } from '../../../src/refresh/trial.ts';

test.each([
  [0, 100],
  [1, 100],
  [100, 100],
  [101, 100],
  [5_000, 100],
  [10_000, 3_500],
  [1_000_000, 100_000],
  [999_983, 99_991],
])(
  'FR-07 of %i records with room for %i an even part is tried, no record twice',
  (length, budget) => {
    const range = { from: 40, to: 40 + length };
    const spans = trialSpans(range, budget);
    const tried = spans.reduce((sum, { from, to }) => sum + to - from, 0);
    expect(tried).toBeLessThanOrEqual(budget);
    expect(tried).toBeGreaterThan(Math.min(length, budget) - 9);
    for (const [at, { from, to }] of spans.entries()) {
      expect(from).toBeLessThan(to);
      expect(from).toBeGreaterThanOrEqual(spans[at - 1]?.to ?? range.from);
    }
    if (length > 0) expect(spans[0]?.from).toBe(range.from);
    if (spans.length > 1) expect(spans.at(-1)?.to).toBe(range.to);
  },
);

test('a record counts once, what was a dead letter before not at all, and no more than some are shown', () => {
  const account = new TrialAccount([]);
  const fault = { errorClass: 'BAD', message: 'it is bad' };
  const at = (offset: number) => ({ topic: 't', partition: 0, offset });
  expect(isUnreadable(account.report())).toBe(false);
  expect([1, 1, 2].map((offset) => account.add(at(offset), fault, 'dead_letter'))).toEqual([
    true,
    false,
    true,
  ]);
  account.add(at(3), fault, 'known');
  for (let offset = 4; offset < 20; offset += 1) account.add(at(offset), fault, 'stop');
  const report = account.report();
  expect(report).toMatchObject({ deadLetters: 2, stops: 16, reasons: { BAD: 18 } });
  expect(report.sample.map(({ offset }) => offset)).toEqual([1, 2, 4, 5, 6]);
  expect(isUnreadable(report)).toBe(true);
});

test('too many dead letters in a thousand records stop the flow once each thousand', () => {
  const account = new TrialAccount([]);
  const add = (offset: number) =>
    account.addToShare({ topic: 't', partition: 0, offset }, 100, 0.002);
  for (const offset of [100, 101]) add(offset);
  expect(account.report().stops).toBe(0);
  for (const offset of [102, 103, 1_100, 1_101]) add(offset);
  expect(account.report().stops).toBe(1);
  add(1_102);
  expect(account.report().stops).toBe(2);
});
