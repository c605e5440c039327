import { describe, expect, test } from 'vitest';
import { planned } from '../../support/append-world.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';

const chain = `CREATE SOURCE src (k STRING, seq BIGINT, n INT);
CREATE STREAMING TABLE gold FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, n FROM STREAM(silver);
CREATE STREAMING TABLE silver AS SELECT k, seq, n FROM STREAM(bronze) WHERE n >= 0;
CREATE STREAMING TABLE bronze AS SELECT * FROM STREAM(src);`;

const events = [3, 1, 3, 2, 3].map((seq, k) => ({ k: `k${k % 2}`, seq, n: k }));

describe('a process that dies before or after any of its steps', () => {
  test('FL-10, P083 appended rows are there once', async () => {
    const plan = planned(
      chain
        .split('\n')
        .filter((line) => /SOURCE|bronze AS/.test(line))
        .join('\n'),
    );
    const steps = await dieAtEveryStep(
      plan,
      events.map((value) => ({ value })),
      (rows, step) =>
        expect(rows, `died at step ${step}`).toEqual(
          events.map((row) => JSON.stringify(row)).sort(),
        ),
    );
    expect(steps).toBeGreaterThan(20);
  });

  test('FL-27 a chain of tables ends in the same rows', async () => {
    const steps = await dieAtEveryStep(
      planned(chain),
      events.map((value) => ({ value })),
      (rows, step) =>
        // Of k0 the three rows of sequence 3, of k1 that of sequence 2.
        expect(rows, `died at step ${step}`).toEqual(
          [events[0], events[2], events[3], events[4]].map((row) => JSON.stringify(row)).sort(),
        ),
    );
    expect(steps).toBeGreaterThan(50);
  });
});
