import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Row } from '../../../src/data/value.ts';
import { columnsOf } from '../../../src/expr/columns.ts';
import { optimizeBranch, sourceColumnsOf } from '../../../src/plan/optimize.ts';
import type { RowStep } from '../../../src/plan/pipeline-plan.ts';
import type { BoundBranch } from '../../../src/plan/relation.ts';
import { boundOf } from './bind-sql.ts';
import { runSteps } from './run-steps.ts';

function branchOf(query: string): BoundBranch {
  const [branch] = boundOf(query).branches;
  if (branch === undefined) throw new Error('no branch');
  return branch;
}

function shape(steps: readonly RowStep[]): string {
  return steps.map(({ step }) => step).join(' ');
}

function optimized(query: string): readonly RowStep[] {
  return optimizeBranch(branchOf(query)).steps;
}

/** Rows of source `s`, NULLs and empty arrays among them. */
const rows: fc.Arbitrary<Row> = fc
  .record({
    k: fc.option(fc.constantFrom('a', 'b', '')),
    seq: fc.bigInt({ min: 0n, max: 9n }),
    n: fc.option(fc.integer({ min: -3, max: 3 })),
    m: fc.option(fc.integer({ min: -3, max: 3 })),
    v: fc.option(fc.constantFrom('x', 'y', '')),
    tags: fc.option(fc.array(fc.option(fc.constantFrom('p', 'q')), { maxLength: 3 })),
    items: fc.option(
      fc.array(fc.option(fc.tuple(fc.constantFrom('s', 't'), fc.integer())), { maxLength: 3 }),
    ),
    p: fc.option(fc.tuple(fc.integer(), fc.constantFrom('b', 'c'))),
  })
  .map(({ k, seq, n, m, v, tags, items, p }) => [
    k,
    seq,
    n,
    m,
    v,
    tags,
    items,
    p,
    null,
    's',
    0,
    5n,
    0n,
    null,
    null,
  ]);

const queries = [
  'SELECT k, seq, n FROM STREAM(s)',
  'SELECT k, a + b AS c FROM (SELECT k, n * 2 AS a, m AS b FROM STREAM(s)) WHERE b > 0',
  'SELECT k, a + 1 AS x, a + 2 AS y FROM (SELECT k, n * m AS a FROM STREAM(s) WHERE n > -2) WHERE a <> 0',
  'WITH b AS (SELECT k, n, v FROM STREAM(s) WHERE n > 0), d AS (SELECT *, n * n AS sq FROM b) SELECT k, sq, sq + 1 AS t, v FROM d WHERE sq < 5',
  'SELECT k, n AS x, x + 1 AS y, y + x AS z, m FROM STREAM(s) WHERE v IS NOT NULL',
  "SELECT k, i.sku, q FROM (SELECT k, n AS q, explode(items) AS i FROM STREAM(s)) WHERE q > 0 AND i.sku = 's'",
  'SELECT k, t FROM (SELECT k, n, explode_outer(tags) AS t FROM STREAM(s)) WHERE n IS NOT NULL',
  'SELECT upper(k) AS k, t, u FROM (SELECT k, t, explode(array(n, m)) AS u FROM (SELECT *, explode(tags) AS t FROM STREAM(s) WHERE n <> 1)) WHERE u > 0',
  "SELECT o.k, pos, e.sku, p.b FROM STREAM(s) o LATERAL VIEW OUTER posexplode(o.items) t AS pos, e WHERE o.v = 'x' OR pos = 0",
  'SELECT p.*, CASE WHEN n > 0 THEN 10 div n ELSE m END AS c FROM STREAM(s)',
];

describe('optimizeBranch', () => {
  test.each(queries)('gives the rows of the steps as written: %s', (query) => {
    const branch = branchOf(query);
    const { steps } = optimizeBranch(branch);
    fc.assert(
      fc.property(rows, (row) => {
        expect(runSteps(steps, row)).toEqual(runSteps(branch.steps, row));
      }),
      { numRuns: 100 },
    );
  });

  test('projections that only rename and those that compute become one', () => {
    expect(
      shape(optimized('SELECT k, seq FROM (SELECT * FROM (SELECT k, seq, n FROM STREAM(s)))')),
    ).toBe('project');
    expect(
      shape(optimized('SELECT k, a + 1 AS b FROM (SELECT k, n * 2 AS a FROM STREAM(s))')),
    ).toBe('project');
    expect(
      shape(optimized('SELECT k, p.a AS x, p.a + 1 AS y FROM (SELECT k, p FROM STREAM(s))')),
    ).toBe('project');
  });

  test('what is read twice and costs something is computed once', () => {
    const steps = optimized(
      'SELECT k, a + 1 AS x, a + 2 AS y FROM (SELECT k, seq, m, n * 2 AS a FROM STREAM(s))',
    );
    expect(shape(steps)).toBe('project project');
    const [first] = steps;
    expect(first?.step === 'project' ? first.columns.map(({ name }) => name) : []).toEqual([
      'k',
      'a',
    ]);
  });

  test('what a lambda reads is not computed once for each element', () => {
    expect(
      shape(
        optimized(
          'SELECT transform(tags, t -> concat(t, a)) AS x FROM (SELECT tags, upper(v) AS a FROM STREAM(s))',
        ),
      ),
    ).toBe('project project');
  });

  test('filters move to the source, below projections and generators', () => {
    expect(
      shape(optimized('SELECT * FROM (SELECT k, n * 2 AS a FROM STREAM(s)) WHERE a > 0')),
    ).toBe('filter project');
    expect(
      shape(
        optimized('SELECT k, t FROM (SELECT k, n, explode(tags) AS t FROM STREAM(s)) WHERE n > 0'),
      ),
    ).toBe('filter explode project');
    expect(
      shape(
        optimized(
          "SELECT k, t FROM (SELECT k, n, explode(tags) AS t FROM STREAM(s)) WHERE t <> ''",
        ),
      ),
    ).toBe('explode filter project');
  });

  test('a filter that may fail does not see rows that the generator would have taken away', () => {
    const query =
      'SELECT k, t FROM (SELECT k, n, explode(tags) AS t FROM STREAM(s)) WHERE 1 div n > 0';
    expect(shape(optimized(query))).toBe('explode filter project');
    const row: Row = ['a', 1n, 0, 0, 'v', [], null, null, null, 's', 0, 0n, 0n, null, null];
    expect(runSteps(optimized(query), row)).toEqual([]);
  });

  test('an expression fails only on rows that reach it', () => {
    const steps = optimized(
      'SELECT k, q FROM (SELECT k, n, 1 div n AS q, 1 div m AS unread FROM STREAM(s)) WHERE n <> 0',
    );
    const row = (n: number): Row => [
      'a',
      1n,
      n,
      0,
      'v',
      [],
      null,
      null,
      null,
      's',
      0,
      0n,
      0n,
      null,
      null,
    ];
    expect(runSteps(steps, row(0))).toEqual([]);
    expect(runSteps(steps, row(1))).toEqual([['a', 1n]]);
  });

  test('clock and chance are drawn once for each row, however often they are read', () => {
    const twice = optimized(
      'SELECT k, at AS a, at AS b FROM (SELECT k, current_timestamp() AS at FROM STREAM(s))',
    );
    expect(shape(twice)).toBe('project project');
    const once = optimized(
      'SELECT k, at FROM (SELECT k, current_timestamp() AS at FROM STREAM(s))',
    );
    expect(shape(once)).toBe('project');
    const filtered = optimized(
      "SELECT k FROM (SELECT k, current_timestamp() AS at FROM STREAM(s)) WHERE k > 'a'",
    );
    expect(shape(filtered)).toBe('project filter project');
  });

  test('a filter with a large expression under it stays, so that nothing large is computed twice', () => {
    const large = Array.from({ length: 9 }, (_, i) => `n * ${i}`).join(' + ');
    expect(
      shape(optimized(`SELECT * FROM (SELECT k, ${large} AS a FROM STREAM(s)) WHERE a > 0`)),
    ).toBe('project filter project');
  });
});

test('sourceColumnsOf names the columns that have to be decoded', () => {
  const steps = optimized(
    'SELECT upper(k) AS k, t FROM (SELECT k, n, explode(tags) AS t FROM STREAM(s)) WHERE n > 0',
  );
  const used = [...sourceColumnsOf(steps)].filter((index) => index < 15).sort((a, b) => a - b);
  expect(used).toEqual([0, 2, 5]);
  const last = steps.at(-1);
  const read =
    last?.step === 'project' ? last.columns.flatMap(({ value }) => [...columnsOf(value)]) : [];
  expect(read).toEqual([0, 15]);
});
