import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { type ServiceProcess, sleep, until } from '../support/service-process.ts';
import { ServiceWorld } from '../support/service-world.ts';
import { freePort } from '../support/services.ts';
import { parseExposition } from '../support/watched-service.ts';
import { workload } from '../support/workload.ts';

let world: ServiceWorld | undefined;

afterEach(async () => {
  await world?.close();
  world = undefined;
});

async function openWorld(): Promise<ServiceWorld> {
  const [brokers, redisUrl] = [inject('kafkaBrokers'), inject('redisUrl')];
  world = await ServiceWorld.open({ brokers, redisUrl });
  return world;
}

type Shown = { readonly service: ServiceProcess; readonly url: string };

async function serve(
  of: ServiceWorld,
  instance: string,
  options: Readonly<Record<string, string | number | boolean>> = {},
): Promise<Shown> {
  const port = await freePort();
  const service = of.service(instance, {
    options: { 'http.enabled': 'true', 'http.port': port, ...options },
  });
  return { service: service.start(), url: `http://127.0.0.1:${port}` };
}

/** 0: nobody answers. */
async function status(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const response = await fetch(url, { headers }).catch(() => undefined);
  await response?.arrayBuffer();
  return response?.status ?? 0;
}

async function ready({ url, service }: Shown): Promise<void> {
  await until('the instance is ready', async () => (await status(`${url}/readyz`)) === 200, {
    withinMs: 60_000,
    onFailure: () => service.tail(),
  });
}

async function json(url: string): Promise<Record<string, unknown>> {
  return (await (await fetch(url)).json()) as Record<string, unknown>;
}

async function metrics({ url }: Shown, pipeline: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return parseExposition(text.replaceAll(`pipeline="${pipeline}"`, 'pipeline="p"'));
}

describe('an instance on a real Kafka and Redis', () => {
  test('P085 its only flow can not go on: it stays, alive and not ready, and tells why until it is stopped', async () => {
    const of = await openWorld();
    await of.produce(workload({ seed: 7, records: 400, partitions: 4, keys: 50 }));
    const before = await serve(of, 'a');
    await ready(before);
    await of.caughtUp();
    expect((await before.service.end('SIGTERM')).code).toBe(0);
    await of.produce(workload({ seed: 8, records: 400, partitions: 4, keys: 50 }));
    const ends = await of.log.offsetRanges(of.source, [0]);
    await of.log.deleteRecords(of.source, new Map([[0, ends.get(0)?.end ?? 0]]));
    const shown = await serve(of, 'a', { 'retry.afterFailure': 'stay' });
    const failed = 'tidemark_flow_failed{flow="cur"}';
    await until(
      'the metrics tell of the flow',
      async () =>
        (await status(`${shown.url}/readyz`)) === 503 &&
        (await metrics(shown, of.pipeline)).get(failed) === 1,
      { withinMs: 60_000, onFailure: () => shown.service.tail() },
    );
    // Until the worker is over; looks at the log and the catalog go on, and must not fail for that.
    await sleep(3_000);
    expect(await status(`${shown.url}/livez`)).toBe(200);
    expect(await status(`${shown.url}/startupz`)).toBe(200);
    const flow = await json(`${shown.url}/v1/flows/cur`);
    expect(JSON.stringify(flow)).toContain('OFFSET_OUT_OF_RANGE');
    expect(shown.service.tail(400)).not.toMatch(/"level":"fatal"|could not be looked at/);
    expect((await shown.service.end('SIGTERM')).code).toBe(1);
  });

  test('P123 counts what Kafka holds, and control records are no lag', async () => {
    const of = await openWorld();
    await of.produce(workload({ seed: 1, records: 3_000, partitions: 4, keys: 100 }));
    const shown = await serve(of, 'a');
    await ready(shown);
    await of.caughtUp();
    const source = `{flow="cur",source="${of.source}"}`;
    await until('everything is counted', async () => {
      const series = await metrics(shown, of.pipeline);
      return series.get(`tidemark_input_records_total${source}`) === 3_000;
    });
    // A transaction of nothing but a marker between the stages, and time for the lag to show it.
    await sleep(500);
    const series = await metrics(shown, of.pipeline);
    expect(series.get(`tidemark_source_lag_records${source}`)).toBe(0);
    expect(series.get('tidemark_table_lag_records{flow="cur"}')).toBe(0);
    expect(series.get('tidemark_row_account_difference{flow="cur"}')).toBe(0);
    expect(series.get('tidemark_assigned_partitions{flow="cur",stage="source"}')).toBe(4);
    const keyed = [...series].filter(([name]) => name.startsWith('tidemark_keyed_rows_total'));
    const handedOn = series.get(`tidemark_handed_on_rows_total${source}`);
    expect(keyed.reduce((sum, [, value]) => sum + value, 0)).toBe(handedOn);
    expect(series.get('tidemark_state_store_up{store="redis"}')).toBe(1);
    const reads = 'tidemark_state_store_operation_duration_seconds_count{store="redis",op="read"}';
    expect(series.get(reads)).toBeGreaterThan(0);
    await of.check();
  });

  test('two instances count each record once, and answer alike for the keys of the other', async () => {
    const of = await openWorld();
    await of.rows(0, ['EU', 'a', 1, 1], ['US', 'b', 1, 1], ['AS', 'c', 1, 1], ['AF', 'd', 1, 1]);
    const first = await serve(of, 'a');
    await ready(first);
    const second = await serve(of, 'b');
    await ready(second);
    const records = workload({ seed: 2, records: 2_000, partitions: 4, keys: 50 });
    await of.produce(records);
    await of.caughtUp();
    const expected = records.length + 4;
    const name = `tidemark_input_records_total{flow="cur",source="${of.source}"}`;
    const counted = async (): Promise<number> => {
      const all = await Promise.all([first, second].map((one) => metrics(one, of.pipeline)));
      return all.reduce((sum, series) => sum + (series.get(name) ?? 0), 0);
    };
    await until('everything is counted', async () => (await counted()) >= expected);
    await sleep(300);
    expect(await counted()).toBe(expected);
    const from = new Set<unknown>();
    for (const region of ['EU', 'US', 'AS', 'AF']) {
      const path = `/v1/tables/cur/rows?key=${region}`;
      const { readFrom, ...left } = await json(first.url + path);
      const { readFrom: otherwise, ...right } = await json(second.url + path);
      expect(left).toEqual(right);
      expect(new Set([readFrom, otherwise])).toEqual(new Set(['state', 'log']));
      from.add(readFrom);
    }
    expect(from.size).toBeGreaterThan(0);
  });

  test('it is not ready while it restores, and ready after that', async () => {
    const of = await openWorld();
    await of.produce(workload({ seed: 3, records: 60_000, partitions: 4, keys: 50_000 }));
    const first = await serve(of, 'a');
    await ready(first);
    await of.caughtUp();
    await first.service.end('SIGTERM');
    const redis = new Redis(inject('redisUrl'));
    const keys = await redis.keys(`*${of.pipeline}*`);
    expect(keys.length).toBeGreaterThan(0);
    await redis.del(...keys);
    redis.disconnect();
    const second = await serve(of, 'a');
    const reasons = new Set<string>();
    const seen: number[] = [];
    await until(
      'the restore is over',
      async () => {
        const response = await fetch(`${second.url}/readyz`).catch(() => undefined);
        if (response === undefined) return false;
        seen.push(response.status);
        for (const reason of ((await response.json()) as { reasons: string[] }).reasons) {
          reasons.add(reason);
        }
        expect(await status(`${second.url}/healthz`)).toBe(200);
        return response.status === 200;
      },
      { everyMs: 5, onFailure: () => second.service.tail() },
    );
    expect(seen.filter((one) => one === 200)).toHaveLength(1);
    expect([...reasons].join('; ')).toMatch(/restores its state/);
    const series = await metrics(second, of.pipeline);
    expect(series.get('tidemark_state_rebuilds_total{flow="cur",reason="empty"}')).toBe(4);
    expect(series.get('tidemark_state_rebuild_records_total{flow="cur"}')).toBeGreaterThan(10_000);
    expect(series.get('tidemark_restoring_partitions{flow="cur"}')).toBe(0);
    await of.check();
  });

  test('beyond loopback data needs the token of the file, as it is now', async () => {
    const of = await openWorld();
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-token-'));
    try {
      const file = join(folder, 'token');
      writeFileSync(file, 'first\n');
      const shown = await serve(of, 'a', { 'http.host': '0.0.0.0', 'http.tokenFile': file });
      await ready(shown);
      const asking = (token: string): Promise<number> =>
        status(`${shown.url}/v1/pipeline`, { authorization: `Bearer ${token}` });
      expect(await status(`${shown.url}/v1/pipeline`)).toBe(401);
      expect(await asking('first')).toBe(200);
      expect(await status(`${shown.url}/metrics`)).toBe(200);
      await sleep(20);
      writeFileSync(file, 'second\n');
      expect(await asking('first')).toBe(401);
      expect(await asking('second')).toBe(200);
      expect(shown.service.stderr).not.toContain('first');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('while Kafka cannot be reached it is alive, not started and not ready, and says what it waits for', async () => {
    const of = await openWorld();
    const nowhere = `127.0.0.1:${await freePort()}`;
    const shown = await serve(of, 'a', {
      'kafka.brokers': nowhere,
      'retry.startTimeoutMs': 60_000,
    });
    await until('it answers', async () => (await status(`${shown.url}/healthz`)) === 200);
    expect(await status(`${shown.url}/startupz`)).toBe(503);
    const answer = await fetch(`${shown.url}/readyz`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      status: 'failing',
      reasons: [expect.stringContaining('waited for') as string],
    });
    expect(await status(`${shown.url}/v1/tables/cur/rows?key=EU`)).toBe(503);
    expect(await json(`${shown.url}/v1/pipeline`)).toMatchObject({ state: 'connecting' });
    expect(await status(`${shown.url}/metrics`)).toBe(200);
    expect((await shown.service.end('SIGTERM')).code).toBe(0);
  });

  test('a port that is taken ends a run that insists on it, and no other', async () => {
    const of = await openWorld();
    const first = await serve(of, 'a');
    await ready(first);
    const port = Number(new URL(first.url).port);
    const second = of
      .service('b', { options: { 'http.enabled': 'true', 'http.port': port } })
      .start();
    expect((await second.exited()).code).toBe(2);
    expect(second.stderr).toContain('http.port');
    const third = of
      .service('c', { options: { 'http.enabled': 'auto', 'http.port': port } })
      .start();
    await third.isAssigned();
    expect(third.isRunning).toBe(true);
    expect(third.stderr).toContain('goes on without it');
  });

  test('an update beside a service, as in its pod, finds its port taken and goes on without it', async () => {
    const of = await openWorld();
    const first = await serve(of, 'a');
    await ready(first);
    const port = Number(new URL(first.url).port);
    const options = { 'http.enabled': 'true', 'http.port': port };
    const update = of.service('b', { options, once: true }).start();
    expect((await update.exited()).code).toBe(0);
    expect(update.stderr).toContain('goes on without it');
  });

  test('it answers until its last commit, and leaves with 0', async () => {
    const of = await openWorld();
    const shown = await serve(of, 'a');
    await ready(shown);
    await of.produce(workload({ seed: 4, records: 20_000, partitions: 4, keys: 100 }));
    shown.service.signal('SIGTERM');
    const statuses = new Set<number>();
    while (shown.service.isRunning) {
      statuses.add(await status(`${shown.url}/readyz`));
      await sleep(2);
    }
    expect([...statuses]).not.toContain(500);
    expect((await shown.service.exited()).code).toBe(0);
    const again = await serve(of, 'a');
    await ready(again);
    await of.caughtUp();
    await of.check();
  });
});
