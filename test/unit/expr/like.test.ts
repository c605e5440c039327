import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compile, newFrame } from '../../../src/expr/compile.ts';
import { bind } from './evaluate.ts';

const columns = [
  { name: 's', type: { kind: 'string' } },
  { name: 'p', type: { kind: 'string' } },
] as const;
const like = compile(bind('s LIKE p', { columns }), { timeZone: 'UTC' });

/** The definition, without a thought for time. */
function slow(text: readonly string[], pattern: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return text.length === 0;
  if (first === '%') {
    return slow(text, rest) || (text.length > 0 && slow(text.slice(1), pattern));
  }
  const [character, ...tail] = text;
  return character !== undefined && (first === '_' || first === character) && slow(tail, rest);
}

test('LIKE is what its definition says', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '😀'), maxLength: 8 });
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '😀', '%', '_'), maxLength: 6 });
  fc.assert(
    fc.property(text, pattern, (s, p) => {
      expect(like([s, p], newFrame())).toBe(slow([...s], [...p]));
    }),
    { numRuns: 3000 },
  );
});

test('OP: a pattern of many % on a long text ends soon', () => {
  expect(like(['a'.repeat(20_000), `${'%a'.repeat(40)}b`], newFrame())).toBe(false);
});
