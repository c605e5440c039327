import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printJson } from '../../../src/expr/json/json-print.ts';
import {
  isArray,
  isNumber,
  isObject,
  type JsonNode,
  parseJson,
} from '../../../src/expr/json/json-tree.ts';
import { evaluate } from './evaluate.ts';

function plain(node: JsonNode): unknown {
  if (isArray(node)) return node.map(plain);
  if (isNumber(node)) return Number(node.text);
  if (isObject(node)) {
    return Object.fromEntries(node.members.map(([name, value]) => [name, plain(value)]));
  }
  return node;
}

const json = fc
  .jsonValue({ maxDepth: 4 })
  .filter((value) => !JSON.stringify(value).includes('__proto__'));

test('JSON of the platform is read as the same values, and printed so that it is read again', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = JSON.stringify(value);
      const result = parseJson(text);
      const node = result.state === 'value' ? result.node : undefined;
      expect(node === undefined ? undefined : plain(node)).toEqual(JSON.parse(text));
      expect(JSON.parse(printJson(node ?? null))).toEqual(JSON.parse(text));
    }),
  );
});

test('any text is read, refused or empty, never a crash', () => {
  const text = fc.string({
    unit: fc.constantFrom(...'{}[]",:\'\\u0a1-+.eNIntf \n'),
    maxLength: 20,
  });
  fc.assert(
    fc.property(text, (value) => {
      expect(['value', 'empty', 'malformed']).toContain(parseJson(value).state);
    }),
    { numRuns: 3000 },
  );
});

test('nesting without end is malformed', () => {
  expect(parseJson('['.repeat(100_000)).state).toBe('malformed');
});

test('integers keep their digits, duplicate members their order, and the last one counts', () => {
  expect(evaluate(`get_json_object('{"a":12345678901234567890}', '$.a')`)).toBe(
    '12345678901234567890',
  );
  expect(evaluate(`get_json_object('{"a":1,"a":2}', '$')`)).toBe('{"a":1,"a":2}');
  expect(evaluate(`from_json('{"a":1,"a":2}', 'a INT').a`)).toBe(2);
});

test('a member that does not fit is NULL and leaves the others', () => {
  expect(
    evaluate(
      `from_json('{"a":"x","b":[1,2],"c":{"d":1.5}}', 'a INT, b ARRAY<INT>, c STRUCT<d:INT>')`,
    ),
  ).toEqual([null, [1, 2], [null]]);
});
