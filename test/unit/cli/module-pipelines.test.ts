import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CliFolder, runCli } from '../../support/run-cli.ts';

let folder: CliFolder;

beforeEach(() => {
  folder = new CliFolder();
});

afterEach(() => folder.remove());

const program = `
import { pipeline, stream } from 'tidemark';
import { columns } from './columns.ts';

const p = pipeline();
const events = p.source('region_events', { columns });
type Region = { readonly region: number };
p.table({
  name: 'regions',
  replaceUsing: ['region'],
  sequenceBy: 'version',
  query: stream(events),
}).expectOrDrop('known', 'region IS NOT NULL');
export default p;
export const example: Region = { region: 1 };
`;

const columns = `export const columns = { region: 'INT', clicks: 'INT', version: 'BIGINT' } as const;`;

const records = '{"region":1,"clicks":2,"version":2}\n{"region":1,"clicks":1,"version":1}\n';

function write(text = program): string {
  folder.write('columns.ts', columns);
  return folder.write('regions.ts', text);
}

describe('pipelines in TypeScript are run like SQL', () => {
  test('SX-06 try runs a pipeline of TypeScript with a module beside it', async () => {
    const input = `region_events=${folder.write('events.jsonl', records)}`;
    const { code, out, err } = await runCli(['try', write(), '--input', input, '--json']);
    expect(err).toBe('');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      tables: { regions: [{ region: 1, clicks: 2, version: 2 }] },
    });
  });

  test('SQL and TypeScript may make one pipeline', async () => {
    const sql = folder.write(
      'more.sql',
      `CREATE STREAMING TABLE clicks AS SELECT region, clicks FROM STREAM(region_events);`,
    );
    const { code, out } = await runCli(['validate', write(), sql]);
    expect(code).toBe(0);
    expect(out).toContain('1 source, 2 tables, 2 flows');
  });

  test('plain JavaScript needs no compiler', async () => {
    const text = `import { pipeline } from 'tidemark';
const p = pipeline();
p.source('s', { columns: { id: 'INT' } });
p.table({ name: 't', query: 'SELECT id FROM STREAM(s)' });
export default p;
`;
    const { code, out } = await runCli(['validate', folder.write('plain.mjs', text)]);
    expect(code).toBe(0);
    expect(out).toContain('1 source, 1 table, 1 flow');
  });

  test('faults stand where the text stands in the program', async () => {
    const text = program
      .replace("'region IS NOT NULL'", "'regio IS NOT NULL'")
      .replace(
        'query: stream(events)',
        'query: `\n    SELECT clics, region, version\n    FROM STREAM(region_events)`',
      );
    const path = write(text);
    const { code, err } = await runCli(['validate', path]);
    expect(code).toBe(3);
    expect(err).toContain(`${path}:13:12: error UNRESOLVED_COLUMN.WITH_SUGGESTION`);
    expect(err).toContain('    SELECT clics, region, version\n             ^~~~~');
    expect(err).toContain(`${path}:15:27: error UNRESOLVED_COLUMN.WITH_SUGGESTION`);
  });

  test('faults of what was built stand at its call', async () => {
    const path = write(program.replace("sequenceBy: 'version',", ''));
    const { code, err } = await runCli(['validate', path]);
    expect(code).toBe(3);
    expect(err).toContain('SEQUENCE_BY_MISSING');
    expect(err).toContain(`${path}:8:3`);
  });

  test('a type that does not exist is told where it stands, and hides no other fault', async () => {
    const path = folder.write(
      'types.ts',
      `import { from, pipeline, sql, stream } from 'tidemark';
const columns = { id: 'BIGINT', name: 'STRNG', price: 'DECIMAL(50,2)' } as const;
const p = pipeline();
const s = p.source('s', { columns: columns as never });
p.source('other', { columns: { price: 'bignit' as never, again: 'bignit' as never } });
p.table({ name: 'kept', query: sql\`SELECT idd FROM STREAM(\${s})\` });
p.table({ name: 'all', query: stream(s), replaceUsing: ['id'] as never, sequenceBy: 'name' as never });
p.materializedView({ name: 'view', query: sql\`SELECT id, nix FROM \${s}\` });
p.materializedView({ name: 'more', query: from(s) });
p.materializedView({ name: 'prices', query: sql\`SELECT price, count(*) AS n FROM \${s} GROUP BY price\` });
export default p;
`,
    );
    const { code, out } = await runCli(['validate', path, '--json']);
    expect(code).toBe(3);
    const { faults } = JSON.parse(out) as {
      faults: { code: string; message: string; line: number; column: number; file: string }[];
    };
    const told = faults.map(({ code: one, line, column }) => `${line}:${column} ${one}`);
    expect(told.sort()).toEqual([
      '2:40 UNSUPPORTED_DATATYPE',
      '2:56 DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION',
      '5:40 UNSUPPORTED_DATATYPE',
      '5:66 UNSUPPORTED_DATATYPE',
      '6:43 UNRESOLVED_COLUMN.WITH_SUGGESTION',
      '8:58 UNRESOLVED_COLUMN.WITH_SUGGESTION',
    ]);
    const { err } = await runCli(['validate', path]);
    expect(err).toContain(`${path}:2:40: error UNSUPPORTED_DATATYPE: there is no type strng\n`);
    expect(err).toContain("  const columns = { id: 'BIGINT', name: 'STRNG'");
  });

  test('what cannot be read of a text of SQL is one fault, and nothing follows from it', async () => {
    const path = folder.write(
      'texts.ts',
      `import { pipeline, sql, stream } from 'tidemark';
const p = pipeline();
const s = p.source('s', { columns: { id: 'BIGINT', v: 'BIGINT' } });
const a = p.table({ name: 'a', query: sql\`SELEC id FROM STREAM(s)\` });
p.table({ name: 'b', query: stream(s), replaceUsing: ['id'], sequenceBy: sql\`v +\` }).expect('c', 'id > > 1');
p.table({ name: 'd', query: stream(s).where('id >').select((row) => ({ id: row.id, w: sql\`v * * 2\` })) });
p.materializedView({ name: 'e', query: sql\`SELECT id FRM s\` });
p.table({ name: 'f', query: sql\`SELECT id FROM STREAM(\${a})\` });
export default p;
`,
    );
    const { code, out } = await runCli(['validate', path, '--json']);
    expect(code).toBe(3);
    const { faults } = JSON.parse(out) as { faults: { code: string; line: number }[] };
    expect(faults.map(({ code: one, line }) => `${line} ${one}`).sort()).toEqual([
      '4 PARSE_SYNTAX_ERROR',
      '5 PARSE_SYNTAX_ERROR',
      '5 PARSE_SYNTAX_ERROR',
      '6 PARSE_SYNTAX_ERROR',
      '6 PARSE_SYNTAX_ERROR',
      '7 PARSE_SYNTAX_ERROR',
    ]);
  });

  test('options that are missing, of another kind or unknown are faults at the call', async () => {
    const path = folder.write(
      'options.ts',
      `import { pipeline, stream } from 'tidemark';
const p = pipeline() as any;
const s = p.source('s', { columns: { id: 'BIGINT', v: 'BIGINT' } });
const c = p.createStreamingTable({ name: 'c' });
p.autoCdcFlow({ target: 'c' });
p.autoCdcFlow({ name: 'g', target: c, source: s, keys: 'id', sequenceBy: 7 });
p.autoCdcFlow({ target: c, source: s, keys: ['id'], sequenceBy: 'v', applyAsDelete: 'v = 1' });
p.appendFlow();
p.replaceFlow({ target: undefined, query: 3 });
p.replaceWhereFlow({ target: c, query: 'SELECT 1' });
p.materializedView({ name: 'm' });
p.view({ name: 'w', query: {} });
p.source('t', { columns: { id: 3 }, formt: 'json' });
p.sink('out', { topik: 'x' });
export default p;
`,
    );
    const { code, out } = await runCli(['validate', path, '--json']);
    expect(code).toBe(3);
    const { faults } = JSON.parse(out) as {
      faults: { code: string; line: number; message: string; hint?: string }[];
    };
    const told = faults.map((one) => `${one.line} ${one.code} ${one.message}`);
    expect(told).toEqual(
      expect.arrayContaining([
        '5 OPTION_VALUE option "target" of flow is of no use',
        '5 OPTION_VALUE option "source" of flow is missing',
        '5 OPTION_VALUE option "keys" of flow is missing',
        '5 OPTION_VALUE option "sequenceBy" of flow is missing',
        '6 OPTION_VALUE option "keys" of flow "g" is of no use',
        '6 OPTION_VALUE option "sequenceBy" of flow "g" is of no use',
        '7 OPTION_UNKNOWN flow "c" has no option "applyAsDelete"',
        '8 OPTION_VALUE flow has no options',
        '9 OPTION_VALUE option "target" of flow is missing',
        '9 OPTION_VALUE option "query" of flow is of no use',
        '10 OPTION_VALUE option "replaceWhere" of flow "c" is missing',
        '11 OPTION_VALUE option "query" of materialized view "m" is missing',
        '12 OPTION_VALUE option "query" of view "w" is of no use',
        '13 OPTION_VALUE option "columns" of source "t" is of no use',
        '13 OPTION_UNKNOWN source "t" has no option "formt"',
        '14 OPTION_UNKNOWN sink "out" has no option "topik"',
      ]),
    );
    const unknown = faults.find(({ message }) => message.includes('applyAsDelete'));
    expect(unknown?.hint).toMatch(/^Did you mean "applyAsDeletes"\?/);
  });

  test('try shows no table that nobody declared', async () => {
    const text = `CREATE SOURCE s (id INT) WITH (topic = 's');
CREATE STREAMING TABLE t AS SELECT DISTINCT id FROM STREAM(s);
`;
    const input = `s=${folder.write('s.jsonl', '{"id":1}\n{"id":1}\n')}`;
    const tried = await runCli(['try', folder.write('s.sql', text), '--input', input, '--json']);
    expect((JSON.parse(tried.out) as { tables: unknown }).tables).toEqual({ t: [{ id: 1 }] });
  });

  test('test runs cases of TypeScript under every schedule', async () => {
    write();
    folder.write('regions.region_events.input.jsonl', records);
    const schema = [
      ['region', 'INT'],
      ['clicks', 'INT'],
      ['version', 'BIGINT'],
    ];
    const expected = { target: 'regions', schema, expected: [[1, 2, 2]] };
    folder.write('regions.expected.json', JSON.stringify(expected));
    const { code, out } = await runCli(['test', folder.path, '--json']);
    expect(code).toBe(0);
    const { cases } = JSON.parse(out) as { cases: { name: string; schedules: unknown[] }[] };
    expect(cases.map(({ name }) => name)).toEqual(['regions']);
    expect(cases[0]?.schedules).toHaveLength(11);
  });

  test('records of a case may stand in a file of another name', async () => {
    write();
    folder.write('events.jsonl', records);
    const schema = [
      ['region', 'INT'],
      ['clicks', 'INT'],
      ['version', 'BIGINT'],
    ];
    const inputFiles = { region_events: 'events.jsonl' };
    const given = { inputFiles, target: 'regions', schema, expected: [[1, 2, 2]] };
    folder.write('regions.expected.json', JSON.stringify(given));
    expect((await runCli(['test', folder.path])).out).toBe('1 passed, 0 failed, 0 skipped\n');
    folder.write('regions.expected.json', JSON.stringify({ ...given, expected: [[1, 1, 1]] }));
    expect((await runCli(['test', folder.path])).code).toBe(5);
  });

  test('verbs that need a flow refuse sinks and materialized views by name', async () => {
    const path = folder.write(
      'views.sql',
      `CREATE SOURCE s (id INT); CREATE SINK out; CREATE MATERIALIZED VIEW m AS SELECT id FROM s;
CREATE FLOW f AS INSERT INTO out BY NAME SELECT id FROM STREAM(s);`,
    );
    const view = await runCli(['get', 'm', '1', '--pipeline', path]);
    expect(view.code).toBe(2);
    expect(view.err).toContain('"m" is a materialized view');
    const sink = await runCli(['dump', 'out', '--pipeline', path]);
    expect(sink.code).toBe(2);
    expect(sink.err).toContain('"out" is a sink');
    const explained = await runCli(['explain', path]);
    expect(explained.out).toContain('flow "f" → sink "out" (append)');
    expect(explained.out).toContain('materialized view "m"\n  reads: source s');
    expect(explained.out).toContain('key: a digest of the row');
  });

  test('a module without a pipeline, and one that fails, are told', async () => {
    const none = await runCli(['validate', folder.write('none.mjs', 'export default 1;')]);
    expect(none.code).toBe(2);
    expect(none.err).toContain('none.mjs" exports no pipeline');
    const text = 'const none: { name?: { first: string } } = {};\nnone.name!.first;\n';
    const broken = await runCli(['validate', folder.write('broken.ts', text)]);
    expect(broken.code).toBe(3);
    expect(broken.err).toContain('broken.ts:2:');
    expect(broken.err).toContain('TypeError');
  });
});
