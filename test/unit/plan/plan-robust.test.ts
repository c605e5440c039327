import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { drawFromFuzzSeed } from '../../support/fuzz-seed.ts';

drawFromFuzzSeed();

const sources = readFileSync(join(import.meta.dirname, 'sources.sql'), 'utf8');
const texts = ['faults', 'accepted'].flatMap((folder) => {
  const path = join(import.meta.dirname, folder);
  return readdirSync(path)
    .filter((file) => file !== 'union-sides.sql')
    .map((file) => readFileSync(join(path, file), 'utf8').replace(/^--.*$/gmu, ''));
});
const words = texts.map((text) => text.split(/(?<=\W)|(?=\W)/u));

/** A pipeline with words left out, repeated, or taken from another. */
const mangled = fc
  .tuple(
    fc.nat(texts.length - 1),
    fc.nat(texts.length - 1),
    fc.array(fc.tuple(fc.nat(10_000), fc.nat(10_000), fc.nat(2)), { minLength: 1, maxLength: 4 }),
  )
  .map(([own, other, edits]) => {
    const result = [...(words[own] ?? [])];
    const foreign = words[other] ?? [];
    for (const [at, from, kind] of edits) {
      const word =
        (kind === 0 ? undefined : (kind === 1 ? result : foreign)[from % foreign.length]) ?? '';
      result.splice(at % result.length, 1, word);
    }
    return result.join('');
  });

test('whatever the text, there is a plan or an error with a place, and nothing is thrown', () => {
  fc.assert(
    fc.property(mangled, (text) => {
      const { plan, faults } = planPipeline([
        { file: 'sources.sql', text: sources },
        { file: 'mangled.sql', text },
      ]);
      const errors = faults.filter(({ severity }) => severity === 'error');
      expect(plan === undefined).toBe(errors.length > 0);
      for (const { place } of faults) expect(place.end).toBeGreaterThanOrEqual(place.start);
    }),
    { numRuns: 300 },
  );
});
