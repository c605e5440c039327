import { describe, expect, test } from 'vitest';
import { tryPipeline } from '../../../src/testing/pipeline/pipeline-driver.ts';
import { pipelineStarter } from '../../../src/testing/pipeline/start-pipeline.ts';
import { planned } from '../../support/append-world.ts';
import { samplePlan } from '../../support/sample-plan.ts';

const options = { partitions: 2, shuffleSeed: undefined, envelope: false };

function run(text: string, changes: Partial<typeof options> | { shuffleSeed: number } = {}) {
  const inputs = [{ topic: 'src', file: 'src.jsonl', text }];
  return tryPipeline(samplePlan(), inputs, { ...options, ...changes }, pipelineStarter());
}

function rowsOf({ tables }: Awaited<ReturnType<typeof tryPipeline>>): string[] {
  return (tables.get('t')?.rows ?? []).map(({ json }) => json).sort();
}

const lines = [
  '{"k":1,"seq":1,"v":"old"}',
  '',
  '{"k":1,"seq":9007199254740993,"v":"a"}\r',
  '{"k":1,"seq":9007199254740993,"v":"b"}',
  '{"k":1,"seq":9007199254740992,"v":"late"}',
  '{"k":null,"seq":3,"v":"n"}',
].join('\n');

const expected = [
  '{"k":1,"seq":9007199254740993,"v":"a"}',
  '{"k":1,"seq":9007199254740993,"v":"b"}',
  '{"k":null,"seq":3,"v":"n"}',
];

describe('trying a pipeline on files', () => {
  test('RU-23 gives the rows of the highest sequence, every digit kept', async () => {
    const result = await run(lines);
    expect(rowsOf(result)).toEqual(expected);
    expect(result.tables.get('t')?.rows.map(({ values }) => values)).toContainEqual([
      1,
      9007199254740993n,
      'a',
    ]);
  });

  test.each([1, 2, 3])('RU-10 a shuffled arrival gives the same rows, seed %i', async (seed) => {
    expect(rowsOf(await run(lines, { shuffleSeed: seed }))).toEqual(expected);
  });

  test('counts what became of the rows', async () => {
    const { flows } = await run(lines, { partitions: 1 });
    expect(flows.get('t')?.source).toMatchObject({ records: 5, decoded: 5, rows: 5, handedOn: 5 });
    const { rows, superseded } = flows.get('t')?.table ?? { rows: 0, superseded: 0 };
    expect(rows).toBe(5);
    expect(superseded).toBeGreaterThan(0);
  });

  test('a bad record goes to the dead letters with its bytes and its reason', async () => {
    const result = await run('not json\n{"k":2,"seq":1,"v":"x"}', { partitions: 1 });
    expect(rowsOf(result)).toEqual(['{"k":2,"seq":1,"v":"x"}']);
    expect(result.deadLetters.map(({ value }) => value)).toEqual(['not json']);
    expect(Object.values(result.deadLetters[0]?.headers ?? {})).toContain('src');
  });

  test('an envelope gives key, partition and tombstone', async () => {
    const text = [
      '{"key":"a","value":{"k":5,"seq":9007199254740993,"v":"é"},"partition":1,"timestamp":5}',
      '{"key":"a","value":null}',
      '{"value":"{\\"k\\":6,\\"seq\\":1,\\"v\\":null}","headers":{"h":"1"}}',
    ].join('\n');
    const result = await run(text, { envelope: true });
    expect(rowsOf(result)).toEqual([
      '{"k":5,"seq":9007199254740993,"v":"é"}',
      '{"k":6,"seq":1,"v":null}',
    ]);
    expect(result.flows.get('t')?.source.tombstones).toBe(1);
  });

  test.each([
    ['not json', 'line 2 of "src.jsonl" is no envelope'],
    ['{"value":{},"partition":"x"}', '"partition" is no whole number'],
    ['{"value":{},"timestamp":"then"}', '"timestamp" is neither'],
    ['{"value":{},"headers":[1]}', '"headers" is no object'],
    ['{"value":{},"partition":7}', 'names partition 7'],
  ])('a bad envelope is told by line: %s', async (line, message) => {
    await expect(run(`{"value":null}\n${line}`, { envelope: true })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(message),
    });
  });

  test('an input for a topic that nothing reads is refused', async () => {
    const inputs = [{ topic: 'other', file: 'o.jsonl', text: '' }];
    await expect(
      tryPipeline(samplePlan(), inputs, options, pipelineStarter()),
    ).rejects.toMatchObject({ code: 'USAGE' });
  });

  test.each([
    ['alone', ''],
    ['beside a flow that goes on', 'CREATE STREAMING TABLE f AS SELECT k FROM STREAM(src);'],
    [
      'under a flow that reads its table',
      'CREATE STREAMING TABLE d FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(b);',
    ],
  ])('a flow that stops ends it with its own error, %s', async (_, other) => {
    const plan = planned(`CREATE SOURCE src (k BIGINT, v INT, seq BIGINT) WITH (topic = 'src');
      CREATE STREAMING TABLE b FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, 100 / v AS v, seq FROM STREAM(src);
      ${other}`);
    const text = '{"k":1,"v":5,"seq":1}\n{"k":2,"v":0,"seq":1}';
    const inputs = [{ topic: 'src', file: 'src.jsonl', text }];
    await expect(tryPipeline(plan, inputs, options, pipelineStarter())).rejects.toMatchObject({
      code: 'BAD_ROW',
      hint: expect.any(String),
    });
  });
});
