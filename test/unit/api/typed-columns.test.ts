import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compilePrograms } from '../../support/compile-typescript.ts';
import { CliFolder } from '../../support/run-cli.ts';

let folder: CliFolder;

beforeEach(() => {
  folder = new CliFolder();
});

afterEach(() => folder.remove());

const right = `import { aggregates, from, literal, pipeline, sql, stream } from 'tidemark';
const p = pipeline();
const bookings = p.source('bookings', {
  columns: { id: 'BIGINT', version: 'BIGINT', total: 'DECIMAL(10,2)', guests: 'ARRAY<STRING>' },
});
const current = p.table({
  name: 'current',
  replaceUsing: ['id'],
  sequenceBy: (row) => row.version.plus(1),
  query: stream(bookings).where((row) => row._offset.ge(0)).select('id', 'version', 'total'),
});
const declared = p.table({
  name: 'declared',
  columns: { id: 'BIGINT', place: 'BIGINT' },
  replaceUsing: ['id'],
  sequenceBy: 'place',
  query: stream(bookings).select((row) => ({ id: row.id, place: row._offset })),
});
const text = p.table({
  name: 'text',
  query: sql\`SELECT id, version FROM STREAM(\${bookings})\`,
  replaceUsing: ['id'],
  sequenceBy: 'version',
});
const created = p.createStreamingTable({ name: 'created', columns: { id: 'BIGINT' }, expectAll: { known: (row) => row.id.isNotNull() } });
current.expectOrDrop('paid', (row) => row.total.isNotNull());
const guests = stream(bookings).explode('guests', { as: 'guest' }).select('id', 'guest');
p.materializedView({
  name: 'totals',
  query: from(current).groupBy('id').aggregate((row) => ({ total: aggregates.sum(row.total) })),
});
`;

/** Each of them is one line behind what is right. */
const wrong = {
  'a key that the query does not give': `p.table({ name: 'a', replaceUsing: ['ids'], sequenceBy: 'version', query: stream(bookings) });`,
  'a sequence that the query does not give': `p.table({ name: 'a', replaceUsing: ['id'], sequenceBy: 'versions', query: stream(bookings) });`,
  'SX-10 REPLACE USING without a sequence': `p.table({ name: 'a', replaceUsing: ['id'], query: stream(bookings) });`,
  'SX-10 a sequence without REPLACE USING': `p.table({ name: 'a', sequenceBy: 'id', query: stream(bookings) });`,
  'SX-08 a text instead of a list of keys': `p.table({ name: 'a', replaceUsing: 'id', sequenceBy: 'version', query: stream(bookings) });`,
  'a selected column that is not there': `stream(bookings).select('nope');`,
  'a column of a condition that is not there': `stream(bookings).where((row) => row.nope.isNull());`,
  'a column that was not selected': `stream(bookings).select('id').where((row) => row.version.isNull());`,
  'a column that is not declared': `p.table({ name: 'a', columns: { id: 'BIGINT' }, query: stream(bookings) });`,
  'a column of an expectation that is not there': `current.expect('named', (row) => row.guests.isNull());`,
  'a column of an expectation of a created table that is not there': `p.createStreamingTable({ name: 'a', columns: { id: 'BIGINT' }, expectAll: { known: (row) => row.nope.isNull() } });`,
  'a group that is not there': `from(current).groupBy('guest');`,
  'a type that does not exist': `p.source('b', { columns: { id: 'BIGIN' } });`,
  'a comparison of a number with a text': `stream(bookings).where((row) => row.id.eq('one'));`,
  'a hidden column of a table': `stream(current).where((row) => row._offset.ge(0));`,
  'CH-03 a column of REPLACE WHERE that the table does not have': `p.replaceWhereFlow({ target: declared, replaceWhere: (row) => row.nope.isNull(), query: sql\`SELECT id FROM bookings\` });`,
  'AUTO CDC keys that the source does not have': `p.autoCdcFlow({ target: declared, source: bookings, keys: ['ids'], sequenceBy: 'version' });`,
};

describe('columns are checked by the compiler', () => {
  test('what is right compiles, and each wrong name does not', () => {
    const first = right.split('\n').length;
    const program = right + Object.values(wrong).join('\n');
    const { lines: all, text } = compilePrograms(folder.path, { program });
    const lines = all.get('program') ?? new Set();
    const expected = Object.keys(wrong).map((name, index) => `${first + index}: ${name}`);
    const found = expected.filter((line) => lines.has(Number(line.split(':')[0])));
    expect(found).toEqual(expected);
    expect(lines.size, text).toBe(expected.length);
    expect([...all.keys()]).toEqual(['program']);
    expect(text).toContain(`Type '"ids"' is not assignable to type`);
  }, 120_000);
});
