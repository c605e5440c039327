import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatTimestampIso } from '../../../src/data/date-time.ts';
import { evaluate } from './evaluate.ts';

const warsaw = { timeZone: 'Europe/Warsaw' };

function instant(sql: string): string {
  return formatTimestampIso(evaluate(sql, warsaw) as bigint);
}

test('a local time that the clock skipped moves forward', () => {
  expect(instant("TIMESTAMP'2021-03-28 02:30:00'")).toBe('2021-03-28T01:30:00.000000Z');
});

test('days move the local clock, hours the instant', () => {
  expect(instant("TIMESTAMP'2021-03-27 12:00:00' + INTERVAL 1 DAY")).toBe(
    '2021-03-28T10:00:00.000000Z',
  );
  expect(instant("TIMESTAMP'2021-03-27 12:00:00' + INTERVAL 24 HOURS")).toBe(
    '2021-03-28T10:00:00.000000Z',
  );
  expect(instant("TIMESTAMP'2021-03-27 12:00:00' + INTERVAL 23 HOURS")).toBe(
    '2021-03-28T10:00:00.000000Z',
  );
});

test('days are truncated in the zone, and a date is its local midnight', () => {
  expect(instant("date_trunc('DAY', TIMESTAMP'2021-06-01 01:30:00')")).toBe(
    '2021-05-31T22:00:00.000000Z',
  );
  expect(instant("CAST(DATE'2021-06-01' AS TIMESTAMP)")).toBe('2021-05-31T22:00:00.000000Z');
  expect(evaluate("CAST(TIMESTAMP'2021-05-31 22:30:00Z' AS DATE)", warsaw)).toBe(
    evaluate("DATE'2021-06-01'"),
  );
});

test('parts and texts are those of the zone', () => {
  expect(evaluate("hour(TIMESTAMP'2021-06-01 10:00:00Z')", warsaw)).toBe(12);
  expect(evaluate("date_format(TIMESTAMP'2021-06-01 10:00:00Z', 'HH:mm XXX VV')", warsaw)).toBe(
    '12:00 +02:00 Europe/Warsaw',
  );
  expect(evaluate("CAST(TIMESTAMP'2021-06-01 10:00:00Z' AS STRING)", warsaw)).toBe(
    '2021-06-01 12:00:00',
  );
});

test('the last day of a month stays the last when a month is added', () => {
  expect(evaluate("CAST(DATE'2020-01-31' + INTERVAL 1 MONTH AS STRING)")).toBe('2020-02-29');
  expect(evaluate("CAST(add_months(DATE'2021-01-31', 1) AS STRING)")).toBe('2021-02-28');
});

const columns = [{ name: 'ts', type: { kind: 'timestamp' } }] as const;

test('what a pattern prints it reads back', () => {
  const pattern = fc.constantFrom(
    'yyyy-MM-dd HH:mm:ss.SSSSSS',
    "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    'dd.MM.yyyy hh:mm:ss.SSSSSS a',
    'MMM d, yyyy HH:mm:ss.SSSSSS',
    'MMMM dd yyyy kk:mm:ss.SSSSSS',
    'yyyyMMddHHmmss.SSSSSS',
    'D yyyy H:m:s.SSSSSS',
  );
  const micros = fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n });
  fc.assert(
    fc.property(pattern, micros, (p, value) => {
      const quoted = p.replaceAll("'", "\\'");
      const sql = `to_timestamp(date_format(ts, '${quoted}'), '${quoted}')`;
      expect(evaluate(sql, { columns }, [value])).toBe(value);
    }),
  );
});
