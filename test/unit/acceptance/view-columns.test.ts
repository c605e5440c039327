import { afterEach, describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { parsePipeline } from '../../../src/sql/parse.ts';
import { printStatement } from '../../../src/sql/print.ts';
import { PipelineTest } from '../../../src/testing/pipeline/pipeline-test.ts';
import { planned } from '../../support/append-world.ts';

let tested: PipelineTest | undefined;

afterEach(() => tested?.close());

const source = 'CREATE SOURCE orders (k INT, v STRING, seq BIGINT);';
const text = `${source}
CREATE TEMPORARY VIEW renamed (
  id COMMENT 'the key', label, version,
  CONSTRAINT positive EXPECT (id > 0) ON VIOLATION DROP ROW
) COMMENT 'as others call it' AS SELECT k, v, seq FROM STREAM(orders);
CREATE STREAMING TABLE t FLOW REPLACE USING (id) SEQUENCE BY version BY NAME SELECT * FROM renamed;
CREATE MATERIALIZED VIEW counted (
  label COMMENT 'what it is', number INT COMMENT 'how many', CONSTRAINT few EXPECT (number < 2) ON VIOLATION DROP ROW
) AS SELECT label, count(*) FROM t GROUP BY label;`;

function codesOf(sql: string): readonly string[] {
  return planPipeline([{ file: 'p.sql', text: sql }]).faults.map(({ code }) => code);
}

describe('SX-19 columns in front of the query of a view', () => {
  test('name what the query gives, in its order, and expectations speak of them', async () => {
    tested = new PipelineTest(planned(text), { partitions: 2 });
    const record = (k: number, v: string) => ({ k, v, seq: 1n });
    await tested
      .given('orders', [record(1, 'a'), record(2, 'b'), record(3, 'b'), record(-1, 'c')])
      .run();
    expect(tested.rows('t')).toHaveLength(3);
    expect(tested.rows('t')).toContainEqual({ id: 1, label: 'a', version: 1n });
    // The type is that in front of the query: count(*) is a BIGINT.
    expect(tested.rows('counted')).toEqual([{ label: 'a', number: 1 }]);
    expect(await tested.expectations('t')).toEqual({
      'renamed.positive': { passed: 3, failed: 1 },
    });
  });

  test('groups stay the key of a materialized view', () => {
    const [view] = planned(text).materializedViews;
    expect(view?.keys).toEqual([0]);
  });

  test('they are printed as they were written', () => {
    const { statements } = parsePipeline(text, 'p.sql');
    const printed = statements.map((one) => printStatement(one));
    expect(printed[1]).toContain("(id COMMENT 'the key', label, version, CONSTRAINT positive");
    expect(printed[3]).toContain("number INT COMMENT 'how many'");
    const again = parsePipeline(printed.join(';\n'), 'p.sql').statements;
    expect(again.map((one) => printStatement(one))).toEqual(printed);
  });

  const view = (columns: string) =>
    `${source} CREATE VIEW v (${columns}) AS SELECT k, seq FROM STREAM(orders); CREATE STREAMING TABLE t AS SELECT * FROM v;`;

  test.each([
    ['as many as the query has', view('a'), ['ALIAS_COLUMNS']],
    ['each once', view('a, A'), ['COLUMN_DUPLICATE']],
    ['NOT NULL is warned of', view('a NOT NULL, b'), ['NOT_NULL_IGNORED']],
    [
      'a type that the value cannot have',
      view('a, b DATE'),
      ['DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION'],
    ],
  ])('%s', (_, sql, codes) => {
    expect(codesOf(sql)).toEqual(expect.arrayContaining(codes));
  });
});
