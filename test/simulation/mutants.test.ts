import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mutants } from '../../scripts/mutant-list.ts';

test.each(mutants)('mutant $name still fits the source', ({ edits }) => {
  for (const { file, from, to } of edits) {
    const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
    expect(text.split(from), `${file}: ${from}`).toHaveLength(2);
    expect(to).not.toBe(from);
  }
});
