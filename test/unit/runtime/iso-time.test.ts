import { expect, test } from 'vitest';
import { isoTime } from '../../../src/runtime/inspect/iso-time.ts';
import { scenario } from '../../support/scenario.ts';

test('a time that no calendar has is told as the number that it is', () => {
  expect(isoTime(0)).toBe('1970-01-01T00:00:00.000Z');
  expect(isoTime(8.64e15)).toBe('+275760-09-13T00:00:00.000Z');
  expect(isoTime(1_741_149_225_844_195_000)).toBe('1741149225844195000 ms');
});

test('a record of which the timestamp is no TIMESTAMP is bad where the query reads it, and no matter elsewhere', async () => {
  const source = "CREATE SOURCE s (k STRING, seq BIGINT) WITH (topic = 's');";
  const table = (columns: string) =>
    `${source} CREATE STREAMING TABLE t WITH (dead_letter_topic = 't.dlq')
     FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT ${columns} FROM STREAM(s);`;
  const record = { value: { k: 'a', seq: 1 }, timestampMs: 1_741_149_225_844_195_000 };
  await scenario(table('k, seq, _timestamp AS made'), {}, async (told) => {
    await told.settle(record, { value: { k: 'b', seq: 1 }, timestampMs: 0 });
    expect(told.rows()).toEqual(['{"k":"b","seq":1,"made":"1970-01-01T00:00:00.000000Z"}']);
    expect(told.deadLetters()).toEqual(['VALUE_DOES_NOT_FIT {"k":"a","seq":1}']);
  });
  await scenario(table('k, seq'), {}, async (told) => {
    await told.settle(record);
    expect(told.rows()).toEqual(['{"k":"a","seq":1}']);
  });
});
