import { expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';

const source = "CREATE SOURCE o (id BIGINT, ts BIGINT, c STRING) WITH (topic = 'o');";
const merged = 'FLOW REPLACE USING (id) SEQUENCE BY ts BY NAME';

/** Of each error the code, what the place marks, and message and hint as one text. */
function faultsOf(sql: string): readonly (readonly [string, string, string])[] {
  const text = `${source}\n${sql}`;
  const { faults } = planPipeline([{ file: 'p.sql', text }]);
  return faults
    .filter(({ severity }) => severity === 'error')
    .map(({ code, message, hint, place }) => [
      code,
      text.slice(place.start, place.end),
      `${message}; ${hint}`,
    ]);
}

test.each([
  [
    'a key with a column',
    `CREATE STREAMING TABLE t (id BIGINT PRIMARY KEY, ts BIGINT) ${merged} SELECT id, ts FROM STREAM(o);`,
    'PRIMARY',
    'the one that its flow names, REPLACE USING (id)',
  ],
  [
    'a reference with a column',
    `CREATE STREAMING TABLE t (id BIGINT REFERENCES u (id), ts BIGINT) ${merged} SELECT id, ts FROM STREAM(o);`,
    'REFERENCES',
    'Leave it out',
  ],
  [
    'a mask',
    'CREATE STREAMING TABLE t (id BIGINT, c STRING MASK m USING COLUMNS (id)) AS SELECT id, c FROM STREAM(o);',
    'MASK',
    'SELECT mask(c) AS c',
  ],
  [
    'a generated column',
    'CREATE STREAMING TABLE t (id BIGINT, g BIGINT GENERATED ALWAYS AS (id + 1)) AS SELECT id FROM STREAM(o);',
    'GENERATED',
    'compute it in the query',
  ],
  [
    'a sink with a format',
    "CREATE SINK k FORMAT 'kafka' OPTIONS (topic 'x');",
    'FORMAT',
    "CREATE SINK name WITH (topic = '…')",
  ],
  [
    'a flow of snapshots',
    'CREATE STREAMING TABLE t; CREATE FLOW f AS AUTO CDC FROM SNAPSHOT INTO t FROM o KEYS (id);',
    'FROM',
    'REPLACE USING (key) SEQUENCE BY sequence',
  ],
  [
    'snapshots without a flow',
    'CREATE STREAMING TABLE t; AUTO CDC FROM SNAPSHOT INTO t FROM o KEYS (id);',
    'AUTO',
    'CREATE FLOW name AS AUTO CDC INTO target',
  ],
])('%s is refused by its name, with what to write instead', (_, sql, marked, remedy) => {
  const faults = faultsOf(sql);
  expect(faults.map(([code, place]) => [code, place])).toEqual([['NOT_SUPPORTED', marked]]);
  expect(faults[0]?.[2]).toContain(remedy);
});

test('what is called SNAPSHOT behind FROM is no source, and AUTO CDC reads none', () => {
  const faults = faultsOf(
    'CREATE STREAMING TABLE t; APPLY CHANGES INTO t FROM SNAPSHOT o KEYS (id) SEQUENCE BY ts;',
  );
  expect(faults.map(([, , text]) => text).join()).toContain('Snapshots are not read by AUTO CDC');
});

test('LIVE is left out, before TABLE and before the name', () => {
  const faults = faultsOf(
    'CREATE OR REFRESH STREAMING LIVE TABLE t; APPLY CHANGES INTO LIVE.t FROM STREAM(LIVE.o) KEYS (id) SEQUENCE BY ts;',
  );
  expect(faults.map(([, place, text]) => [place, text.split('; ')[1]])).toEqual([
    ['LIVE', 'Leave LIVE out: it is the old spelling.'],
    ['LIVE.t', 'Create it first: CREATE STREAMING TABLE t;'],
  ]);
  expect(
    faultsOf(
      'CREATE STREAMING TABLE t; APPLY CHANGES INTO LIVE.t FROM STREAM(LIVE.o) KEYS (id) SEQUENCE BY ts;',
    ),
  ).toEqual([]);
});

test.each([
  ['SEQUENCE_UNKNOWN', 'id BIGINT, c STRING', 'ts', 'declares no sequence column "ts"'],
  ['KEY_UNKNOWN', 'ts BIGINT, c STRING', 'id', 'declares no key column "id"'],
])('%s: what the query gives and the table does not declare', (code, columns, name, text) => {
  const sql = `CREATE STREAMING TABLE t (${columns}) ${merged} SELECT * FROM STREAM(o);`;
  const [first] = faultsOf(sql);
  expect(first?.slice(0, 2)).toEqual([code, name]);
  expect(first?.[2]).toContain(text);
  expect(first?.[2]).toContain('declare it among the columns of "t"');
});

test('what a star gives and the table does not declare is one fault, also of read_kafka', () => {
  const sql = `CREATE STREAMING TABLE t (id BIGINT) AS SELECT * FROM`;
  expect(faultsOf(`${sql} STREAM(o);`)).toEqual([
    [
      'TARGET_COLUMN_UNKNOWN',
      'STREAM(o)',
      'streaming table "t" declares no columns "ts" and "c"; The columns of "t" are "id". Declare them, or name the columns that you want instead of the star.',
    ],
  ]);
  const raw = faultsOf(`${sql} STREAM read_kafka(subscribe => 'a');`);
  expect(raw).toHaveLength(1);
  expect(raw[0]?.[2]).toContain('read_kafka gives the raw records');
});

test('a column that read_kafka does not have names those that it has, and where the fields are', () => {
  const [fault] = faultsOf(
    "CREATE STREAMING TABLE t AS SELECT id FROM STREAM read_kafka(subscribe => 'a');",
  );
  expect(fault?.slice(0, 2)).toEqual(['UNRESOLVED_COLUMN.WITH_SUGGESTION', 'id']);
  expect(fault?.[2]).toMatch(/"key", "value", "topic".*from_json\(CAST\(value AS STRING\)/);
});
