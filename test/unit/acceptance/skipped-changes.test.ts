import { describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';
import { planOf, scenario } from '../../support/scenario.ts';

const source = 'CREATE SOURCE src (k INT, v STRING, seq BIGINT, op STRING);';

const given = (k: number, v: string, seq: number, op = 'u') => ({ value: { k, v, seq, op } });

/** A table whose rows are replaced, in each way that there is. */
const tables = {
  'REPLACE USING': `CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
    SELECT k, v, seq FROM STREAM(src)`,
  'REPLACE USING, one record a row': `CREATE STREAMING TABLE t WITH (output = 'rows')
    FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, seq FROM STREAM(src)`,
  'AUTO CDC': `CREATE STREAMING TABLE t; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(src) KEYS (k)
    APPLY AS DELETE WHEN op = 'd' SEQUENCE BY seq COLUMNS * EXCEPT (op)`,
};

const firsts =
  'CREATE STREAMING TABLE firsts AS SELECT k, v FROM STREAM(t) WITH (skipChangeCommits = true);';

describe.each(Object.entries(tables))('skipChangeCommits over a table of %s', (_, table) => {
  const sql = `${source} ${table}; ${firsts}`;

  test('FL-27 the first version of each key is read, and what changes or takes it away is skipped', async () => {
    await scenario(sql, { partitions: 2 }, async (told) => {
      await told.settle(given(1, 'a', 1), given(2, 'b', 1));
      await told.settle(given(1, 'a2', 2), given(2, 'b', 3, 'd'), given(3, 'c', 1));
      const expected = ['{"k":1,"v":"a"}', '{"k":2,"v":"b"}', '{"k":3,"v":"c"}'];
      expect(told.rows('firsts')).toEqual(expected);
      expect(told.rows('t').join()).toContain('a2');
      // Neither a restart nor a state that is built anew makes a version the first one.
      await told.loseState();
      await told.settle(given(1, 'a3', 4), given(3, 'c2', 2), given(4, 'd', 1));
      expect(told.rows('firsts')).toEqual([...expected, '{"k":4,"v":"d"}']);
      const { source: account } = await told.account('firsts');
      expect(account.records).toBe(account.decoded + account.tombstones);
    });
  });

  test('whose process dies at any step loses and repeats no row', async () => {
    const plan = planOf(`${source} ${firsts} ${table};`);
    const records = [given(1, 'a', 1), given(2, 'b', 1), given(2, 'c', 1)];
    const steps = await dieAtEveryStep(plan, records, (rows, step) => {
      const keys = rows.map((row) => (JSON.parse(row) as { readonly k: number }).k);
      // Both rows of key 2 are there, or the one that came first.
      expect([...new Set(keys)], `died at step ${step}`).toEqual([1, 2]);
      expect(new Set(rows).size, `died at step ${step}`).toBe(rows.length);
    });
    expect(steps).toBeGreaterThan(20);
  });
});

describe('skipChangeCommits', () => {
  const faultsOf = (sql: string) =>
    planPipeline([{ file: 'p.sql', text: sql }]).faults.map(({ code }) => code);

  test('is warned of, since which version is the first depends on batches', () => {
    const sql = `${source} ${tables['REPLACE USING']}; ${firsts}`;
    expect(faultsOf(sql)).toEqual(['NONDETERMINISTIC']);
  });

  test('FL-21 a flow that reads versions does not turn into one that skips them under its name', async () => {
    const flow = (options: string) =>
      `${source} ${tables['REPLACE USING']}; CREATE STREAMING TABLE d
       FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, seq FROM STREAM(t)${options};`;
    await scenario(flow(''), {}, async (told) => {
      await told.settle(given(1, 'a', 1));
      await told.stop();
      const skipping = planOf(flow(' WITH (skipChangeCommits = true)'));
      await expect(told.world.startProcess('worker-1', skipping)).rejects.toMatchObject({
        code: 'DEFINITION_CHANGED',
        detail: expect.stringContaining('first versions of keys'),
      });
    });
  });

  test('over a history is refused by name', () => {
    const sql = `${source} ${tables['AUTO CDC']} STORED AS SCD TYPE 2; ${firsts}`;
    expect(faultsOf(sql)).toEqual(['STREAM_OF_REPLACED_ROWS']);
  });

  test.each([
    ['1', 'skipChangeCommits = true'],
    ['2', 'stream what its AUTO CDC flows read'],
  ])(
    'FL-27 without it no flow streams a table of SCD type %s, and the remedy is told',
    (type, remedy) => {
      for (const reader of [
        'CREATE STREAMING TABLE d AS SELECT k FROM STREAM(t);',
        `CREATE STREAMING TABLE d FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
       SELECT k, seq FROM STREAM(t);`,
        `CREATE STREAMING TABLE d; CREATE FLOW g AS AUTO CDC INTO d FROM STREAM(t) KEYS (k)
       SEQUENCE BY seq;`,
      ]) {
        const text = `${source} ${tables['AUTO CDC']} STORED AS SCD TYPE ${type};\n${reader}`;
        const [fault, ...others] = planPipeline([{ file: 'p.sql', text }]).faults;
        expect(others).toEqual([]);
        expect(fault).toMatchObject({
          code: 'STREAM_OF_REPLACED_ROWS',
          hint: expect.stringContaining(remedy),
          place: expect.objectContaining({ file: 'p.sql' }),
        });
      }
    },
  );

  test('only tables that are read so pay for the mark', async () => {
    const sql = `${source} ${tables['REPLACE USING']};`;
    for (const [text, marked] of [
      [sql, false],
      [`${sql} ${firsts}`, true],
    ] as const) {
      await scenario(text, {}, async (told) => {
        await told.settle(given(1, 'a', 1));
        const [record] = told.world.log.readCommitted('t');
        expect(record?.headers.some(({ key }) => key === 'tm-first')).toBe(marked);
      });
    }
  });

  test('a bad row of a first version makes its record a dead letter, as that of any source', async () => {
    const sql = `${source} ${tables['REPLACE USING']};
      CREATE STREAMING TABLE inverse WITH (dead_letter_topic = 'dlq')
      AS SELECT k, 10 DIV seq AS n FROM STREAM(t) WITH (skipChangeCommits = true);`;
    await scenario(sql, {}, async (told) => {
      await told.settle(given(1, 'a', 0), given(2, 'b', 5));
      expect(told.rows('inverse')).toEqual(['{"k":2,"n":2}']);
      expect(told.world.log.readCommitted('dlq')).toHaveLength(1);
    });
  });
});
