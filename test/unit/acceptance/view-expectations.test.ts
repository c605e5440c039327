import { afterEach, describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { PipelineTest } from '../../../src/testing/pipeline/pipeline-test.ts';
import { planned } from '../../support/append-world.ts';

let tested: PipelineTest | undefined;

afterEach(() => tested?.close());

function started(sql: string): PipelineTest {
  tested = new PipelineTest(planned(sql), { partitions: 1 });
  return tested;
}

const source = 'CREATE SOURCE orders (id INT, qty INT, seq BIGINT);';

const records = [
  { id: 1, qty: 5, seq: 1n },
  { id: 1, qty: -1, seq: 2n },
  { id: null, qty: 3, seq: 3n },
  { id: 2, qty: 200, seq: 4n },
];

describe('expectations of views', () => {
  const view = `${source}
CREATE TEMPORARY VIEW clean (
  CONSTRAINT known EXPECT (id IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT positive EXPECT (qty > 0) ON VIOLATION DROP ROW,
  CONSTRAINT small EXPECT (qty < 100)
) AS SELECT id, qty, seq FROM STREAM(orders) WHERE seq > 0;`;

  test('EX-02 EX-04 EX-08 a row that a view drops is as if its source had never produced it', async () => {
    const world = started(`${view}
CREATE STREAMING TABLE newest (CONSTRAINT few EXPECT (qty < 10) ON VIOLATION DROP ROW)
FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME SELECT id, qty, seq FROM clean;`);
    await world.given('orders', records).run();
    expect(world.rows('newest')).toEqual([{ id: 1, qty: 5, seq: 1n }]);
    expect(await world.expectations('newest')).toEqual({
      few: { passed: 1, failed: 1 },
      'clean.known': { passed: 3, failed: 1 },
      'clean.positive': { passed: 3, failed: 1 },
      'clean.small': { passed: 3, failed: 1 },
    });
    // A lower sequence than that of the dropped row applies.
    await world.given('orders', [{ id: 1, qty: 7, seq: 2n }]).run();
    expect(world.rows('newest')).toEqual([{ id: 1, qty: 7, seq: 2n }]);
  });

  test('a view that is computed and explodes is judged where its rows are made', async () => {
    const world = started(`CREATE SOURCE baskets (id INT, items ARRAY<INT>);
CREATE VIEW doubled (CONSTRAINT even EXPECT (double % 4 = 0) ON VIOLATION DROP ROW)
AS SELECT id, item * 2 AS double FROM STREAM(baskets) LATERAL VIEW explode(items) e AS item;
CREATE STREAMING TABLE t AS SELECT double FROM doubled WHERE double > 4;
CREATE FLOW more AS INSERT INTO t BY NAME SELECT double FROM doubled UNION ALL SELECT id AS double FROM doubled;`);
    await world.given('baskets', [{ id: 1, items: [1, 2, 3, 4] }]).run();
    const doubles = world.rows('t').map((row) => row['double']);
    expect(doubles.sort()).toEqual([1, 1, 4, 8, 8]);
    // The filter behind the view does not take its counts away.
    expect(await world.expectations('t')).toEqual({ 'doubled.even': { passed: 2, failed: 2 } });
    expect(await world.expectations('more')).toEqual({ 'doubled.even': { passed: 4, failed: 4 } });
  });

  test('EX-03 one that fails stops the flow before the row, and shows it', async () => {
    const world = started(`${source}
CREATE VIEW strict (CONSTRAINT sold EXPECT (qty > 0) ON VIOLATION FAIL UPDATE)
AS SELECT id, qty + 0 AS qty FROM STREAM(orders);
CREATE STREAMING TABLE t AS SELECT id FROM strict;`);
    const failed = await world
      .given('orders', [records[1] ?? {}])
      .run()
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({
      code: 'EXPECTATION_FAILED',
      message: 'expectation "sold" of view "strict" failed',
    });
    expect(String((failed as { detail?: string }).detail)).toContain('{"id":1,"qty":-1}');
    expect(world.rows('t')).toEqual([]);
  });

  test('FR-18 an expectation of a view is no other definition', () => {
    const table = 'CREATE STREAMING TABLE t AS SELECT id FROM clean;';
    const without = view.replace(/\(\s*CONSTRAINT[\s\S]*\) AS/u, 'AS');
    const fingerprints = [view, without].map(
      (text) => planned(`${text} ${table}`).flows[0]?.fingerprint,
    );
    expect(fingerprints[0]).toBe(fingerprints[1]);
    expect(
      planned(`${view} ${table}`).flows[0]?.branches[0]?.steps.map(({ step }) => step),
    ).toEqual(['filter', 'expect', 'project']);
    const { faults } = planPipeline([{ file: 'a.sql', text: `${view} ${table}` }]);
    expect(faults).toEqual([]);
  });
});
