import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lex } from '../../../src/sql/lexer.ts';
import { literalOfText, textOfLiteral } from '../../../src/sql/text-literal.ts';

function tokens(text: string): string[] {
  return lex(text, 'f').tokens.map(({ tokenType, image }) => `${tokenType.name}:${image}`);
}

test.each([
  ['1', ['Numeral:1']],
  ['007', ['Numeral:007']],
  ['1.', ['Numeral:1.']],
  ['.5', ['Numeral:.5']],
  ['1.5e2', ['Numeral:1.5e2']],
  ['1e-3', ['Numeral:1e-3']],
  ['1E+10D', ['Numeral:1E+10D']],
  ['10L 5s 3y', ['Numeral:10L', 'Numeral:5s', 'Numeral:3y']],
  ['1.50BD 2bd .5f', ['Numeral:1.50BD', 'Numeral:2bd', 'Numeral:.5f']],
])('%s is a number', (text, expected) => {
  expect(tokens(text)).toEqual(expected);
});

test.each(['1a', '1e', '0x10', '1_000', '1e3L', '12abc', '_1', 'größe', '名前', '1e3a'])(
  '%s is a word: names may begin with digits',
  (text) => {
    expect(tokens(text)).toEqual([`PlainWord:${text}`]);
  },
);

test.each([
  ['t.1a', ['PlainWord:t', 'Dot:.', 'PlainWord:1a']],
  ['1.e', ['Numeral:1', 'Dot:.', 'PlainWord:e']],
  ['a.5', ['PlainWord:a', 'Numeral:.5']],
])('%s falls apart where Spark lets it', (text, expected) => {
  expect(tokens(text)).toEqual(expected);
});

test('keywords are found in any case, and longer words are none', () => {
  expect(tokens('SELECT select SeLeCt selects')).toEqual([
    'SELECT:SELECT',
    'SELECT:select',
    'SELECT:SeLeCt',
    'PlainWord:selects',
  ]);
});

test('symbols are as long as they can be, but > stands alone', () => {
  expect(tokens('a<=>b<>c!=d!>e||f|>g::h->i=>j<<k>>>l').map((one) => one.split(':')[0])).toEqual([
    ...['PlainWord', 'NullSafeEqual', 'PlainWord', 'NotEqual', 'PlainWord', 'NotEqual'],
    ...['PlainWord', 'LessOrEqual', 'PlainWord', 'DoubleBar', 'PlainWord', 'PipeArrow'],
    ...['PlainWord', 'DoubleColon', 'PlainWord', 'Arrow', 'PlainWord', 'FatArrow', 'PlainWord'],
    ...['ShiftLeft', 'PlainWord', 'Greater', 'Greater', 'Greater', 'PlainWord'],
  ]);
});

test.each([
  ['a -- b\nc', ['PlainWord:a', 'PlainWord:c']],
  ['a --', ['PlainWord:a']],
  ['a -- b \\\n still\nc', ['PlainWord:a', 'PlainWord:c']],
  ['a /* b /* c */ d */ e', ['PlainWord:a', 'PlainWord:e']],
  ['a /*+ BROADCAST(t) */ e', ['PlainWord:a', 'PlainWord:e']],
  ['a /**/ e', ['PlainWord:a', 'PlainWord:e']],
  ["'-- no' '/* no */'", ["Text:'-- no'", "Text:'/* no */'"]],
])('comments are left out: %j', (text, expected) => {
  expect(tokens(text)).toEqual(expected);
});

test('line and column count from 1, over every kind of line end and inside strings', () => {
  const { tokens: found } = lex("a\r\n b\n\n  'x\ny' c\rd", 'f');
  expect(found.map(({ image, startLine, startColumn }) => [image, startLine, startColumn])).toEqual(
    [
      ['a', 1, 1],
      ['b', 2, 2],
      ["'x\ny'", 4, 3],
      ['c', 5, 4],
      ['d', 6, 1],
    ],
  );
});

test.each([
  ["SELECT 'abc", 'the string is never closed', 7],
  ['SELECT "abc', 'the string is never closed', 7],
  ["SELECT r'abc", 'the string is never closed', 7],
  ["SELECT 'abc\\'", 'the string is never closed', 7],
  ['SELECT `abc``', 'the quoted name is never closed', 7],
  ['SELECT /* a /* b */', 'the comment is never closed', 7],
  ['SELECT €£ 1', 'found "€£", which is not SQL', 7],
  ['SELECT 💧', 'found "💧", which is not SQL', 7],
  ['SELECT a # b', 'found "#", which is not SQL', 9],
])('%s: %s', (text, message, start) => {
  const { faults } = lex(text, 'f');
  expect(faults.map((fault) => [fault.message, fault.place.start])).toEqual([[message, start]]);
});

test.each([
  ["'a'", 'a'],
  ["'it''s'", "it's"],
  ['"say ""hi"""', 'say "hi"'],
  [`'"'`, '"'],
  ["'\\n\\t\\r\\b\\0\\Z'", '\n\t\r\b\0\x1A'],
  ["'\\\\ \\' \\\"'", '\\ \' "'],
  ["'\\% \\_'", '\\% \\_'],
  ["'\\u0041\\U0001F600'", 'A😀'],
  ["'\\101\\0411'", 'A!1'],
  ["'\\q\\u00'", 'qu00'],
  ["'\\377'", '377'],
  ["r'a\\nb'", 'a\\nb'],
  ['R"x\\y"', 'x\\y'],
  ["''", ''],
  ["'a\nb'", 'a\nb'],
])('the literal %s', (literal, text) => {
  expect(textOfLiteral(literal)).toBe(text);
});

test('every text has a literal that gives it back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const literal = literalOfText(text);
      expect(textOfLiteral(literal)).toBe(text);
      expect(tokens(literal)).toEqual([`Text:${literal}`]);
    }),
  );
});
