import { afterAll, describe, expect, test } from 'vitest';
import { CliFolder, runCli } from '../../support/run-cli.ts';

const folder = new CliFolder();
afterAll(() => folder.remove());

const regions = 'examples/regions/regions.sql';
const regionInput = ['--input', 'region_events=examples/regions/all.jsonl'];

const twoFaults = folder.write(
  'two-faults.sql',
  `CREATE SOURCE s (k INT, seq BIGINT) WITH (topic = 's', formt = 'json');
CREATE STREAMING TABLE t FLOW REPLACE USING (kk) SEQUENCE BY seq BY NAME
SELECT k, seq FROM STREAM(s);
`,
);

describe('validate', () => {
  test('a valid pipeline: exit 0 and what it has', async () => {
    const { code, out, err } = await runCli(['validate', 'examples/bookings/bookings.sql']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toBe('valid: 1 source, 2 tables, 2 flows, 0 warnings\n');
  });

  test('several faults: exit 3, each with its place, marked line and remedy, on standard error', async () => {
    const { code, out, err } = await runCli(['validate', twoFaults]);
    expect([code, out]).toEqual([3, '']);
    expect(err).toContain(`${twoFaults}:1:56: error OPTION_UNKNOWN`);
    expect(err).toContain('Did you mean "format"?');
    expect(err).toContain(`${twoFaults}:2:46: error KEY_UNKNOWN`);
    expect(err).toMatch(/\^~/);
    expect(err).toContain('2 errors, 0 warnings');
  });

  test('a table in a topic that the pipeline keeps for itself is refused once its name is known', async () => {
    const sql = `CREATE SOURCE s (k INT, seq INT);
CREATE STREAMING TABLE a WITH (topic = 'w.catalog') AS SELECT k FROM STREAM(s);
CREATE STREAMING TABLE b WITH (topic = 'w.t.repartition') AS SELECT k FROM STREAM(s);
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(s);
`;
    const file = folder.write('kept-topics.sql', sql);
    const { code, err } = await runCli(['validate', file, '--pipeline.name', 'w']);
    expect(code).toBe(3);
    expect(err).toContain(`${file}:2:24: error TOPIC_TAKEN: topic "w.catalog" is needed twice`);
    expect(err).toContain(`${file}:3:24: error TOPIC_TAKEN: topic "w.t.repartition" is needed`);
    expect(err).toContain('2 errors, 0 warnings');
    const told = await runCli(['validate', file, '--json', '--pipeline.name', 'w']);
    expect(JSON.parse(told.out)).toMatchObject({
      valid: false,
      faults: [{ line: 2 }, { line: 3 }],
    });
    for (const flags of [[], ['--pipeline.name', 'v']]) {
      expect(await runCli(['validate', file, ...flags])).toMatchObject({ code: 0, err: '' });
    }
  });

  test('--json answers with one document', async () => {
    const { code, out, err } = await runCli(['validate', twoFaults, '--json']);
    expect([code, err]).toEqual([3, '']);
    expect(JSON.parse(out)).toMatchObject({
      valid: false,
      faults: [
        { severity: 'error', code: 'OPTION_UNKNOWN', file: twoFaults, line: 1, column: 56 },
        { severity: 'error', code: 'KEY_UNKNOWN', file: twoFaults, line: 2, column: 46 },
      ],
    });
    const valid = await runCli(['validate', regions, '--json']);
    expect([valid.code, JSON.parse(valid.out)]).toEqual([
      0,
      {
        valid: true,
        faults: [],
        sources: ['region_events'],
        tables: ['regions_current'],
        materializedViews: [],
        views: [],
        sinks: [],
        flows: ['regions_current'],
      },
    ]);
  });

  test('what the files define is counted, and nothing that the plan adds to it', async () => {
    const file = folder.write(
      'kinds.sql',
      `CREATE SOURCE s (k INT, seq BIGINT) WITH (topic = 's');
CREATE STREAMING TABLE t;
CREATE FLOW changes AS AUTO CDC INTO t FROM STREAM(s) KEYS (k) SEQUENCE BY seq;
CREATE TEMPORARY VIEW v AS SELECT k, seq FROM STREAM(s);
CREATE STREAMING TABLE u AS SELECT k FROM STREAM(v);
CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM t;
CREATE SINK o WITH (topic = 'o');
CREATE FLOW f AS INSERT INTO o BY NAME SELECT k FROM STREAM(u);
`,
    );
    const { code, out, err } = await runCli(['validate', file]);
    expect([code, err]).toEqual([0, '']);
    expect(out).toBe(
      'valid: 1 source, 2 tables, 1 materialized view, 1 view, 1 sink, 3 flows, 0 warnings\n',
    );
  });

  test.each([
    [['validate']],
    [['explain']],
    [['try', '--input', 'region_events=examples/regions/all.jsonl']],
  ])('%o takes the files as an argument, by --pipeline or from the configuration', async (verb) => {
    const given = await runCli([...verb.slice(0, 1), regions, ...verb.slice(1)]);
    expect(given.code).toBe(0);
    expect(await runCli([...verb, '--pipeline', regions])).toEqual(given);
    expect(await runCli(verb, { TIDEMARK_PIPELINE_FILES: regions })).toEqual(given);
  });

  test('text that is no SQL: exit 3 with its place', async () => {
    const file = folder.write('no.sql', 'CREATE STREEMING TABLE t;\n');
    const { code, err } = await runCli(['validate', file]);
    expect(code).toBe(3);
    expect(err).toContain(`${file}:1:8: error PARSE_SYNTAX_ERROR`);
  });
});

test.each([
  ['explain', [twoFaults]],
  ['run', [twoFaults]],
  ['try', [twoFaults, '--input', 's=examples/regions/all.jsonl']],
  ['get', ['t', '1', '--pipeline', twoFaults]],
  ['dump', ['t', '--pipeline', twoFaults]],
  ['status', ['--pipeline', twoFaults]],
])('%s refuses an invalid pipeline with exit code 3, before it connects', async (verb, args) => {
  const { code, out, err } = await runCli([verb, ...args]);
  expect([code, out]).toEqual([3, '']);
  expect(err).toContain('OPTION_UNKNOWN');
  expect(err).toContain('KEY_UNKNOWN');
});

test('pipeline.files stands in where no file is given', async () => {
  const environment = { TIDEMARK_PIPELINE_FILES: regions };
  const { code, out } = await runCli(['validate'], environment);
  expect([code, out]).toEqual([0, 'valid: 1 source, 1 table, 1 flow, 0 warnings\n']);
});

describe('explain', () => {
  test('--json has the flows with their topics and keys', async () => {
    const { code, out } = await runCli(['explain', regions, '--json', '--pipeline.name', 'p']);
    expect(code).toBe(0);
    expect(JSON.stringify(JSON.parse(out))).toContain('p.regions_current.repartition');
  });

  test('a flow that does not exist', async () => {
    const { code, err } = await runCli(['explain', regions, '--flow', 'region_current']);
    expect(code).toBe(2);
    expect(err).toContain('the pipeline has no flow "region_current"');
    expect(err).toContain('Did you mean "regions_current"?');
  });
});

describe('try', () => {
  const rows = [
    '1         | Android     | conversion | 2',
    '1         | desktop     | click      | 2',
    '1         | iOS         | click      | 2',
    '2         | desktop     | click      | 1',
    '2         | iOS         | click      | 1',
    '3         | desktop     | click      | 2',
  ];

  test.each([
    [[]],
    [['--partitions', '4']],
    [['--shuffle', '1']],
    [['--shuffle', '2', '--partitions', '3']],
  ])('RU-06 the worked example gives its six rows %j', async (more) => {
    const { code, out, err } = await runCli(['try', regions, ...regionInput, ...more]);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(`table regions_current: 6 rows\n`);
    expect(out).toContain(`\n${rows.join('\n')}\n`);
  });

  test('--json has tables, flows and dead letters, with every digit', async () => {
    const sql = folder.write(
      'digits.sql',
      `CREATE SOURCE s (k BIGINT, d DECIMAL(38,9), seq BIGINT) WITH (topic = 's');
CREATE STREAMING TABLE t WITH (dead_letter_topic = 't.dlq')
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, d, seq FROM STREAM(s);
`,
    );
    const input = folder.write(
      'digits.jsonl',
      '{"k":9223372036854775807,"d":12345678901234567890.123456789,"seq":9007199254740993}\nno json\n',
    );
    const { code, out } = await runCli(['try', sql, '--input', `s=${input}`, '--json']);
    expect(code).toBe(0);
    expect(out).toContain(
      '{"k":9223372036854775807,"d":12345678901234567890.123456789,"seq":9007199254740993}',
    );
    const answer = JSON.parse(out) as Record<string, unknown>;
    expect(Object.keys(answer)).toEqual(['tables', 'flows', 'deadLetters']);
    expect(answer).toMatchObject({
      flows: { t: { records: 2, deadLettered: 1, rows: 1, new: 1 } },
      deadLetters: [
        {
          value: 'no json',
          headers: { 'tm-source-topic': 's', 'tm-source-offset': '1', 'tm-flow': 't' },
        },
      ],
    });
  });

  test('a bad row without a dead-letter topic: exit 1, with topic, partition and offset', async () => {
    const input = folder.write('bad.jsonl', '{"region_id":1,"seq":1}\n{"region_id":\n');
    const { code, out, err } = await runCli(['try', regions, '--input', `region_events=${input}`]);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('error BAD_ROW: flow "regions_current" stopped at a bad row');
    expect(err).toContain('topic "region_events", partition 0, offset 1');
    expect(err).toContain('hint: ');
  });

  test('a topic that no source reads', async () => {
    const { code, err } = await runCli(['try', regions, '--input', 'x=examples/regions/all.jsonl']);
    expect(code).toBe(2);
    expect(err).toContain('no source of the pipeline reads topic "x"');
  });
});

test('try counts one record and one row as one', async () => {
  const input = folder.write('one.jsonl', '{"k":1,"seq":1}\n');
  const file = folder.write(
    'one.sql',
    `CREATE SOURCE s (k INT, seq INT);
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(s);`,
  );
  const { out } = await runCli(['try', file, '--input', `s=${input}`]);
  expect(out).toContain('flow t: 1 record, 1 row, 1 new\n');
});

describe('test', () => {
  const sql =
    "CREATE SOURCE s (k INT, v STRING, seq BIGINT) WITH (topic = 's'); CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, seq FROM STREAM(s);";
  const oneCase = (name: string, expected: unknown[][]) =>
    JSON.stringify({
      name,
      sql,
      inputs: { s: ['{"k":1,"v":"a","seq":1}', '{"k":1,"v":"b","seq":2}'] },
      target: 't',
      schema: [
        ['k', 'INT'],
        ['v', 'STRING'],
        ['seq', 'BIGINT'],
      ],
      expected,
    });
  const right = oneCase('right', [[1, 'b', 2]]);
  const wrong = oneCase('wrong', [[1, 'a', 1]]);

  test('a case that passes: exit 0, and a closing line that can be counted', async () => {
    const file = folder.write('right.jsonl', `${right}\n`);
    const { code, out } = await runCli(['test', file]);
    expect(code).toBe(0);
    expect(out).toMatch(/^1 passed, 0 failed, 0 skipped$/m);
  });

  test('a case that fails: exit 5, and the difference of rows', async () => {
    const file = folder.write('mixed.jsonl', `${right}\n${wrong}\n`);
    const { code, out } = await runCli(['test', file]);
    expect(code).toBe(5);
    expect(out).toContain('failed  wrong');
    expect(out).toMatch(/^ {2}all \d+ schedules:$/m);
    expect(out.split('t lacks [1,"a",1]')).toHaveLength(2);
    expect(out).toMatch(/^1 passed, 1 failed, 0 skipped$/m);
  });

  test('--json has each case with its schedules', async () => {
    const file = folder.write('wrong.jsonl', `${wrong}\n`);
    const { code, out } = await runCli(['test', file, '--json']);
    expect(code).toBe(5);
    const answer = JSON.parse(out) as { cases: { schedules: { schedule: string }[] }[] };
    expect(answer).toMatchObject({
      passed: 0,
      failed: 1,
      skipped: 0,
      cases: [{ name: 'wrong', status: 'failed' }],
    });
    expect(answer.cases[0]?.schedules.map(({ schedule }) => schedule)).toContain('whole');
  });

  test.each([
    ['9007199254740993', '12345678901234567890123456789012345.50', 0],
    ['9007199254740992', '12345678901234567890123456789012345.50', 5],
    ['9007199254740993', '12345678901234567890123456789012345.51', 5],
  ])('numbers of %s and %s are compared by every digit: exit %i', async (n, d, code) => {
    const cases = new CliFolder();
    cases.write(
      'big.sql',
      `CREATE SOURCE s (k BIGINT, seq BIGINT, d DECIMAL(38,2)) WITH (topic = 's');
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(s);`,
    );
    cases.write(
      'big.s.input.jsonl',
      '{"k":9007199254740993,"seq":1,"d":12345678901234567890123456789012345.50}\n',
    );
    const schema = '[["k","BIGINT"],["seq","BIGINT"],["d","DECIMAL(38,2)"]]';
    cases.write(
      'big.expected.json',
      `{"target":"t","schema":${schema},"expected":[[${n},1,${d}]]}`,
    );
    const result = await runCli(['test', cases.path]);
    cases.remove();
    expect(result.code).toBe(code);
  });

  test('--filter and --bail choose', async () => {
    const file = folder.write('bail.jsonl', `${wrong}\n${right}\n`);
    expect((await runCli(['test', file, '--filter', 'right'])).code).toBe(0);
    const none = await runCli(['test', file, '--filter', 'rihgt']);
    expect([none.code, none.out]).toEqual([2, '']);
    expect(none.err).toContain('has "rihgt" in its name');
    const { code, out } = await runCli(['test', file, '--bail']);
    expect(code).toBe(5);
    expect(out).toMatch(/^0 passed, 1 failed, 0 skipped$/m);
  });

  test('a case as files of its own', async () => {
    const own = new CliFolder();
    own.write('pair.sql', sql);
    own.write('pair.s.input.jsonl', '{"k":1,"v":"a","seq":1}\n');
    const {
      name: _,
      sql: __,
      inputs: ___,
      ...rest
    } = JSON.parse(oneCase('pair', [[1, 'a', 1]])) as Record<string, unknown>;
    const lacking = await runCli(['test', own.path]);
    expect(lacking.code).toBe(2);
    expect(lacking.err).toContain('pair.s.input.jsonl, but no pair.expected.json');
    own.write('pair.expected.json', JSON.stringify({ ...rest, schema: undefined }));
    const bare = await runCli(['test', own.path]);
    expect(bare.code).toBe(2);
    expect(bare.err).toContain('"schema" is missing: all columns of "t" in order');
    own.write('pair.expected.json', JSON.stringify({ ...rest, expected: [{ k: 1 }] }));
    expect((await runCli(['test', own.path])).err).toContain('no list of values');
    own.write('pair.expected.json', JSON.stringify({ ...rest, expected: [[1]] }));
    expect((await runCli(['test', own.path])).err).toContain('row is 1, that of "schema" 3');
    own.write('pair.expected.json', JSON.stringify(rest));
    const { code, out } = await runCli(['test', own.path]);
    own.remove();
    expect(out).toMatch(/^1 passed, 0 failed, 0 skipped$/m);
    expect(code).toBe(0);
  });

  test('a pipeline that has no case is named with the file that it lacks', async () => {
    const own = new CliFolder();
    const file = own.write('alone.sql', sql);
    const { code, err } = await runCli(['test', file]);
    own.remove();
    expect(code).toBe(2);
    expect(err).toContain('alone.sql has no alone.expected.json');
  });
});
