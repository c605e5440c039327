import { afterEach, describe, expect, test, vi } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { MemoryStateStore } from '../../../src/adapters/memory/memory-state-store.ts';
import {
  type MetricDeclaration,
  metricDeclarations,
} from '../../../src/adapters/prometheus/metric-declarations.ts';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { deadLetterReason, deadLetterReasons } from '../../../src/base/dead-letter-reason.ts';
import { FlowError } from '../../../src/base/errors.ts';
import { RefreshWatch } from '../../../src/cli/refresh-watch.ts';
import { StateWatch } from '../../../src/cli/state-watch.ts';
import type { StateStore } from '../../../src/ports/state-store.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import {
  parseExposition,
  type WatchedOptions,
  WatchedService,
  watchedPlan,
  watchedSql,
} from '../../support/watched-service.ts';

const services: WatchedService[] = [];

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.stop()));
});

function world(configs: Readonly<Record<string, string>> = {}): MemoryLog {
  const memory = new MemoryLog({ clock: systemClock });
  memory.createTopic('orders', 2, configs);
  return memory;
}

function service(options: WatchedOptions): Promise<WatchedService> {
  const made = new WatchedService(options);
  services.push(made);
  return made.start();
}

/** Row `index` of region R0…R4; every tenth is filtered, every seventh violates the expectation. */
function produce(memory: MemoryLog, from: number, to: number): void {
  for (let index = from; index < to; index += 1) {
    const item = index % 10 === 0 ? 'skip' : `i${index}`;
    const qty = index % 7 === 0 ? 0 : 1;
    const value = JSON.stringify({ region: `R${index % 5}`, item, qty, seq: index });
    memory.produce('orders', index % 2, { value });
  }
}

const deadLetters = (reason: string): string =>
  `tidemark_dead_letter_records_total{flow="cur",source="orders",reason="${reason}"}`;

const account = (name: string): string => `tidemark_${name}{flow="cur",source="orders"}`;

describe('counters', () => {
  test('are all there with 0 before anything happened', async () => {
    const quiet = new WatchedService({ memory: world() });
    services.push(quiet);
    const series = await quiet.scrape();
    for (const name of ['input_records_total', 'query_rows_total']) {
      expect(series.get(account(name))).toBe(0);
    }
    for (const reason of deadLetterReasons) expect(series.get(deadLetters(reason))).toBe(0);
    expect(series.get('tidemark_row_sets_replaced_total{flow="cur"}')).toBe(0);
    expect(series.get('tidemark_rows_retracted_total{flow="cur"}')).toBe(0);
    for (const outcome of ['new', 'replacing', 'tied', 'superseded', 'duplicate', 'distinct']) {
      const name = `tidemark_keyed_rows_total{flow="cur",outcome="${outcome}"}`;
      expect(series.get(name)).toBe(0);
    }
    expect(series.get('tidemark_commits_total{result="ok"}')).toBe(0);
    expect(series.get('tidemark_end_to_end_latency_seconds_count{flow="cur"}')).toBe(0);
    expect(series.get('tidemark_ready')).toBe(0);
    expect(series.get('tidemark_state_store_errors_total{store="embedded",error="other"}')).toBe(0);
  });

  test('RU-21 follow the account of every row, and it closes', async () => {
    const memory = world();
    produce(memory, 0, 100);
    memory.produce('orders', 0, { value: null });
    memory.produce('orders', 0, { value: '{"region":{"x":1},"item":"b","qty":1,"seq":2}' });
    const one = await service({ memory });
    await one.caughtUp(102);
    const series = await one.scrape();
    expect(series.get(account('input_records_total'))).toBe(102);
    expect(series.get(account('decoded_records_total'))).toBe(100);
    expect(series.get(account('tombstone_records_total'))).toBe(1);
    expect(series.get(deadLetters('schema'))).toBe(1);
    expect(series.get(account('query_rows_total'))).toBe(100);
    expect(series.get(account('filtered_rows_total'))).toBe(10);
    expect(series.get(account('dropped_rows_total'))).toBe(13);
    expect(series.get(account('handed_on_rows_total'))).toBe(77);
    const result = (word: string): number | undefined =>
      series.get(
        `tidemark_expectation_rows_total{flow="cur",expectation="positive",result="${word}"}`,
      );
    expect(result('passed')).toBe(77);
    expect(result('dropped')).toBe(13);
    expect(result('failed')).toBeUndefined();
    const keyed = [...series].filter(([name]) => name.startsWith('tidemark_keyed_rows_total'));
    expect(keyed.reduce((sum, [, value]) => sum + value, 0)).toBe(77);
    expect(series.get('tidemark_stage_difference_rows{table="cur"}')).toBe(0);
    expect(series.get('tidemark_keyed_rows_total{flow="cur",outcome="new"}')).toBe(5);
    expect(series.get('tidemark_row_account_difference{flow="cur"}')).toBe(0);
    const upserts = series.get('tidemark_output_records_total{flow="cur",op="upsert"}');
    expect(upserts).toBeGreaterThanOrEqual(5);
    expect(series.get('tidemark_row_set_rows_count{flow="cur"}')).toBe(upserts);
    expect(series.get('tidemark_output_bytes_total{flow="cur"}')).toBeGreaterThan(5 * 40);
    const largest = series.get('tidemark_row_set_bytes_max{flow="cur"}') ?? 0;
    expect(largest).toBeGreaterThan(40);
    expect(largest).toBeLessThan(series.get('tidemark_record_limit_bytes{flow="cur"}') ?? 0);
    expect(series.get(account('input_bytes_total'))).toBeGreaterThan(102 * 20);
    const commits = series.get('tidemark_commits_total{result="ok"}');
    expect(commits).toBeGreaterThan(0);
    expect(series.get('tidemark_commit_records_count')).toBe(commits);
    const total = 'tidemark_commit_duration_seconds_count{phase="total"}';
    expect(series.get(total)).toBe(commits);
    expect(series.get('tidemark_commit_records_sum')).toBe(102);
  });

  test('of a process start at 0: what was committed before is not theirs', async () => {
    const memory = world();
    const state = new MemoryStateStore();
    produce(memory, 0, 40);
    const first = await service({ memory, state });
    await first.caughtUp(40);
    await first.stop();
    services.splice(0);
    produce(memory, 40, 60);
    const second = await service({ memory, state });
    await second.caughtUp(60);
    const series = await second.scrape();
    expect(series.get(account('input_records_total'))).toBe(20);
  });

  test('of all instances together count each record once, whoever takes over what', async () => {
    const memory = world();
    const state = new MemoryStateStore();
    produce(memory, 0, 50);
    const first = await service({ memory, state, instance: 'a' });
    await first.caughtUp(50);
    const second = await service({ memory, state, instance: 'b' });
    produce(memory, 50, 120);
    const sum = async (): Promise<number> => {
      const all = await Promise.all([first.scrape(), second.scrape()]);
      return all.reduce((total, one) => total + (one.get(account('input_records_total')) ?? 0), 0);
    };
    const deadline = Date.now() + 15_000;
    while ((await sum()) < 120 && Date.now() < deadline) await systemClock.sleep(20);
    await systemClock.sleep(100);
    expect(await sum()).toBe(120);
    const assigned = await second.scrape();
    expect(assigned.get('tidemark_rebalances_total{flow="cur"}')).toBeGreaterThan(0);
  });

  test('of recoveries tell the remedy; a replay counts nothing twice', async () => {
    const memory = world();
    const one = await service({ memory });
    produce(memory, 0, 30);
    await one.caughtUp(30);
    await memory.connect().fence('p-0');
    produce(memory, 30, 70);
    await one.caughtUp(70);
    const series = await one.scrape();
    expect(series.get(account('input_records_total'))).toBe(70);
    expect(series.get('tidemark_recoveries_total{remedy="rejoin"}')).toBeGreaterThan(0);
    expect(series.get('tidemark_fencings_total')).toBeGreaterThan(0);
    // The group has nothing to do with it.
    expect(series.get('tidemark_rebalances_total{flow="cur"}')).toBe(1);
    expect(series.get('tidemark_commits_total{result="fenced"}')).toBeGreaterThan(0);
  });
});

describe('what a commit carried', () => {
  test('each row that reached its table is as old as its source record, across both stages', async () => {
    const memory = world();
    const one = await service({ memory });
    const made = systemClock.now() - 20_000;
    for (let seq = 0; seq < 6; seq += 1) {
      const value = JSON.stringify({ region: 'R', item: 'i', qty: 1, seq });
      memory.produce('orders', 0, { value, timestampMs: made });
    }
    await one.caughtUp(6);
    const series = await one.scrape();
    const latency = 'tidemark_end_to_end_latency_seconds';
    expect(series.get(`${latency}_count{flow="cur"}`)).toBe(6);
    expect(series.get(`${latency}_bucket{flow="cur",le="10"}`)).toBe(0);
    expect(series.get(`${latency}_bucket{flow="cur",le="60"}`)).toBe(6);
  });

  test('an append flow counts its records, and their bytes, as it does rows', async () => {
    const memory = world();
    const sql = `CREATE STREAMING TABLE all_orders;
CREATE FLOW every AS INSERT INTO all_orders BY NAME SELECT item, qty FROM STREAM(orders);`;
    produce(memory, 0, 20);
    const one = await service({ memory, plan: watchedPlan(sql) });
    await expect
      .poll(async () =>
        (await one.scrape()).get('tidemark_output_records_total{flow="every",op="upsert"}'),
      )
      .toBe(20);
    const series = await one.scrape();
    expect(series.get('tidemark_output_bytes_total{flow="every"}')).toBeGreaterThan(20 * 20);
    expect(series.get('tidemark_end_to_end_latency_seconds_count{flow="every"}')).toBe(20);
    expect(series.get('tidemark_output_records_total{flow="every",op="delete"}')).toBe(0);
    expect(one.views.flow('every')).toMatchObject({ kind: 'append', account: { rows: 20 } });
  });

  test('the stages of the loop take no longer than the run', async () => {
    const memory = world();
    const startedMs = systemClock.monotonic();
    produce(memory, 0, 500);
    const one = await service({ memory });
    await one.caughtUp(500);
    const series = await one.scrape();
    const spent = [...series].filter(([name]) => name.startsWith('tidemark_stage_seconds_total'));
    expect(spent).toHaveLength(7);
    const sum = spent.reduce((total, [, seconds]) => total + seconds, 0);
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThanOrEqual((systemClock.monotonic() - startedMs) / 1000);
  });

  test('a gap tells how many records were lost', async () => {
    const memory = world();
    produce(memory, 0, 40);
    const first = await service({ memory });
    await first.caughtUp(40);
    await first.stop();
    services.splice(0);
    produce(memory, 40, 60);
    await memory.connect().deleteRecords('orders', new Map([[0, 25]]));
    const second = await service({ memory });
    const lost = 'tidemark_retention_lost_records_total{flow="cur",source="orders"}';
    await expect.poll(async () => (await second.scrape()).get(lost)).toBe(5);
  });
});

describe('the size of the state', () => {
  test('is counted in keys of a flow, and in bytes of the store', async () => {
    const memory = world();
    const one = await service({ memory });
    produce(memory, 0, 50);
    await one.caughtUp(50);
    const watch = new StateWatch({
      store: one.state,
      keyCounts: async () => (await one.running?.worker.keyCounts()) ?? new Map(),
      onSize: (size) => one.metrics.sized(size),
    });
    await watch.look();
    const series = await one.scrape();
    expect(series.get('tidemark_state_keys{flow="cur"}')).toBe(5);
    expect(series.get('tidemark_state_store_used_bytes{store="embedded"}')).toBeGreaterThan(100);
    expect(series.get('tidemark_state_store_limit_bytes{store="embedded"}')).toBe(0);
  });

  test('evictions count from the first look on, also over a restart of the store', () => {
    const quiet = new WatchedService({ memory: world() });
    services.push(quiet);
    const evicted = async (evictedKeys: number): Promise<number | undefined> => {
      const usage = { usedBytes: 1, limitBytes: 2, evictedKeys };
      quiet.metrics.sized({ usage, keys: new Map() });
      return (await quiet.scrape()).get(
        'tidemark_state_store_evicted_keys_total{store="embedded"}',
      );
    };
    return expect(
      [7, 9, 3].reduce(
        async (before, now) => [...(await before), await evicted(now)],
        Promise.resolve<(number | undefined)[]>([]),
      ),
    ).resolves.toEqual([0, 2, 5]);
  });
});

test('P121 a watermark is as far as the partition that has come least far', async () => {
  const sql = `CREATE SOURCE timed (region STRING, ts TIMESTAMP, seq BIGINT) WITH (topic = 'orders');
    CREATE STREAMING TABLE cur FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
    SELECT region, ts, seq FROM STREAM(timed) WATERMARK ts DELAY OF INTERVAL 5 SECONDS;`;
  const memory = world();
  const seconds = [1_000, 5_000];
  for (const [partition, time] of seconds.entries()) {
    const ts = new Date(time * 1000).toISOString();
    memory.produce('orders', partition, { value: JSON.stringify({ region: 'R', ts, seq: time }) });
  }
  const one = await service({ memory, plan: watchedPlan(sql) });
  await one.caughtUp(2);
  const watermark = 'tidemark_watermark_timestamp_seconds{flow="cur"}';
  await expect.poll(async () => (await one.scrape()).get(watermark)).toBe(1_000);
});

describe('full refreshes', () => {
  test('FR-34 tell progress and result, as of the looks at the catalog', async () => {
    const quiet = new WatchedService({ memory: world() });
    services.push(quiet);
    const record = {
      flow: 'cur',
      table: 'cur',
      mode: 'beside',
      generation: 1,
      allowLoss: false,
      keepUnrecoverable: false,
      definition: '',
      startedAtMs: 5_000,
      changedAtMs: 6_000,
    } as const;
    const shown = async (): Promise<readonly (number | undefined)[]> => {
      const series = await quiet.scrape();
      return [
        series.get('tidemark_full_refresh_active{table="cur"}'),
        series.get('tidemark_full_refresh_progress_ratio{table="cur"}'),
        series.get('tidemark_full_refresh_start_timestamp_seconds{table="cur"}'),
        series.get('tidemark_full_refreshes_total{table="cur",result="done"}'),
      ];
    };
    expect(await shown()).toEqual([0, 0, 0, 0]);
    quiet.metrics.refreshed([{ ...record, startedAtMs: 1_000, state: 'done' }]);
    expect(await shown()).toEqual([0, 1, 1, 0]);
    quiet.metrics.refreshed([{ ...record, state: 'building', read: 30, toRead: 120 }]);
    expect(await shown()).toEqual([1, 0.25, 5, 0]);
    const left = 'tidemark_full_refresh_remaining_seconds{table="cur"}';
    expect((await quiet.scrape()).get(left)).toBe(0);
    const pace = { read: 30, toRead: 120, recordsPerSecond: 9 };
    quiet.metrics.refreshed([{ ...record, state: 'building', ...pace }]);
    expect((await quiet.scrape()).get(left)).toBe(10);
    quiet.metrics.refreshed([{ ...record, state: 'done', read: 120, toRead: 120 }]);
    quiet.metrics.refreshed([{ ...record, state: 'done', read: 120, toRead: 120 }]);
    expect(await shown()).toEqual([0, 1, 5, 1]);
  });

  test('FR-05 what was read and is gone counts, what was never there does not', async () => {
    const memory = world();
    produce(memory, 0, 40);
    await memory.connect().deleteRecords('orders', new Map([[0, 6]]));
    const one = await service({ memory });
    await one.caughtUp(34);
    const loss = 'tidemark_full_refresh_loss_records{flow="cur",source="orders"}';
    expect((await one.scrape()).get(loss)).toBe(0);
    await memory.connect().deleteRecords('orders', new Map([[0, 15]]));
    // Where the log begins is learnt with the next answer to a fetch.
    produce(memory, 40, 44);
    await one.caughtUp(38);
    await expect.poll(async () => (await one.scrape()).get(loss)).toBe(9);
  });
});

describe('requests to Kafka', () => {
  test('are timed by API; those without an answer are counted by code', async () => {
    const quiet = new WatchedService({ memory: world() });
    services.push(quiet);
    const told = { durationMs: 30, throttleMs: 0, error: undefined };
    quiet.metrics.requested({ ...told, api: 'Fetch' });
    quiet.metrics.requested({ ...told, api: 'Produce', throttleMs: 2_000 });
    const error = new FlowError('BROKER_TIMEOUT', 'no answer');
    quiet.metrics.requested({ ...told, api: 'DescribeConfigs', error });
    const series = await quiet.scrape();
    const name = 'tidemark_kafka_request_duration_seconds';
    expect(series.get(`${name}_bucket{api="Fetch",le="0.025"}`)).toBe(0);
    expect(series.get(`${name}_bucket{api="Fetch",le="0.1"}`)).toBe(1);
    expect(series.get('tidemark_kafka_throttle_seconds_total')).toBe(2);
    expect(
      series.get('tidemark_kafka_request_errors_total{api="other",error="BROKER_TIMEOUT"}'),
    ).toBe(1);
  });
});

describe('gauges', () => {
  test('P123 lag is never negative, and 0 when nothing is left to read', async () => {
    const memory = world();
    produce(memory, 0, 100);
    const first = await service({ memory });
    await first.caughtUp(100);
    const lagNames = [
      'tidemark_source_lag_records{flow="cur",source="orders"}',
      'tidemark_table_lag_records{flow="cur"}',
    ];
    const lags = async (of: WatchedService): Promise<(number | undefined)[]> => {
      const series = await of.scrape();
      return lagNames.map((name) => series.get(name));
    };
    expect(await lags(first)).toEqual([0, 0]);
    const ends = new Map([
      [0, memory.rangeNow('orders', 0).end],
      [1, memory.rangeNow('orders', 1).end],
    ]);
    await memory.connect().deleteRecords('orders', ends);
    expect(await lags(first)).toEqual([0, 0]);
    await first.stop();
    services.splice(0);
    const second = await service({ memory });
    await second.caughtUp(100);
    expect(await lags(second)).toEqual([0, 0]);
  });

  test('tell of state, partitions and flows', async () => {
    const one = await service({ memory: world() });
    await one.caughtUp(0);
    await expect.poll(async () => (await one.scrape()).get('tidemark_ready')).toBe(1);
    const series = await one.scrape();
    expect(series.get('tidemark_pipeline_state{state="running"}')).toBe(1);
    expect(series.get('tidemark_pipeline_state{state="recovering"}')).toBe(0);
    expect(series.get('tidemark_flow_failed{flow="cur"}')).toBe(0);
    expect(series.get('tidemark_assigned_partitions{flow="cur",stage="source"}')).toBe(2);
    expect(series.get('tidemark_flow_partitions{flow="cur",stage="table"}')).toBe(2);
    const info = 'tidemark_info{flow="cur",target="cur",kind="replace_using"}';
    expect(series.get(info)).toBe(1);
  });

  test('rows that were handed on and have not come to the table are told', async () => {
    const one = await service({ memory: world() });
    await one.caughtUp(0);
    const { worker } = one.running ?? {};
    if (worker === undefined) throw new Error('nothing runs');
    await expect.poll(() => worker.progress().flows[0]?.partitions.length).toBe(4);
    const [flow] = worker.progress().flows;
    // Of each source partition 6 rows are committed, of each partition of the table 3, one of them a replayed one.
    const partitions = (flow?.partitions ?? []).map((partition) => {
      const { committedCounters: counted } = partition;
      const isSource = 'handedOn' in counted;
      return {
        ...partition,
        committedCounters: isSource
          ? { ...counted, handedOn: 6 }
          : { ...counted, rows: 3, replayed: 1 },
      };
    });
    const progress = { ...worker.progress(), flows: [{ ...flow, partitions }] };
    vi.spyOn(worker, 'progress').mockReturnValue(progress as ReturnType<typeof worker.progress>);
    const series = await one.scrape();
    expect(series.get('tidemark_stage_difference_rows{table="cur"}')).toBe(8);
  });

  test('a flow that is paused says so, until it goes on', async () => {
    const one = await service({ memory: world() });
    await one.caughtUp(0);
    const paused = async (): Promise<number | undefined> =>
      (await one.scrape()).get('tidemark_flow_paused{flow="cur"}');
    expect(await paused()).toBe(0);
    one.running?.worker.setPaused(new Set(['cur']));
    expect(await paused()).toBe(1);
    one.running?.worker.setPaused(new Set());
    expect(await paused()).toBe(0);
  });

  test('a flow that failed says so; its errors have a bounded set of labels', async () => {
    const sql = `CREATE STREAMING TABLE cur FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
      SELECT region, item, qty, seq FROM STREAM(orders);`;
    const memory = world();
    memory.produce('orders', 0, { value: 'no JSON' });
    const one = await service({ memory, plan: watchedPlan(sql) });
    const series = async (): Promise<number | undefined> =>
      (await one.scrape()).get('tidemark_flow_failed{flow="cur"}');
    await expect.poll(series, { timeout: 5_000 }).toBe(1);
    expect(one.views.flow('cur')).toMatchObject({ state: 'failed', error: { code: 'BAD_ROW' } });
  });

  test('RT-02 what waits for a flow that failed goes on to be told, and what retention takes of it', async () => {
    const sql = `CREATE STREAMING TABLE cur FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
      SELECT region, item, qty, seq FROM STREAM(orders);`;
    const memory = world({ 'retention.ms': '3600000' });
    const oldMs = Date.now() - 600_000;
    memory.produce('orders', 0, { value: '{"region":"R1","item":"a","qty":1,"seq":1}' });
    const before = new WatchedService({ memory, plan: watchedPlan(sql) });
    await before.start();
    await before.caughtUp(1);
    await before.stop();
    memory.produce('orders', 0, { value: 'no JSON', timestampMs: oldMs });
    const instances = await Promise.all(
      ['0', '1'].map((instance) => service({ memory, plan: watchedPlan(sql), instance })),
    );
    const failed = (): boolean[] =>
      instances.map(({ running }) => running?.worker.progress().flows[0]?.failed !== undefined);
    // Each takes the partition over once the other has left, and fails at the same record.
    await expect.poll(failed, { timeout: 10_000 }).toEqual([true, true]);
    produce(memory, 0, 10);
    const told = async (name: string): Promise<(number | undefined)[]> => {
      for (let looks = 0; looks < 2; looks += 1) {
        for (const { watch } of instances) await watch?.look();
      }
      const all = await Promise.all(instances.map((one) => one.scrape()));
      return all.map((series) => series.get(account(name)));
    };
    // Records are summed over the instances: one of them tells.
    const lag = async () => (await told('source_lag_records')).toSorted();
    await expect.poll(lag, { timeout: 5_000 }).toEqual([0, 11]);
    for (const age of await told('source_lag_seconds')) expect(age).toBeGreaterThanOrEqual(600);
    for (const left of await told('retention_headroom_seconds')) {
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(3_000);
    }
    // Retention by size: the log start moves towards the checkpoint.
    await memory.connect().deleteRecords('orders', new Map([[0, 1]]));
    for (const left of await told('retention_headroom_seconds')) expect(left).toBeLessThan(60);
    await memory.connect().deleteRecords('orders', new Map([[0, 4]]));
    expect(await told('retention_headroom_seconds')).toEqual([0, 0]);
  });
});

describe('the state store', () => {
  /** Its reads fail while `isAway`. */
  class AwayStore implements StateStore {
    isAway = false;
    readonly #store = new MemoryStateStore();

    check(): Promise<void> {
      return this.#store.check();
    }

    async open(...args: Parameters<StateStore['open']>): ReturnType<StateStore['open']> {
      if (this.isAway) throw new FlowError('STATE_UNAVAILABLE', 'the store is away');
      return this.#store.open(...args);
    }

    forget(...args: Parameters<StateStore['forget']>): ReturnType<StateStore['forget']> {
      return this.#store.forget(...args);
    }

    usage(): ReturnType<StateStore['usage']> {
      return this.#store.usage();
    }

    close(): Promise<void> {
      return this.#store.close();
    }
  }

  test('is up while it answers, and its failures are counted by code', async () => {
    const memory = world();
    const state = new AwayStore();
    const one = await service({ memory, state });
    produce(memory, 0, 10);
    await one.caughtUp(10);
    const up = 'tidemark_state_store_up{store="embedded"}';
    expect((await one.scrape()).get(up)).toBe(1);
    state.isAway = true;
    await memory.connect().fence('p-0');
    produce(memory, 10, 12);
    await expect.poll(async () => (await one.scrape()).get(up), { timeout: 5_000 }).toBe(0);
    state.isAway = false;
    await one.caughtUp(12);
    const series = await one.scrape();
    const errors = 'tidemark_state_store_errors_total{store="embedded",error="STATE_UNAVAILABLE"}';
    expect(series.get(up)).toBe(1);
    expect(series.get(errors)).toBeGreaterThan(0);
    const opens =
      'tidemark_state_store_operation_duration_seconds_count{store="embedded",op="open"}';
    expect(series.get(opens)).toBeGreaterThan(2);
  });
});

test('the number of series is bounded by flows, sources and expectations, whatever the data', async () => {
  const memory = world();
  const one = await service({ memory });
  produce(memory, 0, 300);
  await one.caughtUp(300);
  await one.watch?.look();
  await one.watch?.look();
  const before = (await one.scrape()).size;
  for (let index = 0; index < 300; index += 1) {
    const value = JSON.stringify({ region: `X${index}`, item: `y${index}`, qty: 1, seq: index });
    memory.produce('orders', 0, { value });
  }
  await one.caughtUp(600);
  const after = (await one.scrape()).size;
  expect(after).toBe(before);
  expect(after).toBeLessThanOrEqual(seriesMax({ flow: 1, source: 1, expectation: 1 }));
});

/** What the declarations allow: one state store an instance; a flow has one table and one kind. */
function seriesMax(counts: Readonly<Record<string, number>>): number {
  const single = ['store', 'table', 'target', 'kind', 'operator', 'version', 'node_version'];
  const seriesOf = (metric: MetricDeclaration): number => {
    const combinations = metric.labels.map((label) => {
      if (single.includes(label)) return 1;
      // A row passes, or meets the one action of its expectation.
      if (label === 'result' && metric.labels.includes('expectation')) return 2;
      return counts[label] ?? metric.values?.[label]?.length ?? Number.NaN;
    });
    // A histogram has a series for each bucket, for +Inf, the sum and the count.
    const each = metric.type === 'histogram' ? (metric.buckets?.length ?? 0) + 3 : 1;
    return combinations.reduce((product, count) => product * count, each);
  };
  return metricDeclarations.reduce((sum, metric) => sum + seriesOf(metric), 0);
}

test('20 flows of 2 sources and 3 expectations stay within 2,800 series', () => {
  // A source or an expectation of a flow is counted under that flow alone, so 20 times 2 and 20 times 3.
  const one = seriesMax({ flow: 1, source: 2, expectation: 3 });
  const none = seriesMax({ flow: 0, source: 0, expectation: 0 });
  expect(none + 20 * (one - none)).toBeLessThanOrEqual(2_800);
});

test('an exposition names each series once, with the pipeline', async () => {
  const quiet = new WatchedService({ memory: world() });
  services.push(quiet);
  const text = await quiet.metrics.text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(lines.every((line) => line.includes('pipeline="p"'))).toBe(true);
  expect(parseExposition(text).size).toBe(lines.length);
});

test('FR-44 the share of rows that can be read again, and the rows that can not', async () => {
  const part = { table: 'cur', keys: 1, generation: 0, atMs: 0 };
  const quiet = new WatchedService({
    memory: world(),
    readable: () => [
      { ...part, partition: 0, rows: 60, lost: 10, atRisk: 0 },
      { ...part, partition: 1, rows: 40, lost: 0, atRisk: 15 },
    ],
  });
  services.push(quiet);
  const series = await quiet.scrape();
  expect(series.get('tidemark_table_unreadable_rows{table="cur"}')).toBe(10);
  expect(series.get('tidemark_table_readable_ratio{table="cur"}')).toBe(0.75);
});

describe('what was in a table and is not any more', () => {
  const order = (memory: MemoryLog, region: string, item: string, seq: number): void => {
    const value = JSON.stringify({ region, item, qty: 1, seq });
    memory.produce('orders', 0, { value });
  };
  const replaced = (series: ReadonlyMap<string, number>): readonly (number | undefined)[] =>
    ['row_sets_replaced_total', 'rows_retracted_total'].map((name) =>
      series.get(`tidemark_${name}{flow="cur"}`),
    );

  test.each([
    ['row_set', ''],
    ['rows', ", output = 'rows'"],
  ])(
    'a row-set that stood goes with its rows; what joins or comes late takes none away (%s)',
    async (_, option) => {
      const memory = world();
      const plan = watchedPlan(watchedSql.replace("= 'bad'", `= 'bad'${option}`));
      const one = await service({ memory, plan });
      for (const item of ['a', 'b', 'c']) order(memory, 'EU', item, 1);
      order(memory, 'US', 'a', 5);
      await one.caughtUp(4);
      expect(replaced(await one.scrape())).toEqual([0, 0]);
      order(memory, 'EU', 'd', 1);
      order(memory, 'US', 'late', 4);
      await one.caughtUp(6);
      expect(replaced(await one.scrape())).toEqual([0, 0]);
      order(memory, 'EU', 'e', 2);
      await one.caughtUp(7);
      expect(replaced(await one.scrape())).toEqual([1, 4]);
      order(memory, 'EU', 'f', 2);
      order(memory, 'US', 'b', 6);
      await one.caughtUp(9);
      expect(replaced(await one.scrape())).toEqual([2, 5]);
      order(memory, 'EU', 'g', 3);
      order(memory, 'EU', 'h', 3);
      await one.caughtUp(11);
      expect(replaced(await one.scrape())).toEqual([3, 7]);
    },
  );
});

test('dead letters are counted by what was wrong with them', async () => {
  const memory = world();
  memory.produce('orders', 0, { value: 'no JSON' });
  memory.produce('orders', 0, { value: '{"region":"EU","item":"a","qty":1,"seq":null}' });
  memory.produce('orders', 1, { value: '{"region":"EU","item":"a","qty":"x","seq":1}' });
  memory.produce('orders', 1, { value: '{"region":"EU","item":"a","qty":2147483647,"seq":1}' });
  const sql = watchedSql.replace('item, qty, seq FROM', 'item, qty + 1 AS qty, seq FROM');
  const one = await service({ memory, plan: watchedPlan(sql) });
  await one.caughtUp(4);
  const series = await one.scrape();
  const counted = deadLetterReasons.map((reason) => [reason, series.get(deadLetters(reason))]);
  expect(Object.fromEntries(counted)).toEqual({
    deserialize: 1,
    schema: 1,
    key_null: 0,
    sequence_null: 1,
    expression: 1,
  });
  expect(series.get(deadLetters('skipped'))).toBe(0);
  expect(deadLetterReason('NULL_KEY')).toBe('key_null');
});

test('the age that is fine, the update that runs, and the rows that are held', async () => {
  const part = { table: 'cur', keys: 1, generation: 0, atMs: 0, lost: 0, atRisk: 0 };
  const quiet = new WatchedService({
    memory: world(),
    readable: () => [
      { ...part, partition: 0, rows: 60 },
      { ...part, partition: 1, rows: 40 },
    ],
  });
  services.push(quiet);
  const update = (mode: string, result: string): string =>
    `tidemark_updates_total{mode="${mode}",result="${result}"}`;
  const series = await quiet.scrape();
  expect(series.get('tidemark_freshness_objective_seconds{flow="cur"}')).toBe(60);
  expect(series.get('tidemark_state_rows{flow="cur"}')).toBe(100);
  expect(series.get(update('continuous', 'started'))).toBe(1);
  expect(series.get(update('continuous', 'completed'))).toBe(0);
  expect(series.get(update('triggered', 'started'))).toBe(0);
  quiet.metrics.ended('failed');
  expect((await quiet.scrape()).get(update('continuous', 'failed'))).toBe(1);
});

test('a flow that runs once says when it has, and that it runs once more', async () => {
  const plan =
    watchedPlan(`CREATE STREAMING TABLE cur (region STRING, item STRING, qty INT, seq BIGINT);
    CREATE FLOW backfill AS INSERT INTO ONCE cur BY NAME SELECT region, item, qty, seq FROM orders;
    CREATE FLOW live AS INSERT INTO cur BY NAME SELECT region, item, qty, seq FROM STREAM(orders);`);
  const memory = world();
  produce(memory, 0, 10);
  const one = await service({ memory, plan });
  const done = async (): Promise<readonly (number | undefined)[]> => {
    const series = await one.scrape();
    return ['backfill', 'live'].map((flow) => series.get(`tidemark_once_done{flow="${flow}"}`));
  };
  expect(await done()).toEqual([0, undefined]);
  const catalog = new Catalog(memory.connect(), 'p.catalog');
  const watch = new RefreshWatch({
    catalog,
    onceFlows: plan.flows.filter(({ once }) => once === true),
    onLook: ({ onceDone }) => one.metrics.onceDone(onceDone),
  });
  await expect
    .poll(async () => {
      await watch.look();
      return done();
    })
    .toEqual([1, undefined]);
  one.metrics.onceDone(new Set());
  expect(await done()).toEqual([0, undefined]);
  await watch.close();
  await catalog.close();
});
