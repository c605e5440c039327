import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Fault } from '../../../src/base/place.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { everyWay, type Given, planOf, scenario } from '../../support/scenario.ts';

const source = `CREATE SOURCE s (k INT, other INT, v STRING, m MAP<STRING, INT>, j VARIANT, seq BIGINT) WITH (topic = 's');
`;

/** The errors of a flow's clause and query; the clause stands at 1:1 of the line after the source. */
function refused(text: string): readonly Fault[] {
  const { plan, faults } = planPipeline([{ file: 'pipeline.sql', text: `${source}${text}` }]);
  // Without a plan nothing is started, so no topic can have been created.
  expect(plan).toBeUndefined();
  return faults.filter(({ severity }) => severity === 'error');
}

const flow = (clauses: string, query = 'SELECT k, v, seq FROM STREAM(s)') =>
  `CREATE STREAMING TABLE t FLOW ${clauses} ${query};`;

function place({ place: { line, column } }: Fault): string {
  return `${line}:${column}`;
}

describe('what a REPLACE USING flow requires', () => {
  test('RQ-01 the oldest broker, Redis and Node that do are documented', () => {
    const root = join(import.meta.dirname, '../../..');
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    expect(readme).toMatch(/Kafka 2\.8/);
    expect(readme).toMatch(/Redis 6\.2/);
    const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      engines: { node: string };
    };
    expect(readme).toContain(`Node.js ${engines.node.replace('>=', '')}`);
  });

  test('RQ-02 a source that is no stream is refused where it stands', () => {
    const faults = refused(
      flow('REPLACE USING (k) SEQUENCE BY seq BY NAME', 'SELECT k, seq\nFROM s'),
    );
    expect(faults.map(place)).toEqual(['3:6']);
    expect(faults[0]?.hint).toContain('STREAM(s)');
  });

  test.each([
    ['RQ-03 no key', 'REPLACE USING () SEQUENCE BY seq BY NAME', ['REPLACE_USING_KEY_MISSING']],
    ['RQ-04 no sequence', 'REPLACE USING (k) BY NAME', ['SEQUENCE_BY_MISSING']],
    ['RQ-04 two sequences', 'REPLACE USING (k) SEQUENCE BY seq, k BY NAME', ['SEQUENCE_BY_COUNT']],
    ['RQ-05 a key twice', 'REPLACE USING (k, k) SEQUENCE BY seq BY NAME', ['KEY_DUPLICATE']],
    ['RQ-05 twice in two cases', 'REPLACE USING (k, K) SEQUENCE BY seq BY NAME', ['KEY_DUPLICATE']],
    ['SX-04 no BY NAME', 'REPLACE USING (k) SEQUENCE BY seq', ['BY_NAME_MISSING']],
  ])('%s is refused', (_, clauses, codes) => {
    const faults = refused(flow(clauses));
    expect(faults.map(({ code }) => code)).toEqual(codes);
    for (const { message, hint } of faults) expect(`${message}${hint}`.length).toBeGreaterThan(20);
  });

  test.each([
    ['RQ-06 RQ-08', 'm', 'MAP<STRING, INT>'],
    ['RQ-06 RQ-09', 'j', 'VARIANT'],
    ['RQ-06 RQ-08', 'nested', 'ARRAY<MAP<STRING, INT>>'],
    ['RQ-06 RQ-09', 'inside', 'STRUCT<x: VARIANT NOT NULL>'],
  ])('%s a key %s of type %s is refused, with its column and type', (_, column, type) => {
    const [fault, ...others] = refused(
      flow(
        `REPLACE USING (${column}) SEQUENCE BY seq BY NAME`,
        'SELECT m, j, array(m) AS nested, named_struct("x", j) AS inside, seq FROM STREAM(s)',
      ),
    );
    expect(others).toEqual([]);
    expect(fault).toMatchObject({ code: 'KEY_TYPE' });
    expect(fault?.message).toContain(`"${column}"`);
    expect(fault?.message.toUpperCase()).toContain(type.slice(0, 8).toUpperCase());
  });

  test.each([
    ['RQ-11 a key', 'REPLACE USING (kk) SEQUENCE BY seq BY NAME', 'KEY_UNKNOWN', 'k'],
    ['RQ-11 a sequence', 'REPLACE USING (k) SEQUENCE BY sequ BY NAME', 'SEQUENCE_UNKNOWN', 'seq'],
  ])(
    '%s that the query does not give is refused, with the nearest name',
    (_, clauses, code, near) => {
      const [fault] = refused(flow(clauses));
      expect(fault).toMatchObject({ code, hint: expect.stringContaining(`"${near}"`) });
    },
  );
});

describe('RQ-07 every atomic type may be a key', () => {
  const types: readonly (readonly [type: string, values: readonly string[]])[] = [
    ['BOOLEAN', ['true', 'false']],
    ['TINYINT', ['-128', '127']],
    ['SMALLINT', ['-32768', '32767']],
    ['INT', ['-2147483648', '2147483647']],
    ['BIGINT', ['9007199254740993', '9007199254740992', '-9223372036854775808']],
    ['FLOAT', ['0.1', '1e30', '"NaN"', '"Infinity"']],
    ['DOUBLE', ['0.1', '0.10000000000000002', '"NaN"', '"-Infinity"']],
    [
      'DECIMAL(38,10)',
      ['1234567890123456789012345678.0000000001', '1234567890123456789012345678.0000000002'],
    ],
    ['STRING', ['""', '"null"', '"é"', '"e\u0301"', '"a\\"b"', '"\\u0000"']],
    ['BINARY', ['""', '"AA=="', '"AAA="']],
    ['DATE', ['"0001-01-01"', '"9999-12-31"']],
    ['TIMESTAMP', ['"2025-01-01T00:00:00.000001Z"', '"2025-01-01T00:00:00.000002Z"']],
    ['TIMESTAMP_NTZ', ['"2025-01-01T00:00:00.000001"', '"2025-01-01T00:00:00.000002"']],
    ['ARRAY<INT>', ['[]', '[1,2]', '[12]', '[null]']],
    [
      'STRUCT<a: STRING, b: STRING>',
      ['{"a":"x","b":null}', '{"a":null,"b":"x"}', '{"a":"","b":"x"}'],
    ],
  ];

  test.each(types)('RQ-07 %s', async (type, values) => {
    const sql = `CREATE SOURCE typed (k ${type}, v INT, seq BIGINT) WITH (topic = 'typed');
      CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
      SELECT k, v, seq FROM STREAM(typed);`;
    const keys = [...values, 'null'];
    const records = (v: number, seq: number): Given[] =>
      keys.map((key) => ({ value: `{"k":${key},"v":${v},"seq":${seq}}` }));
    await everyWay(sql, [...records(0, 1), ...records(1, 2)], (told, { name }) => {
      const found = told.rows().map((text) => JSON.parse(text) as { v: number });
      expect(found, name).toHaveLength(keys.length);
      expect(
        found.every(({ v }) => v === 1),
        name,
      ).toBe(true);
    });
  });
});

describe('what may stand beside a REPLACE USING flow', () => {
  const table = 'CREATE STREAMING TABLE t;\n';
  const insert = (name: string, clauses: string) =>
    `CREATE FLOW ${name} AS INSERT INTO t BY NAME ${clauses} SELECT k, v, seq FROM STREAM(s);\n`;
  const replacing = insert('a', 'REPLACE USING (k) SEQUENCE BY seq');

  test('LM-01 a second REPLACE USING flow is refused; both are named, UNION ALL is the hint', () => {
    const faults = refused(`${table}${replacing}${replacing.replace('FLOW a', 'FLOW b')}`);
    expect(faults).toMatchObject([{ code: 'SECOND_REPLACE_FLOW', place: { line: 4 } }]);
    expect(faults[0]?.message).toMatch(/"a".*"b"/);
    expect(faults[0]?.hint).toContain('UNION ALL');
  });

  test.each([
    ['append', insert('b', '')],
    ['once', 'CREATE FLOW b AS INSERT INTO ONCE t BY NAME SELECT k, v, seq FROM s;'],
    ['AUTO CDC', 'CREATE FLOW b AS AUTO CDC INTO t FROM STREAM(s) KEYS (k) SEQUENCE BY seq;'],
  ])('LM-02 a flow of kind %s beside it is refused', (_, other) => {
    const codes = refused(`${table}${replacing}${other}`).map(({ code }) => code);
    expect(codes).toContain('FLOW_MIX');
  });

  test('LM-03 a target that the pipeline does not create is refused', () => {
    const [fault] = refused(replacing);
    expect(fault).toMatchObject({ code: 'TARGET_UNKNOWN', place: { line: 2 } });
  });

  test('LM-03 a topic that holds the records of somebody else is never written', async () => {
    await scenario(
      planOf(`${source}${flow('REPLACE USING (k) SEQUENCE BY seq BY NAME')}`),
      {},
      async (told) => {
        told.world.log.createTopic('t', 1, { 'cleanup.policy': 'compact' });
        told.world.log.produce('t', 0, { key: 'theirs', value: 'theirs' });
        expect(await told.failure({ value: { k: 1, seq: 1 } })).toMatchObject({
          code: 'TOPIC_CONFIG',
          message: expect.stringContaining('"t"'),
        });
        expect(told.world.log.readCommitted('t')).toHaveLength(1);
      },
    );
  });
});

describe('syntax', () => {
  const query = 'SELECT k, v, seq FROM STREAM(s)';
  const short = `${source}CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME ${query};`;
  const long = (name: string) => `${source}CREATE STREAMING TABLE t;
    CREATE FLOW ${name} AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq ${query};`;

  /** A plan without the places of its parts in the text. */
  function shape(sql: string): unknown {
    return JSON.parse(
      JSON.stringify(planOf(sql), (name, value: unknown) => {
        if (name === 'place') return undefined;
        return typeof value === 'bigint' ? String(value) : value;
      }),
    );
  }

  test('SX-01 SX-02 SX-16 the short and the long form are one plan, and one checkpoint', async () => {
    expect(shape(long('t'))).toEqual(shape(short));
    expect(planOf(long('t')).flows[0]?.fingerprint).toBe(planOf(short).flows[0]?.fingerprint);
    await scenario(planOf(short), {}, async (told) => {
      await told.settle({ value: { k: 1, v: 'a', seq: 1 } });
      await told.stop();
      // The other form goes on where the first one stopped.
      const process = await told.world.startProcess('worker-1', planOf(long('t')));
      told.produce({ value: { k: 2, v: 'b', seq: 1 } });
      await told.world.untilCaughtUp(process);
      await told.world.stop(process);
      expect((await told.account()).source.records).toBe(2);
      expect(told.rows()).toEqual(['{"k":1,"v":"a","seq":1}', '{"k":2,"v":"b","seq":1}']);
    });
  });

  test('SX-02 another flow name is another checkpoint', () => {
    expect(planOf(long('f')).flows.map(({ name, target }) => [name, target])).toEqual([['f', 't']]);
  });

  test('SX-03 CREATE OR REFRESH is the same plan, and applying it again changes nothing', async () => {
    const refresh = short.replace('CREATE STREAMING', 'CREATE OR REFRESH STREAMING');
    expect(shape(refresh)).toEqual(shape(short));
    await scenario(planOf(refresh), {}, async (told) => {
      await told.settle({ value: { k: 1, v: 'a', seq: 1 } });
      const before = told.output().length;
      await told.restart();
      await told.settle();
      expect(told.output()).toHaveLength(before);
    });
  });

  test('SX-04 columns are matched by name: another order gives the same rows', async () => {
    const declared = (select: string) => `${source}
      CREATE STREAMING TABLE t (k INT, v STRING, seq BIGINT)
      FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT ${select} FROM STREAM(s);`;
    const record: Given = { value: { k: 1, v: 'a', seq: 1 } };
    for (const select of ['k, v, seq', 'seq, v, k', 'seq AS SEQ, V, k']) {
      await scenario(declared(select), {}, async (told) => {
        await told.settle(record);
        expect(told.rows(), select).toEqual(['{"k":1,"v":"a","seq":1}']);
      });
    }
    await scenario(declared('seq, k'), {}, async (told) => {
      await told.settle(record);
      expect(told.rows()).toEqual(['{"k":1,"v":null,"seq":1}']);
    });
  });

  test('SX-05 the form for tables outside of a pipeline is no statement here', () => {
    const faults = refused(`INSERT INTO t REPLACE USING (k) SELECT k, v, seq FROM s;`);
    expect(faults.length).toBeGreaterThan(0);
  });

  test('SX-11 names of one to three parts, with and without backticks, with and without parentheses', async () => {
    for (const from of [
      'STREAM(a.b.c)',
      'STREAM a.b.c',
      'STREAM(`a`.`b`.c)',
      'STREAM(`a`.b.`c`) AS x',
    ]) {
      const sql = `CREATE SOURCE a.b.c (k INT, seq BIGINT) WITH (topic = 'three');
        CREATE STREAMING TABLE x.y.\`odd-name\` WITH (topic = 'out') FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
        SELECT k, seq FROM ${from};`;
      await scenario(sql, {}, async (told) => {
        await told.settle({ value: { k: 1, seq: 1 } });
        expect(told.rows(), from).toEqual(['{"k":1,"seq":1}']);
      });
    }
  });

  test.each([
    ['SX-18 a once flow', 'INSERT INTO ONCE t BY NAME SELECT k FROM s', 'append'],
    [
      'SX-18 a once flow, spelled otherwise',
      'INSERT ONCE INTO t BY NAME SELECT k FROM s',
      'append',
    ],
    [
      'SX-18 ONCE with REPLACE USING',
      'INSERT INTO ONCE t BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq FROM s',
      'replace_using',
    ],
  ])('%s is read', (_, body, kind) => {
    const plan = planOf(`${source} CREATE STREAMING TABLE t; CREATE FLOW f AS ${body};`);
    expect(plan.flows).toMatchObject([{ name: 'f', target: 't', kind, once: true }]);
  });

  test('SX-19 a materialized view is read', () => {
    const plan = planOf(`${source} CREATE OR REFRESH MATERIALIZED VIEW v AS SELECT k FROM s;`);
    expect(plan.materializedViews).toMatchObject([{ name: 'v' }]);
  });

  test('SX-17 a table may be there before any flow', async () => {
    const sql = `${short} CREATE STREAMING TABLE later; CREATE STREAMING TABLE typed (a INT);`;
    await scenario(sql, {}, async (told) => {
      await told.settle({ value: { k: 1, v: 'a', seq: 1 } });
      expect(told.rows('t')).toHaveLength(1);
      expect(told.rows('later')).toEqual([]);
      expect(told.plan.tables.map(({ name, columns }) => [name, columns.length])).toEqual([
        ['t', 3],
        ['later', 0],
        ['typed', 1],
      ]);
    });
  });

  test('SX-20 expectations of the three kinds, stacked on the table', () => {
    const plan = planOf(`${source}CREATE STREAMING TABLE t (
        CONSTRAINT warned EXPECT (k > 0),
        CONSTRAINT dropped EXPECT (v IS NOT NULL) ON VIOLATION DROP ROW,
        CONSTRAINT failing EXPECT (seq > 0) ON VIOLATION FAIL UPDATE)
      FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME ${query};`);
    expect(
      plan.tables[0]?.expectations.map(({ name, action, sql }) => [name, action, sql]),
    ).toEqual([
      ['warned', 'warn', 'k > 0'],
      ['dropped', 'drop', 'v IS NOT NULL'],
      ['failing', 'fail', 'seq > 0'],
    ]);
  });
});
