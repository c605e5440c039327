import { expect, test } from 'vitest';
import { headroomText } from '../../../src/cli/status.ts';
import { compactionMs, deletionMs, durationText, headroom } from '../../../src/refresh/headroom.ts';

const base = {
  retentionMs: 100_000,
  oldestMs: 1_000,
  nowMs: 31_000,
  committed: 50,
  logStart: 20,
};

test.each([
  ['the oldest record that waits decides', base, { seconds: 70, records: 30, lost: 0 }],
  ['nothing waits', { ...base, oldestMs: undefined }, { seconds: 100, records: 30, lost: 0 }],
  ['kept for ever', { ...base, retentionMs: undefined }, { seconds: Number.POSITIVE_INFINITY }],
  ['overdue', { ...base, nowMs: 201_000 }, { seconds: -100 }],
  ['size is sooner', { ...base, logStartPerSecond: 10 }, { seconds: 3 }],
  ['time is sooner', { ...base, logStartPerSecond: 0.1 }, { seconds: 70 }],
  [
    'size, kept for ever by time',
    { ...base, retentionMs: undefined, logStartPerSecond: 1 },
    { seconds: 30 },
  ],
  [
    'nothing waits, and size moves',
    { ...base, oldestMs: undefined, logStartPerSecond: 10 },
    { seconds: 100 },
  ],
  ['already gone', { ...base, logStart: 60 }, { records: 0, lost: 10 }],
  ['no checkpoint yet', { ...base, committed: undefined }, { records: 0, lost: 0 }],
  ['a timestamp in the future', { ...base, oldestMs: 90_000 }, { seconds: 100 }],
] as const)('headroom: %s', (_, facts, expected) => {
  expect(headroom(facts)).toMatchObject(expected);
});

test.each([
  ['it waits', { ...base, compactionMs: 40_000 }, 10],
  ['it may be gone any moment', { ...base, compactionMs: 0 }, 0],
  ['nothing waits', { ...base, oldestMs: undefined, compactionMs: 0 }, Number.POSITIVE_INFINITY],
  ['the topic is not compacted', base, Number.POSITIVE_INFINITY],
] as const)('what compaction leaves: %s', (_, facts, seconds) => {
  // What is compacted away is no end of the log's beginning: the others stay as they are.
  expect(headroom(facts)).toEqual({
    ...headroom({ ...facts, compactionMs: undefined }),
    compactionSeconds: seconds,
  });
});

test.each([
  [{ 'cleanup.policy': 'compact', 'min.compaction.lag.ms': '5' }, 5],
  [{ 'cleanup.policy': 'delete, compact' }, 0],
  [{ 'cleanup.policy': 'delete', 'min.compaction.lag.ms': '5' }, undefined],
  [{}, undefined],
])('how long compaction leaves a record alone: %o', (configs, expected) => {
  expect(compactionMs(new Map(Object.entries(configs)))).toBe(expected);
});

test.each([
  ['source', 60, null, 0, '1 min'],
  ['source', null, 0, 0, 'for ever, compacted: none'],
  ['source', null, 30, 0, 'for ever, compacted: 30 s'],
  ['source', 60, 0, 3, 'lost 3'],
  ['repartition', null, null, null, '-'],
] as const)('headroom in status: %s %s %s %s', (...[stage, left, compacted, lost, text]) => {
  const one = { stage, headroomSeconds: left, compactionSeconds: compacted, lostRecords: lost };
  expect(headroomText(one)).toBe(text);
});

test.each([
  [{ 'cleanup.policy': 'delete', 'retention.ms': '5' }, 5],
  [{ 'cleanup.policy': 'compact,delete', 'retention.ms': '5' }, 5],
  [{ 'cleanup.policy': 'compact', 'retention.ms': '5' }, undefined],
  [{ 'cleanup.policy': 'delete', 'retention.ms': '-1' }, undefined],
  [{}, undefined],
])('what deletes by time: %o', (configs, expected) => {
  expect(deletionMs(new Map(Object.entries(configs)))).toBe(expected);
});

test.each([
  [Number.POSITIVE_INFINITY, 'for ever'],
  [-3, 'none'],
  [0.4, '0 s'],
  [59, '59 s'],
  [60, '1 min'],
  [61, '1 min 1 s'],
  [3_725, '1 h 2 min'],
  [604_800, '7 d'],
  [100_000, '1 d 3 h'],
])('%d s is %s', (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});
