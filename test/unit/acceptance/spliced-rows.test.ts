import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rowRunner } from '../../support/run-rows.ts';
import { planOf } from '../../support/scenario.ts';

const columns = `k INT, seq BIGINT, i INT, b BIGINT, flag BOOLEAN, s STRING, d DECIMAL(10,2), w DECIMAL(18,0), f DECIMAL(3,3),
  wide DECIMAL(38,18), ts TIMESTAMP, x DOUBLE, ntz TIMESTAMP_NTZ, day DATE`;

const source = `CREATE SOURCE src (${columns}) WITH (topic = 'src');
`;

function into(select: string, constraints = ''): string {
  return `${source}CREATE STREAMING TABLE t ${constraints}
    FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME ${select};`;
}

const all = 'k, seq, i, b, flag, s, d, w, f, wide, ts, x, ntz, day';

const pipelines: readonly (readonly [string, string])[] = [
  ['every column', into(`SELECT ${all} FROM STREAM(src)`)],
  [
    'another order and other names',
    into('SELECT ts AS a, s AS b, d AS c, seq, k, s AS again FROM STREAM(src)'),
  ],
  ['a filter before it', into(`SELECT ${all} FROM STREAM(src) WHERE flag`)],
  [
    'a filter by a column that passes',
    into("SELECT k, seq, s, d FROM STREAM(src) WHERE s <> 'a' AND d > 0"),
  ],
  [
    'expressions beside it',
    into('SELECT k, seq, upper(s) AS u, s, d + 1 AS d1, d, ts FROM STREAM(src)'),
  ],
  [
    'expectations',
    into(
      `SELECT ${all} FROM STREAM(src)`,
      '(CONSTRAINT a EXPECT (flag) ON VIOLATION DROP ROW, CONSTRAINT b EXPECT (d > 1))',
    ),
  ],
  ['DISTINCT', into(`SELECT DISTINCT ${all} FROM STREAM(src)`)],
  [
    'markers',
    into('SELECT k, seq, s, ts FROM STREAM(src)').replace(
      'BY seq',
      'BY seq APPLY AS EMPTY WHEN (s IS NULL)',
    ),
  ],
  [
    'a session time zone',
    `SET timezone = 'Europe/Warsaw'; ${into('SELECT k, seq, ts, ntz FROM STREAM(src)')}`,
  ],
  [
    'declared columns',
    into('SELECT k, seq, s, d FROM STREAM(src)', '(k INT, seq BIGINT, s STRING, d DECIMAL(12,3))'),
  ],
];

// ---------------------------------------------------------------- JSON as producers write it

const digits = (min: number, max: number) =>
  fc
    .array(fc.constantFrom(...'0123456789'), { minLength: min, maxLength: max })
    .map((list) => list.join(''));

const integers = fc.oneof(
  fc.integer().map(String),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  // Leading zeros are no JSON.
  fc.tuple(fc.constantFrom('', '-'), digits(1, 22)).map((parts) => parts.join('')),
  fc.constantFrom(
    '0',
    '-0',
    '00',
    '2147483647',
    '2147483648',
    '-2147483648',
    '-2147483649',
    '999999999',
    '1000000000',
    '9223372036854775807',
    '9223372036854775808',
    '-9223372036854775808',
    '999999999999999999',
    '1000000000000000000',
    '1e3',
    '1E+3',
    '10e-1',
    '-1e0',
    '1.0',
    '1.5',
    '-0.0',
    '1e400',
    '1e-400',
  ),
);

const decimals = fc.oneof(
  integers,
  fc
    .tuple(fc.constantFrom('', '-'), fc.oneof(fc.constant('0'), digits(1, 25)), digits(0, 20))
    .map(([sign, whole, fraction]) => `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`),
  fc
    .tuple(fc.constantFrom('', '-'), digits(1, 3), digits(1, 4), fc.integer({ min: -25, max: 25 }))
    .map(([sign, whole, fraction, exponent]) => `${sign}${whole}.${fraction}e${exponent}`),
  fc.constantFrom(
    '0.00',
    '-0.00',
    '0.50',
    '12345678.90',
    '123456789.00',
    '0.999',
    '1.000',
    '.5',
    '5.',
    '0.5e1',
  ),
);

const dates = fc
  .tuple(
    fc.constantFrom(
      '0000',
      '0001',
      '1582',
      '1969',
      '1970',
      '2024',
      '2025',
      '9999',
      '10000',
      '+10000',
      '-0001',
      '25',
    ),
    fc.integer({ min: 0, max: 13 }),
    fc.integer({ min: 0, max: 32 }),
  )
  .map(
    ([year, month, day]) =>
      `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`,
  );

const times = fc
  .tuple(
    fc.constantFrom('T', ' ', 't', ''),
    fc.integer({ min: 0, max: 25 }),
    fc.integer({ min: 0, max: 60 }),
    fc.integer({ min: 0, max: 61 }),
    fc.oneof(
      fc.constant(''),
      fc.constantFrom(0, 1, 3, 6, 7, 9).chain((n) => digits(n, n).map((text) => `.${text}`)),
    ),
    fc.constantFrom(
      '',
      'Z',
      'z',
      '+00:00',
      '-05:30',
      '+14:00',
      '+18:01',
      'UTC',
      ' Europe/Warsaw',
      ' Z',
    ),
  )
  .map(([between, hour, minute, second, fraction, zone]) => {
    const two = (value: number) => String(value).padStart(2, '0');
    return `${between}${two(hour)}:${two(minute)}:${two(second)}${fraction}${zone}`;
  });

const timestamps = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          '0000-01-01',
          '0000-12-28',
          '0001-01-01',
          '1582-10-10',
          '2024-02-29',
          '2025-02-28',
          '2025-02-29',
          '2025-02-30',
          '2025-04-30',
          '2025-04-31',
          '2025-12-31',
          '9999-12-31',
        ),
        fc.constantFrom('T00:00:00.000000Z', 'T23:59:59.999999Z', 'T12:30:00.500Z'),
      )
      .map((parts) => `"${parts.join('')}"`),
  },
  // The form that is copied, with parts that may be out of their range.
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        dates.filter((date) => date.length === 10),
        fc.tuple(
          fc.integer({ min: 20, max: 25 }),
          fc.integer({ min: 55, max: 61 }),
          fc.integer({ min: 55, max: 61 }),
        ),
        fc.constantFrom('.000000Z', '.123456Z', '.120Z', '.000Z', 'Z', '.1234567Z', '.123 Z'),
      )
      .map(
        ([date, [hour, minute, second], tail]) => `"${date}T${hour}:${minute}:${second}${tail}"`,
      ),
  },
  { weight: 4, arbitrary: fc.tuple(dates, times).map(([date, time]) => `"${date}${time}"`) },
  {
    weight: 4,
    arbitrary: fc
      .date({
        min: new Date(-62_135_596_800_000),
        max: new Date(253_402_300_799_999),
        noInvalidDate: true,
      })
      .map((date) => `"${date.toISOString().replace('Z', '000Z')}"`),
  },
  { weight: 1, arbitrary: dates.map((date) => `"${date}"`) },
);

/** With every character as itself, as an escape, or both at random; lone surrogates among them. */
const strings = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => JSON.stringify(text)),
  fc
    .array(
      fc.oneof(
        fc.constantFrom(
          'a',
          'A',
          ' ',
          '\\n',
          '\\"',
          '\\\\',
          '\\/',
          '\\u0000',
          '\\u0041',
          '\\u00e9',
          '\\ud83d\\ude00',
        ),
        fc.constantFrom(
          'é',
          '\u{1f600}',
          '\u007f',
          '\\ud83d',
          '\\ude00',
          '\\x',
          '\\u12',
          '\t',
          '\u2028',
        ),
      ),
      { maxLength: 6 },
    )
    .map((parts) => `"${parts.join('')}"`),
  fc.constantFrom('""', '"a"', '"null"', '"  a  "'),
);

const booleans = fc.constantFrom('true', 'false', 'True', 'tru', '"true"', '1', '0');

const anything = fc.constantFrom('null', '[]', '{}', '[1,{"a":null}]', '{"k":1}', '""', 'nul', '');

const textOf: Readonly<Record<string, fc.Arbitrary<string>>> = {
  k: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: -9, max: 9 }).map(String) },
    { weight: 1, arbitrary: integers },
  ),
  seq: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: -9, max: 9 }).map(String) },
    { weight: 1, arbitrary: integers },
  ),
  i: integers,
  b: integers,
  flag: booleans,
  s: strings,
  d: decimals,
  w: decimals,
  f: decimals,
  wide: decimals,
  ts: timestamps,
  x: fc.oneof(decimals, fc.double().map(String)),
  ntz: timestamps,
  day: fc.oneof(
    dates.map((date) => `"${date}"`),
    timestamps,
  ),
  other: anything,
};

const spaces = fc.constantFrom('', '', '', ' ', '\n\t');

/** Rarely all columns at once: one value that does not fit hides the others. */
const members = fc
  .uniqueArray(fc.constantFrom(...Object.keys(textOf)), { minLength: 0, maxLength: 6 })
  .chain((names) => fc.shuffledSubarray(['k', 'seq', ...names], { minLength: 1 }))
  .chain((names) =>
    fc.tuple(
      ...names.map((name) =>
        fc
          .tuple(
            spaces,
            fc.oneof(
              { weight: 12, arbitrary: textOf[name] ?? anything },
              { weight: 1, arbitrary: anything },
            ),
          )
          .map(([space, value]) => `${space}"${name}"${space}:${value}`),
      ),
    ),
  );

const records = fc
  .tuple(members, spaces)
  .map(([parts, space]) => `${space}{${parts.join(',')}}${space}`);

describe('values that are copied as bytes come out as those that are decoded and written', () => {
  test.each(pipelines)('RU-23 P015 P019 %s', (_, sql) => {
    const plan = planOf(sql);
    const spliced = rowRunner(plan, true);
    const decoded = rowRunner(plan, false);
    let rows = 0;
    let bad = 0;
    fc.assert(
      fc.property(records, (text) => {
        const value = Buffer.from(text, 'utf8');
        const expected = decoded(value);
        expect(spliced(value)).toEqual(expected);
        if (expected[0] === 'bad') bad += 1;
        else rows += 1;
      }),
      { numRuns: 4_000 },
    );
    // Neither side of the property is empty.
    expect(rows).toBeGreaterThan(400);
    expect(bad).toBeGreaterThan(400);
  });

  test('P019 bytes that are no UTF-8 are bad either way', () => {
    const plan = planOf(into('SELECT k, seq, s FROM STREAM(src)'));
    const value = Buffer.concat([
      Buffer.from('{"k":1,"seq":1,"s":"'),
      Buffer.from([0x61, 0xff, 0xc3]),
      Buffer.from('"}'),
    ]);
    expect(rowRunner(plan, true)(value)).toEqual(rowRunner(plan, false)(value));
    expect(rowRunner(plan, true)(value)).toEqual(['bad']);
  });
});
