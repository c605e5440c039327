import { expect, test } from 'vitest';
import { parseTypeText } from '../../../src/data/type-text.ts';
import { type TypeChange, typeChange } from '../../../src/refresh/type-change.ts';

const whole = ['TINYINT', 'SMALLINT', 'INT', 'BIGINT'];
const others = ['BOOLEAN', 'STRING', 'BINARY', 'DATE', 'TIMESTAMP', 'VARIANT'];
const numbers = [...whole, 'FLOAT', 'DOUBLE', 'DECIMAL(10,0)', 'DECIMAL(10,2)'];
const all = [...numbers, ...others];

/** Pairs that keep every value; what is not here narrows among numbers, and is incompatible elsewhere. */
const widening = new Set([
  'TINYINT>SMALLINT',
  'TINYINT>INT',
  'TINYINT>BIGINT',
  'SMALLINT>INT',
  'SMALLINT>BIGINT',
  'INT>BIGINT',
  'TINYINT>FLOAT',
  'SMALLINT>FLOAT',
  'TINYINT>DOUBLE',
  'SMALLINT>DOUBLE',
  'INT>DOUBLE',
  'FLOAT>DOUBLE',
  'TINYINT>DECIMAL(10,0)',
  'SMALLINT>DECIMAL(10,0)',
  'INT>DECIMAL(10,0)',
]);

function expected(before: string, after: string): TypeChange {
  if (before === after) return 'same';
  if (widening.has(`${before}>${after}`)) return 'widened';
  return numbers.includes(before) && numbers.includes(after) ? 'narrowed' : 'incompatible';
}

const pairs = all.flatMap((before) => all.map((after) => [before, after] as const));

test.each(pairs)('FR-14, FR-15 %s to %s', (before, after) => {
  expect(typeChange(parseTypeText(before), parseTypeText(after))).toBe(expected(before, after));
});

test.each([
  ['DECIMAL(10,2)', 'DECIMAL(12,2)', 'widened'],
  ['DECIMAL(10,2)', 'DECIMAL(12,4)', 'narrowed'],
  ['DECIMAL(12,2)', 'DECIMAL(10,2)', 'narrowed'],
  ['ARRAY<INT>', 'ARRAY<BIGINT>', 'widened'],
  ['ARRAY<BIGINT>', 'ARRAY<INT>', 'narrowed'],
  ['ARRAY<INT>', 'ARRAY<STRING>', 'incompatible'],
  ['ARRAY<INT>', 'INT', 'incompatible'],
  ['MAP<STRING, INT>', 'MAP<STRING, BIGINT>', 'widened'],
  ['MAP<INT, INT>', 'MAP<BIGINT, INT>', 'incompatible'],
  ['STRUCT<a: INT>', 'STRUCT<a: INT, b: STRING>', 'widened'],
  ['STRUCT<a: INT, b: STRING>', 'STRUCT<b: STRING, a: INT>', 'same'],
  ['STRUCT<a: INT, b: STRING>', 'STRUCT<a: INT>', 'incompatible'],
  ['STRUCT<a: INT>', 'STRUCT<A: INT>', 'incompatible'],
  ['STRUCT<a: BIGINT>', 'STRUCT<a: INT, b: STRING>', 'narrowed'],
] as const)('FR-14, FR-15 %s to %s is %s', (before, after, change) => {
  expect(typeChange(parseTypeText(before), parseTypeText(after))).toBe(change);
});
