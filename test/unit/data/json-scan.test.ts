import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonObjectScanner, scanVerdictText } from '../../../src/data/json-scan.ts';
import { splitJsonArray } from '../../../src/data/json-split.ts';

const wanted = ['id', 'seq', 'name', 'ö', 'tags'];

/** Scans a record that lies between other bytes, as records do in a batch. */
function scan(scanner: JsonObjectScanner, text: string | Buffer): Record<string, string> | string {
  const record = Buffer.from(text);
  const bytes = Buffer.concat([Buffer.from('{"'), record, Buffer.from('"}],1}')]);
  const verdict = scanner.scan(bytes, 2, 2 + record.length);
  if (verdict !== 0) return scanVerdictText[verdict] ?? '';
  const found: Record<string, string> = {};
  for (const [index, name] of wanted.entries()) {
    const kind = scanner.kinds[index] ?? 0;
    const quote = kind === 1 || kind === 2 ? '"' : '';
    const span = bytes.toString('utf8', scanner.spans[2 * index], scanner.spans[2 * index + 1]);
    if (kind !== 0) found[name] = `${kind} ${quote}${span}${quote}`;
  }
  return found;
}

function scanOnce(text: string | Buffer): Record<string, string> | string {
  return scan(new JsonObjectScanner(wanted), text);
}

test('wanted members are found with their kinds, others are skipped', () => {
  expect(
    scanOnce(
      ' { "id" : 1 , "x" : {"id":[2,{"id":3}]} , "seq":-1.5e3,"name":"a\\u0062","tags":[]\n} ',
    ),
  ).toEqual({ id: '3 1', seq: '4 -1.5e3', name: '2 "a\\u0062"', tags: '9 []' });
  expect(scanOnce('{"id":true,"seq":false,"name":null,"ö":"é","tags":{"a":"}"}}')).toEqual({
    id: '5 true',
    seq: '6 false',
    name: '7 null',
    ö: '2 "é"',
    tags: '8 {"a":"}"}',
  });
  expect(scanOnce('{}')).toEqual({});
  expect(scanOnce('{"name":"plain"}')).toEqual({ name: '1 "plain"' });
});

test('P019 of a duplicate member the last one wins', () => {
  expect(scanOnce('{"seq":1,"id":7,"seq":9}')).toEqual({ seq: '3 9', id: '3 7' });
  expect(scanOnce('{"seq":1,"seq":null}')).toEqual({ seq: '7 null' });
});

test('names are matched with their case, and with their escapes decoded', () => {
  expect(scanOnce('{"ID":1,"Seq":2,"\\u0069d":3,"\\u00f6":4}')).toEqual({ id: '3 3', ö: '3 4' });
});

describe('P021 what is no JSON object', () => {
  test.each([
    ['', 'it is no JSON object'],
    ['  ', 'it is no JSON object'],
    ['not json{', 'it is no valid JSON'],
    ['not json at all', 'it is no valid JSON'],
    ['null', 'it is no JSON object'],
    ['[1]', 'it is no JSON object'],
    ['"x"', 'it is no JSON object'],
    ['{', 'it is no valid JSON'],
    ['{"id"', 'it is no valid JSON'],
    ['{"id":', 'it is no valid JSON'],
    ['{"id":1', 'it is no valid JSON'],
    ['{"id":1,', 'it is no valid JSON'],
    ['{"id":1,}', 'it is no valid JSON'],
    ['{"id" 1}', 'it is no valid JSON'],
    ['{id:1}', 'it is no valid JSON'],
    ['{"id":01}', 'it is no valid JSON'],
    ['{"id":1.}', 'it is no valid JSON'],
    ['{"id":.5}', 'it is no valid JSON'],
    ['{"id":+1}', 'it is no valid JSON'],
    ['{"id":1e}', 'it is no valid JSON'],
    ['{"id":-}', 'it is no valid JSON'],
    ['{"id":NaN}', 'it is no valid JSON'],
    ['{"id":nul}', 'it is no valid JSON'],
    ['{"id":truee}', 'it is no valid JSON'],
    ['{"id":"a\nb"}', 'it is no valid JSON'],
    ['{"id":"\\x"}', 'it is no valid JSON'],
    ['{"id":"\\u12g4"}', 'it is no valid JSON'],
    ['{"id":"abc}', 'it is no valid JSON'],
    ['{"id":"abc\\', 'it is no valid JSON'],
    ['{"x":[1,2}', 'it is no valid JSON'],
    ['{"x":[1 2]}', 'it is no valid JSON'],
    ['{"x":{"y":}}', 'it is no valid JSON'],
    ['{"x":[1,]}', 'it is no valid JSON'],
    ['{"x":{,}}', 'it is no valid JSON'],
    ['{"x":[}]}', 'it is no valid JSON'],
    ['{"id":1} x', 'there is something after the JSON object'],
    ['{"id":1}{"id":2}', 'there is something after the JSON object'],
  ])('%j: %s', (text, expected) => {
    expect(scanOnce(text)).toBe(expected);
  });

  test('P023 nesting has a limit and no stack', () => {
    const nested = (levels: number): string => `{"x":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    expect(scanOnce('['.repeat(50_000) + ']'.repeat(50_000))).toBe('it is no JSON object');
    expect(scanOnce(nested(50_000))).toBe('it is nested deeper than 1000 levels');
    expect(scanOnce(nested(1_000))).toBe('it is nested deeper than 1000 levels');
    expect(scanOnce(nested(999))).toEqual({});
    expect(scanOnce('{"x":'.repeat(5_000))).toBe('it is nested deeper than 1000 levels');
  });
});

const members = fc.array(
  fc.tuple(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...wanted, 'x', 'yy', 'a"b', '', 'x'.repeat(70)) },
      { weight: 1, arbitrary: fc.string() },
    ),
    fc.jsonValue({ maxDepth: 3 }),
  ),
  { maxLength: 8 },
);

const spaces = fc.constantFrom('', '', ' ', '\n\t ');

const objects = fc.tuple(members, spaces).map(([list, space]) => {
  const parts = list.map(
    ([name, value]) =>
      `${space}${JSON.stringify(name)}${space}:${space}${JSON.stringify(value)}${space}`,
  );
  return `${space}{${parts.join(',')}}${space}`;
});

/** What the engine's own parser says of the wanted members; undefined when it is no object. */
function reference(text: string): Record<string, unknown> | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
  return Object.fromEntries(Object.entries(parsed).filter(([name]) => wanted.includes(name)));
}

function found(result: Record<string, string> | string): Record<string, unknown> | undefined {
  if (typeof result === 'string') return undefined;
  return Object.fromEntries(
    Object.entries(result).map(([name, text]) => [name, JSON.parse(text.slice(2))]),
  );
}

test('P019 a stream of records is read as by a parser that makes every value', () => {
  fc.assert(
    fc.property(fc.array(objects, { minLength: 1, maxLength: 12 }), (records) => {
      // One scanner for all: what it remembers of one record must never show in another.
      const scanner = new JsonObjectScanner(wanted);
      for (const record of records) {
        expect(found(scan(scanner, record))).toEqual(reference(record));
      }
    }),
    { numRuns: 300 },
  );
});

test('damaged records are refused exactly where a parser refuses them', () => {
  const damage = fc.tuple(fc.nat(), fc.constantFrom(...'{}[]",:\\ 0-.eu\ntrx'), fc.boolean());
  fc.assert(
    fc.property(objects, fc.array(damage, { minLength: 1, maxLength: 2 }), (text, damages) => {
      let broken = text;
      for (const [where, character, isInserted] of damages) {
        const at = where % (broken.length + 1);
        broken = broken.slice(0, at) + character + broken.slice(isInserted ? at : at + 1);
      }
      expect(found(scanOnce(broken))).toEqual(reference(broken));
    }),
    { numRuns: 3000 },
  );
});

test('names longer than the memory, and more of them than it holds, are found', () => {
  const scanner = new JsonObjectScanner(wanted);
  const many = Array.from({ length: 300 }, (_, index) => `"n${index}":${index}`).join(',');
  const text = `{${many},"${'long'.repeat(40)}":1,"seq":5}`;
  expect(scan(scanner, text)).toEqual({ seq: '3 5' });
  expect(scan(scanner, text)).toEqual({ seq: '3 5' });
  expect(scan(scanner, '{"seq":6,"n0":1,"id":2}')).toEqual({ seq: '3 6', id: '3 2' });
});

test('records whose names have no order are read right, as are those in order after them', () => {
  const scanner = new JsonObjectScanner(wanted);
  const orders = [wanted, [...wanted].reverse(), ['seq', 'x', 'id'], ['tags', 'seq', 'y', 'name']];
  for (let record = 0; record < 3_000; record += 1) {
    // A long stretch of changing orders, one of a single order, and again.
    const isOrdered = record > 1_200 && record < 2_400;
    const names = isOrdered ? wanted : (orders[((record * 7) % 5) % 4] ?? wanted);
    const text = `{${names.map((name, at) => `"${name}":${record + at}`).join(',')}}`;
    expect(found(scan(scanner, text))).toEqual(reference(text));
  }
});

describe('splitting an array', () => {
  test('gives the elements as they stand', () => {
    const bytes = Buffer.from('x [ {"a":[1,2]} ,"b,]" , 3, [ ], null ] ');
    const spans = splitJsonArray(bytes, 1, bytes.length) ?? [];
    expect(spans.map((span) => span.bytes.toString('utf8', span.start, span.end))).toEqual([
      '{"a":[1,2]}',
      '"b,]"',
      '3',
      '[ ]',
      'null',
    ]);
    expect(splitJsonArray(Buffer.from('[]'), 0, 2)).toEqual([]);
  });

  test.each(['', '{}', '[', '[1', '[1,', '[1,]', '[1 2]', '[] x', '[1]]', '["a]', '[tru]'])(
    '%j is no array',
    (text) => {
      const bytes = Buffer.from(`${text}]"]`);
      expect(splitJsonArray(bytes, 0, text.length)).toBeUndefined();
    },
  );

  test('agrees with a parser', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (values) => {
        const bytes = Buffer.from(JSON.stringify(values));
        const spans = splitJsonArray(bytes, 0, bytes.length) ?? [];
        const parsed = spans.map((span) =>
          JSON.parse(bytes.toString('utf8', span.start, span.end)),
        );
        expect(parsed).toEqual(JSON.parse(bytes.toString('utf8')));
      }),
    );
  });
});
