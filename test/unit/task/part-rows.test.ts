import { describe, expect, test } from 'vitest';
import type { Row } from '../../../src/data/value.ts';
import { incrementalView } from '../../../src/plan/flows/incremental-view.ts';
import type { MaterializedViewPlan, PipelinePlan } from '../../../src/plan/pipeline-plan.ts';
import { PartRows } from '../../../src/task/row/part-rows.ts';
import { viewRows } from '../../../src/task/view-query.ts';
import { viewRecords } from '../../../src/task/view-records.ts';
import { Random } from '../../../src/testing/random.ts';
import { planned } from '../../support/append-world.ts';

const table = `CREATE SOURCE s (k INT, g STRING, n INT, d DOUBLE, a ARRAY<INT>, seq BIGINT);
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, g, n, d, a, seq FROM STREAM(s);
CREATE TEMPORARY VIEW big (CONSTRAINT whole EXPECT (n IS NOT NULL), CONSTRAINT small EXPECT (n < 9) ON VIOLATION DROP ROW)
AS SELECT * FROM t WHERE n > 1;`;

function planOf(query: string, head = ''): PipelinePlan {
  return planned(`${table} CREATE MATERIALIZED VIEW v${head} AS ${query};`);
}

function viewOf(plan: PipelinePlan): MaterializedViewPlan {
  const [view] = plan.materializedViews;
  if (view === undefined) throw new Error('there is no view');
  return view;
}

const judged =
  ' (CONSTRAINT some EXPECT (c > 1) ON VIOLATION DROP ROW, CONSTRAINT few EXPECT (c < 4))';

/** Each with the head of its view. */
const queries: readonly (readonly [string, string?])[] = [
  ['SELECT k, n + 1 AS m FROM t'],
  ['SELECT g FROM t WHERE n > 2'],
  ['SELECT k, explode(a) AS e FROM t'],
  ['SELECT g, count(*) AS c, sum(n) AS s, avg(d) AS a FROM t GROUP BY g'],
  ['SELECT g, count(*) AS c FROM t WHERE n > 2 GROUP BY g HAVING count(*) > 1'],
  ['SELECT g, n % 3 AS r, sum(d) AS s, collect_list(n) AS l FROM t GROUP BY g, n % 3'],
  ['SELECT count(*) AS c FROM t GROUP BY g'],
  ['SELECT count(*) AS c, max(n) AS m FROM t'],
  ['SELECT d, count(DISTINCT n) AS c, first(g) AS f FROM t GROUP BY d'],
  ['SELECT e, count(*) AS c FROM (SELECT explode(a) AS e FROM t) GROUP BY e'],
  ['SELECT DISTINCT g, d FROM t'],
  ['SELECT DISTINCT n FROM t WHERE g IS NOT NULL'],
  ['SELECT g, count(*) AS c FROM t GROUP BY g', judged],
  ['SELECT g, sum(n) AS c FROM big GROUP BY g', judged],
  ['SELECT k, n AS c FROM big', judged],
];

/** What the table has: record key → rows, by partition, in the order in which the keys came. */
type Contents = Map<string, readonly Row[]>[];

function drawRows(random: Random): readonly Row[] {
  const rows: Row[] = [];
  for (let count = random.below(4); count > 0; count -= 1) {
    rows.push([
      random.below(5),
      random.chance(200) ? null : (random.pick(['', 'x', 'y', 'NULL']) ?? ''),
      random.chance(100) ? null : random.below(12),
      random.pick([0, -0, 0.1, 0.2, 1e16, Number.NaN]) ?? 0,
      Array.from({ length: random.below(3) }, () => random.below(4)),
      1n,
    ]);
  }
  return rows;
}

function change(contents: Contents, parts: PartRows, random: Random): void {
  const partition = random.below(contents.length);
  const key = `k${random.below(6)}`;
  const rows = contents[partition];
  if (random.chance(250)) {
    rows?.delete(key);
    parts.set(partition, key, undefined);
  } else {
    const drawn = drawRows(random);
    rows?.set(key, drawn);
    parts.set(partition, key, drawn);
  }
}

describe('FL-28 a view that is computed part by part', () => {
  test.each(queries.map(([query, head = '']) => [query, head] as const))(
    'has what its whole query gives: %s',
    (query, head) => {
      const plan = planOf(query, head);
      const view = viewOf(plan);
      const columns = plan.tables.find(({ name }) => name === 'v')?.columns ?? [];
      const divided = incrementalView(view);
      if (divided === undefined) throw new Error('the view is not divided');
      for (let seed = 1; seed <= 15; seed += 1) {
        const random = new Random(seed);
        const layout = { columns, keys: view.keys };
        const parts = new PartRows({ view: divided, layout, timeZone: 'UTC', nowMicros: 0n });
        const contents: Contents = [new Map(), new Map()];
        const records = new Map<string, string>();
        for (let round = 0; round < 12; round += 1) {
          for (let times = random.below(4); times > 0; times -= 1) change(contents, parts, random);
          for (const [key, record] of parts.refresh()) {
            if (record === undefined) records.delete(key);
            else records.set(key, record.value);
          }
          const counts = new Map<string, { passed: number; failed: number }>();
          const whole = viewRows(view, {
            timeZone: 'UTC',
            nowMicros: 0n,
            rowsOf: () => contents.flatMap((one) => [...one.values()].flat()),
            count: (name, isMet) => {
              const count = counts.get(name) ?? { passed: 0, failed: 0 };
              if (isMet) count.passed += 1;
              else count.failed += 1;
              counts.set(name, count);
            },
          });
          const expected = [...viewRecords(whole, layout)].map(
            ([key, { value }]) => [key, value] as const,
          );
          expect([...records].sort(), `seed ${seed}, round ${round}`).toEqual(expected.sort());
          expect(parts.count).toBe(whole.length);
          const told = [...parts.tallies].filter(([, { passed, failed }]) => passed + failed > 0);
          expect(Object.fromEntries(told)).toEqual(Object.fromEntries(counts));
        }
      }
    },
  );

  test.each([
    'SELECT a.k, b.n FROM t a JOIN t b ON a.k = b.k',
    'SELECT k, row_number() OVER (ORDER BY n) AS r FROM t',
    'SELECT k FROM t ORDER BY n LIMIT 3',
    'SELECT k FROM t UNION SELECT n FROM t',
    'SELECT k FROM t WHERE n > (SELECT avg(n) FROM t)',
    'SELECT g, n, count(*) AS c FROM t GROUP BY ROLLUP (g, n)',
    'SELECT g, current_timestamp() AS r FROM t',
    'SELECT max(c) AS m FROM (SELECT g, count(*) AS c FROM t GROUP BY g)',
  ])('one that cannot be divided is computed as a whole: %s', (query) => {
    expect(incrementalView(viewOf(planOf(query)))).toBeUndefined();
  });
});
