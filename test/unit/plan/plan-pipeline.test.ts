import { describe, expect, test } from 'vitest';
import { formatType, parseColumnsText } from '../../../src/data/type-text.ts';
import type { Row } from '../../../src/data/value.ts';
import type { BranchPlan, TablePlan } from '../../../src/plan/pipeline-plan.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { flowOf, planOf, replaceSql } from './bind-sql.ts';
import { runSteps } from './run-steps.ts';

/** A row of source `s`; what is not given is NULL. */
function row(values: Partial<Record<(typeof names)[number], Row[number]>>): Row {
  return names.map((name) => values[name] ?? null);
}
const names = [
  'k',
  'seq',
  'n',
  'm',
  'v',
  'tags',
  'items',
  'p',
  'attrs',
  '_topic',
  '_partition',
  '_offset',
  '_timestamp',
  '_key',
  '_headers',
] as const;

function columnsOf(table: TablePlan | undefined): string[] {
  return (table?.columns ?? []).map(({ name, type }) => `${name} ${formatType(type)}`);
}

function only(branches: readonly BranchPlan[]): BranchPlan {
  const [branch] = branches;
  if (branch === undefined || branches.length !== 1) throw new Error('not one branch');
  return branch;
}

function run(query: string, input: Row): Row[] {
  return runSteps(only(flowOf(replaceSql(query)).branches).steps, input);
}

describe('targets', () => {
  test('SX-04 columns are matched by name: order, case, a missing one is NULL, types are stored', () => {
    const plan = planOf(`CREATE STREAMING TABLE t (K STRING, note STRING, N BIGINT, seq BIGINT)
      FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT seq, n, k FROM STREAM(s);`);
    expect(columnsOf(plan.tables[0])).toEqual([
      'K string',
      'note string',
      'N bigint',
      'seq bigint',
    ]);
    const [flow] = plan.flows;
    expect(flow).toMatchObject({ keys: [0], sequence: { node: 'column', index: 3 } });
    const steps = only(flow?.branches ?? []).steps;
    expect(runSteps(steps, row({ k: 'a', seq: 7n, n: 5 }))).toEqual([['a', null, 5n, 7n]]);
  });

  test('SX-04 a reordered select list gives the same rows under their names', () => {
    const declared =
      'CREATE STREAMING TABLE t (k STRING, n INT, seq BIGINT) FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME';
    const one = flowOf(`${declared} SELECT k, n, seq FROM STREAM(s);`);
    const other = flowOf(`${declared} SELECT seq, n, k FROM STREAM(s);`);
    expect(other.branches[0]?.steps.map(({ step }) => step)).toEqual(['project']);
    const input = row({ k: 'a', seq: 7n, n: 5 });
    expect(runSteps(only(other.branches).steps, input)).toEqual(
      runSteps(only(one.branches).steps, input),
    );
  });

  test('an undeclared target has the columns of the query, in the case of their declaration', () => {
    const plan = planOf(replaceSql('SELECT K, SEQ, n * 2 AS Twice FROM STREAM(s)'));
    expect(columnsOf(plan.tables[0])).toEqual(['k string', 'seq bigint', 'Twice int']);
  });

  test('RU-24 the sequence may be an expression over the result', () => {
    const flow = flowOf(replaceSql('SELECT k, seq, n FROM STREAM(s)', 'k', 'struct(seq, n)'));
    expect(formatType(flow.sequenceType)).toBe('struct<seq:bigint,n:int>');
  });

  test('SX-17 a table without a flow has its declared columns, or none yet', () => {
    const plan = planOf('CREATE STREAMING TABLE t; CREATE STREAMING TABLE u (a INT);');
    expect(plan.tables.map(columnsOf)).toEqual([[], ['a int']]);
    expect(plan.flows).toEqual([]);
  });

  test('options and expectations go into the plan of the table', () => {
    const plan = planOf(`CREATE STREAMING TABLE t (CONSTRAINT c EXPECT (n >
        0) ON VIOLATION DROP ROW)
      WITH (topic = 'out', partitions = 3, output = 'rows', dead_letter_topic = 'dead',
        max_row_set_rows = 5, max_sequence = 100, tombstone_retention = 'forever')
      FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, n, seq FROM STREAM(s);`);
    expect(plan.tables[0]).toMatchObject({
      topic: 'out',
      partitions: 3,
      output: 'rows',
      deadLetterTopic: 'dead',
      rowSetRowsMax: 5,
      sequenceMax: '100',
      sequenceAheadMaxMicros: undefined,
      tombstoneRetentionMicros: undefined,
      expectations: [{ name: 'c', action: 'drop', sql: 'n > 0' }],
    });
  });

  test('APPLY AS EMPTY WHEN is carried, over the columns of the target', () => {
    const flow = flowOf(`CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq
      APPLY AS EMPTY WHEN (tag IS NULL) BY NAME SELECT k, seq, explode_outer(tags) AS tag FROM STREAM(s);`);
    expect(flow.emptyWhen).toMatchObject({
      node: 'call',
      arguments: [{ node: 'column', index: 2 }],
    });
  });
});

describe('queries', () => {
  test('hidden columns are found by name and are no part of *', () => {
    const plan = planOf(replaceSql('SELECT k, seq, _offset FROM STREAM(s)'));
    expect(columnsOf(plan.tables[0])).toEqual(['k string', 'seq bigint', '_offset bigint']);
    const all = planOf(replaceSql('SELECT * EXCEPT (attrs) FROM STREAM(s)'));
    expect(all.tables[0]?.columns.map(({ name }) => name)).toEqual(names.slice(0, 8));
  });

  test('a star keeps its columns before and behind others, and unfolds structs', () => {
    const plan = planOf(replaceSql('SELECT p.*, r.k, r.seq FROM STREAM(s) AS r'));
    expect(columnsOf(plan.tables[0])).toEqual(['a int', 'b string', 'k string', 'seq bigint']);
    expect(run('SELECT p.*, k, seq FROM STREAM(s)', row({ k: 'x', seq: 1n, p: [4, 'b'] }))).toEqual(
      [[4, 'b', 'x', 1n]],
    );
  });

  test('a lateral alias sees the aliases before it; a column of the source wins over an alias', () => {
    const query =
      'SELECT k, seq, n + 1 AS a, a * 2 AS b, b + a AS c, m AS n, n AS o FROM STREAM(s)';
    expect(run(query, row({ k: 'x', seq: 1n, n: 3, m: 9 }))).toEqual([['x', 1n, 4, 8, 12, 9, 3]]);
  });

  test('OP-06 explode, posexplode and inline, nested in a subquery and with LATERAL VIEW', () => {
    const input = row({
      k: 'x',
      seq: 1n,
      tags: ['a', null],
      items: [['s', 2], null],
      attrs: { entries: [['p', 1]] },
    });
    expect(run('SELECT k, seq, explode(tags) FROM STREAM(s)', input)).toEqual([
      ['x', 1n, 'a'],
      ['x', 1n, null],
    ]);
    expect(run('SELECT posexplode(tags) AS (i, t), k, seq FROM STREAM(s)', input)).toEqual([
      [0, 'a', 'x', 1n],
      [1, null, 'x', 1n],
    ]);
    expect(run('SELECT k, seq, inline(items) FROM STREAM(s)', input)).toEqual([
      ['x', 1n, 's', 2],
      ['x', 1n, null, null],
    ]);
    expect(run('SELECT k, seq, explode(attrs) FROM STREAM(s)', input)).toEqual([['x', 1n, 'p', 1]]);
    expect(
      run(
        'SELECT k, seq, i.sku AS sku, i.qty + 1 AS q FROM (SELECT k, seq, explode(items) AS i FROM STREAM(s)) WHERE i.sku IS NOT NULL',
        input,
      ),
    ).toEqual([['x', 1n, 's', 3]]);
    expect(
      run(
        'SELECT o.k, o.seq, pos, e.sku FROM STREAM(s) o LATERAL VIEW OUTER posexplode(o.items) t AS pos, e WHERE pos > 0',
        input,
      ),
    ).toEqual([['x', 1n, 1, null]]);
  });

  test('OP-06 an empty or NULL array gives no row, and one row of NULLs with OUTER', () => {
    for (const tags of [[], null]) {
      const input = row({ k: 'x', seq: 1n, tags });
      expect(run('SELECT k, seq, explode(tags) AS t FROM STREAM(s)', input)).toEqual([]);
      expect(run('SELECT k, seq, explode_outer(tags) AS t FROM STREAM(s)', input)).toEqual([
        ['x', 1n, null],
      ]);
      expect(run('SELECT k, seq, posexplode_outer(tags) FROM STREAM(s)', input)).toEqual([
        ['x', 1n, null, null],
      ]);
    }
  });

  test('OP-07 each side of UNION ALL is a branch, in order, cast to common types', () => {
    const flow = flowOf(
      replaceSql(
        "SELECT k, seq, n, 'a' AS o FROM STREAM(s) UNION ALL SELECT k, seq, n, 'b' FROM STREAM(r)",
      ),
    );
    expect(flow.branches.map(({ source }) => source)).toEqual(['s', 'r']);
    const [first, second] = flow.branches;
    expect(runSteps(first?.steps ?? [], row({ k: 'x', seq: 1n, n: 5 }))).toEqual([
      ['x', 1n, 5n, 'a'],
    ]);
    expect(runSteps(second?.steps ?? [], ['x', 1n, 5n, null])).toEqual([['x', 1n, 5n, 'b']]);
  });

  test('OP-07 what stands around a union holds for every branch', () => {
    const flow = flowOf(
      replaceSql(
        'SELECT DISTINCT k, seq, n + 1 AS n FROM (SELECT k, seq, n FROM STREAM(s) UNION ALL (SELECT k, seq, n FROM STREAM(r))) WHERE n > 1',
      ),
    );
    expect(flow.distinct).toBe(true);
    expect(flow.branches.map(({ steps }) => runSteps(steps, ['x', 1n, 1, 0]).length)).toEqual([
      0, 0,
    ]);
    expect(runSteps(flow.branches[0]?.steps ?? [], row({ k: 'x', seq: 1n, n: 2 }))).toEqual([
      ['x', 1n, 3n],
    ]);
  });

  test('views and CTEs are inlined, also those that are created later', () => {
    const plan =
      planOf(`${replaceSql('WITH c AS (SELECT * FROM w) SELECT k, seq, n FROM c WHERE n < 9')}
      CREATE VIEW w AS SELECT * FROM v WHERE n > 1;
      CREATE TEMPORARY VIEW v AS SELECT k, seq, n * 2 AS n FROM STREAM(s);`);
    const steps = only(plan.flows[0]?.branches ?? []).steps;
    const inputs = [0, 1, 4, 5].map((n) => row({ k: 'x', seq: 1n, n }));
    expect(inputs.flatMap((input) => runSteps(steps, input))).toEqual([
      ['x', 1n, 2],
      ['x', 1n, 8],
    ]);
  });

  test('every branch ends in a projection of the columns of the target', () => {
    const plan = planOf(`CREATE STREAMING TABLE t (k STRING, n BIGINT, seq BIGINT)
      FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
      SELECT seq, k, n FROM (SELECT * FROM STREAM(s)) UNION ALL SELECT seq, k, n FROM STREAM(r);`);
    for (const { steps } of plan.flows[0]?.branches ?? []) {
      const last = steps.at(-1);
      const columns = last?.step === 'project' ? last.columns : [];
      expect(columns.map(({ name, value }) => `${name} ${formatType(value.type)}`)).toEqual(
        columnsOf(plan.tables[0]),
      );
    }
  });
});

describe('sources', () => {
  test('a topic whose columns are given from outside is a source by its own name', () => {
    const schemas = new Map([['shop.orders', parseColumnsText('k INT, seq BIGINT')]]);
    const text = replaceSql('SELECT * FROM STREAM(Shop.Orders)');
    const { plan, faults } = planPipeline([{ file: 'a.sql', text }], { schemas });
    expect(faults).toEqual([]);
    expect(plan?.sources).toMatchObject([
      { name: 'shop.orders', topic: 'shop.orders', format: 'json', tombstones: 'skip' },
    ]);
    expect(plan?.sources[0]?.columns.map(({ name }) => name)).toEqual([
      'k',
      'seq',
      ...names.slice(9),
    ]);
  });

  test('a declaration wins over columns from outside, and may take its columns from there', () => {
    const schemas = new Map([['orders', parseColumnsText('k INT, seq BIGINT')]]);
    const text = `CREATE SOURCE mine WITH (topic = 'orders', tombstones = 'bad'); ${replaceSql('SELECT * FROM STREAM(mine)')}`;
    const { plan } = planPipeline([{ file: 'a.sql', text }], { schemas });
    expect(plan?.sources).toMatchObject([{ name: 'mine', topic: 'orders', tombstones: 'bad' }]);
    expect(columnsOf(plan?.tables[0])).toEqual(['k int', 'seq bigint']);
  });

  test('read_kafka reads raw records; its source is part of the plan', () => {
    const plan = planOf(
      replaceSql(
        "SELECT CAST(key AS STRING) AS k, offset AS seq, timestampType FROM STREAM read_kafka(subscribe => 'raw')",
      ),
    );
    expect(plan.sources.at(-1)).toMatchObject({
      name: 'read_kafka(raw)',
      topic: 'raw',
      format: 'bytes',
    });
    expect(columnsOf(plan.tables[0])).toEqual(['k string', 'seq bigint', 'timestampType int']);
  });

  test('the time zone of the pipeline is in the plan', () => {
    expect(planOf('').timeZone).toBe('UTC');
    expect(planOf("SET timezone = 'Europe/Warsaw';").timeZone).toBe('Europe/Warsaw');
  });

  test('LIVE. before a name is the old way to write it', () => {
    expect(planOf(replaceSql('SELECT k, seq FROM STREAM(LIVE.s)')).flows).toHaveLength(1);
  });
});

test('faults of several files come in the order of the files', () => {
  const { plan, faults } = planPipeline([
    {
      file: 'z.sql',
      text: 'CREATE FLOW f AS INSERT INTO nowhere BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT 1 AS k;',
    },
    { file: 'a.sql', text: 'CREATE STREAMING TABLE t (' },
  ]);
  expect(plan).toBeUndefined();
  expect(faults.map(({ place }) => place.file)).toEqual(['z.sql', 'z.sql', 'a.sql']);
});
