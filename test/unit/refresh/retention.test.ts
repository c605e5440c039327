import { describe, expect, test } from 'vitest';
import type { Provenance } from '../../../src/data/provenance.ts';
import {
  type KeyLoss,
  LossAccount,
  type RowFate,
  rowFate,
  rowLoss,
} from '../../../src/refresh/loss.ts';
import {
  isCompactedPolicy,
  type Readability,
  retentionLimit,
  SourceBounds,
  type SourcePartitionFacts,
} from '../../../src/refresh/retention.ts';

const plain = 'a'.repeat(32);
const compacted = 'c'.repeat(32);
const former = 'f'.repeat(32);

function facts(topicId: string, partition: number, isCompacted: boolean): SourcePartitionFacts {
  return {
    source: 's',
    topic: topicId.slice(0, 1),
    topicId,
    partition,
    logStart: 10,
    end: 20,
    committed: 20,
    fromMs: 0,
    toMs: 1,
    isCompacted,
    retentionMs: undefined,
    retentionBytes: undefined,
  };
}

const bounds = new SourceBounds([
  facts(plain, 0, false),
  facts(plain, 1, false),
  facts(compacted, 0, true),
]);

const topics = { plain, compacted, former };
const offsets = { before: 9, first: 10, inside: 15, last: 19, end: 20 };

function at(topicId: string, partition: number, offset: number): Provenance {
  return { topicId, partition, offset, branch: 0, index: 0 };
}

/** All combinations of topic, partition and offset. */
function expected(topic: keyof typeof topics, partition: number, offset: number): Readability {
  if (topic === 'former' || partition === 2) return 'elsewhere';
  if (topic === 'compacted' && partition !== 0) return 'elsewhere';
  if (offset < 10) return 'expired';
  if (offset >= 20) return 'truncated';
  return topic === 'compacted' ? 'at_risk' : 'readable';
}

describe('P055 whether a record can be read again', () => {
  const cases = Object.entries(topics).flatMap(([topic, topicId]) =>
    [0, 1, 2].flatMap((partition) =>
      Object.entries(offsets).map(([where, offset]) => ({
        topic: topic as keyof typeof topics,
        topicId,
        partition,
        where,
        offset,
      })),
    ),
  );
  test.each(cases)('topic $topic, partition $partition, offset $where', (one) => {
    const { topic, topicId, partition, offset } = one;
    expect(bounds.readability(at(topicId, partition, offset))).toBe(
      expected(topic, partition, offset),
    );
  });
});

describe('the fate of a row, and of rows that DISTINCT wrote as one', () => {
  const readable = at(plain, 0, 15);
  const places: Readonly<Record<Readability, Provenance>> = {
    readable,
    at_risk: at(compacted, 0, 15),
    expired: at(plain, 0, 3),
    truncated: at(plain, 1, 25),
    elsewhere: at(former, 0, 15),
  };
  const fates: Readonly<Record<Readability, RowFate>> = {
    readable: 'kept',
    at_risk: 'at_risk',
    expired: 'lost',
    truncated: 'lost',
    elsewhere: 'lost',
  };
  const kinds = Object.keys(places) as Readability[];

  test.each(kinds)('a row of one source: %s', (kind) => {
    expect(rowFate(bounds, [places[kind]])).toBe(fates[kind]);
  });

  // Every subset of the kinds, in both orders: the best of them decides.
  const subsets = Array.from({ length: 2 ** kinds.length - 1 }, (_, bits) =>
    kinds.filter((_, index) => ((bits + 1) >> index) & 1),
  );
  test.each(subsets.map((subset) => [subset.join(' + '), subset] as const))(
    'equal rows: %s',
    (_, subset) => {
      const sources = subset.map((kind) => places[kind]);
      const best = subset.includes('readable')
        ? 'kept'
        : subset.includes('at_risk')
          ? 'at_risk'
          : 'lost';
      expect(rowFate(bounds, sources)).toBe(best);
      expect(rowFate(bounds, [...sources].reverse())).toBe(best);
      expect(rowLoss(bounds, sources)?.sources).toEqual(best === 'kept' ? undefined : sources);
    },
  );
});

describe('the account', () => {
  const lost = rowLoss(bounds, [at(plain, 0, 1)]);
  const risky = rowLoss(bounds, [at(compacted, 0, 12)]);
  if (lost === undefined || risky === undefined) throw new Error('both are lost');

  const cases: readonly (readonly [string, Omit<KeyLoss, 'key'>, number[], number[]])[] = [
    ['nothing', { rows: [], level: undefined }, [0, 0, 0], [0, 0, 0]],
    ['two lost rows', { rows: [lost, lost], level: undefined }, [1, 2, 0], [0, 0, 0]],
    ['a lost level', { rows: [], level: lost }, [1, 0, 1], [0, 0, 0]],
    ['a row at risk', { rows: [risky], level: undefined }, [1, 1, 0], [1, 1, 0]],
    ['a level at risk', { rows: [], level: risky }, [1, 0, 1], [1, 0, 1]],
    ['one lost, one at risk', { rows: [lost, risky], level: undefined }, [1, 2, 0], [0, 1, 0]],
  ];
  test.each(cases)('%s', (_, parts, all, atRisk) => {
    const account = new LossAccount();
    account.add({ key: '{"k":1}', ...parts });
    const report = account.report();
    expect(Object.values(report.lost)).toEqual(all);
    expect(Object.values(report.atRisk)).toEqual(atRisk);
  });

  test('reasons and a bounded sample', () => {
    const account = new LossAccount();
    for (let key = 0; key < 25; key += 1) {
      account.add({ key: `{"k":${key}}`, rows: [lost, risky], level: undefined });
    }
    const report = account.report();
    expect(report.reasons).toEqual({ expired: 25, at_risk: 25 });
    expect(report.sample.map(({ key }) => key)).toEqual(
      Array.from({ length: 10 }, (_, key) => `{"k":${key}}`),
    );
  });
});

test.each([
  ['compact', true],
  ['compact,delete', true],
  ['delete, compact', true],
  ['delete', false],
  [undefined, false],
])('cleanup.policy=%s', (policy, isCompacted) => {
  expect(isCompactedPolicy(policy)).toBe(isCompacted);
});

test.each([
  ['-1', undefined],
  [undefined, undefined],
  ['604800000', 604_800_000],
  ['0', 0],
  ['what', undefined],
])('a limit of %s', (text, limit) => {
  expect(retentionLimit(text)).toBe(limit);
});

describe('rows that came through a table of the pipeline', () => {
  const former = 'f'.repeat(32);
  const through = (
    table: Partial<SourcePartitionFacts>,
    branches: readonly { readonly source: string }[],
  ): SourceBounds =>
    new SourceBounds(
      [
        { ...facts(plain, 0, false) },
        { ...facts('b'.repeat(32), 0, false), source: 'bronze', isTable: true, ...table },
      ],
      branches,
    );

  test.each([
    ['FR-37 a table that kept everything', { logStart: 0 }, 'readable'],
    ['a table that lost its first records', { logStart: 1 }, 'at_risk'],
    ['a table of current rows only', { logStart: 0, isCompacted: true }, 'at_risk'],
  ] as const)('%s', (_, table, expected) => {
    const bounds = through(table, [{ source: 'bronze' }]);
    expect(bounds.readability(at(former, 0, 3))).toBe(expected);
  });

  test('each side of a union is judged by what it reads', () => {
    const bounds = through({ logStart: 0 }, [{ source: 's' }, { source: 'bronze' }]);
    const side = (branch: number, topicId: string, offset: number) =>
      bounds.readability({ ...at(topicId, 0, offset), branch });
    expect(side(0, plain, 3)).toBe('expired');
    expect(side(0, plain, 15)).toBe('readable');
    expect(side(16, plain, 3)).toBe('readable');
    expect(side(17, former, 3)).toBe('readable');
  });
});
