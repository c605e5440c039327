import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mutants } from '../../scripts/mutant-list.ts';
import { tryMutant } from '../../scripts/try-mutant.ts';

test.each(mutants)('mutant $name still fits the source', ({ edits }) => {
  for (const { file, from, to } of edits) {
    const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
    expect(text.split(from), `${file}: ${from}`).toHaveLength(2);
    expect(to).not.toBe(from);
  }
});

/** Those that few seeds find; `npm run mutants` tries all. */
const soonFound = [
  'provenance ignored',
  'tie replaces',
  'superseded row wins',
  'numbered rows stay',
  'branch forgotten',
  'element forgotten',
  'goes on in doubt',
  'rebalance without commit',
  'counters start anew',
  'offsets without effects',
  'appended twice',
  'a view drops nothing',
  'once and not all',
  'who comes last wins',
  'history without its ends',
  'groups that are gone',
  'a version without rows is none',
  'pairs by their left row',
  'partners forgotten',
  'a result at each start',
  'tables as they happen to be',
  'a part of what happens to be there',
  'a part again and again',
  'every version is read',
  'first once more',
];
const seedsMax = 400;

describe.concurrent('a bug that is planted is found', () => {
  test.each(soonFound)('%s', async (name) => {
    const mutant = mutants.find((one) => one.name === name);
    if (mutant === undefined) throw new Error(`there is no mutant "${name}"`);
    const { seed, fault } = await tryMutant(mutant, seedsMax);
    expect(seed, 'no seed fails').toBeLessThanOrEqual(seedsMax);
    expect(fault).not.toBe('');
  });
});
