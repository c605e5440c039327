import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ParsedPipeline } from '../../../src/plan/plan-pipeline.ts';
import { planStatements } from '../../../src/plan/plan-pipeline.ts';
import { parsePipeline } from '../../../src/sql/parse.ts';
import { readPipelineCase } from '../../../src/testing/pipeline/pipeline-case.ts';
import { inTypeScript } from '../../support/statements-in-typescript.ts';

type Schemas = ReturnType<typeof readPipelineCase>['schemas'];

/** Everything that a plan says but where it stands: one text for one plan. */
function planHash(parsed: ParsedPipeline, schemas: Schemas): string {
  const { plan, faults } = planStatements(parsed, { schemas });
  const skipped = ['place', 'sql', 'warnings'];
  const text = JSON.stringify(
    plan ?? faults.map(({ code }) => code).sort(),
    (key, value: unknown) =>
      skipped.includes(key) ? undefined : typeof value === 'bigint' ? `${value}n` : value,
  );
  return createHash('sha256').update(text).digest('hex');
}

function casesOf(file: string) {
  return readFileSync(join(import.meta.dirname, '../../corpus/data/pipelines', file), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map(readPipelineCase);
}

describe('SX-21 SQL and TypeScript give the same plan, hash for hash', () => {
  test.each([
    ['replace-using.jsonl', 170],
    ['auto-cdc.jsonl', 60],
  ])('every pipeline of %s', (file, least) => {
    let compared = 0;
    for (const { name, sql, schemas } of casesOf(file)) {
      const parsed = parsePipeline(sql, `${name}.sql`);
      const program = inTypeScript(parsed.statements);
      if (program === undefined || parsed.faults.length > 0) continue;
      compared += 1;
      const files = [{ file: `${name}.sql`, text: sql }];
      expect(planHash(program.definition(), schemas), name).toBe(
        planHash({ files, ...parsed }, schemas),
      );
    }
    expect(compared).toBeGreaterThanOrEqual(least);
  });
});
