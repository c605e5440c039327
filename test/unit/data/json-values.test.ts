import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteWriter } from '../../../src/data/byte-writer.ts';
import { canonicalValue } from '../../../src/data/canonical.ts';
import { fitsPrecision, parseDecimal, rescaleExact } from '../../../src/data/decimal.ts';
import { jsonDecoder, misfitText } from '../../../src/data/json-decode.ts';
import { jsonEncoder, jsonText, rowEncoder } from '../../../src/data/json-encode.ts';
import { type JsonSpan, kindMissing, readValue } from '../../../src/data/json-lex.ts';
import { JsonObjectScanner } from '../../../src/data/json-scan.ts';
import { misfit } from '../../../src/data/misfit.ts';
import { canonicalKey } from '../../../src/data/row-difference.ts';
import { parseColumnsText, parseTypeText } from '../../../src/data/type-text.ts';
import type { DataType } from '../../../src/data/types.ts';
import type { Value } from '../../../src/data/value.ts';
import { zoneOf } from '../../../src/data/zones.ts';
import { anyTypes, valuesOf } from './arbitraries.ts';

function decodeBytes(type: DataType, json: Buffer, zone?: string): Value | typeof misfit {
  const bytes = Buffer.concat([Buffer.from(' '), json, Buffer.from(',9')]);
  const span: JsonSpan = { kind: kindMissing, start: 0, end: 0 };
  readValue(span, bytes, 1, 1 + json.length);
  const decode = jsonDecoder(type, zone === undefined ? undefined : zoneOf(zone));
  return decode(bytes, span.start, span.end, span.kind);
}

/** The canonical form of what is read, or `misfit`. */
function read(type: string, json: string, zone?: string): unknown {
  const parsed = parseTypeText(type);
  const value = decodeBytes(parsed, Buffer.from(json), zone);
  return value === misfit ? misfit : canonicalValue(parsed, value);
}

describe('values that fit', () => {
  test.each([
    ['boolean', 'true', true],
    ['boolean', 'null', null],
    ['tinyint', '-128', -128],
    ['int', '2147483647', 2147483647],
    ['int', '1.0', 1],
    ['int', '1e0', 1],
    ['int', '12.50e1', 125],
    ['int', '-0', 0],
    ['int', '-0.0', 0],
    ['int', '0e999999999', 0],
    ['int', '100000000000000000000e-20', 1],
    ['bigint', '9007199254740993', '9007199254740993'],
    ['bigint', '-9223372036854775808', '-9223372036854775808'],
    ['bigint', '9223372036854775807', '9223372036854775807'],
    ['bigint', '9.223372036854775807e18', '9223372036854775807'],
    ['decimal(10,2)', '12.5', '12.50'],
    ['decimal(10,2)', '12.500', '12.50'],
    ['decimal(10,2)', '-0.01', '-0.01'],
    ['decimal(10,2)', '1e3', '1000.00'],
    ['decimal(10,2)', '"12.50"', '12.50'],
    ['decimal(20,0)', '18446744073709551615', '18446744073709551615'],
    ['decimal(38,9)', '12345678901234567890.123456789', '12345678901234567890.123456789'],
    ['decimal(38,20)', '123456789012', '123456789012.00000000000000000000'],
    ['double', '1', 1],
    ['double', '-0.0', -0],
    ['double', '-0', -0],
    ['double', '0.1', 0.1],
    ['double', '1e-400', 0],
    ['double', '9007199254740993', 9007199254740992],
    ['double', '"NaN"', 'NaN'],
    ['double', '"-Infinity"', '-Infinity'],
    ['float', '0.1', 0.1],
    ['string', '"a"', 'a'],
    ['string', '""', ''],
    ['string', '"\\u00e9\\ud83d\\ude00\\n\\/é😀"', 'é😀\n/é😀'],
    ['string', '"\\u0000"', '\u0000'],
    ['binary', '"AQI="', 'AQI='],
    ['binary', '"AQI"', 'AQI='],
    ['date', '"2024-02-29"', '2024-02-29'],
    ['timestamp', '"2024-03-10T02:00:00.000007Z"', '2024-03-10T02:00:00.000007Z'],
    ['timestamp', '"2024-03-10T02:00:00.1234567Z"', '2024-03-10T02:00:00.123456Z'],
    ['timestamp', '"2025-03-05T06:00:00-05:00"', '2025-03-05T11:00:00.000000Z'],
    ['timestamp', '"2025-03-05 06:00:00"', '2025-03-05T06:00:00.000000Z'],
    ['timestamp', '"2025-03-05"', '2025-03-05T00:00:00.000000Z'],
    ['timestamp', '"0001-01-01T00:00:00Z"', '0001-01-01T00:00:00.000000Z'],
    ['timestamp', '"9999-12-31T23:59:59.999999Z"', '9999-12-31T23:59:59.999999Z'],
    ['timestamp_ntz', '"2025-03-05T06:00:00"', '2025-03-05T06:00:00.000000'],
    ['array<int>', '[ 1 , null,2]', [1, null, 2]],
    ['array<array<string>>', '[[],["a"]]', [[], ['a']]],
    [
      'map<string,int>',
      '{"b":1, "a" : 2,"b":3}',
      [
        ['b', 3],
        ['a', 2],
      ],
    ],
    [
      'map<int,string>',
      '[[1,"a"],[2,null]]',
      [
        [1, 'a'],
        [2, null],
      ],
    ],
    ['struct<a:int,b:string>', '{"b":"x","A":9,"zzz":[1]}', { a: null, b: 'x' }],
    [
      'array<struct<a:int,b:array<int>>>',
      '[{"a":1,"b":[1]},{"b":[2]},{}]',
      [
        { a: 1, b: [1] },
        { a: null, b: [2] },
        { a: null, b: null },
      ],
    ],
    [
      'struct<a:int,a:string>',
      '{"$struct":[["a",1],["a","x"]]}',
      {
        $struct: [
          ['a', 1],
          ['a', 'x'],
        ],
      },
    ],
    ['void', 'null', null],
  ])('%s reads %s', (type, json, expected) => {
    expect(read(type, json)).toEqual(expected);
  });

  test('a timestamp without a zone is local time in the zone of the session', () => {
    const warsaw = 'Europe/Warsaw';
    expect(read('timestamp', '"2025-07-05T06:00:00"', warsaw)).toBe('2025-07-05T04:00:00.000000Z');
    expect(read('timestamp', '"2025-07-05T06:00:00Z"', warsaw)).toBe('2025-07-05T06:00:00.000000Z');
    expect(read('timestamp', '"2025-07-05T06:00:00 UTC"', warsaw)).toBe(
      '2025-07-05T06:00:00.000000Z',
    );
  });
});

describe('EX values that do not fit are misfits, never NULL and never another value', () => {
  test.each([
    ['boolean', '1'],
    ['boolean', '"true"'],
    ['tinyint', '128'],
    ['smallint', '-32769'],
    ['int', '2147483648'],
    ['int', '1.5'],
    ['int', '1e-1'],
    ['int', '"1"'],
    ['int', 'true'],
    ['int', '[1]'],
    ['int', '1e400'],
    ['bigint', '9223372036854775808'],
    ['bigint', '-9223372036854775809'],
    ['bigint', '1e400'],
    ['bigint', '1e1000000000'],
    ['bigint', '1.5'],
    ['bigint', `1${'0'.repeat(100_000)}`],
    ['decimal(10,2)', '12.345'],
    ['decimal(10,2)', '123456789.00'],
    ['decimal(10,2)', '1e-300'],
    ['decimal(10,2)', '"abc"'],
    ['decimal(10,2)', '""'],
    ['decimal(38,0)', '1e400'],
    ['double', '1e400'],
    ['double', '"1"'],
    ['double', '"abc"'],
    ['float', '1e39'],
    ['string', '1'],
    ['string', 'true'],
    ['string', '{"x":1}'],
    ['string', '"\\ud800"'],
    ['string', '"\\ud800x"'],
    ['string', '"\\ud800\\u0041"'],
    ['string', '"\\udc00"'],
    ['binary', '"A"'],
    ['binary', '"****"'],
    ['binary', '"AQI=AQI="'],
    ['date', '"2024-02-30"'],
    ['date', '"2024-02-29T00:00:00Z"'],
    ['date', '19000'],
    ['timestamp', '1741149226000'],
    ['timestamp', '"2024-01-01T24:00:00Z"'],
    ['timestamp', '"2024-13-01T00:00:00Z"'],
    ['timestamp', '"2024-01-01T00:00:00+25:00"'],
    ['timestamp', '"yesterday"'],
    ['timestamp_ntz', '"2025-03-05T06:00:00Z"'],
    ['array<int>', '{"a":1}'],
    ['array<int>', '[1,"a"]'],
    ['map<string,int>', '[["a",1]]'],
    ['map<string,int>', '{"a":"x"}'],
    ['map<string,int>', '{"\\ud800":1}'],
    ['map<int,int>', '[[1]]'],
    ['map<int,int>', '[[null,1]]'],
    ['struct<a:int>', '[1]'],
    ['struct<a:int>', '{"a":"x"}'],
    ['struct<a:struct<b:int>>', '{"a":{"b":1.5}}'],
    ['void', '1'],
  ])('%s refuses %s', (type, json) => {
    expect(read(type, json)).toBe(misfit);
  });

  test.each([
    [[0xff]],
    [[0xc0, 0x80]],
    [[0xe0, 0x80, 0x80]],
    [[0xed, 0xa0, 0x80]],
    [[0xf4, 0x90, 0x80, 0x80]],
    [[0xe2, 0x82]],
    [[0x80]],
  ])('bytes that are no UTF-8: %j', (bad) => {
    const json = Buffer.concat([Buffer.from('"a'), Buffer.from(bad), Buffer.from('"')]);
    expect(decodeBytes({ kind: 'string' }, json)).toBe(misfit);
  });

  test('the message names column, type and a bounded piece of the value', () => {
    const text = misfitText('qty', { kind: 'int' }, '9'.repeat(500));
    expect(text).toMatch(/^the value 9{77}… does not fit column "qty" of type int$/);
  });
});

describe('what is written', () => {
  test.each([
    ['bigint', 9223372036854775807n, '9223372036854775807'],
    ['bigint', -42n, '-42'],
    ['int', -2147483648, '-2147483648'],
    ['decimal(10,2)', 1250n, '12.50'],
    ['decimal(10,2)', -5n, '-0.05'],
    ['decimal(38,30)', -5n, '-0.000000000000000000000000000005'],
    ['decimal(20,0)', 18446744073709551615n, '18446744073709551615'],
    ['double', 1, '1'],
    ['double', 0.1, '0.1'],
    ['double', 1e21, '1e+21'],
    ['double', -0, '-0.0'],
    ['double', Number.NaN, '"NaN"'],
    ['double', Number.NEGATIVE_INFINITY, '"-Infinity"'],
    ['float', Math.fround(0.1), '0.1'],
    ['string', 'a"\\\b\f\n\r\t\u0001\u007fé😀/', '"a\\"\\\\\\b\\f\\n\\r\\t\\u0001\u007fé😀/"'],
    ['binary', Buffer.from([1, 2]), '"AQI="'],
    ['date', 19_782, '"2024-02-29"'],
    ['date', 2_932_897, '"+10000-01-01"'],
    ['timestamp', 1_741_149_226_000_000n, '"2025-03-05T04:33:46.000000Z"'],
    ['timestamp', -1n, '"1969-12-31T23:59:59.999999Z"'],
    ['timestamp_ntz', 1_741_149_226_500_000n, '"2025-03-05T04:33:46.500000"'],
    ['interval day to second', -43_200_000_000n, `"INTERVAL '-0 12:00:00' DAY TO SECOND"`],
    ['array<int>', [1, null], '[1,null]'],
    [
      'map<string,int>',
      {
        entries: [
          ['b', 1],
          ['a', null],
        ],
      },
      '{"b":1,"a":null}',
    ],
    ['map<string,int>', { entries: [] }, '{}'],
    ['map<int,int>', { entries: [[1, 2]] }, '[[1,2]]'],
    ['struct<a:int,b:string>', [null, 'x'], '{"a":null,"b":"x"}'],
    ['struct<>', [], '{}'],
    ['struct<a:int,a:int>', [1, 2], '{"$struct":[["a",1],["a",2]]}'],
    ['void', null, 'null'],
  ] as [string, Value, string][])('%s is written canonically, case %#', (type, value, expected) => {
    expect(jsonText(parseTypeText(type), value)).toBe(expected);
  });

  test('a row has every column in order, with the NULL ones', () => {
    const columns = parseColumnsText('k BIGINT, `a"b` STRING, c DECIMAL(4,1)');
    const out = new ByteWriter(4);
    rowEncoder(columns)([9007199254740993n, null, 15n], out);
    expect(out.copy().toString()).toBe('{"k":9007199254740993,"a\\"b":null,"c":1.5}');
  });
});

const typedValues = anyTypes.chain((type) => fc.tuple(fc.constant(type), valuesOf(type)));

test('P015 a value that is written is valid JSON and is read back as the same value', () => {
  fc.assert(
    fc.property(typedValues, ([type, value]) => {
      const text = jsonText(type, value);
      expect(() => JSON.parse(text)).not.toThrow();
      const back = decodeBytes(type, Buffer.from(text));
      expect(back).not.toBe(misfit);
      expect(canonicalKey(type, back as Value)).toBe(canonicalKey(type, value));
      expect(jsonText(type, back as Value)).toBe(text);
    }),
    { numRuns: 1000 },
  );
});

test('RU a whole row survives encoder, scanner and decoders', () => {
  const rows = fc
    .array(anyTypes, { minLength: 1, maxLength: 4 })
    .chain((types) =>
      fc.tuple(fc.constant(types), fc.tuple(...types.map((type) => valuesOf(type)))),
    );
  fc.assert(
    fc.property(rows, ([types, row]) => {
      const columns = types.map((type, index) => ({ name: `c${index}`, type }));
      const out = new ByteWriter(16);
      rowEncoder(columns)(row, out);
      const bytes = out.copy();
      const scanner = new JsonObjectScanner(columns.map((column) => column.name));
      expect(scanner.scan(bytes, 0, bytes.length)).toBe(0);
      for (const [index, type] of types.entries()) {
        const start = scanner.spans[2 * index] ?? 0;
        const end = scanner.spans[2 * index + 1] ?? 0;
        const kind = (scanner.kinds[index] ?? 0) as JsonSpan['kind'];
        const value = jsonDecoder(type)(bytes, start, end, kind) as Value;
        expect(canonicalKey(type, value)).toBe(canonicalKey(type, row[index] as Value));
      }
    }),
  );
});

test('long and short strings are written alike', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), (text) => {
      const out = new ByteWriter(1);
      jsonEncoder({ kind: 'string' })(text, out);
      expect(out.copy().toString('utf8')).toBe(JSON.stringify(text));
    }),
  );
});

test('P021 strings of any bytes are read as by a strict decoder, or refused', () => {
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const pieces = fc.oneof(
    fc
      .uint8Array({ maxLength: 4 })
      .map((bytes) => Buffer.from(bytes.filter((byte) => byte >= 0x80))),
    fc
      .string({ unit: 'grapheme', maxLength: 3 })
      .map((text) => Buffer.from(JSON.stringify(text).slice(1, -1))),
    fc
      .oneof(fc.nat(0xffff), fc.integer({ min: 0xd7f0, max: 0xe010 }))
      .map((unit) => Buffer.from(`\\u${unit.toString(16).padStart(4, '0')}`)),
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 5 }), (parts) => {
      const json = Buffer.concat([Buffer.from('"'), ...parts, Buffer.from('"')]);
      let expected: string | typeof misfit = misfit;
      try {
        const text = JSON.parse(strict.decode(json)) as string;
        if (!/\p{Surrogate}/u.test(text)) expected = text;
      } catch {
        expected = misfit;
      }
      expect(decodeBytes({ kind: 'string' }, json)).toBe(expected);
    }),
    { numRuns: 3000 },
  );
});

test('P013 integers of every size are read exactly', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }), (value) => {
      const isInside = BigInt.asIntN(64, value) === value;
      const read = decodeBytes({ kind: 'bigint' }, Buffer.from(String(value)));
      expect(read).toBe(isInside ? value : misfit);
    }),
    { numRuns: 1000 },
  );
});

test('P015 decimals and doubles are read as their text says', () => {
  const numbers = fc.tuple(
    fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
    fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 12 }),
    fc.constantFrom('', 'e0', 'e3', 'E-2', 'e+5'),
  );
  fc.assert(
    fc.property(numbers, ([whole, fraction, exponent]) => {
      const text = `${whole}${fraction === '' ? '' : `.${fraction}`}${exponent}`;
      expect(decodeBytes({ kind: 'double' }, Buffer.from(text))).toBe(Number(text));
      const exact = parseDecimal(text) ?? { unscaled: 0n, scale: 0 };
      const unscaled = rescaleExact(exact.unscaled, exact.scale, 6);
      const fits = unscaled !== undefined && fitsPrecision(unscaled, 24);
      const type: DataType = { kind: 'decimal', precision: 24, scale: 6 };
      expect(decodeBytes(type, Buffer.from(text))).toBe(fits ? unscaled : misfit);
    }),
    { numRuns: 2000 },
  );
});
