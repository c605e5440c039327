import { describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { Random } from '../../../src/testing/random.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';
import {
  arriveWithTrouble,
  everyWay,
  type Given,
  planOf,
  scenario,
} from '../../support/scenario.ts';

const columns = 'op STRING, id BIGINT, name STRING, body STRING, lsn BIGINT';

function feed(clauses: string, topic = 'cdc', flow = 'people_cdc'): string {
  return `CREATE SOURCE ${topic} (${columns}) WITH (topic = '${topic}');
    CREATE FLOW ${flow} AS AUTO CDC INTO people FROM STREAM(${topic}) KEYS (id) ${clauses};`;
}

const table = 'CREATE STREAMING TABLE people;';
const deletes = "APPLY AS DELETE WHEN op = 'd' SEQUENCE BY lsn COLUMNS * EXCEPT (op, lsn, body)";
const plain = `${table} ${feed(`${deletes} STORED AS SCD TYPE 1`)}`;
const history = `${table} ${feed(`${deletes} STORED AS SCD TYPE 2`)}`;

function change(op: string, id: number | null, name: string | null, lsn: number | null): Given {
  return { topic: 'cdc', value: { op, id, name, lsn } };
}

function faultsOf(sql: string): string[] {
  const { faults } = planPipeline([{ file: 'pipeline.sql', text: sql }]);
  return faults.map(({ code }) => code);
}

describe('AUTO CDC, SCD type 1', () => {
  test('P033 the delete event alone removes the row, and a tombstone after it changes nothing', async () => {
    const deleted = [change('c', 1, 'ann', 1), change('d', 1, null, 2)];
    for (const records of [deleted, [...deleted, { topic: 'cdc', value: null }]]) {
      await everyWay(plain, records, (told, { name }) => expect(told.rows(), name).toEqual([]));
    }
  });

  test('FL-25 a delete keeps its sequence: an older row that comes late stays dead', async () => {
    const records = [
      change('c', 1, 'ann', 1),
      change('d', 1, null, 5),
      change('u', 1, 'late', 4),
      change('c', 2, 'bob', 3),
      change('u', 1, 'at the same', 5),
    ];
    await everyWay(plain, records, (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"id":2,"name":"bob"}']);
    });
    await everyWay(plain, [...records, change('c', 1, 'back', 6)], (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"id":1,"name":"back"}', '{"id":2,"name":"bob"}']);
    });
  });

  test('FL-25 two flows that read one record make two changes of it: the higher row wins', async () => {
    const flow = (name: string, prefix: string) => `
      CREATE VIEW ${name}_view AS SELECT op, id, concat('${prefix}', name) AS name, lsn FROM STREAM(cdc);
      CREATE FLOW ${name} AS AUTO CDC INTO people FROM STREAM(${name}_view) KEYS (id)
        APPLY AS DELETE WHEN op = 'd' SEQUENCE BY lsn COLUMNS * EXCEPT (op, lsn) STORED AS SCD TYPE 1;`;
    const source = `CREATE SOURCE cdc (${columns}) WITH (topic = 'cdc');`;
    const records = [change('c', 1, 'x', 1), change('c', 2, 'y', 1), change('d', 2, null, 2)];
    for (const flows of [
      flow('one', 'b') + flow('two', 'a'),
      flow('one', 'a') + flow('two', 'b'),
    ]) {
      await everyWay(`${table} ${source} ${flows}`, records, (told, { name }) => {
        expect(told.rows(), name).toEqual(['{"id":1,"name":"bx"}']);
      });
    }
  });

  test('FL-25 at one sequence the higher row wins, whichever comes first', async () => {
    const pair = [change('u', 1, 'ann', 7), change('u', 1, 'bea', 7)];
    for (const records of [pair, [...pair].reverse()]) {
      await everyWay(plain, records, (told, { name }) => {
        expect(told.rows(), name).toEqual(['{"id":1,"name":"bea"}']);
      });
    }
  });

  test('P031 the placeholder of an unchanged column leaves what is stored', async () => {
    const sql = `${table} CREATE SOURCE cdc (${columns}) WITH (topic = 'cdc');
      CREATE FLOW f AS AUTO CDC INTO people
      FROM (SELECT op, id, name, NULLIF(body, '__debezium_unavailable_value') AS body, lsn FROM STREAM(cdc))
      KEYS (id) IGNORE NULL UPDATES APPLY AS DELETE WHEN op = 'd' SEQUENCE BY lsn
      COLUMNS * EXCEPT (op, lsn) STORED AS SCD TYPE 1;`;
    const records: Given[] = [
      { value: { op: 'c', id: 1, name: 'ann', lsn: 1, body: 'LONG TEXT' } },
      { value: { op: 'u', id: 1, name: 'anna', lsn: 2, body: '__debezium_unavailable_value' } },
    ];
    for (const arrived of [records, [...records].reverse()]) {
      await everyWay(sql, arrived, (told, { name }) => {
        expect(told.rows(), name).toEqual(['{"id":1,"name":"anna","body":"LONG TEXT"}']);
      });
    }
  });

  test('FL-25 IGNORE NULL UPDATES: a delete resets the columns below it', async () => {
    const sql = `${table} ${feed(
      "IGNORE NULL UPDATES ON (name, body) APPLY AS DELETE WHEN op = 'd' SEQUENCE BY lsn COLUMNS * EXCEPT (op, lsn)",
    )}`;
    const records = [
      { value: { op: 'u', id: 1, name: null, body: 'new', lsn: 6 } },
      { value: { op: 'd', id: 1, lsn: 5 } },
      { value: { op: 'u', id: 1, name: 'old', body: 'old', lsn: 3 } },
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"id":1,"name":null,"body":"new"}']);
    });
  });

  test('FL-25 IGNORE NULL UPDATES takes a STRUCT as one value: NULL leaves it, any other replaces it with its NULLs', async () => {
    const sql = `CREATE SOURCE cdc (id INT, home STRUCT<city: STRING, zip: STRING>, lsn INT);
      CREATE STREAMING TABLE people; CREATE FLOW f AS AUTO CDC INTO people FROM STREAM(cdc)
      KEYS (id) IGNORE NULL UPDATES SEQUENCE BY lsn COLUMNS * EXCEPT (lsn);`;
    const records = [
      { value: { id: 1, home: { city: 'Oslo', zip: '0150' }, lsn: 1 } },
      { value: { id: 1, home: { city: 'Bergen' }, lsn: 2 } },
      { value: { id: 1, home: null, lsn: 3 } },
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"id":1,"home":{"city":"Bergen","zip":null}}']);
    });
  });

  test('FL-25 a truncate empties every partition below its sequence, and nothing above it', async () => {
    const sql = `${table} ${feed(
      "APPLY AS DELETE WHEN op = 'd' APPLY AS TRUNCATE WHEN op = 't' SEQUENCE BY lsn COLUMNS * EXCEPT (op, lsn, body)",
    )}`;
    const records = [
      ...Array.from({ length: 9 }, (_, id) => change('c', id, `old ${id}`, id + 1)),
      change('d', 3, null, 6),
      change('c', 4, 'newer', 12),
      change('t', null, null, 10),
      change('u', 5, 'late', 9),
      change('u', 6, 'later', 11),
    ];
    await everyWay(sql, records, async (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"id":4,"name":"newer"}', '{"id":6,"name":"later"}']);
      const { source, table: kept } = await told.account('people_cdc');
      expect(source.handedOn, name).toBe(records.length);
      expect(kept.rows, name).toBe(records.length);
    });
  });

  test('FL-25 a NULL key and a NULL sequence are bad rows', async () => {
    const set = plain.replace(
      table,
      "CREATE STREAMING TABLE people WITH (dead_letter_topic = 'dlq');",
    );
    const records = [change('c', null, 'a', 1), change('c', 1, 'b', null), change('c', 2, 'c', 3)];
    await everyWay(set, records, (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"id":2,"name":"c"}']);
      const classes = told.deadLetters().map((letter) => letter.split(' ')[0]);
      expect(classes.sort(), name).toEqual(['NULL_KEY', 'NULL_SEQUENCE']);
    });
    const failed = await scenario(plain, {}, (told) => told.failure(records[0] as Given));
    expect(failed).toMatchObject({ code: 'BAD_ROW', detail: expect.stringContaining('NULL_KEY') });
  });

  test('FL-30 expectations judge the rows, and never a delete', async () => {
    const sql = plain.replace(
      table,
      'CREATE STREAMING TABLE people (id BIGINT, name STRING, CONSTRAINT named EXPECT (name IS NOT NULL) ON VIOLATION DROP ROW);',
    );
    const records = [
      change('c', 1, 'a', 1),
      change('u', 1, null, 2),
      change('c', 2, 'b', 1),
      change('d', 2, null, 2),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"id":1,"name":"a"}']);
    });
  });
});

describe('AUTO CDC, SCD type 2', () => {
  const records = [
    change('c', 1, 'a', 10),
    change('u', 1, 'b', 20),
    change('d', 1, null, 30),
    change('c', 1, 'c', 40),
    change('u', 1, 'a', 15),
    change('c', 2, 'x', 5),
    change('d', 3, null, 5),
  ];
  const rows = [
    '{"id":1,"name":"a","__START_AT":10,"__END_AT":20}',
    '{"id":1,"name":"b","__START_AT":20,"__END_AT":30}',
    '{"id":1,"name":"c","__START_AT":40,"__END_AT":null}',
    '{"id":2,"name":"x","__START_AT":5,"__END_AT":null}',
  ];

  test('FL-25 each change of a tracked column is a row with its start and end, whatever the order', async () => {
    await everyWay(history, records, (told, { name }) => expect(told.rows(), name).toEqual(rows));
    await everyWay(history, [...records].reverse(), (told, { name }) => {
      expect(told.rows(), name).toEqual(rows);
    });
  });

  test('FL-25 declared columns of the history have the type of the sequence', async () => {
    const declared = (type: string) =>
      history.replace(
        table,
        `CREATE STREAMING TABLE people (id BIGINT, name STRING, __START_AT ${type}, __END_AT ${type});`,
      );
    await everyWay(declared('BIGINT'), records, (told, { name }) => {
      expect(told.rows(), name).toEqual(rows);
    });
    expect(faultsOf(declared('STRING'))).toContain('CDC_HISTORY_COLUMNS');
    const without = history.replace(
      table,
      'CREATE STREAMING TABLE people (id BIGINT, name STRING);',
    );
    expect(faultsOf(without)).toContain('CDC_HISTORY_COLUMNS');
  });

  test('FL-25 one record holds the whole history of a key', async () => {
    await scenario(history, {}, async (told) => {
      await told.settle(...records);
      const mine = told.output().filter(({ key }) => key?.toString() === '{"id":1}');
      expect(mine).toHaveLength(1);
    });
  });
});

describe('several AUTO CDC flows into one table', () => {
  const clauses = `${deletes} STORED AS SCD TYPE 1`;
  const both = `${table} ${feed(clauses, 'cdc', 'east')} ${feed(clauses, 'west', 'west_cdc')}`;

  test('FL-25 two flows, one keyed state, the highest sequence of both', async () => {
    const records: Given[] = [
      { topic: 'cdc', value: { op: 'c', id: 1, name: 'east 1', lsn: 1 } },
      { topic: 'west', value: { op: 'u', id: 1, name: 'west 3', lsn: 3 } },
      { topic: 'cdc', value: { op: 'u', id: 1, name: 'east 2', lsn: 2 } },
      { topic: 'west', value: { op: 'c', id: 2, name: 'west 1', lsn: 1 } },
      { topic: 'cdc', value: { op: 'd', id: 2, lsn: 4 } },
      { topic: 'cdc', value: { op: 'c', id: 3, name: 'east', lsn: 1 } },
    ];
    await everyWay(both, records, (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"id":1,"name":"west 3"}', '{"id":3,"name":"east"}']);
    });
  });

  test('FL-20 flows come and go, and are renamed, while the table keeps what it knows', async () => {
    await scenario(both, {}, async (told) => {
      await told.settle(
        { topic: 'cdc', value: { op: 'c', id: 1, name: 'east', lsn: 5 } },
        { topic: 'cdc', value: { op: 'd', id: 9, lsn: 5 } },
      );
      await told.stop();
      const renamed = planOf(`${table} ${feed(clauses, 'west', 'other')}`);
      const process = await told.world.startProcess('worker-1', renamed);
      told.produce(
        { topic: 'west', value: { op: 'u', id: 1, name: 'old', lsn: 4 } },
        { topic: 'west', value: { op: 'u', id: 9, name: 'dead', lsn: 4 } },
        { topic: 'west', value: { op: 'c', id: 2, name: 'west', lsn: 1 } },
      );
      await told.world.untilCaughtUp(process);
      await told.world.stop(process);
      expect(told.rows()).toEqual(['{"id":1,"name":"east"}', '{"id":2,"name":"west"}']);
    });
  });

  test('FL-25 flows that do not agree on what the table stores are refused', () => {
    const other = (text: string) => `${table} ${feed(clauses)} ${feed(text, 'west', 'w')}`;
    expect(faultsOf(other(clauses))).toEqual([]);
    expect(faultsOf(other(clauses.replace('TYPE 1', 'TYPE 2')))).toContain('CDC_FLOWS_DIFFER');
    expect(faultsOf(other(clauses.replace('BY lsn', 'BY op')))).toContain('CDC_FLOWS_DIFFER');
  });

  test.each([
    ['a flow that appends', 'INSERT INTO people BY NAME SELECT id FROM STREAM(cdc)', 'CDC_MIX'],
    ['a flow that runs once', 'INSERT INTO ONCE people BY NAME SELECT id FROM cdc', 'CDC_MIX'],
    [
      'REPLACE USING',
      'INSERT INTO people BY NAME REPLACE USING (id) SEQUENCE BY lsn SELECT id, lsn FROM STREAM(cdc)',
      'FLOW_MIX',
    ],
    [
      'REPLACE WHERE',
      'INSERT INTO people BY NAME REPLACE WHERE id > 1 SELECT id FROM cdc',
      'FLOW_MIX',
    ],
  ])(
    'FL-23 FL-26 nothing else writes a table of AUTO CDC: %s, before or behind it',
    (_, query, code) => {
      const other = `CREATE FLOW other AS ${query};`;
      expect(faultsOf(`${plain} ${other}`)).toContain(code);
      expect(faultsOf(plain.replace('CREATE FLOW', `${other} CREATE FLOW`))).toContain(code);
    },
  );

  test('FL-23 AUTO CDC writes streaming tables only; FL-24 its source streams', () => {
    const view = plain.replace(table, 'CREATE VIEW people AS SELECT 1 AS id;');
    expect(faultsOf(view)).toContain('TARGET_KIND');
    for (const other of [
      "CREATE SINK people WITH (topic = 'people');",
      'CREATE MATERIALIZED VIEW people AS SELECT 1 AS id;',
    ]) {
      expect(faultsOf(plain.replace(table, other))).toContain('TARGET_KIND');
    }
    expect(faultsOf(plain.replace('STREAM(cdc)', 'cdc'))).toContain('SOURCE_NOT_STREAMING');
    const once = plain.replace('AUTO CDC INTO', 'AUTO CDC ONCE INTO');
    expect(faultsOf(once.replace('STREAM(cdc)', 'cdc'))).toContain('SOURCE_NOT_STREAMING');
  });

  test('FL-25 APPLY CHANGES INTO is AUTO CDC in a flow of the table’s name', async () => {
    const sql = plain.replace('CREATE FLOW people_cdc AS AUTO CDC INTO', 'APPLY CHANGES INTO');
    expect(planOf(sql).flows.map(({ name }) => name)).toEqual(['people']);
    await everyWay(sql, [change('c', 1, 'a', 1)], (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"id":1,"name":"a"}']);
    });
  });

  test.each([
    ['CDC_COLUMN_UNKNOWN', deletes.replace('body', 'bodi')],
    ['KEY_UNKNOWN', deletes.replace('* EXCEPT (op, lsn, body)', '(name)')],
    ['CDC_WHEN_TYPE', deletes.replace("op = 'd'", 'op')],
    ['CDC_HISTORY_ONLY', `${deletes} TRACK HISTORY ON (name)`],
    ['CDC_TRUNCATE_HISTORY', `APPLY AS TRUNCATE WHEN op = 't' ${deletes} STORED AS SCD TYPE 2`],
    ['SEQUENCE_NONDETERMINISTIC', deletes.replace('BY lsn', 'BY current_timestamp()')],
  ])('FL-25 %s is told when the pipeline is checked', (code, clauses) => {
    expect(faultsOf(`${table} ${feed(clauses)}`)).toContain(code);
  });
});

describe('a change feed survives whatever happens', () => {
  test.each([
    ['SCD type 1', plain],
    ['SCD type 2', history],
  ])('kill -9 at every step loses and repeats nothing: %s', async (_, sql) => {
    const records = [change('c', 1, 'a', 1), change('d', 1, null, 3), change('u', 1, 'late', 2)];
    const expected = await scenario(sql, {}, async (told) => {
      await told.settle(...records);
      return told.rows();
    });
    const steps = await dieAtEveryStep(planOf(sql), records, (rows, step) => {
      expect(rows, `died at step ${step}`).toEqual(expected);
    });
    expect(steps).toBeGreaterThan(20);
  });

  test.each(['exactly_once', 'at_least_once'] as const)(
    'kill -9 at every step around a truncate, %s',
    async (delivery) => {
      const sql = `${table} ${feed(
        "APPLY AS DELETE WHEN op = 'd' APPLY AS TRUNCATE WHEN op = 't' SEQUENCE BY lsn COLUMNS * EXCEPT (op, lsn, body)",
      )}`;
      const records = [
        change('c', 1, 'a', 1),
        change('d', 2, null, 3),
        change('t', null, null, 4),
        change('u', 2, 'late', 3),
        change('c', 3, 'c', 5),
      ];
      await dieAtEveryStep(
        planOf(sql),
        records,
        (rows, step) => expect(rows, `died at step ${step}`).toEqual(['{"id":3,"name":"c"}']),
        { delivery },
      );
    },
  );

  test.each([1, 2, 3])(
    'random changes with trouble give what they give at once, seed %i',
    async (seed) => {
      const random = new Random(seed);
      const clauses = `IGNORE NULL UPDATES APPLY AS DELETE WHEN op = 'd' SEQUENCE BY lsn COLUMNS * EXCEPT (op, lsn)`;
      const truncates = " APPLY AS TRUNCATE WHEN op = 't'";
      const sql = `${table} ${feed(`${clauses}${seed === 2 ? ' STORED AS SCD TYPE 2' : truncates}`)}`;
      const records = Array.from({ length: 150 }, (_, at) => ({
        value: {
          op: random.pick(seed === 2 || at % 40 > 0 ? ['c', 'u', 'u', 'd'] : ['t']),
          id: random.below(8),
          name: random.pick(['a', 'b', null]),
          body: random.pick(['x', 'y', null]),
          lsn: random.below(60),
        },
      }));
      const expected = await scenario(sql, {}, async (told) => {
        await told.settle(...records);
        return told.rows();
      });
      await scenario(sql, { partitions: 3, batchRecordsMax: 4 }, async (told) => {
        await arriveWithTrouble(told, random.shuffled(records), random);
        expect(told.rows()).toEqual(expected);
      });
    },
  );
});

describe('Debezium', () => {
  const source = `CREATE SOURCE cdc (id BIGINT, name STRING, __op STRING, __source_lsn BIGINT, __deleted BOOLEAN)
    WITH (topic = 'cdc', format = 'debezium-json');`;
  const sql = `CREATE STREAMING TABLE people WITH (dead_letter_topic = 'dlq'); ${source}
    CREATE FLOW f AS AUTO CDC INTO people FROM STREAM(cdc) KEYS (id)
    APPLY AS DELETE WHEN __op = 'd' APPLY AS TRUNCATE WHEN __op = 't'
    SEQUENCE BY __source_lsn COLUMNS * EXCEPT (__op, __source_lsn, __deleted);`;
  const row = (id: number, name: string) => ({ id, name, unknown: [1] });
  const envelope = (op: string, lsn: number, before: object | null, after: object | null) => ({
    value: { before, after, source: { lsn, table: 'people' }, op, ts_ms: 1 },
  });

  test('FL-25 the envelope is taken off: the row after, of a delete the row before', async () => {
    const records: Given[] = [
      envelope('r', 1, null, row(1, 'a')),
      { value: { schema: {}, payload: envelope('u', 2, row(1, 'a'), row(1, 'b')).value } },
      envelope('c', 3, null, row(2, 'c')),
      envelope('d', 4, row(2, 'c'), null),
      { value: null },
      envelope('m', 5, null, null),
      envelope('u', 6, row(3, 'x'), null),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"id":1,"name":"b"}']);
      expect(told.deadLetters()[0], name).toMatch(/^MALFORMED_RECORD/u);
    });
    const truncated = [...records.slice(0, 2), envelope('t', 9, null, null)];
    await everyWay(sql, truncated, (told, { name }) => expect(told.rows(), name).toEqual([]));
  });

  test('FL-25 kill -9 at every step around late deletes, a truncate and a tombstone of a captured table', async () => {
    const records: Given[] = [
      envelope('c', 2, null, row(1, 'a')),
      envelope('d', 5, row(2, 'gone'), null),
      { value: null },
      envelope('u', 4, row(2, 'b'), row(2, 'late')),
      envelope('t', 3, null, null),
      envelope('c', 6, null, row(3, 'c')),
    ];
    const steps = await dieAtEveryStep(planOf(sql), records, (rows, step) => {
      expect(rows, `died at step ${step}`).toEqual(['{"id":3,"name":"c"}']);
    });
    expect(steps).toBeGreaterThan(20);
  });

  test('CH-01 rows without a primary key are shown to REPLACE USING', () => {
    const keyless = `CREATE SOURCE s (region STRING, seq BIGINT); CREATE STREAMING TABLE t;
      CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) SEQUENCE BY seq;`;
    const { faults } = planPipeline([{ file: 'p.sql', text: keyless }]);
    expect(faults).toMatchObject([
      { code: 'CDC_KEYS_MISSING', hint: expect.stringContaining('REPLACE USING (key)') },
    ]);
  });

  test('CH-02 a source that looks like Debezium is told to be a change feed', () => {
    const raw = `CREATE SOURCE c (op STRING, before STRUCT<id: INT>, after STRUCT<id: INT>, ts_ms BIGINT) WITH (topic = 'c');
      CREATE STREAMING TABLE t FLOW REPLACE USING (id) SEQUENCE BY ts_ms BY NAME
      SELECT after.id AS id, ts_ms FROM STREAM(c);`;
    expect(faultsOf(raw)).toEqual(['CDC_FEED']);
    expect(faultsOf(sql)).toEqual([]);
  });
});
