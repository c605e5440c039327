import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonObjectScanner } from '../../../src/data/json-scan.ts';
import { plainTest } from '../../../src/data/plain-json.ts';
import { StraightScanner } from '../../../src/data/straight-scan.ts';
import type { DataType } from '../../../src/data/types.ts';

const types: Readonly<Record<string, DataType | undefined>> = {
  id: { kind: 'bigint' },
  amount: { kind: 'decimal', precision: 6, scale: 2 },
  whole: { kind: 'decimal', precision: 4, scale: 0 },
  name: { kind: 'string' },
  at: { kind: 'timestamp' },
  flag: { kind: 'boolean' },
  count: { kind: 'int' },
  loose: undefined,
  ö: { kind: 'string' },
};
const names = Object.keys(types);

type Found = readonly (readonly [
  kind: number,
  text: string,
  plainness: number,
  isNamed: boolean,
])[];

/** Of a record that lies between other bytes, as records do in a batch. */
function around(record: Buffer): Buffer {
  return Buffer.concat([Buffer.from('{"'), record, Buffer.from('"}],1}')]);
}

function found(scanner: StraightScanner, record: Buffer): Found | number {
  const bytes = around(record);
  const verdict = scanner.scan(bytes, 2, 2 + record.length);
  if (verdict !== 0) return verdict;
  return names.map((name, index) => {
    const kind = scanner.kinds[index] ?? 0;
    const [from, to] = [scanner.spans[2 * index], scanner.spans[2 * index + 1]];
    const text = kind === 0 ? '' : bytes.toString('latin1', from, to);
    const isNamed = kind !== 0 && types[name] !== undefined && scanner.isNamed[index] === 1;
    return [kind, text, scanner.plainness[index] ?? 0, isNamed];
  });
}

/** The same from the general scanner and the tests of the types. */
function expected(record: Buffer): Found | number {
  const bytes = around(record);
  const scanner = new JsonObjectScanner(names);
  const verdict = scanner.scan(bytes, 2, 2 + record.length);
  if (verdict !== 0) return verdict;
  return names.map((name, index) => {
    const kind = scanner.kinds[index] ?? 0;
    const [from = 0, to = 0] = [scanner.spans[2 * index], scanner.spans[2 * index + 1]];
    const type = types[name];
    if (kind === 0) return [0, '', 0, false];
    const quotes = kind === 1 || kind === 2 ? 1 : 0;
    const before = bytes.toString('utf8', 0, from - quotes);
    return [
      kind,
      bytes.toString('latin1', from, to),
      (type && plainTest(type)?.(bytes, from, to, kind)) ?? 0,
      type !== undefined && before.endsWith(`"${name}":`),
    ];
  });
}

const digits = fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})$/);
const numbers = fc.oneof(
  digits,
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,5})\.[0-9]{1,4}$/),
  fc.stringMatching(/^-?[1-9][0-9]{0,2}(\.[0-9])?[eE][+-]?[0-9]{1,2}$/),
  fc.constantFrom('9223372036854775807', '9223372036854775808', '-9223372036854775808', '-0', '01'),
);
const instants = fc
  .tuple(
    fc.date({
      min: new Date(-62_167_219_200_000),
      max: new Date(253_402_300_799_999),
      noInvalidDate: true,
    }),
    fc.constantFrom('', '000', '123456', '1'),
    fc.constantFrom('Z', 'Z', '', '+01:00'),
  )
  .map(([date, tail, zone]) => JSON.stringify(date.toISOString().slice(0, 23) + tail + zone));
const strings = fc.oneof(
  fc.string({ maxLength: 20 }).map((text) => JSON.stringify(text)),
  fc.string({ maxLength: 20, unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '"a\\/b"',
    '"\\u0041"',
    '"\\"\\\\\\b\\f\\n\\r\\t"',
    '"\\x"',
    '"\u007f"',
    '"a',
    '"\u0001"',
  ),
  instants,
  fc.constantFrom('"2026-13-01T00:00:00.000Z"', '"2026-02-30T00:00:00.000000Z"'),
);
const values = fc.oneof(
  numbers,
  strings,
  fc.constantFrom('true', 'false', 'null', 'nul', '', '[1,{"a":"}"}]', '{"id":[2]}', '{"a":}'),
);

const layouts = fc
  .tuple(
    fc.shuffledSubarray([...names, 'other', 'id"x', 'a', '', 'x'.repeat(70)], { minLength: 1 }),
    fc.constantFrom('', '', ' ', '  '),
    fc.constantFrom('', '', ' '),
  )
  .map(([order, colonSpace, commaSpace]) => ({ order, colonSpace, commaSpace }));

/** Records of one producer: the same names in the same order but for a few, and most values of their form. */
const streams = layouts.chain(({ order, colonSpace, commaSpace }) =>
  fc.array(
    fc
      .tuple(
        fc.tuple(...order.map((name) => fc.tuple(fc.constant(name), values, fc.nat({ max: 9 })))),
        fc.nat({ max: 9 }),
        fc.constantFrom('', '', '', ' ', 'x', '}', ','),
      )
      .map(([members, fate, tail]) => {
        const kept = members.filter(([, , leaveOut]) => leaveOut > 0);
        if (fate === 0 && kept[0] !== undefined) kept.push(kept[0]);
        const text = kept.map(([name, value]) => `${JSON.stringify(name)}:${colonSpace}${value}`);
        return Buffer.from(`{${text.join(`,${commaSpace}`)}}${tail}`);
      }),
    { minLength: 1, maxLength: 12 },
  ),
);

test('P019 what is expected and what is not are read alike', () => {
  fc.assert(
    fc.property(streams, fc.boolean(), (records, isOften) => {
      const scanner = new StraightScanner(names, Object.values(types));
      for (const record of records) {
        // The same one again and again is what it comes to expect.
        for (let again = isOften ? 40 : 1; again > 0; again -= 1) {
          expect(found(scanner, record)).toEqual(expected(record));
        }
      }
    }),
    { numRuns: 150 },
  );
});

test('P021 a record that breaks off anywhere, or has any byte changed, is judged as ever', () => {
  const scanner = new StraightScanner(names, Object.values(types));
  const record = Buffer.from(
    '{"id":1795990000000000001,"amount":12.50,"name":"a \\"b\\" c","at":"2026-11-30T01:14:05.123Z","loose":[1],"flag":true}',
  );
  const whole = expected(record);
  for (let at = 0; at < record.length; at += 1) {
    expect(found(scanner, record)).toEqual(whole);
    const cut = record.subarray(0, at);
    expect(found(scanner, cut)).toEqual(expected(cut));
    for (const byte of [0x22, 0x5c, 0x00, 0x30, 0x39, 0x7d, 0x2c, 0xff]) {
      const changed = Buffer.from(record);
      changed[at] = byte;
      expect(found(scanner, changed)).toEqual(expected(changed));
    }
  }
});

test('only a record with all its members, each of them plain, has the layout to the full', () => {
  const scanner = new StraightScanner(['id', 'name'], [{ kind: 'bigint' }, { kind: 'string' }]);
  const layoutOf = (text: string): number => {
    const record = Buffer.from(text);
    expect(scanner.scan(record, 0, record.length)).toBe(0);
    return scanner.wholeLayout;
  };
  expect(layoutOf('{"id":1,"x":0,"name":"a"}')).toBe(0);
  const layout = layoutOf('{"id":22,"x":[],"name":"b"}');
  expect(layout).toBeGreaterThan(0);
  expect(layoutOf('{"id":3,"x":null,"name":"\\n"}')).toBe(layout);
  expect(layoutOf('{"id":1,"name":"a"}')).toBe(0);
  expect(layoutOf('{"id":1,"x":0}')).toBe(0);
  expect(layoutOf('{"id":null,"x":0,"name":"a"}')).toBe(0);
  expect(layoutOf('{"id":1,"x":0,"name":"\\u0061"}')).toBe(0);
  expect(layoutOf('{"name":"a","x":0,"id":1}')).toBe(0);
  expect(layoutOf('{"id":4,"x":0,"name":"a"}')).toBe(layout);
});

test('a record of more members than there is room for at first is learnt as a whole', () => {
  const many = Array.from({ length: 100 }, (_, index) => `column_${index}`);
  const scanner = new StraightScanner(
    many,
    many.map(() => ({ kind: 'bigint' })),
  );
  for (const round of [1, 2, 3]) {
    const text = JSON.stringify(
      Object.fromEntries(many.map((name, index) => [name, index * round])),
    );
    const bytes = Buffer.from(text);
    expect(scanner.scan(bytes, 0, bytes.length)).toBe(0);
    const values = many.map((_, index) => {
      const [from, to] = [scanner.spans[2 * index], scanner.spans[2 * index + 1]];
      return Number(bytes.toString('latin1', from, to));
    });
    expect(values).toEqual(many.map((_, index) => index * round));
  }
  expect(scanner.wholeLayout).toBeGreaterThan(0);
});
