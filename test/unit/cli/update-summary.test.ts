import { expect, test } from 'vitest';
import { summaryText, updateSummary } from '../../../src/cli/update-summary.ts';
import type { WorkerProgress } from '../../../src/runtime/worker/worker-progress.ts';
import { workerOf, worldOf } from '../../support/append-world.ts';

const source = `CREATE SOURCE src (k BIGINT, seq BIGINT) WITH (topic = 'src');`;

test.each([
  [
    'an append flow',
    `${source} CREATE STREAMING TABLE t; CREATE FLOW f AS INSERT INTO ONCE t BY NAME SELECT k, seq FROM src;`,
  ],
  [
    'a REPLACE USING flow',
    `${source} CREATE STREAMING TABLE t;
     CREATE FLOW f AS INSERT INTO ONCE t BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq FROM src;`,
  ],
])(
  'FL-16 an update tells of a once flow that it was done before, and no counts of 0: %s',
  async (_, sql) => {
    const world = worldOf(sql);
    try {
      world.produce('src', { value: '{"k":1,"seq":1}' });
      const update = async () => {
        const worker = await workerOf(world, sql, { once: true });
        await worker.run();
        return updateSummary(worker.progress(), 1, { done: worker.isUpdateOver });
      };
      const first = await update();
      expect(first.flows).toMatchObject([{ flow: 'f', records: 1, rows: 1 }]);
      expect(first.done).toBe(true);
      expect(first.flows[0]).not.toHaveProperty('done');
      expect(summaryText(first)).toContain('flow f, since its first start: 1 record (');
      const second = await update();
      expect(second.flows).toMatchObject([{ flow: 'f', done: true }]);
      expect(summaryText(second)).toContain('flow f, which runs once, was done before');
      expect(summaryText(second)).not.toContain('since its first start');
      expect(second.paused).toEqual([]);
    } finally {
      world.close();
    }
  },
);

test('an update names the flows that stand still, and how to let them go on', () => {
  const progress = { state: 'running', records: 0, outputRecords: 0, commits: 0, flows: [] };
  const summary = updateSummary(progress as unknown as WorkerProgress, 1, { paused: ['orders'] });
  expect(summary.paused).toEqual(['orders']);
  expect(summaryText(summary)).toContain(
    'orders is paused, and was left out: tidemark resume orders lets it go on\n',
  );
});

test('an update that was told to stop is not done, and says so', async () => {
  const sql = `${source} CREATE STREAMING TABLE t AS SELECT k, seq FROM STREAM(src);`;
  const world = worldOf(sql);
  try {
    world.produce('src', { value: '{"k":1,"seq":1}' });
    const worker = await workerOf(world, sql, { once: true });
    worker.stop();
    await worker.run();
    const summary = updateSummary(worker.progress(), 1, { done: worker.isUpdateOver });
    expect(summary.done).toBe(false);
    expect(summaryText(summary)).toMatch(/^update stopped before it was done, after /);
  } finally {
    world.close();
  }
});

test('CH-03 a REPLACE WHERE flow is told as what it is, with its table', async () => {
  const sql = `${source} CREATE STREAMING TABLE t (k BIGINT, n BIGINT);
CREATE FLOW daily AS INSERT INTO t BY NAME REPLACE WHERE k = 1 SELECT k, count(*) AS n FROM src GROUP BY k;
CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM src;`;
  const world = worldOf(sql);
  try {
    world.produce('src', { value: '{"k":1,"seq":1}' });
    const worker = await workerOf(world, sql, { once: true });
    await worker.run();
    const text = summaryText(updateSummary(worker.progress(), 1, { done: worker.isUpdateOver }));
    expect(text).toContain('REPLACE WHERE flow daily, table t, run 1: 1 row');
    expect(text).not.toContain('view daily');
    expect(text).toContain('view m, run 1: 1 row');
  } finally {
    world.close();
  }
});
