import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parsePipeline } from '../../src/sql/parse.ts';
import { printStatement } from '../../src/sql/print.ts';
import { withoutPlaces } from '../unit/sql/tree-shape.ts';

/**
 * What Spark reads, we read; what it refuses as syntax, we refuse unless the grammar is our own or
 * Databricks'. And every tree prints as a text that gives it back.
 */
const folder = join(import.meta.dirname, 'data');

type Case = {
  readonly id?: string;
  readonly name?: string;
  readonly sql: string;
  readonly phase?: string;
  readonly error?: string;
  readonly accepted?: boolean;
};

function cases(file: string): Case[] {
  const lines = readFileSync(join(folder, file), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Case);
}

function faultOf(sql: string): string | undefined {
  const [fault] = parsePipeline(sql, 'corpus').faults;
  return fault === undefined ? undefined : `${fault.code}: ${fault.message}`;
}

/** Nothing, or how the statements differ from what their own text is read as. */
function notReadBack(sql: string): string[] {
  return parsePipeline(sql, 'corpus').statements.flatMap((statement) => {
    const text = printStatement(statement);
    const { statements, faults } = parsePipeline(text, 'corpus');
    const isSame = isDeepStrictEqual(withoutPlaces(statements), [withoutPlaces(statement)]);
    return isSame ? [] : [`${sql} => ${text}: ${faults[0]?.message ?? 'another tree'}`];
  });
}

const expressionFiles = readdirSync(join(folder, 'expr'))
  .filter((name) => name.endsWith('.jsonl'))
  .map((name) => `expr/${name}`);

describe.each([...expressionFiles, 'pipelines/replace-using.jsonl', 'pipelines/auto-cdc.jsonl'])(
  '%s',
  (file) => {
    const all = cases(file);

    test('whatever Spark parses is read', () => {
      const read = all.filter(({ phase }) => phase !== 'parse');
      expect(read.length).toBeGreaterThan(0);
      const refused = read.map(({ sql }) => [sql, faultOf(sql)]).filter(([, fault]) => fault);
      expect(refused).toEqual([]);
    });

    test('what Spark refuses as syntax is refused', () => {
      const wrong = all.filter(
        ({ phase, error }) => phase === 'parse' && error === 'PARSE_SYNTAX_ERROR',
      );
      expect(wrong.filter(({ sql }) => faultOf(sql) === undefined).map(({ sql }) => sql)).toEqual(
        [],
      );
    });

    test('every tree prints as a text that gives it back', () => {
      expect(all.flatMap(({ sql }) => notReadBack(sql))).toEqual([]);
    });
  },
);

/** Accepted here beyond Spark: Databricks' grammar, our own, and clauses that the plan refuses by name. */
const beyondSpark: Readonly<Record<string, string>> = {
  p008: 'CREATE OR REFRESH STREAMING TABLE',
  p011: 'CREATE OR REFRESH STREAMING TABLE',
  p018: 'OPTIONS is kept, and refused or read later',
  p019: 'LOCATION is kept, to be refused by name',
  p021: 'EXPECT',
  p022: 'EXPECT … ON VIOLATION DROP ROW',
  p023: 'EXPECT … ON VIOLATION FAIL UPDATE',
  p041: 'EXPECT on a materialized view',
  p042: 'REFRESH POLICY is kept by name',
  p048: 'INSERT INTO ONCE',
  p063: 'FLOW REPLACE USING … SEQUENCE BY',
  p064: 'FLOW INSERT',
  p065: 'FLOW REPLACE WHERE',
  p089: 'IGNORE NULL UPDATES',
  p090: 'APPLY AS TRUNCATE WHEN',
  p097: 'empty KEYS, reported by the check of the pipeline',
  p098: 'no KEYS, reported by the check of the pipeline',
  p099: 'no SEQUENCE BY, reported by the check of the pipeline',
  p103: 'AUTO CDC ONCE',
  p107: 'APPLY CHANGES INTO',
  p109: 'CREATE SINK',
  p121: 'USE CATALOG is read, to be refused by name',
};

describe('spark-parser.jsonl', () => {
  test.each(cases('spark-parser.jsonl').map((one) => [one.id ?? '', one] as const))(
    '%s',
    (id, one) => {
      const fault = faultOf(one.sql);
      if (one.accepted === true) {
        // A fault with a code of its own names what is not supported; a syntax fault would be wrong.
        expect(fault ?? 'read').not.toContain('PARSE_SYNTAX_ERROR');
      } else {
        expect([one.sql, fault === undefined]).toEqual([one.sql, id in beyondSpark]);
      }
      expect(notReadBack(one.sql)).toEqual([]);
    },
  );
});
