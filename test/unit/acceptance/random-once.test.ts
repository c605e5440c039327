import { describe, expect, test } from 'vitest';
import { Random } from '../../../src/testing/random.ts';
import { expectCaseToPass } from '../../support/random-case.ts';

/** Once flows of each kind beside flows that go on, and a definition that shares nothing with the product. */

type Record = { readonly k: number; readonly seq: number; readonly items: readonly string[] };
type Row = readonly [k: number, n: number];

/** A query over the archive, and its rows. */
const queries: readonly {
  readonly sql: string;
  readonly rows: (all: readonly Record[]) => Row[];
}[] = [
  {
    sql: 'SELECT k, seq AS n FROM archive WHERE seq > 3',
    rows: (all) => all.filter(({ seq }) => seq > 3).map(({ k, seq }) => [k, seq]),
  },
  {
    sql: 'SELECT k, pos AS n FROM archive LATERAL VIEW posexplode(items) e AS pos, item',
    rows: (all) => all.flatMap(({ k, items }) => items.map((_, pos): Row => [k, pos])),
  },
  {
    sql: 'SELECT k, seq AS n FROM archive WHERE k = 0 UNION ALL SELECT k, k + seq AS n FROM archive',
    rows: (all) => [
      ...all.filter(({ k }) => k === 0).map(({ k, seq }): Row => [k, seq]),
      ...all.map(({ k, seq }): Row => [k, k + seq]),
    ],
  },
  {
    sql: 'SELECT k, CAST(count(*) AS INT) AS n FROM archive GROUP BY k HAVING count(*) > 1',
    rows: (all) =>
      [...new Set(all.map(({ k }) => k))]
        .map((k): Row => [k, all.filter((one) => one.k === k).length])
        .filter(([, n]) => n > 1),
  },
  {
    sql: 'SELECT DISTINCT k, seq AS n FROM archive',
    rows: (all) => {
      const texts = new Set(all.map(({ k, seq }) => JSON.stringify([k, seq])));
      return [...texts].map((text) => JSON.parse(text) as Row);
    },
  },
  {
    sql: 'SELECT k, n FROM (SELECT k, seq AS n, row_number() OVER (PARTITION BY k ORDER BY seq DESC) AS place FROM archive) WHERE place = 1',
    rows: (all) =>
      [...new Set(all.map(({ k }) => k))].map(
        (k): Row => [k, Math.max(...all.filter((one) => one.k === k).map(({ seq }) => seq))],
      ),
  },
];

function caseOf(seed: number): string {
  const random = new Random(seed);
  const draw = (count: number): Record[] =>
    Array.from({ length: count }, () => ({
      k: random.below(5),
      seq: random.below(9),
      items: ['a', 'b', 'c'].slice(random.below(4)),
    }));
  const archived = draw(random.below(20));
  const live = draw(1 + random.below(15));
  const chosen = random.shuffled(queries).slice(0, 1 + random.below(2));
  const spelled = ['INSERT INTO ONCE t', 'INSERT ONCE INTO t'];
  const flows = chosen.map(
    ({ sql }, at) => `CREATE FLOW once_${at} AS ${random.pick(spelled) ?? ''} BY NAME ${sql};`,
  );
  const columns = 'k INT, seq INT, items ARRAY<STRING>';
  return JSON.stringify({
    name: `seed ${seed}`,
    sql: [
      'CREATE STREAMING TABLE t (k INT, n INT);',
      ...flows,
      'CREATE FLOW going_on AS INSERT INTO t BY NAME SELECT k, seq AS n FROM STREAM(src);',
    ].join('\n'),
    sources: { src: columns },
    static: { archive: { schema: columns, rows: archived.map((one) => JSON.stringify(one)) } },
    inputs: { src: live.map((one) => JSON.stringify(one)) },
    target: 't',
    schema: [
      ['k', 'int'],
      ['n', 'int'],
    ],
    expected: [
      ...chosen.flatMap(({ rows }) => rows(archived)),
      ...live.map(({ k, seq }) => [k, seq]),
    ],
  });
}

describe('FL-16 FL-17 any once flows give their rows one time, under every schedule', () => {
  test.each(Array.from({ length: 10 }, (_, at) => at + 1))('seed %i', async (seed) => {
    const report = await expectCaseToPass(caseOf(seed));
    expect(report.schedules.length).toBeGreaterThan(5);
  });
});
