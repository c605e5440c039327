import { describe, expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { FlowError } from '../../../src/base/errors.ts';
import { serviceLog, tellConfig } from '../../../src/cli/run-log.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import type { RuntimeEvent } from '../../../src/runtime/runtime-events.ts';
import { FlowTally } from '../../../src/runtime/worker/flow-tally.ts';
import { WatchedService, watchedPlan } from '../../support/watched-service.ts';

type Line = { readonly level: string; readonly msg: string };

const rowText = 'Anna Schmidt, 4111 1111 1111 1111';
const secrets = {
  TIDEMARK_REDIS_URL: 'redis://user:hunter2@redis:6379',
  TIDEMARK_KAFKA_SASL_PASSWORD: 'hunter3',
  TIDEMARK_HTTP_TOKEN: 'hunter4',
};

function logged(level: string, use: (log: ReturnType<typeof serviceLog>) => void): Line[] {
  const environment = { TIDEMARK_LOG_LEVEL: level, TIDEMARK_PIPELINE_NAME: 'p', ...secrets };
  const config = loadConfig({ file: undefined, environment, flags: new Map() });
  const lines: Line[] = [];
  const log = serviceLog(config, { write: (text) => void lines.push(JSON.parse(text) as Line) });
  tellConfig(log, config);
  use(log);
  return lines;
}

const retry = new FlowError('BROKER_UNAVAILABLE', 'no broker answers');
const gap = {
  id: 'g',
  kind: 'expired',
  flow: 'f',
  topic: 't',
  partition: 0,
  from: 1,
  to: 4,
} as const;
const restore = { flow: 'f', partition: 0, cause: 'empty' } as const;

const computed = { run: 1, rows: 2, changed: 2, removed: 0, durationMs: 1 };

/** Who has to act: nobody, somebody who looks after it perhaps, a person now. */
const told: readonly (readonly [RuntimeEvent, string | undefined])[] = [
  [{ event: 'topic_created', topic: 't', partitions: 1 }, 'info'],
  [{ event: 'assigned', flow: 'f', partitions: ['t/0'], durationMs: 1 }, 'info'],
  [{ event: 'revoked', flow: 'f', partitions: ['t/0'] }, 'info'],
  [{ event: 'restoring', ...restore, reason: 'it has no state' }, 'info'],
  [{ event: 'restore_progress', flow: 'f', partition: 0, remaining: 1 }, undefined],
  [{ event: 'restored', ...restore, records: 1, durationMs: 1 }, 'info'],
  [{ event: 'caught_up', flow: 'f' }, 'info'],
  [{ event: 'view_computed', view: 'v', kind: 'materialized_view', ...computed }, 'info'],
  [{ event: 'view_computed', view: 'w', kind: 'replace_where', ...computed }, 'info'],
  [{ event: 'fencing', transactionalId: 'p-1', reason: 'it holds a topic' }, 'warn'],
  [{ event: 'recovering', error: retry, attempt: 1, delayMs: 1 }, 'warn'],
  [{ event: 'gap', flow: 'f', gap: { ...gap, lostRecords: 3 } }, 'warn'],
  [{ event: 'flow_failed', flow: 'f', error: retry }, 'error'],
];

function committedWith(records: number, offset: number): RuntimeEvent {
  const place = { topic: 't', partition: 0, offset };
  const setAside = { records, errorClass: 'NULL_SEQUENCE', place };
  const figures = new FlowTally('f', 'out').take();
  const flows = [{ ...figures, setAside }];
  return { event: 'committed', records, outputRecords: 0, durationMs: 1, phases: undefined, flows };
}

test('dead letters: the first is told at once, those of a minute together, and nothing of a row', () => {
  let nowMs = 0;
  const lines: Record<string, unknown>[] = [];
  const config = loadConfig({ file: undefined, environment: {}, flags: new Map() });
  const destination = { write: (text: string) => void lines.push(JSON.parse(text) as never) };
  const { listener } = serviceLog(config, destination, () => nowMs);
  for (const [atMs, offset] of [
    [0, 5],
    [59_999, 7],
    [60_000, 9],
  ] as const) {
    nowMs = atMs;
    listener(committedWith(2, offset));
  }
  expect(
    lines.map(({ level, flow, records, last, errorClass }) => [
      level,
      flow,
      records,
      last,
      errorClass,
    ]),
  ).toEqual([
    ['warn', 'f', 2, 't/0@5', 'NULL_SEQUENCE'],
    ['warn', 'f', 4, 't/0@9', 'NULL_SEQUENCE'],
  ]);
});

describe('log lines', () => {
  test.each(told)('$event goes by who must act', (event, level) => {
    const lines = logged('info', (log) => log.listener(event)).slice(1);
    expect(lines.map((line) => line.level)).toEqual(level === undefined ? [] : [level]);
  });

  test('have no secret, at any level', () => {
    const text = JSON.stringify(logged('debug', (log) => log.info({}, 'x')));
    expect(text).toContain('starting');
    expect(text).not.toMatch(/hunter/);
  });

  test.each([
    ['a row that can not be computed', '', { region: 'R', item: rowText, qty: 'many', seq: 1 }],
    [
      'an expectation',
      '(CONSTRAINT positive EXPECT (qty > 0) ON VIOLATION FAIL UPDATE)',
      { region: rowText, item: 'i', qty: 0, seq: 1 },
    ],
    [
      'a row-set that is too large: its key is named, and nothing else of it',
      'WITH (max_row_set_rows = 1)',
      { region: 'EU', item: rowText, qty: 1, seq: 1 },
    ],
  ])('have no content of a row above debug: %s', async (_, options, row) => {
    const sql = `CREATE STREAMING TABLE cur ${options} FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
      SELECT region, item, CAST(qty AS INT) AS qty, seq FROM STREAM(orders);`;
    const memory = new MemoryLog({ clock: systemClock });
    memory.createTopic('orders', 1);
    const value = JSON.stringify(row);
    for (let index = 0; index < 2; index += 1) memory.produce('orders', 0, { value });
    const service = new WatchedService({ memory, plan: watchedPlan(sql) });
    await service.start();
    await expect.poll(() => service.views.flow('cur')?.['state']).toBe('failed');
    await service.stop();
    const error = service.running?.worker.progress().flows[0]?.failed;
    expect(error).toBeInstanceOf(FlowError);
    const event = { event: 'flow_failed', flow: 'cur', error: error as FlowError } as const;
    const above = JSON.stringify(logged('info', (log) => log.listener(event)));
    expect(above).toContain((error as FlowError).code);
    expect(above).not.toMatch(/Schmidt|4111|many/);
    const debug = JSON.stringify(logged('debug', (log) => log.listener(event)));
    expect(debug).toContain('why the flow failed');
  });
});

test('the configuration at the start: what differs from the defaults, every option at debug, no secret', () => {
  const quiet = logged('info', () => undefined);
  const config = { 'pipeline.name': 'p', 'redis.url': '***', 'http.token': '***' };
  expect(quiet).toMatchObject([{ msg: 'starting', config }]);
  expect(JSON.stringify(quiet)).not.toContain('kafka.compression');
  expect(JSON.stringify(quiet).length).toBeLessThan(500);
  const all = logged('debug', () => undefined);
  expect(all.map(({ msg }) => msg)).toEqual(['starting', 'every option']);
  expect(all[1]).toMatchObject({ config: { 'kafka.compression': 'lz4', 'redis.url': '***' } });
  expect(JSON.stringify(all)).not.toContain('hunter');
});

test('what was computed is told as what it is', () => {
  const lines = logged('info', ({ listener }) => {
    listener({ event: 'view_computed', view: 'v', kind: 'materialized_view', ...computed });
    listener({ event: 'view_computed', view: 'w', kind: 'replace_where', ...computed });
  });
  expect(lines.slice(-2)).toMatchObject([
    { msg: 'view computed', view: 'v' },
    { msg: 'REPLACE WHERE flow computed', flow: 'w' },
  ]);
});
