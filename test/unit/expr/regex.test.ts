import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Regex } from '../../../src/expr/regex/regex.ts';
import { RegexSyntaxError } from '../../../src/expr/regex/regex-tree.ts';

function all(pattern: string, text: string): (readonly (string | undefined)[])[] {
  return Array.from(new Regex(pattern).matches(text), (match) =>
    Array.from({ length: match.length / 2 }, (_, i) => {
      const start = match[2 * i] ?? -1;
      return start < 0 ? undefined : text.slice(start, match[2 * i + 1]);
    }),
  );
}

function allOfEngine(pattern: string, text: string): (string | undefined)[][] {
  return Array.from(text.matchAll(new RegExp(pattern, 'gu')), (match) => [...match]);
}

/** Patterns whose meaning in Java and in the engine's own regular expressions is the same. */
const atom = fc.constantFrom(
  'a',
  'b',
  'c',
  '.',
  '[ab]',
  '[^a]',
  '\\d',
  '\\w',
  '(?:ab)',
  '^',
  '$',
  '\\b',
);
const quantifier = fc.constantFrom(
  '',
  '',
  '',
  '*',
  '+',
  '?',
  '*?',
  '+?',
  '??',
  '{2}',
  '{1,2}',
  '{0,3}?',
);
const { pattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
  piece: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(atom, quantifier).map(([a, q]) => (/^[\^$]|^\\b/.test(a) ? a : a + q)),
    },
    { weight: 1, arbitrary: tie('pattern').map((inner) => `(${inner})`) },
    { weight: 1, arbitrary: tie('pattern').map((inner) => `(?=${inner})`) },
    { weight: 1, arbitrary: tie('pattern').map((inner) => `(?!${inner})`) },
  ),
  pattern: fc
    .array(
      fc.array(tie('piece'), { maxLength: 4 }).map((pieces) => pieces.join('')),
      {
        minLength: 1,
        maxLength: 3,
      },
    )
    .map((choices) => choices.join('|')),
}));

describe('against the engine of the language', () => {
  test('whole matches and groups are the same', () => {
    fc.assert(
      fc.property(
        pattern,
        fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', ' '), maxLength: 12 }),
        (p, text) => {
          // Groups inside of repetitions are reset by the one and kept by Java; only whole matches count there.
          const found = all(p, text).map(([whole]) => whole);
          expect(found).toEqual(allOfEngine(p, text).map(([whole]) => whole));
        },
      ),
      { numRuns: 2000 },
    );
  });
});

test.each(['(a+)+$', '^(a|a)*$', '^(a*)*$', '(.*)*x', '(a|aa)+$', '^(([a-z])+.)+[A-Z]([a-z])+$'])(
  'OP: the pattern %s ends soon on a text that makes others hang',
  (hostile) => {
    const text = `${'a'.repeat(3000)}!`;
    expect(new Regex(hostile).search(text)).toBeUndefined();
  },
);

test('many matches of one text do not take time that grows with its square', () => {
  const text = 'ab'.repeat(50_000);
  expect(Array.from(new Regex('a(?=b)').matches(text)).length).toBe(50_000);
});

test.each([
  ['(?<=foo)bar', 'foobar', [['bar']]],
  ['(?<!foo)bar', 'foobar xbar', [['bar']]],
  ['a++b', 'aaab', [['aaab']]],
  ['a++a', 'aaa', []],
  ['(?>a|ab)c', 'abc', []],
  ['(a)(b)?', 'a', [['a', 'a', undefined]]],
  ['(\\w)\\1', 'xaab', [['aa', 'a']]],
  ['(?<c>\\w)-\\k<c>', 'x-x', [['x-x', 'x']]],
  ['(?i)STRASSE', 'strasse', [['strasse']]],
  ['(?i)é', 'É', []],
  ['(?iu)é', 'É', [['É']]],
  ['[a-c&&[^b]]+', 'abca', [['a'], ['ca']]],
  ['[a-c[x-z]]+', 'axm', [['ax']]],
  ['[]a]+', ']a', [[']a']]],
  ['\\Qa.b\\E', 'a.b axb', [['a.b']]],
  ['\\p{Lu}\\p{IsAlphabetic}+', 'éÉtat', [['État']]],
  ['\\x41\\u0042\\x{1F600}', 'AB😀', [['AB😀']]],
  ['.', '😀', [['😀']]],
  ['a.b', 'a\nb', []],
  ['(?s)a.b', 'a\nb', [['a\nb']]],
  ['(?m)^b$', 'a\nb\nc', [['b']]],
  ['b$', 'a\nb\n', [['b']]],
  ['b\\z', 'b\n', []],
  ['(?x) a b # comment', 'ab', [['ab']]],
  ['\\R', '\r\n', [['\r\n']]],
  ['x*', 'axb', [[''], ['x'], [''], ['']]],
  // A group that is not there yet never matches, as in Java.
  ['\\2(a)', 'aa', []],
  ['\\Ga', 'aaba', [['a'], ['a']]],
  ['[&&a]', 'ba', [['a']]],
  ['\\p{InGreek}+', 'aαβ', [['αβ']]],
])('%s on %s', (p, text, wanted) => {
  expect(all(p, text)).toEqual(wanted);
});

test.each([
  '[',
  '(',
  ')',
  'a{2',
  'a{3,2}',
  '*a',
  '\\',
  '\\y',
  '(?<1a>x)',
  '\\p{Nope}',
  '(?<=a*)b',
  'a{1001}',
  '(a{1000}){1000}',
  '[b-a]',
])('the pattern %s is refused', (wrong) => {
  expect(() => new Regex(wrong)).toThrow(RegexSyntaxError);
});

test('any text as a pattern is a regular expression or refused, never a crash', () => {
  const hostile = fc.string({
    unit: fc.constantFrom(...'ab\\[](){}*+?|^$.-&,:<>=!#1pQEku'),
    maxLength: 14,
  });
  fc.assert(
    fc.property(hostile, (p) => {
      try {
        new Regex(p).search('ab1 ba');
      } catch (error) {
        expect(error).toBeInstanceOf(RegexSyntaxError);
      }
    }),
    { numRuns: 3000 },
  );
});
