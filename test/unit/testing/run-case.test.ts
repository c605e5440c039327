import { describe, expect, test } from 'vitest';
import { readPipelineCase } from '../../../src/testing/pipeline/pipeline-case.ts';
import { runCase } from '../../../src/testing/pipeline/run-case.ts';
import { schedules } from '../../../src/testing/pipeline/schedules.ts';
import { pipelineStarter } from '../../../src/testing/pipeline/start-pipeline.ts';
import { samplePlan } from '../../support/sample-plan.ts';

const inputs = Array.from({ length: 40 }, (_, at) =>
  JSON.stringify({ k: at % 5, seq: (at * 7) % 6, v: `v${at}` }),
);

/** The definition, over the inputs. */
function expectedRows(): unknown[][] {
  const rows = inputs.map((text) => JSON.parse(text) as { k: number; seq: number; v: string });
  return rows
    .filter(({ k, seq }) => !rows.some((other) => other.k === k && other.seq > seq))
    .map(({ k, seq, v }) => [k, seq, v]);
}

function caseOf(changes: object) {
  return readPipelineCase(
    JSON.stringify({
      name: 'sample',
      sql: '',
      inputs: { src: inputs },
      target: 't',
      schema: [
        ['k', 'int'],
        ['seq', 'bigint'],
        ['v', 'string'],
      ],
      expected: expectedRows(),
      ...changes,
    }),
  );
}

describe.each(['row_set', 'rows'] as const)('a case in mode %s', (mode) => {
  const planned = { plan: samplePlan(mode), faults: [] };

  test('RU-10 passes under every schedule', async () => {
    const report = await runCase(caseOf({}), planned, pipelineStarter());
    const broken = report.schedules.filter(({ differences }) => differences.length > 0);
    expect(broken).toEqual([]);
    expect(report.schedules.map(({ schedule }) => schedule)).toEqual(
      schedules.map(({ name }) => name),
    );
    expect(report.status).toBe('passed');
  });

  test('a row that differs by NULL and the text null is another row', async () => {
    const nulls = caseOf({
      inputs: { src: ['{"k":1,"seq":1,"v":null}'] },
      expected: [[1, 1, 'null']],
    });
    const report = await runCase(nulls, planned, pipelineStarter());
    expect(report.schedules[0]?.differences).toEqual(['t lacks [1,1,"null"]', 't has [1,1,null]']);
  });

  test('a wrong expectation fails under every schedule, with the rows that differ', async () => {
    const wrong = caseOf({ expected: [...expectedRows().slice(1), [9, 9, 'x']] });
    const report = await runCase(wrong, planned, pipelineStarter());
    expect(report.status).toBe('failed');
    for (const { differences } of report.schedules) {
      expect(differences).toEqual(['t lacks [9,9,"x"]', expect.stringMatching(/^t has \[/)]);
    }
  });
});

test('a case of what is not supported is skipped by name', async () => {
  const place = { file: 'f', start: 0, end: 0, line: 1, column: 1 };
  const fault = {
    severity: 'error',
    code: 'NOT_SUPPORTED_YET',
    message: 'AUTO CDC is not supported yet',
    place,
  } as const;
  const report = await runCase(caseOf({}), { plan: undefined, faults: [fault] }, pipelineStarter());
  expect(report).toMatchObject({ status: 'skipped', note: 'AUTO CDC is not supported yet' });
});

test('a case that must fail passes when the pipeline is refused, and fails when it runs', async () => {
  const place = { file: 'f', start: 0, end: 0, line: 1, column: 1 };
  const fault = { severity: 'error', code: 'KEY_TYPE', message: 'a map', place } as const;
  const must = caseOf({ error: 'SOME_CLASS', expected: undefined });
  const refused = await runCase(must, { plan: undefined, faults: [fault] }, pipelineStarter());
  expect(refused.status).toBe('passed');
  const ran = await runCase(must, { plan: samplePlan(), faults: [] }, pipelineStarter());
  expect(ran.status).toBe('failed');
});
