import { describe, expect, test } from 'vitest';
import { accountSummary } from '../../../src/cli/update-summary.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';
import { type Given, planOf, type Scenario, scenario } from '../../support/scenario.ts';

const source = `CREATE SOURCE s (k INT, v STRING, ts TIMESTAMP, seq BIGINT) WITH (topic = 's');`;

function into(select: string, form = 'FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME'): string {
  return `${source} CREATE STREAMING TABLE t ${form} ${select};`;
}

const row = (k: number, ts = '2025-01-01T00:00:00Z', partition = 0): Given => ({
  value: { k, v: `v${k}`, ts, seq: 1 },
  partition,
});
const rows = (told: Scenario) => told.rows().map((text) => JSON.parse(text));
const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => row(from + i, undefined, i));

describe('LIMIT', () => {
  const limited = into('SELECT k, v, seq FROM STREAM(s) LIMIT 3');

  test('OP-05 at most so many rows over the life of the checkpoint, however it is cut', async () => {
    await scenario(limited, { partitions: 4 }, async (told) => {
      await told.settle(...many(2));
      expect(rows(told)).toHaveLength(2);
      await told.restart();
      await told.settle(...many(9, 10));
      expect(rows(told)).toHaveLength(3);
      await told.loseState();
      await told.settle(...many(9, 30));
      expect(rows(told)).toHaveLength(3);
      const account = accountSummary('t', await told.account());
      expect(account).toMatchObject({ records: 20, new: 3, limited: 17 });
    });
  });

  test('OP-05 LIMIT 0 lets nothing through', async () => {
    await scenario(limited.replace('LIMIT 3', 'LIMIT 0'), {}, async (told) => {
      await told.settle(...many(3));
      expect(rows(told)).toEqual([]);
    });
  });

  test('OP-05 exactly so many rows whichever step is the last', async () => {
    await dieAtEveryStep(planOf(limited), many(5), (found, step) => {
      expect(found, `step ${step}`).toHaveLength(3);
    });
  });
});

describe('time windows', () => {
  const at = (minute: string) => `2025-01-01T00:${minute}.000000Z`;
  const watermark = 'FROM STREAM(s) WATERMARK ts DELAY OF INTERVAL 5 SECONDS';

  test('OP-11 tumbling: each row in its window; without a time in none', async () => {
    const sql = into(`SELECT k, window(ts, '5 minutes') AS w, seq ${watermark}`);
    await scenario(sql, {}, async (told) => {
      const without = { value: { k: 9, v: 'x', seq: 1 } };
      await told.settle(row(1, at('04:59')), row(2, at('05:00')), without);
      expect(rows(told)).toEqual([
        { k: 1, w: { start: at('00:00'), end: at('05:00') }, seq: 1 },
        { k: 2, w: { start: at('05:00'), end: at('10:00') }, seq: 1 },
      ]);
    });
  });

  test('OP-11 sliding: one row for each window that the time lies in', async () => {
    const sql = into(
      `SELECT k, window(ts, '10 minutes', '5 minutes', '1 minute').start AS w, seq ${watermark}`,
    );
    await scenario(sql, {}, async (told) => {
      await told.settle(row(1, at('07:30')));
      expect(rows(told).map(({ w }) => w)).toEqual([at('01:00'), at('06:00')]);
    });
  });

  test('OP-11 late rows are counted and kept, also after a restart', async () => {
    const sql = into(`SELECT k, window(ts, '5 minutes').start AS w, seq ${watermark}`);
    await scenario(sql, { batchRecordsMax: 1 }, async (told) => {
      await told.settle(row(1, at('10:00')), row(2, at('09:56')), row(3, at('09:54')));
      await told.restart();
      await told.settle(row(4, at('09:54')), row(5, at('10:01')));
      expect(rows(told)).toHaveLength(5);
      expect(accountSummary('t', await told.account())).toMatchObject({ late: 2, new: 5 });
    });
  });

  test('a time that is too far ahead of its record moves no watermark, also below DISTINCT', async () => {
    const late = (minute: string, k: number) => ({ ...row(k, at(minute)), timestampMs });
    const timestampMs = Date.parse('2025-01-01T00:20:00Z');
    const sql = into(
      `SELECT DISTINCT k, window(ts, '5 minutes').start AS w ${watermark}`,
      "WITH (dead_letter_topic = 't.dlq', max_event_time_ahead = '1 hour') AS",
    );
    const bad = { value: { k: 9, ts: '2025-01-01T02:00:00Z', seq: 1 }, timestampMs };
    await scenario(sql, { batchRecordsMax: 1 }, async (told) => {
      await told.settle(late('10:00', 1), bad, late('10:01', 2));
      expect(rows(told)).toHaveLength(2);
      expect(told.deadLetters().map((letter) => letter.split(' ')[0])).toEqual([
        'EVENT_TIME_TOO_FAR_AHEAD',
      ]);
    });
  });

  test('P121 the watermark is the minimum over the partitions with data', async () => {
    const sql = into(`SELECT k, ts, WINDOW(ts, '1 minute').start AS win ${watermark}`, 'AS');
    const records = [0, 1].flatMap((partition) =>
      Array.from({ length: 300 }, (_, i) => {
        const second = new Date(Date.UTC(2025, 0, 1) + i * 1000).toISOString();
        return row(i, second, partition);
      }),
    );
    await scenario(sql, { partitions: 2, batchRecordsMax: 50 }, async (told) => {
      await told.settle(...records);
      const found = rows(told);
      expect(found).toHaveLength(600);
      expect(found.every(({ ts, win }) => Date.parse(ts) - Date.parse(win) < 60_000)).toBe(true);
      expect(accountSummary('t', await told.account())).toMatchObject({ late: 0 });
    });
  });
});
