import { expect, test } from 'vitest';
import { rowDecoder } from '../../../src/data/row-decoder.ts';
import { parseTypeText } from '../../../src/data/type-text.ts';
import { readingChange, type TypeChange, typeChange } from '../../../src/refresh/type-change.ts';

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

const texts = [
  ...[
    '0',
    '-1',
    '127',
    '300',
    '70000',
    '3000000000',
    '123456789.12',
    '12345678901',
    '1.5',
    '1e300',
  ],
  ...['true', '"x"', '"12"', '"2026-11-30"', '"2026-11-30T10:00:00Z"', '"aGk="', '"NaN"', '{}'],
];

function reads(type: string, text: string): boolean {
  const decode = rowDecoder([{ name: 'c', type: parseTypeText(type) }]);
  const bytes = Buffer.from(`{"c":${text}}`);
  try {
    decode({ bytes, start: 0, end: bytes.length });
    return true;
  } catch {
    return false;
  }
}

test.each([...pairs, ['DECIMAL(10,2)', 'DECIMAL(14,4)'] as const])(
  'FR-14 where a source column of %s becomes %s, nothing that was read fails without a word',
  (before, after) => {
    const lost = texts.filter((text) => reads(before, text) && !reads(after, text));
    const change = readingChange(parseTypeText(before), parseTypeText(after));
    // Where it may fail there is something to tell; where nothing is told nothing fails.
    expect(change === 'same' || change === 'widened' ? lost : []).toEqual([]);
  },
);

test.each([
  ['INT', 'BIGINT', 'widened'],
  ['BIGINT', 'INT', 'narrowed'],
  ['INT', 'STRING', 'incompatible'],
  ['STRING', 'INT', 'incompatible'],
  ['DATE', 'STRING', 'widened'],
  ['STRING', 'DATE', 'incompatible'],
  ['INT', 'VARIANT', 'widened'],
  ['DECIMAL(10,2)', 'DECIMAL(14,4)', 'widened'],
  ['DECIMAL(10,2)', 'DECIMAL(10,4)', 'narrowed'],
  ['INT', 'DECIMAL(12,2)', 'widened'],
  ['BIGINT', 'DECIMAL(12,2)', 'narrowed'],
  ['STRUCT<a: INT, b: STRING>', 'STRUCT<a: INT>', 'widened'],
  ['STRUCT<a: INT, b: STRING>', 'STRUCT<a: STRING, b: STRING>', 'incompatible'],
  ['ARRAY<STRUCT<a: BIGINT>>', 'ARRAY<STRUCT<a: INT>>', 'narrowed'],
  ['MAP<STRING, INT>', 'MAP<STRING, BIGINT>', 'widened'],
] as const)(
  'FR-14, FR-15 a source column of %s that is read as %s is %s',
  (before, after, change) => {
    expect(readingChange(parseTypeText(before), parseTypeText(after))).toBe(change);
  },
);
