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
const free = p.createStreamingTable({ name: 'free' });
const feed = { target: free, source: bookings, keys: ['id'], sequenceBy: 'version' } as const;
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
p.autoCdcFlow({
  ...feed,
  name: 'feed',
  sequenceBy: (row) => row._offset,
  applyAsDeletes: (row) => row.total.isNull().and(row._partition.ge(0)),
  ignoreNullUpdates: { except: ['version'] },
  columns: ['id', 'total', 'guests'],
  storedAsScdType: 2,
  trackHistory: { except: ['guests'] },
});
p.autoCdcFlow({ ...feed, sequenceBy: '_offset', ignoreNullUpdates: ['total'], columns: { except: ['guests'] }, trackHistory: ['total'] });
p.autoCdcFlow({ target: free, source: text, keys: ['anything'], sequenceBy: 'else', columns: ['more'], trackHistory: { except: ['less'] } });
p.replaceFlow({ target: free, once: true, replaceUsing: ['id'], sequenceBy: (row) => row.version, query: from(bookings).select('id', 'version') });
p.replaceFlow({ target: free, replaceUsing: ['id'], sequenceBy: 'version', query: 'SELECT id, version FROM STREAM(bookings)' });
p.replaceFlow({ target: declared, replaceUsing: ['id'], sequenceBy: (row) => row.place, query: stream(bookings).select('id') });
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
  'SX-10 a sequence whose option is misspelt': `p.table({ name: 'a', replaceUsing: ['id'], sequenceby: 'version', query: stream(bookings) });`,
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
  'FL-25 a sequence of AUTO CDC that the source does not have': `p.autoCdcFlow({ ...feed, sequenceBy: 'versions' });`,
  'FL-25 a column of the sequence expression of AUTO CDC': `p.autoCdcFlow({ ...feed, sequenceBy: (row) => row.versions });`,
  'FL-25 a column of applyAsDeletes': `p.autoCdcFlow({ ...feed, applyAsDeletes: (row) => row.nope.isNull() });`,
  'FL-25 a column of applyAsTruncates': `p.autoCdcFlow({ ...feed, applyAsTruncates: (row) => row.nope.isNull() });`,
  'FL-25 a column of columns': `p.autoCdcFlow({ ...feed, columns: ['id', 'totals'] });`,
  'FL-25 a column that columns leave out': `p.autoCdcFlow({ ...feed, columns: { except: ['totals'] } });`,
  'FL-25 a column of trackHistory': `p.autoCdcFlow({ ...feed, storedAsScdType: 2, trackHistory: ['totals'] });`,
  'FL-25 a column that trackHistory leaves out': `p.autoCdcFlow({ ...feed, storedAsScdType: 2, trackHistory: { except: ['totals'] } });`,
  'FL-25 a column of ignoreNullUpdates': `p.autoCdcFlow({ ...feed, ignoreNullUpdates: ['totals'] });`,
  'FL-25 a column that ignoreNullUpdates leaves out': `p.autoCdcFlow({ ...feed, ignoreNullUpdates: { except: ['totals'] } });`,
  'FL-23 a sink as the target of AUTO CDC': `p.autoCdcFlow({ ...feed, target: p.sink('s') });`,
  'FL-25 a type of SCD that does not exist': `p.autoCdcFlow({ ...feed, storedAsScdType: 3 });`,
  'SX-20 a column of an expectation of one of several names': `current.expectAllOrFail({ known: (row) => row.guests.isNull() });`,
  'SX-20 a column of an expectation of a view': `p.view({ name: 'v', query: stream(bookings).select('id') }).expectOrDrop('known', (row) => row.total.isNull());`,
  'SX-20 a column of an expectation of a materialized view': `p.materializedView({ name: 'm', query: from(bookings).select('id') }).expect('known', (row) => row.total.isNull());`,
  'SX-07 a key of replaceFlow that the table does not declare': `p.replaceFlow({ target: declared, replaceUsing: ['ids'], sequenceBy: 'place', query: sql\`SELECT id FROM STREAM(bookings)\` });`,
  'SX-07 a sequence of replaceFlow that the table does not declare': `p.replaceFlow({ target: declared, replaceUsing: ['id'], sequenceBy: 'version', query: sql\`SELECT id FROM STREAM(bookings)\` });`,
  'SX-07 a key that the query does not give to a table without columns': `p.replaceFlow({ target: free, replaceUsing: ['ids'], sequenceBy: 'version', query: stream(bookings) });`,
  'SX-09 a column of a sequence expression over a table without columns': `p.replaceFlow({ target: free, replaceUsing: ['id'], sequenceBy: (row) => row.versions, query: stream(bookings) });`,
  'SX-07 a column of replaceFlow that the table does not declare': `p.replaceFlow({ target: declared, replaceUsing: ['id'], sequenceBy: 'place', query: stream(bookings).select('id', 'total') });`,
  'SX-15 a column of appendFlow that the table does not declare': `p.appendFlow({ target: declared, query: stream(bookings).select('id', 'total') });`,
  'FL-16 a column of a flow that runs once that the table does not declare': `p.appendFlow({ target: declared, once: true, query: from(bookings).groupBy('id').aggregate((row) => ({ total: aggregates.sum(row.total) })) });`,
  'an expectation without a name': `current.expect((row) => row.total.isNull());`,
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
    for (const what of [
      "Property 'sequenceBy' is missing",
      "Did you mean to write 'sequenceBy'?",
      "Property 'replaceUsing' is missing",
    ]) {
      expect(text).toContain(what);
    }
    expect(text).toContain(`Type '"ids"' is not assignable to type`);
  }, 120_000);
});
