import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatFault } from '../../../src/base/fault-text.ts';
import type { Fault } from '../../../src/base/place.ts';
import { parseColumns, parsePipeline, parseType } from '../../../src/sql/parse.ts';
import { printStatement } from '../../../src/sql/print.ts';
import { StatementGrammar } from '../../../src/sql/statement-grammar.ts';
import { K, symbols } from '../../../src/sql/tokens.ts';
import { drawFromFuzzSeed } from '../../support/fuzz-seed.ts';
import { withoutPlaces } from './tree-shape.ts';

drawFromFuzzSeed();

const sample = join(import.meta.dirname, 'every-form.sql');

test('the grammar has no ambiguity that a gate does not decide', () => {
  expect(() => new StatementGrammar(true)).not.toThrow();
});

function expectPlace({ place }: Fault, text: string): void {
  expect(place.start).toBeGreaterThanOrEqual(0);
  expect(place.end).toBeLessThanOrEqual(text.length);
  expect(place.start).toBeLessThanOrEqual(place.end);
  const before = text.slice(0, place.start).split(/\r\n|\r|\n/);
  expect([place.line, place.column]).toEqual([before.length, (before.at(-1)?.length ?? 0) + 1]);
}

/** What every text must stand: no crash, a place for every fault, and trees that print and read back. */
function survives(text: string): void {
  const { statements, faults } = parsePipeline(text, 'f.sql');
  for (const fault of faults) {
    expectPlace(fault, text);
    expect(formatFault(fault, text)).toContain(fault.message);
  }
  for (const statement of statements) {
    const again = parsePipeline(printStatement(statement), 'f.sql');
    expect(again.faults).toEqual([]);
    expect(withoutPlaces(again.statements)).toEqual([withoutPlaces(statement)]);
  }
}

describe('random texts', () => {
  test('of any characters', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), survives), {
      numRuns: 500,
    });
  });

  test('of bytes read as text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        survives(Buffer.from(bytes).toString('latin1'));
        survives(Buffer.from(bytes).toString('utf8'));
      }),
      { numRuns: 300 },
    );
  });

  const token = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...Object.keys(K)) },
    { weight: 3, arbitrary: fc.constantFrom(...symbols.map(([spelling]) => spelling)) },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        ...['a', 'b', 't', '1', '2.5', "'x'", '`q`', 'f(', '1a', '\n', '/* c */', '-- c\n', '(a)'],
      ),
    },
  );
  const soup = fc.array(token, { maxLength: 40 }).map((parts) => parts.join(' '));

  test('of tokens', () => {
    fc.assert(fc.property(soup, survives), { numRuns: 3000 });
  });

  test('of tokens behind the beginning of a statement', () => {
    const beginning = fc.constantFrom(
      ...['SELECT ', 'SELECT a FROM ', 'SELECT a FROM t ', 'CREATE STREAMING TABLE t '],
      ...['CREATE STREAMING TABLE t FLOW ', 'CREATE FLOW f AS INSERT INTO t BY NAME ', 'SET a = '],
      ...['CREATE STREAMING TABLE t FLOW AUTO CDC FROM s ', 'SELECT f(', 'SELECT CAST(a AS '],
      ...['SELECT a FROM t |> ', 'CREATE SOURCE s (a INT) ', 'SELECT a OVER (', 'WITH t AS ('],
    );
    fc.assert(
      fc.property(beginning, soup, (start, rest) => survives(start + rest)),
      { numRuns: 3000 },
    );
  });

  test('of true statements with tokens exchanged, doubled, left out or put in', () => {
    const statements = fc.constantFrom(...readFileSync(sample, 'utf8').split(';\n'));
    const change = fc.record({
      at: fc.nat(),
      drop: fc.nat({ max: 2 }),
      insert: fc.array(token, { maxLength: 2 }),
    });
    fc.assert(
      fc.property(statements, fc.array(change, { minLength: 1, maxLength: 3 }), (text, changes) => {
        const words = text.split(/(?<=[\s(),.])|(?=[\s(),.])/);
        for (const { at, drop, insert } of changes)
          words.splice(at % words.length, drop, ...insert);
        survives(words.join(' '));
      }),
      { numRuns: 3000 },
    );
  });

  test('types and columns', () => {
    fc.assert(
      fc.property(soup, (text) => {
        for (const parse of [parseType, parseColumns]) {
          try {
            parse(text);
          } catch (error) {
            expect(error).toHaveProperty('fault');
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

test.each([
  'SELECT a FROM ( t ) GROUP BY a',
  'FROM t |> AGGREGATE sum ( c ) GROUP BY a',
  'SELECT a FROM STREAM t',
])('any keyword at any place of %s, more or instead of what stands there', (text) => {
  const words = text.split(' ');
  for (const keyword of Object.keys(K)) {
    for (const at of words.keys()) {
      for (const drop of [0, 1, 2]) survives(words.toSpliced(at, drop, keyword).join(' '));
    }
  }
});

test('the sample of every form has no fault and reads back', () => {
  const text = readFileSync(sample, 'utf8');
  expect(parsePipeline(text, sample).faults).toEqual([]);
  survives(text);
});

describe('bounds', () => {
  test.each([
    ['parentheses', (n: number) => `SELECT ${'('.repeat(n)}1${')'.repeat(n)}`],
    ['calls', (n: number) => `SELECT ${'f('.repeat(n)}1${')'.repeat(n)}`],
    ['scalar subqueries', (n: number) => `${'SELECT ('.repeat(n)}SELECT 1${')'.repeat(n)}`],
    ['subqueries', (n: number) => `${'SELECT * FROM ('.repeat(n)}SELECT 1${')'.repeat(n)}`],
    ['queries in parentheses', (n: number) => `${'('.repeat(n)}SELECT 1${')'.repeat(n)}`],
    ['relations', (n: number) => `SELECT * FROM ${'('.repeat(n)}t${')'.repeat(n)}`],
    ['NOT', (n: number) => `SELECT ${'NOT '.repeat(n)}a`],
    ['signs', (n: number) => `SELECT ${'- '.repeat(n)}a`],
    ['CASE', (n: number) => `SELECT ${'CASE WHEN a THEN '.repeat(n)}1${' END'.repeat(n)}`],
    ['types', (n: number) => `SELECT CAST(a AS ${'ARRAY<'.repeat(n)}INT${'>'.repeat(n)})`],
    ['lambdas', (n: number) => `SELECT f(${'x -> '.repeat(n)}1)`],
    ['sums', (n: number) => `SELECT 1${' + 1'.repeat(n)}`],
    ['unions', (n: number) => `SELECT 1${' UNION ALL SELECT 1'.repeat(n)}`],
    ['joins', (n: number) => `SELECT * FROM t${' JOIN t'.repeat(n)}`],
    ['subscripts', (n: number) => `SELECT a${'[0]'.repeat(n)}`],
    ['pipes', (n: number) => `SELECT 1${' |> WHERE a'.repeat(n)}`],
    ['common tables', (n: number) => `${'WITH t AS ('.repeat(n)}SELECT 1${') SELECT 1'.repeat(n)}`],
  ])('%s nest as deep as 60, and deeper than that is one clear fault', (_, text) => {
    survives(text(60));
    expect(parsePipeline(text(60), 'f').faults).toEqual([]);
    expect(parsePipeline(text(30_000), 'f').faults.map(({ code }) => code)).toEqual([
      'NESTING_TOO_DEEP',
    ]);
  });

  test.each([
    '('.repeat(30_000),
    `SELECT ${'('.repeat(30_000)}`,
    `SELECT ${'trim('.repeat(30_000)}`,
    `SELECT ${'a IN ('.repeat(30_000)}`,
    `SELECT substring(${'('.repeat(10_000)}${' FROM '.repeat(10_000)}`,
    '/*'.repeat(30_000),
    "'".repeat(30_001),
    '`'.repeat(30_001),
    ';'.repeat(30_000),
    'CREATE '.repeat(30_000),
    'CREATE\n'.repeat(3000),
    'CREATE STREAMING TABLE t\n'.repeat(3000),
    'CREATE FLOW x;'.repeat(3000),
    '€ '.repeat(30_000),
    `SELECT ${'('.repeat(100)}a${' IN (1)'.repeat(100)}`,
  ])('hostile text number %# ends with a fault or a tree', (text) => {
    const { faults } = parsePipeline(text, 'f');
    expect(faults.length).toBeLessThanOrEqual(100);
    for (const fault of faults) expectPlace(fault, text);
  });

  test('long lists are no depth', () => {
    const names = Array.from({ length: 5000 }, (_, index) => `c${index}`);
    for (const text of [
      `SELECT ${names.join(', ')} FROM t`,
      `SELECT a IN (${names.join(', ')})`,
      `SELECT ${names.join(' OR ')}`,
      `SELECT ${names.join('.')}`,
      `SELECT CASE ${names.map((name) => `WHEN ${name} THEN 1`).join(' ')} END`,
    ]) {
      expect(parsePipeline(text, 'f').faults).toEqual([]);
    }
  });
});
