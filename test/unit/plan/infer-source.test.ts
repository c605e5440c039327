import { expect, test } from 'vitest';
import { SourceInference } from '../../../src/plan/infer-source.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { worldOf } from '../../support/append-world.ts';

function inferred(topic: string, ...values: readonly string[]) {
  const inference = new SourceInference(topic);
  for (const [offset, value] of values.entries()) inference.add(value, `${topic}/0@${offset}`);
  return inference.result();
}

test('SX-05 whole numbers are BIGINT, others DOUBLE, objects STRUCT, arrays ARRAY; members that come later are columns, too', () => {
  const found = inferred(
    'shop.orders',
    '{"id": 1, "price": 2, "tags": [], "who": {"name": "a"}, "ok": true, "note": null}',
    '{"id": 9007199254740993, "price": 2.5, "tags": ["x", null], "who": {"age": 3}, "late": 1}',
  );
  expect(found.sql).toBe(`CREATE SOURCE shop.orders (
  id BIGINT,
  price DOUBLE,
  tags ARRAY<STRING>,
  who STRUCT<name: STRING, age: BIGINT>,
  ok BOOLEAN,
  note STRING,
  late BIGINT
) WITH (topic = 'shop.orders', format = 'json');
`);
  expect(found.records).toBe(2);
});

test('what has no common type is a VARIANT, what is beyond 64 bits a DECIMAL, odd names are quoted, twins by case are noted', () => {
  const found = inferred(
    't',
    '{"a": 1, "b": 18446744073709551615, "odd name": 1, "Id": 1, "id": 2, "e": {}}',
    '{"a": "x", "b": 1}',
  );
  expect(Object.fromEntries(found.columns.map(({ name, type }) => [name, type]))).toEqual({
    a: 'VARIANT',
    b: 'DECIMAL(20,0)',
    'odd name': 'BIGINT',
    Id: 'BIGINT',
    e: 'VARIANT',
  });
  expect(found.sql).toContain('`odd name` BIGINT');
  expect(found.notes).toEqual([
    expect.stringContaining('member "id"'),
    'column "a" holds numbers and texts: VARIANT takes them all',
  ]);
});

test('the statement is one that the pipeline takes, and every record that it was made from decodes with it', async () => {
  const values = [
    '{"k": "a", "n": 1, "mixed": 5, "at": [{"x": 1}, {"y": "z"}], "e": {}}',
    '{"k": "b", "n": 2.5, "mixed": "text", "at": null, "big": 99999999999999999999}',
  ];
  const { sql } = inferred('my-topic', ...values);
  const text = `${sql}CREATE STREAMING TABLE t AS SELECT * FROM STREAM(my_topic);`;
  expect(planPipeline([{ file: 'p.sql', text }]).faults).toEqual([]);
  const world = worldOf(text, 1);
  for (const value of values) world.produce('my-topic', { value });
  const process = await world.startProcess('one');
  await world.untilCaughtUp(process);
  expect(world.log.readCommitted('t')).toHaveLength(2);
  await world.stop(process);
  world.close();
});

test('amounts, times and numbers in texts keep their type, and a note tells what they may be', () => {
  const { columns, notes } = inferred(
    't',
    '{"price": 9.99, "big": 12345678901234567.12, "at": "2026-03-01T10:00:00Z", "on": "2026-03-01", "when": "2026-03-01", "text": "9.90", "none": null, "list": [], "n": "7", "name": "a"}',
    '{"price": 10, "big": 1e300, "at": "2026-03-01 10:00:00.5", "on": "2026-03-02", "when": "2026-03-01T10:00:00+02:00", "text": "-12", "none": null, "list": [], "n": "-8", "name": "1"}',
  );
  expect(columns.slice(0, 6).map(({ type }) => type)).toEqual([
    ...['DOUBLE', 'DOUBLE'],
    ...['STRING', 'STRING', 'STRING', 'STRING'],
  ]);
  expect(notes).toEqual([
    'column "price" is a DOUBLE, which is not exact: where its numbers are amounts, declare DECIMAL(18,2), which keeps every digit',
    'column "big" is a DOUBLE, which loses digits of 12345678901234567.12; declare it STRING where every digit counts',
    'column "at" looks like TIMESTAMP: declare it so where its texts mean that',
    'column "on" looks like DATE: declare it so where its texts mean that',
    'column "when" looks like TIMESTAMP: declare it so where its texts mean that',
    'column "text" looks like DECIMAL(18,2): declare it so where its texts mean that',
    'column "none" is null in all of these records: its type is a guess',
    'column "list" is an empty list in all of these records: the type of its elements is a guess',
    'column "n" looks like BIGINT: declare it so where its texts mean that',
  ]);
});

test('a source is named without backticks where its topic needs them, or as it is asked for', () => {
  expect(inferred('fresh-orders.2', '{"a":1}').sql).toMatch(
    /^CREATE SOURCE fresh_orders\._2 \([^)]*\) WITH \(topic = 'fresh-orders\.2',/,
  );
  const named = new SourceInference('fresh-orders', 'orders');
  named.add('{"a":1}', 'fresh-orders/0@0');
  expect(named.result().sql).toMatch(/^CREATE SOURCE orders \(/);
});

test.each([
  ['bare', (change: string) => change],
  ['with its schema', (change: string) => `{"schema":{"type":"struct"},"payload":${change}}`],
])('a Debezium envelope, %s, is read as one, by the columns of its rows', async (_, wrap) => {
  const values = [
    '{"op":"c","before":null,"after":{"id":1,"name":"a"},"source":{"lsn":1},"ts_ms":1}',
    '{"op":"d","before":{"id":1,"name":"a","age":3},"after":null,"source":{"lsn":2},"ts_ms":2}',
  ].map(wrap);
  const { sql, notes } = inferred('feed', ...values);
  expect(sql).toBe(`CREATE SOURCE feed (
  id BIGINT,
  name STRING,
  age BIGINT,
  __op STRING,
  __source_lsn BIGINT
) WITH (topic = 'feed', format = 'debezium-json');
`);
  expect(notes[0]).toContain('SEQUENCE BY __source_lsn');
  const text = `${sql}CREATE STREAMING TABLE t AS SELECT id, age, __op, __source_lsn FROM STREAM(feed);`;
  const world = worldOf(text, 1);
  for (const value of values) world.produce('feed', { value });
  const process = await world.startProcess('one');
  await world.untilCaughtUp(process);
  expect(world.log.readCommitted('t')).toHaveLength(2);
  await world.stop(process);
  world.close();
});

test('a record that is no JSON object is left out and noted; where none is one, its place is refused', () => {
  expect(() => inferred('t')).toThrow(/no records/);
  const found = inferred('t', '{"a":1}', '[1]', 'nonsense', '{"b":true}');
  expect(found.records).toBe(2);
  expect(found.columns.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(found.notes).toEqual([
    'records left out because they are no JSON object: 2 of 4, the first at t/0@1',
  ]);
  expect(() => inferred('t', '[1]', '[2]')).toThrow(
    expect.objectContaining({ code: 'BAD_ROW', detail: expect.stringContaining('t/0@0') }),
  );
});
