import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatDate,
  formatTime,
  formatTimeIso,
  formatTimestamp,
  formatTimestampIso,
  formatTimestampNtzIso,
  parseDate,
  parseTime,
  parseTimestamp,
  parseTimestampNtz,
} from '../../../src/data/date-time.ts';
import { localToUtc, offsetMicrosAt, utc, type Zone, zoneOf } from '../../../src/data/zones.ts';

function zone(name: string): Zone {
  const found = zoneOf(name);
  if (found === undefined) throw new Error(`no zone ${name}`);
  return found;
}

function iso(text: string, session = 'UTC'): string | undefined {
  const micros = parseTimestamp(text, zone(session));
  return micros === undefined ? undefined : formatTimestampIso(micros);
}

describe('dates', () => {
  test.each([
    ['2020', '2020-01-01'],
    ['2020-2', '2020-02-01'],
    ['2020-1-3', '2020-01-03'],
    [' 2020-02-29\t', '2020-02-29'],
    ['2020-01-01T', '2020-01-01'],
    ['2020-01-01 24:00:00', '2020-01-01'],
    ['2020-01-01 America/New_York', '2020-01-01'],
    ['10000-01-01', '+10000-01-01'],
    ['+10000-01-01', '+10000-01-01'],
    ['-0044-03-15', '-0044-03-15'],
    ['0001-01-01', '0001-01-01'],
  ])('%s is %s', (text, expected) => {
    const days = parseDate(text);
    expect(days === undefined ? undefined : formatDate(days)).toBe(expected);
  });

  test.each([
    '',
    ' 1 ',
    '202',
    '2020-',
    '2020-13-01',
    '2020-00-01',
    '2021-02-29',
    '2020-02-30',
    '2020-01-011',
    '2020/01/01',
    '2020-1 ,',
    '2020T',
    '20200101',
    '9999999-01-01',
    '１',
  ])('%j is no date', (text) => {
    expect(parseDate(text)).toBeUndefined();
  });
});

describe('timestamps', () => {
  test.each([
    ['2020', '2020-01-01T00:00:00.000000Z'],
    ['2020-02', '2020-02-01T00:00:00.000000Z'],
    ['2020-1-3', '2020-01-03T00:00:00.000000Z'],
    ['2020-01-01 12', '2020-01-01T12:00:00.000000Z'],
    ['2020-01-01T1:2', '2020-01-01T01:02:00.000000Z'],
    ['2020-01-01 12:34:56.123456789', '2020-01-01T12:34:56.123456Z'],
    ['2020-01-01 12:34:56.', '2020-01-01T12:34:56.000000Z'],
    ['2020-01-01T12:34:56Z', '2020-01-01T12:34:56.000000Z'],
    ['2020-01-01 12:34:56+02:00', '2020-01-01T10:34:56.000000Z'],
    ['2020-01-01 12:34:56.5 +2', '2020-01-01T10:34:56.500000Z'],
    ['2020-01-01 12:34:56 UTC+3', '2020-01-01T09:34:56.000000Z'],
    ['2020-01-01 12:34:56-1:5', '2020-01-01T13:39:56.000000Z'],
    ['2020-01-01 12:34:56 -0130', '2020-01-01T14:04:56.000000Z'],
    ['2020-06-01 12:00:00 America/New_York', '2020-06-01T16:00:00.000000Z'],
    ['2020-06-01 12:00:00 PST', '2020-06-01T19:00:00.000000Z'],
    ['10000-01-01', '+10000-01-01T00:00:00.000000Z'],
    ['-0044-03-15', '-0044-03-15T00:00:00.000000Z'],
    ['1000-11-18T02:06:45Z', '1000-11-18T02:06:45.000000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
  ])('%s is %s', (text, expected) => {
    expect(iso(text)).toBe(expected);
  });

  test.each([
    '',
    'abc',
    '12:34:56',
    'T12:34',
    '2021-02-29',
    '2020-01-01T',
    '2020-01-01 24:00:00',
    '2020-01-01 12:60:00',
    '2020-01-01 12:34:60',
    '2020-01-01 12:34Z',
    '2020-01-01 12:34:56.1.2',
    '2020-01-01 12:34:567',
    '2020-01-01 America/New_York',
    '2020-01-01 12:34:56 Mars/Base',
    '2020-01-01 12:34:56 europe/warsaw',
    '2020-01-01 12:34:56+19:00',
    '2020-01-01 12:34:56+02:60',
    '99999999999999999999',
    '999999-01-01 00:00:00',
  ])('%j is no timestamp', (text) => {
    expect(iso(text)).toBeUndefined();
  });

  test('P037 equal instants of different offsets are one value', () => {
    expect(parseTimestamp('2025-03-05T11:00:00Z')).toBe(
      parseTimestamp('2025-03-05T06:00:00-05:00'),
    );
  });

  test('a local time takes no zone, or ignores it where a cast does', () => {
    expect(parseTimestampNtz('2020-01-01 12:34:56+02:00', false)).toBeUndefined();
    const micros = parseTimestampNtz('2020-01-01 12:34:56+02:00');
    expect(formatTimestampNtzIso(micros ?? 0n)).toBe('2020-01-01T12:34:56.000000');
    expect(parseTimestampNtz('2020-01-01 12:34:56 nowhere')).toBeUndefined();
  });

  test('a cast to text cuts trailing zeros', () => {
    const text = (input: string): string => formatTimestamp(parseTimestamp(input) ?? 0n);
    expect(text('2025-03-05T04:33:46.5Z')).toBe('2025-03-05 04:33:46.5');
    expect(text('2025-03-05T04:33:46Z')).toBe('2025-03-05 04:33:46');
    expect(text('1969-12-31 23:59:59.999999')).toBe('1969-12-31 23:59:59.999999');
    const half = parseTimestamp('2025-07-05T04:33:46Z') ?? 0n;
    expect(formatTimestamp(half, zone('Europe/Warsaw'))).toBe('2025-07-05 06:33:46');
  });

  test('P039 text and back is exact over the whole type', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (micros) => {
        expect(parseTimestamp(formatTimestampIso(micros))).toBe(micros);
        expect(parseTimestampNtz(formatTimestampNtzIso(micros), false)).toBe(micros);
        expect(parseTimestamp(formatTimestamp(micros))).toBe(micros);
      }),
    );
  });
});

describe('zones', () => {
  test('a skipped local time moves forward, a repeated one is the first', () => {
    expect(iso('2024-03-10 02:30:00', 'America/New_York')).toBe('2024-03-10T07:30:00.000000Z');
    expect(iso('2024-11-03 01:30:00', 'America/New_York')).toBe('2024-11-03T05:30:00.000000Z');
    expect(iso('2024-03-31 02:30:00', 'Europe/Warsaw')).toBe('2024-03-31T01:30:00.000000Z');
    expect(iso('2024-10-27 02:30:00', 'Europe/Warsaw')).toBe('2024-10-27T00:30:00.000000Z');
  });

  test('offsets of long ago have seconds', () => {
    const micros = parseTimestamp('1850-01-01T00:00:00Z') ?? 0n;
    expect(offsetMicrosAt(zone('Europe/Paris'), micros)).toBe(561_000_000n);
  });

  test('an unambiguous local time finds its instant again', () => {
    const names = ['Europe/Warsaw', 'America/New_York', 'Asia/Kolkata', 'Pacific/Apia', '-03:30'];
    const range = { min: -(10n ** 16n), max: 10n ** 16n };
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.bigInt(range), (name, instant) => {
        const there = zone(name);
        const local = instant + offsetMicrosAt(there, instant);
        const back = localToUtc(there, local);
        // Only in an overlap may another instant come out, and that is the earlier one.
        expect(back <= instant).toBe(true);
        expect(back + offsetMicrosAt(there, back)).toBe(local);
      }),
    );
  });

  test('the week memory agrees with the engine', () => {
    const warsaw = zone('Europe/Warsaw');
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (seconds) => {
        const hours = new Intl.DateTimeFormat('en-US', {
          timeZone: 'Europe/Warsaw',
          hourCycle: 'h23',
          hour: 'numeric',
        }).format(new Date(seconds * 1000));
        const local =
          BigInt(seconds) + offsetMicrosAt(warsaw, BigInt(seconds) * 1_000_000n) / 1_000_000n;
        expect(Number((local / 3600n) % 24n)).toBe(Number(hours));
      }),
    );
  });

  test('UTC has many names', () => {
    for (const name of ['UTC', 'Z', 'GMT', 'UT', '+00:00', 'UTC+0', 'Etc/UTC']) {
      expect(offsetMicrosAt(zone(name), 0n)).toBe(0n);
    }
    expect(zoneOf('UTC')).toBe(utc);
    expect(zoneOf('')).toBeUndefined();
  });
});

describe('times of day', () => {
  test.each([
    ['12:34:56.123456789', '12:34:56.123456789', '12:34:56.123456789'],
    ['1:2', '01:02:00', '01:02:00.000000000'],
    ['23:59:59.5', '23:59:59.5', '23:59:59.500000000'],
  ])('%s', (text, printed, canonical) => {
    const nanos = parseTime(text) ?? -1n;
    expect(formatTime(nanos)).toBe(printed);
    expect(formatTimeIso(nanos)).toBe(canonical);
  });

  test('24:00:00 and its like are refused', () => {
    expect(['24:00:00', '12', '12:60', 'x'].map(parseTime)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
