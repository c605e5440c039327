import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { planPipeline } from '../../src/plan/plan-pipeline.ts';
import { type PipelineCase, readPipelineCase } from '../../src/testing/pipeline/pipeline-case.ts';
import { type CaseReport, runCase } from '../../src/testing/pipeline/run-case.ts';
import { pipelineStarter } from '../../src/testing/pipeline/start-pipeline.ts';

function casesOf(file: string): [string, PipelineCase][] {
  const text = readFileSync(join(import.meta.dirname, 'data/pipelines', file), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(readPipelineCase)
    .map((one) => [one.name, one]);
}

function run(pipelineCase: PipelineCase): Promise<CaseReport> {
  const { name, sql, schemas } = pipelineCase;
  const planned = planPipeline([{ file: `${name}.sql`, text: sql }], { schemas });
  return runCase(pipelineCase, planned, pipelineStarter());
}

function differences({ schedules }: CaseReport): string[] {
  return schedules.flatMap((one) => one.differences.map((line) => `${one.schedule}: ${line}`));
}

describe('REPLACE USING pipelines give the rows that Spark gives, under every schedule', () => {
  const cases = casesOf('replace-using.jsonl');

  test('the corpus is whole', () => {
    expect(cases).toHaveLength(177);
  });

  test.each(cases)('RU-10 %s', async (_, pipelineCase) => {
    const report = await run(pipelineCase);
    expect(differences(report)).toEqual([]);
    expect(report.status, report.note).toBe('passed');
  });
});

describe('AUTO CDC pipelines give the rows that Spark gives, under every schedule', () => {
  const cases = casesOf('auto-cdc.jsonl');

  test('the corpus of change feeds is whole', () => {
    expect(cases).toHaveLength(67);
  });

  test.each(cases)('FL-25 %s', async (_, pipelineCase) => {
    const report = await run(pipelineCase);
    expect(differences(report)).toEqual([]);
    expect(report.status, report.note).toBe('passed');
  });
});
