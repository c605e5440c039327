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
  expect(found.notes).toEqual([expect.stringContaining('"id"')]);
});

test('the statement is one that the pipeline takes, and every record that it was made from decodes with it', async () => {
  const values = [
    '{"k": "a", "n": 1, "mixed": 5, "at": [{"x": 1}, {"y": "z"}], "e": {}}',
    '{"k": "b", "n": 2.5, "mixed": "text", "at": null, "big": 99999999999999999999}',
  ];
  const { sql } = inferred('my-topic', ...values);
  const text = `${sql}CREATE STREAMING TABLE t AS SELECT * FROM STREAM(\`my-topic\`);`;
  expect(planPipeline([{ file: 'p.sql', text }]).faults).toEqual([]);
  const world = worldOf(text, 1);
  for (const value of values) world.produce('my-topic', { value });
  const process = await world.startProcess('one');
  await world.untilCaughtUp(process);
  expect(world.log.readCommitted('t')).toHaveLength(2);
  await world.stop(process);
  world.close();
});

test('a topic without records, or with others than JSON objects, is refused with the place', () => {
  expect(() => inferred('t')).toThrow(/no records/);
  expect(() => inferred('t', '{"a":1}', '[1]')).toThrow(
    expect.objectContaining({ code: 'BAD_ROW', detail: expect.stringContaining('t/0@1') }),
  );
});
