import { describe, expect, test } from 'vitest';
import { glanceText } from '../../../src/cli/refresh-text.ts';
import type { LossReport } from '../../../src/refresh/loss.ts';
import {
  assumedRate,
  downstreamOf,
  lossGlance,
  refreshReport,
  viewsOver,
} from '../../../src/refresh/refresh-report.ts';
import type { SourcePartitionFacts } from '../../../src/refresh/retention.ts';
import type { TrialReport } from '../../../src/refresh/trial.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';

const none = { keys: 0, rows: 0, levels: 0 };
const losses: Record<string, LossReport['lost']> = {
  'nothing lost': none,
  'rows lost': { keys: 1, rows: 1, levels: 0 },
  'a level lost': { keys: 1, rows: 0, levels: 1 },
};
const pendings = { 'none between the stages': 0, 'some between the stages': 3 };
const good: TrialReport = {
  ...{ records: 9, tried: 9, deadLetters: 0, stops: 0 },
  ...{ setAside: 0, reasons: {}, sample: [], untried: [] },
};
const trials: Record<string, TrialReport | undefined> = {
  'not tried': undefined,
  'all readable': good,
  'dead letters': { ...good, deadLetters: 1 },
  'a stop': { ...good, stops: 1 },
};

const idOf = (topic: string): string => topic.charCodeAt(0).toString(16).padStart(32, '0');

function source(partition: number, topic = 'a', logStart = 10, end = 60): SourcePartitionFacts {
  return {
    ...{ source: `s_${topic}`, topic, topicId: idOf(topic), partition, logStart, end },
    ...{ committed: undefined, fromMs: 0, toMs: undefined, isCompacted: false },
    ...{ retentionMs: undefined, retentionBytes: undefined },
  };
}

function report(
  lost: LossReport['lost'],
  pendingLost: number,
  trial: TrialReport | undefined,
  sources: readonly SourcePartitionFacts[] = [],
) {
  return refreshReport({
    ...{
      table: 't',
      generation: 0,
      sources,
      trial,
      downstream: [],
      skipped: [],
      rate: assumedRate,
    },
    loss: { lost, atRisk: none, reasons: {}, places: new Map(), sample: [] },
    pending: { rows: pendingLost, lost: pendingLost },
    untold: undefined,
    isoTime: (ms) => new Date(ms).toISOString(),
  });
}

/** Every combination of what is lost for good, what is in no table yet, and what can't be read. */
describe('FR-05 lossless is what brings back everything', () => {
  const cases = Object.keys(losses).flatMap((loss) =>
    Object.entries(pendings).flatMap(([between, count]) =>
      Object.keys(trials).map((trial) => [loss, between, trial, count] as const),
    ),
  );
  test.each(cases)('%s, %s, %s', (loss, _, trial, count) => {
    const isLossless =
      loss === 'nothing lost' && count === 0 && ['not tried', 'all readable'].includes(trial);
    expect(report(losses[loss] ?? none, count, trials[trial]).lossless).toBe(isLossless);
  });
});

test('FR-07 a topic that two sources read is read once, and the duration goes by the rate', () => {
  const twice = { ...source(0), source: 'again' };
  const sources = [source(0), source(1), twice, source(0, 'b', 0, 100_000)];
  expect(report(none, 0, undefined, sources)).toMatchObject({
    records: 100_100,
    estimateSeconds: 3,
    sources: [{ records: 50, from: '1970-01-01T00:00:00.000Z', to: null }, {}, {}, {}],
  });
});

describe('FR-08 FR-09 what lies below a table', () => {
  const { plan } = new RefreshWorld(
    `CREATE STREAMING TABLE raw AS SELECT k, seq, v FROM STREAM(a);
CREATE STREAMING TABLE minding AS SELECT * FROM STREAM(raw);
CREATE STREAMING TABLE skipping AS SELECT * FROM STREAM(raw) WITH (skipChangeCommits = true);
CREATE STREAMING TABLE under_skipping AS SELECT * FROM STREAM(skipping);
CREATE MATERIALIZED VIEW m AS SELECT k, count(*) AS n FROM minding GROUP BY k;
CREATE MATERIALIZED VIEW mm AS SELECT count(*) AS n FROM m;`,
    ['a'],
  );
  const below = (name: string): readonly string[] => {
    const table = plan.tables.find((one) => one.name === name);
    return table === undefined ? [] : downstreamOf(plan, table);
  };

  test.each([
    ['raw', ['minding']],
    ['minding', []],
    ['skipping', ['under_skipping']],
    ['under_skipping', []],
  ])('tables below %s', (name, expected) => {
    expect(below(name)).toEqual(expected);
  });

  test.each([
    [['raw'], []],
    [['minding'], ['m', 'mm']],
    [['m'], ['mm']],
    [[], []],
  ])('views over %j', (names, expected) => {
    expect(viewsOver(plan, names)).toEqual(expected);
  });
});

describe('FR-05 a first estimate from the offsets alone', () => {
  const of = (more: Partial<SourcePartitionFacts> = {}): SourcePartitionFacts => ({
    ...source(0, 'a', 0, 8),
    committed: 6,
    ...more,
  });
  test.each<[string, readonly SourcePartitionFacts[], number, number, RegExp]>([
    ['all there', [of()], 6, 0, /every offset that was read is still there/],
    [
      'the first ones gone',
      [of({ logStart: 2 })],
      6,
      2,
      /of 6 offsets that were read 2 are gone \(33 %\)/,
    ],
    ['more than was read', [of({ logStart: 7 })], 6, 6, /6 are gone \(100 %\)/],
    ['the last ones gone', [of({ end: 5 })], 6, 1, /1 is gone \(17 %\)/],
    ['another topic by now', [of({ isAnew: true })], 6, 6, /100 %/],
    [
      'two sources of one topic',
      [of({ logStart: 2 }), of({ source: 'z', logStart: 2 })],
      6,
      2,
      /2 are/,
    ],
    ['two partitions', [of({ logStart: 2 }), of({ partition: 1 })], 12, 2, /17 %/],
    ['nothing was read', [of({ committed: undefined, logStart: 5 })], 0, 0, /still there/],
  ])('%s', (...[, sources, read, gone, text]) => {
    expect(lossGlance(sources)).toEqual({ read, gone });
    expect(glanceText({ sources })).toMatch(text);
  });
});

test('FR-07 what nobody can tell is not called lossless', () => {
  const untold = { topic: 't', state: 'missing', holdsRows: false, sources: [] } as const;
  const told = refreshReport({
    ...{ table: 't', generation: 0, sources: [], trial: undefined, downstream: [], skipped: [] },
    ...{ rate: assumedRate, pending: { rows: 0, lost: 0 }, untold },
    loss: { lost: none, atRisk: none, reasons: {}, places: new Map(), sample: [] },
    isoTime: String,
  });
  expect(told).toMatchObject({ lossless: false, untold });
});
