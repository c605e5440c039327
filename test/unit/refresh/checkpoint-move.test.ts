import { describe, expect, test } from 'vitest';
import {
  type CheckpointRow,
  decideMoves,
  type MoveTarget,
  moveTotals,
} from '../../../src/refresh/checkpoint-move.ts';

const row: CheckpointRow = {
  stage: 'source',
  topic: 's',
  partition: 0,
  start: 10,
  end: 20,
  committed: 15,
  isDamaged: false,
};

function at(name: string, offset: number): ReadonlyMap<string, number> {
  return new Map([[name, offset]]);
}

type Case = readonly [
  title: string,
  row: Partial<CheckpointRow>,
  target: MoveTarget,
  expected: string | undefined,
];

const earliest: MoveTarget = { to: 'earliest' };
const latest: MoveTarget = { to: 'latest' };
const named: MoveTarget = { to: 'offsets', offsets: at('s/0', 12) };

/** `from>to again/skipped`, and `!` where the metadata is repaired. */
const cases: readonly Case[] = [
  ['FR-39 earliest', {}, earliest, '15>10 5/0'],
  ['latest', {}, latest, '15>20 0/5'],
  ['one offset for all', {}, { to: 'offset', offset: 18 }, '15>18 0/3'],
  ['a named partition', {}, named, '15>12 3/0'],
  [
    'a partition that is not named',
    { partition: 1 },
    { to: 'offsets', offsets: new Map() },
    undefined,
  ],
  ['a time', {}, { to: 'time', offsets: at('s/0', 13) }, '15>13 2/0'],
  ['a time before the log', {}, { to: 'time', offsets: at('s/0', 4) }, '15>10 5/0'],
  ['a time behind the facts', {}, { to: 'time', offsets: at('s/0', 25) }, '15>20 0/5'],
  ['where it stands already', { committed: 10 }, earliest, undefined],
  [
    'P113 damaged, to the same offset',
    { isDamaged: true },
    { to: 'offset', offset: 15 },
    '15>15 0/0!',
  ],
  ['P113 damaged, elsewhere', { isDamaged: true }, earliest, '15>10 5/0!'],
  [
    'P113 damaged and not named',
    { isDamaged: true },
    { to: 'offsets', offsets: new Map() },
    '15>15 0/0!',
  ],
  ['FR-30 a lost checkpoint', { committed: undefined }, earliest, '->10 0/0'],
  ['a lost checkpoint, to the end', { committed: undefined }, latest, '->20 0/10'],
  ['FR-29 an expired checkpoint', { committed: 4 }, earliest, '4>10 0/0'],
  ['a checkpoint behind the end', { committed: 30 }, latest, '30>20 10/0'],
  ['between the stages: stays', { stage: 'repartition' }, earliest, undefined],
  ['between the stages, by name', { stage: 'repartition' }, named, '15>12 3/0'],
  [
    'FR-30 between the stages, lost: from the first row that is there, wherever the sources go',
    { stage: 'repartition', committed: undefined },
    latest,
    '->10 0/0',
  ],
  [
    'FR-30 between the stages, lost and not named',
    { stage: 'repartition', committed: undefined },
    { to: 'offsets', offsets: new Map() },
    undefined,
  ],
  [
    'between the stages, damaged',
    { stage: 'repartition', isDamaged: true },
    earliest,
    '15>15 0/0!',
  ],
];

test.each(cases)('%s', (_, facts, target, expected) => {
  const moves = decideMoves([{ ...row, ...facts }], target);
  const texts = moves.map(
    ({ from, offset, again, skipped, isRepaired }) =>
      `${from ?? '-'}>${offset} ${again}/${skipped}${isRepaired ? '!' : ''}`,
  );
  expect(texts).toEqual(expected === undefined ? [] : [expected]);
});

describe('refused', () => {
  test.each([
    ['below the log start', { to: 'offset', offset: 9 }],
    ['behind the end', { to: 'offset', offset: 21 }],
    ['a name that is not read', { to: 'offsets', offsets: at('x/0', 12) }],
    ['a partition that is not there', { to: 'offsets', offsets: at('s/7', 12) }],
  ] as const)('%s', (_, target) => {
    expect(() => decideMoves([row], target)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });

  test('a damaged checkpoint outside of the log is not written anew where it stands', () => {
    const damaged = { ...row, isDamaged: true, committed: 4 };
    expect(() => decideMoves([damaged], { to: 'offsets', offsets: new Map() })).toThrow(/outside/);
  });
});

test('totals', () => {
  const rows = [row, { ...row, partition: 1, committed: 12, isDamaged: true }];
  expect(moveTotals(decideMoves(rows, { to: 'offset', offset: 14 }))).toEqual({
    again: 1,
    skipped: 2,
    repaired: 1,
  });
});
