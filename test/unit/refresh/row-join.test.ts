import { describe, expect, test } from 'vitest';
import { isSameSet, type JoinSet, joinKept, lostRows } from '../../../src/refresh/row-join.ts';

/** `x@1` is row x of source 1; a set without rows is a level. */
function set(sequence: number, ...rows: readonly string[]): JoinSet {
  return {
    sequence: Buffer.from([sequence]),
    rows: rows.map((text) => {
      const [json = '', ...sources] = text.split('@');
      return { json: Buffer.from(json), sources: sources.map((one) => Buffer.from(one)) };
    }),
    ...(rows.length === 0 ? { levelSource: Buffer.from('m') } : {}),
  };
}

function text(found: JoinSet | undefined): string | undefined {
  return found?.rows.map(({ json, sources }) => [json, ...sources].join('@')).join(' ');
}

describe('what can not be read again joins what was computed anew', () => {
  test.each([
    ['nothing was computed', undefined, set(5, 'a@1'), 'kept', 'a@1'],
    ['a higher sequence was computed', set(6, 'b@2'), set(5, 'a@1'), 'fresh', 'b@2'],
    ['a lower sequence was computed', set(4, 'b@2'), set(5, 'a@1'), 'kept', 'a@1'],
    ['a tie', set(5, 'b@2'), set(5, 'a@1'), 'joined', 'b@2 a@1'],
    ['the same row', set(5, 'a@1'), set(5, 'a@1'), 'fresh', 'a@1'],
    ['one provenance, computed otherwise', set(5, 'A@1'), set(5, 'a@1'), 'fresh', 'A@1'],
    ['equal rows of which one source is known', set(5, 'a@1'), set(5, 'a@1@2'), 'fresh', 'a@1'],
    ['a level, nothing computed', undefined, set(5), 'kept', ''],
    ['a level over older rows', set(4, 'b@2'), set(5), 'kept', ''],
    ['a level under newer rows', set(6, 'b@2'), set(5), 'fresh', 'b@2'],
    ['a level at the sequence of rows', set(5, 'b@2'), set(5), 'fresh', 'b@2'],
    ['rows at the sequence of a computed level', set(5), set(5, 'a@1'), 'joined', 'a@1'],
    ['rows over a computed level', set(4), set(5, 'a@1'), 'kept', 'a@1'],
    ['rows under a computed level', set(6), set(5, 'a@1'), 'fresh', ''],
  ] as const)('%s', (_, fresh, kept, stands, rows) => {
    const joined = joinKept(fresh, kept);
    expect([joined.stands, text(joined.set)]).toEqual([stands, rows]);
  });
});

describe('what is lost where the fresh set takes the place of all', () => {
  test.each([
    ['nothing was computed', undefined, set(5, 'a@1', 'b@2'), 2],
    ['a lower sequence', set(4, 'c@3'), set(5, 'a@1'), 1],
    ['a higher sequence', set(6, 'c@3'), set(5, 'a@1'), 0],
    ['one of two ties', set(5, 'a@1'), set(5, 'a@1', 'b@2'), 1],
  ] as const)('%s', (_, fresh, unreadable, count) => {
    expect(lostRows(fresh, unreadable)).toHaveLength(count);
  });
});

test.each([
  [set(5, 'a@1', 'b@2'), set(5, 'b@2', 'a@1'), true],
  [set(5, 'a@1@2'), set(5, 'a@2@1'), true],
  [set(5, 'a@1'), set(6, 'a@1'), false],
  [set(5, 'a@1'), set(5, 'b@1'), false],
  [set(5, 'a@1'), set(5, 'a@2'), false],
  [set(5, 'a@1'), set(5, 'a@1', 'a@2'), false],
  [set(5), set(5), true],
])('sets that say the same %#', (left, right, isSame) => {
  expect(isSameSet(left, right)).toBe(isSame);
  expect(isSameSet(right, left)).toBe(isSame);
});
