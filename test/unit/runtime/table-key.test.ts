import { describe, expect, test } from 'vitest';
import { parseColumnsText } from '../../../src/data/type-text.ts';
import { parseTableKey } from '../../../src/runtime/inspect/table-key.ts';

function keyOf(columns: string, text: string): string {
  return parseTableKey(parseColumnsText(columns), text).toString('utf8');
}

describe('one key column: its plain value, or an object', () => {
  test.each([
    ['k BIGINT', '9223372036854775807', '{"k":9223372036854775807}'],
    ['k BIGINT', '{"k":-5}', '{"k":-5}'],
    ['k BIGINT', 'null', '{"k":null}'],
    ['k DECIMAL(10,2)', '1', '{"k":1.00}'],
    ['k DECIMAL(10,2)', '{"k":1.0}', '{"k":1.00}'],
    ['k STRING', '42', '{"k":"42"}'],
    ['k STRING', 'null', '{"k":"null"}'],
    ['k STRING', '', '{"k":""}'],
    ['k STRING', '{"k":null}', '{"k":null}'],
    ['k STRING', 'say "hi"', '{"k":"say \\"hi\\""}'],
    ['k STRING', '{"other":1}', '{"k":"{\\"other\\":1}"}'],
    ['k BOOLEAN', 'true', '{"k":true}'],
    ['k DOUBLE', '-0.0', '{"k":0}'],
    ['k DATE', '2026-03-01', '{"k":"2026-03-01"}'],
    ['k TIMESTAMP', '2026-03-01T12:00:00+02:00', '{"k":"2026-03-01T10:00:00.000000Z"}'],
    ['k ARRAY<INT>', '[1, 2]', '{"k":[1,2]}'],
    ['k STRUCT<a:INT,b:INT>', '{"b":2,"a":1}', '{"k":{"a":1,"b":2}}'],
  ])('%s from %s', (columns, text, key) => {
    expect(keyOf(columns, text)).toBe(key);
  });
});

test.each(['null', 'NULL', 'Null'])(
  '%s is the key without a value; of a text column it is a text',
  (text) => {
    expect(keyOf('k BIGINT', text)).toBe('{"k":null}');
    expect(keyOf('k STRING', text)).toBe(JSON.stringify({ k: text }));
  },
);

test('P027 several key columns stand in the order of the USING clause, however they are written', () => {
  const columns = 'region STRING, day DATE';
  expect(keyOf(columns, '{ "day":"2026-03-01", "region":"EU" }')).toBe(
    '{"region":"EU","day":"2026-03-01"}',
  );
});

test.each([
  ['k BIGINT', 'x', 'does not fit column "k"'],
  ['k BIGINT', '9223372036854775808', 'does not fit column "k"'],
  ['k BIGINT', '{"k":1.5}', 'does not fit column "k"'],
  ['k BIGINT', '{"k":1', 'does not fit column "k"'],
  ['k BIGINT', '1,"x":2', 'does not fit column "k"'],
  ['a INT, b INT', '1', 'it is no JSON object'],
  ['a INT, b INT', '{"a":1}', '"b" is missing'],
  ['a INT, b INT', '{"a":1,"b":2,"c":3}', '"c" is no key column'],
])('%s refuses %s', (columns, text, reason) => {
  expect(() => keyOf(columns, text)).toThrow(reason);
});
