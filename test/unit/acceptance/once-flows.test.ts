import { describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';
import { type Given, planOf, type Scenario, scenario } from '../../support/scenario.ts';

const sources = `
CREATE SOURCE archive (id BIGINT, name STRING, lsn BIGINT) WITH (topic = 'archive');
CREATE SOURCE live (id BIGINT, name STRING, lsn BIGINT) WITH (topic = 'live');
`;
const backfill = `${sources} CREATE STREAMING TABLE people;
CREATE FLOW hist AS INSERT INTO ONCE people BY NAME SELECT id, name FROM archive WHERE id > 0;
CREATE FLOW live_f AS INSERT INTO people BY NAME SELECT id, name FROM STREAM(live);`;
const replaced = `${sources} CREATE STREAMING TABLE people;
CREATE FLOW hist AS INSERT INTO ONCE people BY NAME REPLACE USING (id) SEQUENCE BY lsn SELECT id, name, lsn FROM archive;`;
const changed = `${sources} CREATE STREAMING TABLE people;
CREATE FLOW live_f AS AUTO CDC INTO people FROM STREAM(live) KEYS (id) SEQUENCE BY lsn STORED AS SCD TYPE 1;
CREATE FLOW hist AS AUTO CDC ONCE INTO people FROM STREAM(archive) KEYS (id) SEQUENCE BY lsn STORED AS SCD TYPE 1;`;

function person(topic: string, id: number, lsn = id): Given {
  return { topic, value: { id, name: `u${id}`, lsn } };
}

function ids(told: Scenario): number[] {
  return told
    .rows()
    .map((row) => (JSON.parse(row) as { id: number }).id)
    .sort();
}

function codesOf(sql: string): string[] {
  return planPipeline([{ file: 'pipeline.sql', text: sql }]).faults.map(({ code }) => code);
}

const archived = [1, 2, 3, 4].map((id) => person('archive', id));

describe.each([
  ['INSERT INTO ONCE', backfill],
  ['INSERT INTO ONCE … REPLACE USING', replaced],
  ['AUTO CDC ONCE', changed],
])('%s', (_, sql) => {
  test.each([1, 3])(
    'FL-16 reads what is there when it starts first, and nothing later (%i partitions)',
    async (partitions) => {
      await scenario(sql, { partitions, batchRecordsMax: 1 }, async (told) => {
        await told.settle(...archived);
        expect(ids(told)).toEqual([1, 2, 3, 4]);
        await told.settle(person('archive', 7));
        await told.restart();
        await told.settle(person('archive', 8));
        await told.loseState();
        await told.settle();
        expect(ids(told)).toEqual([1, 2, 3, 4]);
        expect((await told.account('hist')).source.records).toBe(4);
      });
    },
  );

  test('FL-16 kill -9 at any step loses and repeats nothing', async () => {
    const records = archived.slice(0, 2);
    const plan = planOf(sql);
    const archive = plan.sources.filter(({ name }) => name === 'archive');
    const alone = {
      ...plan,
      sources: archive,
      flows: plan.flows.filter(({ name }) => name !== 'live_f'),
    };
    await dieAtEveryStep(alone, records, (rows, step) => {
      expect(rows.length, `died at step ${step}`).toBe(2);
      expect(new Set(rows).size, `died at step ${step}`).toBe(2);
    });
  });

  test('FL-16 once it is done, neither retention nor a new topic has it stop or run again', async () => {
    await scenario(sql, {}, async (told) => {
      await told.settle(...archived);
      await told.stop();
      told.produce(person('archive', 9), person('archive', 10));
      await told.world.log.deleteRecords('archive', new Map([[0, 5]]));
      await told.settle();
      await told.stop();
      told.world.log.deleteTopic('archive');
      told.world.log.createTopic('archive', 1);
      await told.settle(...archived);
      expect(ids(told)).toEqual([1, 2, 3, 4]);
    });
  });

  test('FL-21 a flow that ran once may not go on for ever under its name', async () => {
    await scenario(sql, {}, async (told) => {
      await told.settle(...archived);
      await told.stop();
      const forever = planOf(
        sql
          .replace('INTO ONCE', 'INTO')
          .replace('CDC ONCE', 'CDC')
          .replace('FROM archive', 'FROM STREAM(archive)'),
      );
      await expect(told.world.startProcess('worker-1', forever)).rejects.toMatchObject({
        code: 'DEFINITION_CHANGED',
        detail: expect.stringMatching(/FL-21.* fingerprint [0-9a-f]{12}, .* [0-9a-f]{12}/u),
      });
    });
  });
});

describe('a backfill beside a live flow', () => {
  test('FL-10 FL-16 rows of both are there once, however often the pipeline starts', async () => {
    await scenario(backfill, { partitions: 2, batchRecordsMax: 2 }, async (told) => {
      await told.settle(...archived, person('live', 5));
      await told.crash();
      await told.settle(person('live', 6));
      await told.restart();
      await told.settle();
      expect(ids(told)).toEqual([1, 2, 3, 4, 5, 6]);
    });
  });

  test.each([
    ['row by row', 'SELECT id, name, lsn FROM archive'],
    [
      'of all rows at once',
      'SELECT id, max(name) AS name, max(lsn) AS lsn FROM archive GROUP BY id',
    ],
  ])('FL-16 FL-27 a table may stream the table that both write, %s', async (_, query) => {
    const sql = `${sources} CREATE STREAMING TABLE people;
      CREATE FLOW hist AS INSERT INTO ONCE people BY NAME ${query};
      CREATE FLOW live_f AS INSERT INTO people BY NAME SELECT id, name, lsn FROM STREAM(live);
      CREATE STREAMING TABLE newest FLOW REPLACE USING (id) SEQUENCE BY lsn BY NAME SELECT id, lsn FROM STREAM(people);`;
    await scenario(sql, { partitions: 2 }, async (told) => {
      await told.settle(person('archive', 1), person('archive', 2, 9), person('live', 1, 5));
      await told.crash();
      await told.settle(person('live', 3), person('archive', 4));
      expect(told.rows('newest')).toEqual([
        '{"id":1,"lsn":5}',
        '{"id":2,"lsn":9}',
        '{"id":3,"lsn":3}',
      ]);
    });
  });

  test('P117 an archive that overlaps the live topic gives each row once, and does not run again', async () => {
    await scenario(changed, {}, async (told) => {
      await told.settle(...archived, ...[4, 5, 6].map((id) => person('live', id)));
      expect(ids(told)).toEqual([1, 2, 3, 4, 5, 6]);
      await told.restart();
      await told.settle(person('archive', 7));
      expect(ids(told)).toEqual([1, 2, 3, 4, 5, 6]);
    });
  });
});

describe.each([
  ['appended', 'CREATE STREAMING TABLE up AS SELECT id, name, lsn FROM STREAM(archive);', 5],
  [
    'replaced',
    `CREATE STREAMING TABLE up FLOW REPLACE USING (id) SEQUENCE BY lsn BY NAME
     SELECT id, name, lsn FROM STREAM(archive);`,
    4,
  ],
  [
    'changed',
    `CREATE STREAMING TABLE up; CREATE FLOW feed AS AUTO CDC INTO up FROM STREAM(archive)
     KEYS (id) SEQUENCE BY lsn;`,
    4,
  ],
  [
    'computed',
    'CREATE MATERIALIZED VIEW up AS SELECT id, name, max(lsn) AS lsn FROM archive GROUP BY id, name;',
    4,
  ],
  [
    'computed from a table that is computed once itself',
    `CREATE STREAMING TABLE raw AS SELECT id, name, lsn FROM STREAM(archive);
     CREATE STREAMING TABLE up;
     CREATE FLOW first AS INSERT INTO ONCE up BY NAME SELECT id, name, lsn FROM raw;`,
    5,
  ],
])('FL-16 FL-27 a once flow over a table of the pipeline whose rows are %s', (_, up, count) => {
  const over = (query: string): string => `${sources} CREATE STREAMING TABLE sums;
    CREATE FLOW hist AS INSERT INTO ONCE sums BY NAME ${query}; ${up}`;
  const grouped = over('SELECT count(*) AS n, max(lsn) AS newest FROM up');
  const records = [...archived, person('archive', 2, 9)];

  test('finds it as what stood in the sources at the first start made it, and runs one time', async () => {
    await scenario(grouped, { partitions: 3, batchRecordsMax: 1 }, async (told) => {
      const all = [`{"n":${count},"newest":9}`];
      await told.settle(...records);
      expect(told.rows('sums')).toEqual(all);
      await told.settle(person('archive', 7, 20));
      await told.restart();
      await told.settle(person('archive', 8));
      await told.loseState();
      await told.settle();
      expect(told.rows('sums')).toEqual(all);
      expect(told.rows('up').join()).toContain(up.includes('ONCE') ? '"lsn":9' : '"lsn":20');
    });
  });

  test('gives its rows one by one, too, and to keys that are replaced', async () => {
    await scenario(over('SELECT id, name FROM up WHERE id < 3'), {}, async (told) => {
      await told.settle(...records);
      const ids = told.rows('sums').map((row) => (JSON.parse(row) as { id: number }).id);
      expect(ids).toEqual(count === 5 ? [1, 2, 2] : [1, 2]);
    });
    const replacing = over('SELECT id, lsn FROM up').replace(
      'sums BY NAME',
      'sums BY NAME REPLACE USING (id) SEQUENCE BY lsn',
    );
    await scenario(replacing, { partitions: 2 }, async (told) => {
      await told.settle(...records);
      const expected = [1, 2, 3, 4].map((id) => `{"id":${id},"lsn":${id === 2 ? 9 : id}}`);
      expect(told.rows('sums')).toEqual(expected);
    });
  });
});

describe('a once flow over tables', () => {
  test('CH-03 FL-16 REPLACE WHERE of one time finds them as what stood in the sources made them', async () => {
    const sql = `${sources} CREATE STREAMING TABLE kept (id BIGINT, lsn BIGINT);
      CREATE FLOW hist AS INSERT INTO ONCE kept BY NAME REPLACE WHERE lsn > 1
      SELECT id, max(lsn) AS lsn FROM up WHERE lsn > 1 GROUP BY id;
      CREATE STREAMING TABLE up FLOW REPLACE USING (id) SEQUENCE BY lsn BY NAME
      SELECT id, lsn FROM STREAM(archive);`;
    await scenario(sql, { partitions: 3, batchRecordsMax: 1 }, async (told) => {
      await told.settle(...archived, person('archive', 2, 9));
      const expected = ['{"id":2,"lsn":9}', '{"id":3,"lsn":3}', '{"id":4,"lsn":4}'];
      expect(told.rows('kept')).toEqual(expected);
      await told.restart();
      await told.settle(person('archive', 5), person('archive', 3, 8));
      await told.loseState();
      await told.settle();
      expect(told.rows('kept')).toEqual(expected);
    });
  });

  test('FL-16 FL-27 kill -9 at any step, of the update before it too, loses and repeats nothing', async () => {
    const plan = planOf(`CREATE SOURCE archive (id BIGINT, lsn BIGINT); CREATE STREAMING TABLE sums;
      CREATE FLOW hist AS INSERT INTO ONCE sums BY NAME SELECT count(*) AS n, max(lsn) AS newest FROM up;
      CREATE STREAMING TABLE up FLOW REPLACE USING (id) SEQUENCE BY lsn BY NAME
      SELECT id, lsn FROM STREAM(archive);`);
    const tables = plan.tables.toSorted((a) => (a.name === 'sums' ? -1 : 1));
    const records = [person('archive', 1), person('archive', 2), person('archive', 2, 9)];
    const steps = await dieAtEveryStep({ ...plan, tables }, records, (rows, step) => {
      expect(rows, `died at step ${step}`).toEqual(['{"n":2,"newest":9}']);
    });
    expect(steps).toBeGreaterThan(40);
  });

  test('of several instances that start at one time one computes it, from all that was there', async () => {
    const sql = `${sources} CREATE STREAMING TABLE sums;
      CREATE FLOW hist AS INSERT INTO ONCE sums BY NAME SELECT count(*) AS n FROM up;
      CREATE STREAMING TABLE up AS SELECT id FROM STREAM(archive);`;
    await scenario(sql, { partitions: 2 }, async (told) => {
      told.produce(...archived);
      await told.start('worker-1', 'worker-2', 'worker-3');
      await told.settle();
      expect(told.rows('sums')).toEqual(['{"n":4}']);
    });
  });

  test('over its own table is a circle, and AUTO CDC ONCE over a table has its remedy', () => {
    const own = `${backfill} CREATE FLOW again AS INSERT INTO ONCE people BY NAME SELECT id FROM people;`;
    expect(codesOf(own)).toEqual(['TABLE_CYCLE']);
    const feed = `${backfill} CREATE STREAMING TABLE t;
      CREATE FLOW f AS AUTO CDC ONCE INTO t FROM STREAM(people) KEYS (id) SEQUENCE BY id;`;
    expect(codesOf(feed)).toEqual(['NOT_SUPPORTED_YET']);
  });
});

describe('FL-17 a once flow that needs all rows at once', () => {
  const counted = (query: string): string => `${sources}
    CREATE VIEW named AS SELECT id, name, lsn FROM archive WHERE name IS NOT NULL;
    CREATE STREAMING TABLE sums;
    CREATE FLOW hist AS INSERT INTO ONCE sums BY NAME ${query};
    CREATE FLOW live_f AS INSERT INTO sums BY NAME SELECT name, CAST(1 AS BIGINT) AS n FROM STREAM(live);`;
  const grouped = counted('SELECT name, count(*) AS n, sum(lsn) AS total FROM named GROUP BY name');
  const records = [1, 2, 3].flatMap((id) => [person('archive', id), person('archive', id, 10)]);
  const result = [
    '{"name":"u1","n":2,"total":11}',
    '{"name":"u2","n":2,"total":12}',
    '{"name":"u3","n":2,"total":13}',
  ];

  test('FL-16 aggregates of what is there when it starts first, one time', async () => {
    await scenario(grouped, { partitions: 3, batchRecordsMax: 1 }, async (told) => {
      await told.settle(...records, person('live', 9));
      const all = [...result, '{"name":"u9","n":1,"total":null}'].sort();
      expect(told.rows()).toEqual(all);
      await told.settle(person('archive', 7));
      await told.restart();
      await told.settle(person('archive', 8));
      await told.loseState();
      await told.settle();
      expect(told.rows()).toEqual(all);
      expect((await told.account('hist')).source.records).toBe(3);
    });
  });

  test('FL-16 kill -9 at any step loses and repeats nothing', async () => {
    const plan = planOf(grouped);
    const alone = {
      ...plan,
      sources: plan.sources.filter(({ name }) => name !== 'live'),
      flows: plan.flows.filter(({ name }) => name === 'hist'),
    };
    const steps = await dieAtEveryStep(alone, records, (rows, step) => {
      expect(rows, `died at step ${step}`).toEqual(result);
    });
    expect(steps).toBeGreaterThan(20);
  });

  test('FL-16 of two instances that start at one time one computes it', async () => {
    await scenario(grouped, { partitions: 2 }, async (told) => {
      told.produce(...records);
      await told.start('worker-1', 'worker-2', 'worker-3');
      await told.settle();
      expect(told.rows()).toEqual(result);
    });
  });

  test.each([
    [
      'a join of two sources',
      'SELECT a.name, count(*) AS n FROM archive a FULL JOIN live l ON a.id = l.id GROUP BY a.name',
      ['{"name":"u1","n":1}', '{"name":"u2","n":1}'],
    ],
    [
      'a window and ORDER BY with LIMIT',
      'SELECT name, rank() OVER (ORDER BY id) AS r FROM archive ORDER BY id DESC LIMIT 1',
      ['{"name":"u2","r":2,"n":null}'],
    ],
    ['DISTINCT', 'SELECT DISTINCT length(name) AS n FROM archive', ['{"n":2,"name":null}']],
    [
      'a subquery',
      'SELECT name FROM archive WHERE id = (SELECT max(id) FROM archive)',
      ['{"name":"u2","n":null}'],
    ],
    ['no row at all', 'SELECT name, count(*) AS n FROM archive WHERE id > 5 GROUP BY name', []],
  ])('FL-17 %s', async (_, query, expected) => {
    await scenario(counted(query), { partitions: 2 }, async (told) => {
      await told.settle(person('archive', 1), person('archive', 2));
      expect(told.rows()).toEqual(expected);
    });
  });

  const replaced = `${sources} CREATE STREAMING TABLE t;
    CREATE FLOW hist AS INSERT INTO ONCE t BY NAME REPLACE USING (name) SEQUENCE BY n
    SELECT name, count(*) AS n, max(lsn) AS newest FROM archive GROUP BY name, lsn % 2;`;

  test('FL-16 FL-17 aggregates that replace rows: the highest sequence of each key, one time', async () => {
    await scenario(replaced, { partitions: 3, batchRecordsMax: 1 }, async (told) => {
      await told.settle(
        ...[1, 3, 2].map((lsn) => person('archive', 1, lsn)),
        ...[5, 6].map((lsn) => person('archive', 2, lsn)),
      );
      const all = [
        '{"name":"u1","n":2,"newest":3}',
        '{"name":"u2","n":1,"newest":5}',
        '{"name":"u2","n":1,"newest":6}',
      ];
      expect(told.rows()).toEqual(all);
      await told.restart();
      await told.settle(person('archive', 2, 8));
      await told.loseState();
      await told.settle();
      expect(told.rows()).toEqual(all);
    });
  });

  test('FL-16 kill -9 at any step of one that replaces rows', async () => {
    const given = [1, 2].flatMap((id) => [person('archive', id, 1), person('archive', id, 3)]);
    const plan = planOf(replaced);
    const alone = { ...plan, sources: plan.sources.filter(({ name }) => name !== 'live') };
    const steps = await dieAtEveryStep(alone, given, (rows, step) => {
      expect(rows, `died at step ${step}`).toEqual([
        '{"name":"u1","n":2,"newest":3}',
        '{"name":"u2","n":2,"newest":3}',
      ]);
    });
    expect(steps).toBeGreaterThan(20);
  });

  test('a row that an expression fails on stops it before anything is written, and names the flow', async () => {
    await scenario(
      counted('SELECT name, sum(10 DIV lsn) AS n FROM archive GROUP BY name'),
      {},
      async (told) => {
        const failure = await told.failure(person('archive', 1), person('archive', 2, 0));
        expect(failure).toMatchObject({
          code: 'BAD_ROW',
          message: expect.stringContaining('"hist"'),
        });
      },
    );
  });

  test('its faults are told with their places, as those of a batch query', () => {
    expect(codesOf(counted('SELECT name, count(nothing) AS n FROM archive GROUP BY name'))).toEqual(
      ['UNRESOLVED_COLUMN.WITH_SUGGESTION'],
    );
    expect(codesOf(counted('SELECT name, count(*) AS n FROM sums2 GROUP BY name'))).toEqual([
      'TABLE_OR_VIEW_NOT_FOUND',
    ]);
  });
});
