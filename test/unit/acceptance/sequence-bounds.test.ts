import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatDecimal } from '../../../src/data/decimal.ts';
import { sequenceBound } from '../../../src/task/row/sequence-bound.ts';
import { everyWay, type Given, planOf } from '../../support/scenario.ts';

function bounded(type: string, option: string): string {
  return `CREATE SOURCE s (k INT, v STRING, seq ${type}) WITH (topic = 's');
    CREATE STREAMING TABLE t WITH (dead_letter_topic = 't.dlq', ${option})
    FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, seq FROM STREAM(s);`;
}

function record(v: string, seq: string, timestampMs?: number): Given {
  const value = `{"k":1,"v":"${v}","seq":${seq}}`;
  return timestampMs === undefined ? { value } : { value, timestampMs };
}

/** Which of the records stands in the end, and which became dead letters. */
async function standing(sql: string, records: readonly Given[]): Promise<[string[], string[]]> {
  let found: [string[], string[]] = [[], []];
  await everyWay(sql, records, (told, { name }) => {
    const vs = told.rows().map((text) => (JSON.parse(text) as { v: string }).v);
    const dead = told.deadLetters().sort();
    if (found[0].length > 0) expect([vs, dead], name).toEqual(found);
    found = [vs, dead];
  });
  return found;
}

describe('P035 one absurd sequence does not freeze its key', () => {
  const cases = [
    {
      type: 'BIGINT',
      max: "'9007199254740993'",
      at: '9007199254740993',
      above: '9007199254740994',
    },
    { type: 'BIGINT', max: '9007199254740993', at: '9007199254740993', above: '9007199254740994' },
    { type: 'BIGINT', max: '-5', at: '-5', above: '-4' },
    { type: 'INT', max: "'3000000000'", at: '2147483647', above: undefined },
    { type: 'TINYINT', max: '100', at: '100', above: '101' },
    { type: 'DECIMAL(20,2)', max: "'99.995'", at: '99.99', above: '100.00' },
    {
      type: 'DECIMAL(38,0)',
      max: "'99999999999999999999999999999999999998'",
      at: '99999999999999999999999999999999999998',
      above: '99999999999999999999999999999999999999',
    },
    { type: 'DECIMAL(5,3)', max: '1.5', at: '1.500', above: '1.501' },
    { type: 'DOUBLE', max: '1.5', at: '1.5', above: '1.5000000000000002' },
    { type: 'DOUBLE', max: '1000', at: '1e3', above: '"NaN"' },
    { type: 'FLOAT', max: '0.1', at: '0.1', above: '0.11' },
  ];

  test.each(cases)(
    'max_sequence $max for $type: $at stands, $above is bad',
    async ({ type, max, at, above }) => {
      const sql = bounded(type, `max_sequence = ${max}`);
      const letters = above === undefined ? [] : [record('absurd', above)];
      const [rows, dead] = await standing(sql, [...letters, record('good', at)]);
      expect(rows).toEqual(['good']);
      expect(dead).toEqual(letters.map(({ value }) => `SEQUENCE_ABOVE_MAX ${value}`));
    },
  );

  test.each([
    ['BIGINT', "'1.5'"],
    ['TIMESTAMP', '100'],
    ['STRING', '100'],
    ['DOUBLE', '1e30'],
    ['BIGINT', "'ten'"],
  ])('max_sequence that does not suit %s is refused: %s', (type, max) => {
    expect(() => planOf(bounded(type, `max_sequence = ${max}`))).toThrow('OPTION_VALUE');
  });

  test('the bound is exact for every decimal', () => {
    const scales = fc.integer({ min: 0, max: 18 });
    const digits = fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n });
    fc.assert(
      fc.property(digits, scales, digits, scales, (sequence, scale, bound, boundScale) => {
        const isAbove = sequenceBound(
          { kind: 'decimal', precision: 18, scale },
          formatDecimal(bound, boundScale),
        );
        const left = sequence * 10n ** BigInt(18 - scale);
        expect(isAbove(sequence)).toBe(left > bound * 10n ** BigInt(18 - boundScale));
      }),
    );
  });
});

describe('max_sequence_ahead is measured from the record', () => {
  const ahead = "max_sequence_ahead = '1 hour'";
  const noon = Date.UTC(2025, 2, 5, 12);

  test.each([
    ['TIMESTAMP', '"2025-03-05T13:00:00.000000Z"', '"2025-03-05T13:00:00.000001Z"'],
    ['TIMESTAMP', '"2025-03-05T15:00:00+02:00"', '"2025-03-05T15:00:01+02:00"'],
    ['TIMESTAMP_NTZ', '"2025-03-05T13:00:00"', '"2025-03-05T13:00:00.000001"'],
    ['DATE', '"2025-03-05"', '"2025-03-06"'],
  ])('%s: %s stands, %s is bad', async (type, at, beyond) => {
    const absurd = record('absurd', beyond, noon);
    const [rows, dead] = await standing(bounded(type, ahead), [absurd, record('good', at, noon)]);
    expect(rows).toEqual(['good']);
    expect(dead).toEqual([`SEQUENCE_TOO_FAR_AHEAD ${absurd.value}`]);
  });

  test('an old record is measured by its own time, not by the clock', async () => {
    const old = record('old', '"2001-01-01T02:00:00Z"', Date.UTC(2001, 0, 1));
    const [rows, dead] = await standing(bounded('TIMESTAMP', ahead), [
      old,
      record('good', '"2001-01-01T00:30:00Z"', Date.UTC(2001, 0, 1)),
    ]);
    expect(rows).toEqual(['good']);
    expect(dead).toHaveLength(1);
  });

  test('it bounds no numbers', () => {
    expect(() => planOf(bounded('BIGINT', ahead))).toThrow('OPTION_VALUE');
  });

  test.each([
    ['DATE', '"9999-12-31"', '"+10000-01-01"'],
    ['TIMESTAMP', '"9999-12-31T23:59:59.999999Z"', '"+10000-01-01T00:00:00Z"'],
  ])('a %s beyond the year 9999 is bad without any option', async (type, at, beyond) => {
    const sql = bounded(type, 'partitions = 2');
    const [rows, dead] = await standing(sql, [record('absurd', beyond), record('good', at)]);
    expect(rows).toEqual(['good']);
    expect(dead).toHaveLength(1);
    expect(dead[0]).toMatch(/^(SEQUENCE_OUT_OF_RANGE|VALUE_DOES_NOT_FIT) /);
  });
});
