import { expect, test } from 'vitest';
import { aggregates, from, pipeline, stream, testPipeline } from '../../../src/index.ts';

/** Of key 0 to 4 versions 0 to 8: the highest of each is known without the product. */
const changes = Array.from({ length: 45 }, (_, at) => ({
  k: at % 5,
  v: `v${(at * 7) % 9}`,
  seq: BigInt((at * 7) % 9),
}));

function program() {
  const p = pipeline();
  const source = p.source('src', { columns: { k: 'INT', v: 'STRING', seq: 'BIGINT' } });
  const newest = p.table({
    name: 'newest',
    replaceUsing: ['k'],
    sequenceBy: 'seq',
    query: stream(source),
  });
  const counts = p.createStreamingTable({ name: 'counts' });
  p.appendFlow({
    name: 'counted',
    target: counts,
    once: true,
    query: from(newest)
      .groupBy('v')
      .aggregate(() => ({ n: aggregates.count() })),
  });
  const firsts = p.table({
    name: 'firsts',
    query: stream(newest, { skipChangeCommits: true }).select('k', 'seq'),
  });
  return { p, source, counts, firsts };
}

test.each([1, 2, 3, 4])(
  'FL-16 FL-27 processes that die and state that is lost: a once flow over a table, and first versions, seed %i',
  async (faults) => {
    const { p, source, counts, firsts } = program();
    const tested = testPipeline(p, { partitions: 2 });
    try {
      await tested.given(source, changes).run({ faults });
      // Every key stands at version 8, and was counted there, one time.
      expect(tested.rows(counts)).toEqual([{ v: 'v8', n: 5n }]);
      const keys = (tested.rows(firsts) as readonly { readonly k: number }[]).map(({ k }) => k);
      expect([...keys].sort()).toEqual([0, 1, 2, 3, 4]);
      await tested.given(source, [{ k: 0, v: 'v9', seq: 9n }]).run({ faults: faults + 100 });
      expect(tested.rows(counts)).toEqual([{ v: 'v8', n: 5n }]);
      expect(tested.rows(firsts)).toHaveLength(5);
    } finally {
      tested.close();
    }
  },
);
