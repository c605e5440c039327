import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FaultError } from '../../../src/base/place.ts';
import { formatType, parseTypeText } from '../../../src/data/type-text.ts';
import {
  castTo,
  commonType,
  commonTypeWithoutStrings,
  widerDecimal,
} from '../../../src/expr/coerce.ts';
import { compile, newFrame } from '../../../src/expr/compile.ts';
import { bind } from './evaluate.ts';

function common(a: string, b: string): string | undefined {
  const type = commonType(parseTypeText(a), parseTypeText(b));
  return type && formatType(type);
}

test.each([
  ['int', 'bigint', 'bigint'],
  ['int', 'float', 'double'],
  ['int', 'decimal(2,1)', 'decimal(11,1)'],
  ['bigint', 'decimal(38,0)', 'decimal(38,0)'],
  ['decimal(38,10)', 'decimal(38,0)', 'decimal(38,0)'],
  ['float', 'decimal(2,1)', 'double'],
  ['string', 'int', 'bigint'],
  ['string', 'decimal(2,1)', 'double'],
  ['string', 'date', 'date'],
  ['date', 'timestamp_ntz', 'timestamp_ntz'],
  ['timestamp', 'timestamp_ntz', 'timestamp'],
  ['interval day', 'interval hour to second', 'interval day to second'],
  ['void', 'array<int>', 'array<int>'],
  ['array<int>', 'array<bigint>', 'array<bigint>'],
  ['map<string,int>', 'map<string,decimal(3,1)>', 'map<string,decimal(11,1)>'],
  ['struct<a:int>', 'struct<A:bigint>', 'struct<a:bigint>'],
  ['struct<a:int>', 'struct<b:int>', undefined],
  ['boolean', 'int', undefined],
  ['string', 'interval day', undefined],
  ['interval day', 'interval month', undefined],
  ['date', 'int', undefined],
])('%s and %s meet in %s', (a, b, wanted) => {
  expect(common(a, b)).toBe(wanted);
});

const numberType = fc.oneof(
  fc.constantFrom('tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'string'),
  fc
    .integer({ min: 1, max: 38 })
    .chain((p) => fc.integer({ min: 0, max: p }).map((s) => `decimal(${p},${s})`)),
);

test('the common type does not depend on the order of its two types', () => {
  fc.assert(
    fc.property(numberType, numberType, (a, b) => {
      expect(common(a, b)).toBe(common(b, a));
    }),
  );
});

test('strings stay apart where they are not promoted', () => {
  expect(commonTypeWithoutStrings({ kind: 'string' }, { kind: 'int' })).toBeUndefined();
});

test('the wider decimal keeps the digits before the point', () => {
  const wider = widerDecimal(
    { kind: 'decimal', precision: 38, scale: 30 },
    { kind: 'decimal', precision: 30, scale: 2 },
  );
  expect(formatType(wider)).toBe('decimal(38,10)');
});

function stored(sql: string, type: string): unknown {
  const expression = castTo(bind(sql), parseTypeText(type), 'store');
  return compile(expression, { timeZone: 'UTC' })([], newFrame());
}

test('a declared column takes numbers that fit and anything as a string, and no text as a number', () => {
  expect(stored('7', 'bigint')).toBe(7n);
  expect(stored('7L', 'tinyint')).toBe(7);
  expect(stored('1.50', 'string')).toBe('1.50');
  expect(() => stored('300', 'tinyint')).toThrow(
    expect.objectContaining({ errorClass: 'CAST_OVERFLOW_IN_TABLE_INSERT' }),
  );
  expect(() => stored("'7'", 'int')).toThrow(FaultError);
  expect(() => stored('true', 'int')).toThrow(
    expect.objectContaining({
      fault: expect.objectContaining({ code: 'INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST' }),
    }),
  );
});
