import { expect, test } from 'vitest';
import { progressText, refreshFigures } from '../../../src/refresh/refresh-progress.ts';

const building = { state: 'building', generation: 2 } as const;

test.each([
  ['nothing is known yet', building, 0, undefined],
  ['half, at a rate', { ...building, read: 50, toRead: 100, recordsPerSecond: 10 }, 0.5, 5],
  ['half, no rate', { ...building, read: 50, toRead: 100 }, 0.5, undefined],
  ['a standstill', { ...building, read: 50, toRead: 100, recordsPerSecond: 0 }, 0.5, undefined],
  ['more than was there', { ...building, read: 120, toRead: 100, recordsPerSecond: 10 }, 1, 0],
  ['an empty source', { ...building, read: 0, toRead: 0, recordsPerSecond: 0 }, 0, undefined],
  ['swapping', { ...building, state: 'swapping', read: 50, toRead: 100 }, 1, undefined],
] as const)('FR-34 progress and time left: %s', (_, facts, ratio, secondsLeft) => {
  expect(refreshFigures(facts)).toEqual({ ratio, secondsLeft });
});

test('FR-34 in words', () => {
  expect(progressText({ ...building, read: 45, toRead: 100, recordsPerSecond: 10 })).toBe(
    'generation 2: building it beside the table, 45 % (45 of 100 offsets), 10 records/s, about 6 s left',
  );
  expect(progressText({ ...building, state: 'swapping' })).toBe(
    'generation 2: swapping in the differences',
  );
});
