import { expect, test } from 'vitest';
import { FlowError } from '../../../src/base/errors.ts';
import { ServiceHealth } from '../../../src/cli/service-health.ts';
import type { WorkerProgress } from '../../../src/runtime/worker/worker-progress.ts';
import type { WorkerState } from '../../../src/runtime/worker/worker-states.ts';
import { emptyFlowCounters } from '../../../src/task/row-account.ts';

type Told = {
  readonly state?: WorkerState;
  readonly turns?: number;
  readonly lag?: number;
  readonly logStart?: number | undefined;
  readonly failed?: FlowError;
};

function progress({
  state = 'running',
  turns = 0,
  lag = 0,
  failed,
  ...more
}: Told = {}): WorkerProgress {
  const logStart = 'logStart' in more ? more.logStart : 0;
  const counters = emptyFlowCounters([]);
  const partition = {
    topic: 't',
    partition: 0,
    position: 100,
    committed: 100,
    stable: 100 + lag,
    end: 100 + lag,
  };
  return {
    state,
    records: 0,
    outputRecords: 0,
    commits: 0,
    fencings: 0,
    turns,
    stageMs: { wait_source: 0, query: 0, store: 0, merge: 0, emit: 0, wait_sink: 0, takeover: 0 },
    flows: [
      {
        flow: 'f',
        group: 'p.f',
        failed,
        outputRecords: 0,
        partitions: [
          { ...partition, logStart, counters, committedCounters: counters, keysHeld: 0 },
        ],
      },
    ],
  };
}

function health(readyLagMax = Number.POSITIVE_INFINITY): ServiceHealth {
  return new ServiceHealth({ flows: ['f'], deadAfterMs: 10_000, readyLagMax }, 0);
}

const assigned = { event: 'assigned', flow: 'f', partitions: ['t/0'], durationMs: 0 } as const;
const restoring = {
  event: 'restoring',
  flow: 'f',
  partition: 0,
  cause: 'empty',
  reason: 'a test',
} as const;

function isReady(of: ServiceHealth, told: Told = {}): boolean {
  return of.ready(progress(told), 0).reasons.length === 0;
}

test('it has started once the group was joined, though the restore goes on', () => {
  const one = health();
  expect(one.started().reasons).toHaveLength(1);
  one.hear(restoring, 1);
  expect(one.started().reasons).toEqual([]);
  expect(isReady(one)).toBe(false);
});

test('it is not ready while Kafka is waited for, nor before it has partitions', () => {
  const one = health();
  expect(one.ready(undefined, 0).reasons).toHaveLength(1);
  expect(isReady(one)).toBe(false);
  one.hear(assigned, 1);
  expect(isReady(one)).toBe(true);
});

test('OP-03 it is not ready while Kafka, which answered before, answers nothing, and says for how long', () => {
  const one = health();
  one.hear(assigned, 1);
  one.answered(1_000);
  expect(one.ready(progress(), 16_000).reasons).toEqual([]);
  expect(one.ready(progress(), 39_000).reasons).toEqual(['Kafka has not answered for 38 s']);
  const recovering = progress({ state: 'recovering' });
  expect(one.ready(recovering, 39_000).reasons).toContain('Kafka has not answered for 38 s');
  one.answered(39_500);
  expect(one.ready(progress(), 40_000).reasons).toEqual([]);
});

test('OP-03 a worker that recovers says from what, until it has its partitions again', () => {
  const one = health();
  one.hear(assigned, 1);
  const error = new FlowError('STATE_UNAVAILABLE', 'redis at r:6379 is not reachable');
  one.hear({ event: 'recovering', error, attempt: 1, delayMs: 0 }, 2);
  const reasons = (state: 'recovering' | 'running') => one.ready(progress({ state }), 3).reasons;
  expect(reasons('recovering')).toEqual([
    'the worker is recovering',
    'STATE_UNAVAILABLE: redis at r:6379 is not reachable',
  ]);
  one.hear(assigned, 4);
  expect(reasons('running')).toEqual([]);
});

test('before the log has answered it says so, and of no number of records', () => {
  const one = health();
  one.hear(assigned, 1);
  expect(one.ready(progress({ logStart: undefined }), 0).reasons).toEqual([
    'flow "f" waits for the log to say where its sources start and end',
  ]);
});

test('restoring is not ready, and ends with the assignment', () => {
  const one = health();
  one.hear(restoring, 1);
  one.hear({ event: 'restore_progress', flow: 'f', partition: 0, remaining: 42 }, 2);
  expect(one.restoreRemaining('f')).toBe(42);
  expect(one.ready(progress(), 0).reasons[0]).toContain('not assigned');
  one.hear(
    { event: 'restored', flow: 'f', partition: 0, cause: 'empty', records: 1, durationMs: 1 },
    3,
  );
  one.hear(assigned, 4);
  expect(one.restoringPartitions('f')).toBe(0);
  expect(isReady(one)).toBe(true);
  one.hear(restoring, 5);
  expect(isReady(one)).toBe(false);
});

test('a first restore is told beside the state of the worker', () => {
  const one = health();
  one.hear(restoring, 1);
  expect(one.ready(progress({ state: 'starting' }), 0).reasons).toEqual([
    'the worker is starting',
    'flow "f" restores its state',
  ]);
});

test.each(['created', 'starting', 'recovering', 'stopping', 'stopped', 'failed'] as const)(
  'a worker that is %s is not ready',
  (state) => {
    const one = health();
    one.hear(assigned, 1);
    expect(isReady(one, { state })).toBe(false);
  },
);

test('after a fault it is ready again only with its partitions', () => {
  const one = health();
  one.hear(assigned, 1);
  const error = new FlowError('BROKER_TIMEOUT', 'late');
  one.hear({ event: 'recovering', error, attempt: 1, delayMs: 0 }, 2);
  expect(isReady(one)).toBe(false);
  one.hear(assigned, 3);
  expect(isReady(one)).toBe(true);
});

test('P085 an instance with a flow that failed is never ready', () => {
  const one = health();
  one.hear(assigned, 1);
  const failed = new FlowError('BAD_ROW', 'a bad row');
  expect(one.ready(progress({ failed }), 0).reasons).toEqual(['flow "f" has failed: BAD_ROW']);
});

test('with a bound it is ready once the lag was within it, and stays so until the next takeover', () => {
  const one = health(10);
  one.hear(assigned, 1);
  expect(isReady(one, { logStart: undefined })).toBe(false);
  expect(isReady(one, { lag: 11 })).toBe(false);
  expect(isReady(one, { lag: 10 })).toBe(true);
  expect(isReady(one, { lag: 1_000 })).toBe(true);
  one.hear(assigned, 2);
  expect(isReady(one, { lag: 1_000 })).toBe(false);
});

test('an instance that was asked to stop is not ready', () => {
  const one = health();
  one.hear(assigned, 1);
  one.stopping();
  expect(isReady(one)).toBe(false);
});

test('only a loop that stands still is dead', () => {
  const one = health();
  expect(one.alive(progress({ turns: 1 }), 9_000).reasons).toEqual([]);
  expect(one.alive(progress({ turns: 1 }), 18_000).reasons).toEqual([]);
  expect(one.alive(progress({ turns: 1 }), 20_000).reasons).toHaveLength(1);
  expect(one.alive(progress({ turns: 2 }), 21_000).reasons).toEqual([]);
});

test('while Kafka is waited for, and while a restore goes on, it is alive', () => {
  const one = health();
  expect(one.alive(undefined, 1_000_000).reasons).toEqual([]);
  one.hear(restoring, 1_000_000);
  for (let at = 1_005_000; at < 1_100_000; at += 5_000) {
    one.hear({ event: 'restore_progress', flow: 'f', partition: 0, remaining: 1 }, at);
    expect(one.alive(progress({ turns: 7 }), at + 4_000).reasons).toEqual([]);
  }
  expect(one.alive(progress({ turns: 7 }), 1_200_000).reasons).toHaveLength(1);
});

test('where it stays because no flow can go on, it has started, lives on and says which flow failed', () => {
  const one = health();
  const error = new FlowError('OFFSET_OUT_OF_RANGE', 'records are gone');
  one.hear({ event: 'flow_failed', flow: 'f', error }, 1);
  one.stays();
  expect(one.started().reasons).toEqual([]);
  expect(one.alive(progress({ state: 'failed' }), 3_600_000).reasons).toEqual([]);
  expect(one.ready(progress({ state: 'failed', failed: error }), 0).reasons).toEqual([
    'the worker is failed',
    'flow "f" has failed: OFFSET_OUT_OF_RANGE',
  ]);
});
