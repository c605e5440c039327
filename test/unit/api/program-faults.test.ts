// biome-ignore-all lint/suspicious/noTemplateCurlyInString: programs stand here as texts
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CliFolder, runCli } from '../../support/run-cli.ts';

let folder: CliFolder;

beforeEach(() => {
  folder = new CliFolder();
});

afterEach(() => folder.remove());

const head = `import { aggregates, call, column, from, literal, pipeline, sql, stream } from 'tidemark';
const p = pipeline();
const feed = p.source('feed', { columns: { id: 'BIGINT', name: 'STRING', lsn: 'BIGINT' } });
const free = p.createStreamingTable({ name: 'free' });
const cdc = { name: 'cdc', target: free, source: feed, keys: ['id'], sequenceBy: 'lsn' };
const append = (query) => p.appendFlow({ name: 'add', target: free, query });
const always = literal(true);
const small = column('id').lt(100);
export default p;
`;

type Faults = readonly {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly line: number;
  readonly file: string;
}[];

async function faultsOf(body: string): Promise<{ code: number; faults: Faults }> {
  const file = folder.write('program.ts', `${head}${body}\n`);
  const { code, out, err } = await runCli(['validate', file, '--json']);
  expect(err).toBe('');
  const { faults } = JSON.parse(out) as { faults: Faults };
  expect(faults.every((fault) => fault.file === file)).toBe(true);
  return { code, faults };
}

const line = head.split('\n').length;

const optionCases: readonly (readonly [string, string, string])[] = [
  ['p.autoCdcFlow({ ...cdc, storedAsScdType: 3 });', '"storedAsScdType"', '1 (the newest'],
  ['p.autoCdcFlow({ ...cdc, storedAsScdType: true });', '"storedAsScdType"', '1 (the newest'],
  ["p.autoCdcFlow({ ...cdc, ignoreNullUpdates: 'no' });", '"ignoreNullUpdates"', 'true or false'],
  [
    "p.autoCdcFlow({ ...cdc, ignoreNullUpdates: { exclude: ['name'] } });",
    '"ignoreNullUpdates"',
    "{ except: ['…'] }",
  ],
  ["p.autoCdcFlow({ ...cdc, columns: { exclude: ['name'] } });", '"columns"', 'except'],
  ["p.autoCdcFlow({ ...cdc, trackHistory: 'name' });", '"trackHistory"', 'except'],
  ["p.autoCdcFlow({ ...cdc, once: 'yes' });", '"once"', 'true or false'],
  ['p.autoCdcFlow({ ...cdc, comment: 5 });', '"comment"', 'a text'],
  [
    'p.autoCdcFlow({ ...cdc, source: stream(feed) });',
    '"source"',
    'source: feed, without stream()',
  ],
  [
    'append(stream(feed, { skipChangeComits: true }));',
    '"skipChangeComits"',
    '"skipChangeCommits"',
  ],
  ["append(stream(feed, { skipChangeCommits: 'yes' }));", '"skipChangeCommits"', 'true or false'],
  ["append(stream('feed'));", 'stream has no source', 'stream(bookings)'],
  ["append(stream(feed).explode('name', { az: 'n' }));", '"as" of explode is missing', 'a name'],
  ["append(stream(feed).limit('5'));", 'limit', 'limit(10)'],
  ["append(stream(feed).unionAll('feed'));", 'unionAll', 'built query'],
  ['append(stream(feed).join(feed, (a, b) => a.id.eq(b.id)));', 'join', 'built query'],
  ["append(stream(feed).select(['id']));", 'select has no column', "select('id')"],
  [
    'append(stream(feed).select((row) => row.id));',
    'select gives no columns',
    '({ name: row.id })',
  ],
  ['append(stream(feed).where((row) => row.id.cast(5).gt(1)));', 'cast', 'quotes'],
  ['append(stream(feed).where((row) => row.name.like(5)));', 'like', 'quotes'],
  ['append(stream(feed).where((row) => row.id.eq(undefined)));', 'undefined', 'NULL is null'],
  ['append(stream(feed).where((row) => row.id.eq([1])));', 'a object', 'a column'],
  ['append(sql`SELECT * FROM STREAM(${feed}) WHERE id = ${undefined}`);', 'put into SQL', 'null'],
  ['append(sql`SELECT * FROM ${stream(feed)}`);', 'a built query', 'p.view'],
  ["p.createStreamingTable({ name: 'a', expectAll: ['a > 1'] });", '"expectAll"', 'by their names'],
  [
    "p.table({ name: 'a', query: stream(feed) }).expectAll(['a > 1']);",
    'expectations',
    'by their|object',
  ],
  ["p.table({ name: 'a', query: stream(feed) }).expect('b', 5);", 'expectation "b"', 'row.id'],
  ["p.table({ name: 'a', query: stream(feed), with: 'x' });", '"with"', 'by the names of SQL'],
  ["p.table({ name: 'a', query: stream(feed), partitions: [3] });", '"partitions"', 'a number'],
  ["p.source('b', { columns: { id: { type: 'BIGINT', notNul: true } } });", '"columns"', 'notNull'],
  ["p.source(5, { columns: { id: 'BIGINT' } });", 'name', 'quotes'],
  ['p.view();', 'no options', 'name, query'],
];

describe('what a program says in a way that the compiler would refuse is told at its place', () => {
  test.each(optionCases)('SX-21 %s', async (body, message, hint) => {
    const { code, faults } = await faultsOf(body);
    expect(code).toBe(3);
    const told = faults.find((fault) => fault.message.includes(message));
    expect(told, JSON.stringify(faults)).toMatchObject({ line });
    expect(told?.code).toMatch(/^OPTION_(VALUE|UNKNOWN)$/);
    expect(told?.hint).toMatch(new RegExp(hint.replace(/[()[\]{}.?*+$^]/g, '\\$&')));
  });

  test('SX-21 an unknown option of pipeline, at its place', async () => {
    const file = folder.write(
      'zone.ts',
      `import { pipeline } from 'tidemark';\nexport default pipeline({ timezon: 'UTC' });\n`,
    );
    const { code, out } = await runCli(['validate', file, '--json']);
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({ faults: [{ code: 'OPTION_UNKNOWN', line: 2 }] });
  });

  test.each([1, 2, '1', '2'])('FL-23 storedAsScdType %j is taken, as a text too', async (type) => {
    const { code, faults } = await faultsOf(
      `p.autoCdcFlow({ ...cdc, storedAsScdType: ${JSON.stringify(type)} });`,
    );
    expect(faults).toEqual([]);
    expect(code).toBe(0);
    const { out } = await runCli(['explain', `${folder.path}/program.ts`]);
    expect(out).toContain(`SCD type ${type}`);
  });
});

describe('operators of JavaScript', () => {
  test.each([
    ['where((row) => row.id > 5)', 'EXPRESSION_OPERATOR', '.gt(5)'],
    ['where((row) => row.id == 5)', 'EXPRESSION_OPERATOR', '.eq(5)'],
    ['select((row) => ({ next: row.id + 1 }))', 'EXPRESSION_OPERATOR', '.plus(1)'],
    ['select((row) => ({ text: `${row.name}!` }))', 'EXPRESSION_OPERATOR', 'sql`'],
    ["where((row) => row.name === 'x')", 'OPTION_VALUE', '.eq('],
    ['where((row) => !row.id.isNull())', 'OPTION_VALUE', '.not()'],
    ['where(() => true)', 'OPTION_VALUE', 'literal(true)'],
    ['where(() => undefined)', 'OPTION_VALUE', 'row.id.gt(5)'],
    ['withColumns((row) => ({ is: row.id === 1 }))', 'OPTION_VALUE', '.eq('],
    [
      'join(from(feed), (a, b) => a.id == b.id).select((a) => ({ id: a.id }))',
      'OPTION_VALUE',
      '.eq(',
    ],
    [
      "groupBy('id').aggregate((row) => ({ n: aggregates.count() > 1 }))",
      'EXPRESSION_OPERATOR',
      '.gt(',
    ],
  ])('SX-21 an operator of JavaScript: %s', async (step, expected, hint) => {
    const { code, faults } = await faultsOf(
      `p.materializedView({ name: 'mv', query: from(feed)\n  .${step} });`,
    );
    expect(code).toBe(3);
    expect(faults.map((fault) => fault.code)).toEqual([expected]);
    expect(faults[0]?.line).toBe(line + 1);
    expect(faults[0]?.hint).toContain(hint);
  });

  test.each([
    [
      "p.table({ name: 'a', query: stream(feed) })\n  .expect('e', (row) => row.id > 1);",
      'EXPRESSION_OPERATOR',
    ],
    ["p.table({ name: 'a', query: stream(feed) })\n  .expect('e', () => true);", 'OPTION_VALUE'],
    ['const late =\n  column("id") > 5;', 'EXPRESSION_OPERATOR'],
    ['p.autoCdcFlow({ ...cdc,\n  applyAsDeletes: (row) => row.id > 1 });', 'EXPRESSION_OPERATOR'],
  ])('SX-21 an operator elsewhere: %s', async (body, expected) => {
    const { code, faults } = await faultsOf(body);
    expect(code).toBe(3);
    expect(faults.map((fault) => fault.code)).toEqual([expected]);
    expect(faults[0]?.line).toBe(line + 1);
  });

  test('SX-21 the place of a fault is within its line, which is shown', async () => {
    const body = "p.table({ name: 'a', query: stream(feed).where((row) => row.id > 5) });";
    const file = folder.write('line.ts', `${head}${body}\n`);
    const { err } = await runCli(['validate', file]);
    expect(err).toContain(`line.ts:${line}:`);
    expect(err).toContain(`\n  ${body}\n`);
  });

  test('SX-21 a method that is not there is told with its line', async () => {
    const file = folder.write(
      'gone.ts',
      `${head}append(stream(feed).select((row) => ({ a: row.id.gtt(5) })));\n`,
    );
    const { code, err } = await runCli(['validate', file]);
    expect(code).toBe(3);
    expect(err).toContain(`gone.ts:${line}:`);
    expect(err).toContain('gtt is not a function');
  });
});

describe('conditions that JavaScript loses', () => {
  test.each([
    ["where((row) => row.name.eq('Ada') && row.id.gt(1))"],
    ['where((row) => (row.id.isNull() ? row.name.isNull() : row.name.isNotNull()))'],
    ["where((row) => row.name.like('A%').and(row.id.in(1, 2)) && row.id.gt(1))"],
    ["select((row) => ({ both: row.id.eq(1) && row.name.eq('x').not() }))"],
  ])('SX-21 a condition that is lost is told: %s', async (step) => {
    const { code, faults } = await faultsOf(`append(stream(feed)\n  .${step});`);
    expect(code).toBe(3);
    expect(faults.map((fault) => fault.code)).toEqual(['EXPRESSION_DROPPED']);
    expect(faults[0]?.line).toBe(line + 1);
    expect(faults[0]?.hint).toContain('a.and(b)');
  });

  test('SX-21 what is used twice, was made outside or is a column alone is no loss', async () => {
    const { faults } = await faultsOf(`
const both = (a, b) => a.and(b);
const one = stream(feed).where((row) => { const known = row.id.isNotNull(); return known.and(known.eq(known)); });
append(one.where(({ id, name, lsn }) => both(id.gt(1), small)).where((row) => always ?? small));
p.appendFlow({ name: 'again', target: free, query: one });
p.appendFlow({ name: 'text', target: free, query: stream(feed).where((row) => sql\`\${row.id.gt(1)} OR lsn = 2\`) });
p.appendFlow({ name: 'twice', target: free, query: stream(feed).select((row) => { const is = row.id.eq(1); return { id: row.id, a: is, b: is.not() }; }) });
`);
    expect(faults).toEqual([]);
  });
});
