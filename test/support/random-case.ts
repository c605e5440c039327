import { expect } from 'vitest';
import { planPipeline } from '../../src/plan/plan-pipeline.ts';
import { readPipelineCase } from '../../src/testing/pipeline/pipeline-case.ts';
import { type CaseReport, runCase } from '../../src/testing/pipeline/run-case.ts';
import { pipelineStarter } from '../../src/testing/pipeline/start-pipeline.ts';

/** Runs a case in its text form under every schedule; each has to give what the case expects. */
export async function expectCaseToPass(text: string): Promise<CaseReport> {
  const pipelineCase = readPipelineCase(text);
  const { sql, schemas } = pipelineCase;
  const planned = planPipeline([{ file: 'random.sql', text: sql }], { schemas });
  const report = await runCase(pipelineCase, planned, pipelineStarter());
  const wrong = report.schedules.flatMap(({ schedule, differences }) =>
    differences.map((line) => `${schedule}: ${line}`),
  );
  expect(wrong, text).toEqual([]);
  expect(report.status, report.note).toBe('passed');
  return report;
}
