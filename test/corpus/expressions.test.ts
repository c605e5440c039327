import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type CorpusCase,
  isRight,
  judge,
  readCorpus,
  readSource,
} from '../support/expression-corpus.ts';

/**
 * The answers of Spark to single queries. The list of open cases is exact in both directions: a case
 * that starts to pass must leave it, and no other case may fail. `differential` holds answers of
 * Apache Spark 4.3.0 (ANSI mode, UTC) to generated queries that this engine once answered otherwise.
 */
const folder = join(import.meta.dirname, 'data/expr');
const source = readSource(join(folder, 'fuzz-source.json'));
const open = new Set(
  JSON.parse(readFileSync(join(import.meta.dirname, 'data/expr-open.json'), 'utf8')) as string[],
);

const files = [
  'differential',
  'fuzz-projection',
  'gen-agg',
  'gen-array',
  'gen-cast',
  'gen-coerce',
  'gen-conditional',
  'gen-datetime',
  'gen-decimal',
  'gen-hash',
  'gen-int',
  'gen-interval',
  'gen-json',
  'gen-literal',
  'gen-logic',
  'gen-math',
  'gen-predicate',
  'gen-rows',
  'gen-string',
  'gen-trycast',
];

function failures(cases: readonly CorpusCase[], isListed: boolean): string[] {
  return cases
    .filter((item) => open.has(item.id) === isListed)
    .flatMap((item) => {
      const { verdict, detail } = judge(item, source);
      if (isRight(verdict) !== isListed) return [];
      return [`${item.id} ${verdict}: ${item.sql} ${detail.slice(0, 200)}`];
    });
}

describe.each(files)('%s', (file) => {
  const cases = readCorpus(folder, [file]);

  test('every case that is not open gives the value, type or failure of Spark', () => {
    expect(cases.length).toBeGreaterThan(0);
    expect(failures(cases, false)).toEqual([]);
  });

  test('every case that is listed as open is still open', () => {
    expect(failures(cases, true)).toEqual([]);
  });
});

test('each case of the differential answers has the value or the very error class of Spark', () => {
  const wrong = readCorpus(folder, ['differential']).flatMap((item) => {
    const { verdict, detail } = judge(item, source);
    return verdict === 'value' || verdict === 'class' ? [] : [`${item.sql} ${verdict}: ${detail}`];
  });
  expect(wrong).toEqual([]);
});

test('the list of open cases names cases that exist', () => {
  const known = new Set(readCorpus(folder, files).map((item) => item.id));
  expect([...open].filter((id) => !known.has(id))).toEqual([]);
});
