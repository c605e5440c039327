import { afterEach, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../../src/adapters/http/openapi.ts';
import { serviceRoutes } from '../../../src/adapters/http/service-routes.ts';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { MemoryStateStore } from '../../../src/adapters/memory/memory-state-store.ts';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { FlowError } from '../../../src/base/errors.ts';
import type { StartVerb, VerbOutcome } from '../../../src/cli/verb-process.ts';
import { schemaFaults } from '../../support/json-schema.ts';
import {
  type WatchedOptions,
  WatchedService,
  watchedPlan,
  watchedSql,
} from '../../support/watched-service.ts';

type Node = Readonly<Record<string, unknown>>;

const services: WatchedService[] = [];

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.stop()));
});

function world(): MemoryLog {
  const memory = new MemoryLog({ clock: systemClock });
  memory.createTopic('orders', 2);
  return memory;
}

function order(memory: MemoryLog, region: string, item: string, seq: number): void {
  memory.produce('orders', 0, { value: JSON.stringify({ region, item, qty: 1, seq }) });
}

async function serve(
  options: WatchedOptions,
  records = 0,
): Promise<{ readonly service: WatchedService; readonly url: string }> {
  const service = new WatchedService(options);
  services.push(service);
  await service.start();
  const url = await service.serve();
  await service.caughtUp(records);
  return { service, url };
}

async function answer(url: string): Promise<Node> {
  const response = await fetch(url);
  expect(response.headers.get('content-type')).toBe('application/json');
  return (await response.json()) as Node;
}

const document = openApiDocument('1.2.3');

describe('OpenAPI', () => {
  test('has exactly the paths, parameters and protection of the routes', () => {
    const service = new WatchedService({ memory: world() });
    services.push(service);
    const routes = serviceRoutes(service.views, '1.2.3');
    const paths = document['paths'] as Record<string, Record<string, Node>>;
    expect(Object.keys(paths).sort()).toEqual(routes.map(({ path }) => path).sort());
    for (const { method, path, access, query } of routes) {
      expect(Object.keys(paths[path] ?? {})).toEqual([method.toLowerCase()]);
      const operation = paths[path]?.[method.toLowerCase()] ?? {};
      expect('requestBody' in operation).toBe(method === 'POST');
      const parameters = (operation['parameters'] ?? []) as { name: string; in: string }[];
      const named = (where: string): string[] =>
        parameters.filter((one) => one.in === where).map(({ name }) => name);
      expect(named('query')).toEqual([...query]);
      expect(named('path')).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
      expect((operation['security'] as unknown[]).length > 0).toBe(access === 'guarded');
    }
  });

  test('every reference in it leads somewhere', () => {
    const schemas = (document['components'] as { schemas: Node }).schemas;
    const refs = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)];
    expect(refs.length).toBeGreaterThan(10);
    for (const [, name] of refs) expect(schemas).toHaveProperty(name ?? '');
  });

  test('answers fit its schemas', async () => {
    const memory = world();
    for (let seq = 0; seq < 20; seq += 1) order(memory, `R${seq % 3}`, `i${seq}`, seq);
    const { url } = await serve({ memory }, 20);
    const asked: Readonly<Record<string, string>> = {
      '/v1/flows/{flow}': '/v1/flows/CUR',
      '/v1/tables/{table}': '/v1/tables/cur',
      '/v1/tables/{table}/rows': '/v1/tables/cur/rows?key=R1',
    };
    const paths = document['paths'] as Record<string, { get?: Node }>;
    for (const [path, { get }] of Object.entries(paths)) {
      if (path === '/metrics' || path.endsWith('/why') || get === undefined) continue;
      const responses = get['responses'] as Record<string, { content: Record<string, Node> }>;
      const schema = responses['200']?.content['application/json']?.['schema'] as Node;
      expect(schemaFaults(schema, await answer(`${url}${asked[path] ?? path}`), document)).toEqual(
        [],
      );
    }
    const refused = await fetch(`${url}/v1/tables/nothing`);
    const problem = { $ref: '#/components/schemas/Problem' };
    expect(schemaFaults(problem, await refused.json(), document)).toEqual([]);
  });

  test('is served as it is', async () => {
    const { url } = await serve({ memory: world() });
    expect(await answer(`${url}/openapi.json`)).toEqual(JSON.parse(JSON.stringify(document)));
  });
});

describe('rows', () => {
  const rowsOf = async (url: string, key: string): Promise<Node> =>
    answer(`${url}/v1/tables/cur/rows?key=${encodeURIComponent(key)}`);

  test('come from the state of this instance, ties and sources included', async () => {
    const memory = world();
    order(memory, 'EU', 'old', 1);
    order(memory, 'EU', 'a', 2);
    order(memory, 'EU', 'b', 2);
    order(memory, 'US', 'c', 9);
    const { url } = await serve({ memory }, 4);
    expect(await rowsOf(url, '{"region":"EU"}')).toMatchObject({
      key: { region: 'EU' },
      sequence: 2,
      readFrom: 'state',
      rows: [
        { region: 'EU', item: 'a', qty: 1, seq: 2 },
        { region: 'EU', item: 'b', qty: 1, seq: 2 },
      ],
      sources: [
        { row: 0, topic: 'orders', partition: 0, offset: 1 },
        { row: 1, topic: 'orders', partition: 0, offset: 2 },
      ],
    });
    expect(await rowsOf(url, 'US')).toMatchObject({ sequence: 9, rows: [{ item: 'c' }] });
    expect(await rowsOf(url, 'nobody')).toMatchObject({ sequence: null, rows: [], sources: [] });
  });

  test('keep every digit of a number that JavaScript would round', async () => {
    const memory = world();
    memory.produce('orders', 0, {
      value: '{"region":"EU","item":"a","qty":1,"seq":9007199254740993}',
    });
    const { url } = await serve({ memory }, 1);
    const response = await fetch(`${url}/v1/tables/cur/rows?key=EU`);
    const text = await response.text();
    expect(text).toContain('"sequence":9007199254740993');
    expect(text).toContain('"seq":9007199254740993');
  });

  test('come from the output topic where the state has no whole rows', async () => {
    const memory = world();
    order(memory, 'EU', 'a', 2);
    order(memory, 'EU', 'b', 2);
    const sql = watchedSql.replace("'bad'", "'bad', output = 'rows'");
    const { url } = await serve({ memory, plan: watchedPlan(sql) }, 2);
    expect(await rowsOf(url, 'EU')).toMatchObject({
      readFrom: 'log',
      sequence: 2,
      rows: [{ item: 'a' }, { item: 'b' }],
    });
  });

  test('of a state that was lost are no answer, and the worker rebuilds it', async () => {
    const memory = world();
    const state = new MemoryStateStore();
    order(memory, 'EU', 'a', 1);
    const { service, url } = await serve({ memory, state }, 1);
    state.flush();
    const response = await fetch(`${url}/v1/tables/cur/rows?key=EU`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      code: 'TASK_CORRUPTED',
      remedy: 'rebuild-state',
    });
    order(memory, 'EU', 'b', 2);
    await service.caughtUp(2);
    await expect
      .poll(async () => (await fetch(`${url}/v1/tables/cur/rows?key=EU`)).status, {
        timeout: 5_000,
      })
      .toBe(200);
    expect(await rowsOf(url, 'EU')).toMatchObject({ rows: [{ item: 'b' }] });
  });

  test('an image of the state that came back is not written on top of', async () => {
    const memory = world();
    const state = new MemoryStateStore();
    const { service, url } = await serve({ memory, state });
    order(memory, 'EU', 'a', 1);
    await service.caughtUp(1);
    const partitions = [0, 1].map((partition) => ({
      pipeline: 'p',
      flow: 'cur',
      generation: 0,
      partition,
    }));
    await expect.poll(() => rowsOf(url, 'EU')).toMatchObject({ rows: [{ item: 'a' }] });
    const images = partitions.map((task) => state.image(task));
    order(memory, 'EU', 'b', 2);
    order(memory, 'AS', 'c', 2);
    await service.caughtUp(3);
    await expect.poll(() => rowsOf(url, 'EU')).toMatchObject({ rows: [{ item: 'b' }] });
    for (const [index, task] of partitions.entries()) state.restore(task, images[index]);
    // The session sees the older mark here; a write that went on from it would lose region AS.
    await Promise.all(['EU', 'AS'].map((key) => fetch(`${url}/v1/tables/cur/rows?key=${key}`)));
    order(memory, 'EU', 'd', 3);
    await service.caughtUp(4);
    await expect.poll(() => rowsOf(url, 'AS')).toMatchObject({ rows: [{ item: 'c' }] });
    await expect.poll(() => rowsOf(url, 'EU')).toMatchObject({ rows: [{ item: 'd' }] });
  });

  test.each([
    ['/v1/tables/cur/rows', 400],
    ['/v1/tables/cur/rows?key=%7B%22item%22%3A1%7D', 200],
    ['/v1/tables/cur/rows?key=%7B%22region%22%3A1%2C%22x%22%3A2%7D', 400],
    ['/v1/tables/other/rows?key=1', 404],
  ])('%s is answered with %i', async (path, status) => {
    const { url } = await serve({ memory: world() });
    expect((await fetch(`${url}${path}`)).status).toBe(status);
  });
});

test('P127 a flow that sets rows aside tells how many, and the last one with its offset and why', async () => {
  const memory = world();
  order(memory, 'EU', 'a', 1);
  memory.produce('orders', 0, { value: 'not json{' });
  memory.produce('orders', 0, { value: '{"region":{"x":1},"item":"b","qty":1,"seq":2}' });
  const { service, url } = await serve({ memory }, 3);
  expect(await answer(`${url}/v1/flows/cur`)).toMatchObject({
    state: 'running',
    account: { records: 3, deadLettered: 2 },
    lastBadRow: { topic: 'orders', partition: 0, offset: 2, errorClass: 'VALUE_DOES_NOT_FIT' },
  });
  const series = await service.scrape();
  expect(
    series.get('tidemark_dead_letter_records_total{flow="cur",source="orders",reason="schema"}'),
  ).toBe(1);
});

describe('gaps and events', () => {
  test('a gap that stops a flow is listed, and the flow tells its error', async () => {
    const memory = world();
    const state = new MemoryStateStore();
    for (let seq = 0; seq < 4; seq += 1) order(memory, 'EU', `i${seq}`, seq);
    const first = await serve({ memory, state }, 4);
    await first.service.stop();
    services.splice(0);
    for (let seq = 4; seq < 10; seq += 1) order(memory, 'EU', `i${seq}`, seq);
    await memory.connect().deleteRecords('orders', new Map([[0, 8]]));
    const second = new WatchedService({ memory, state });
    services.push(second);
    await second.start();
    const url = await second.serve();
    await expect
      .poll(async () => (await answer(`${url}/v1/flows/cur`))['state'], { timeout: 5_000 })
      .toBe('failed');
    expect(await answer(`${url}/v1/gaps`)).toMatchObject({
      gaps: [
        {
          kind: 'expired',
          topic: 'orders',
          from: 4,
          to: 8,
          lostRecords: 4,
          acceptedAt: null,
          refreshedAt: null,
        },
      ],
    });
    expect(await answer(`${url}/v1/flows/cur`)).toMatchObject({
      error: { code: 'OFFSET_OUT_OF_RANGE' },
    });
    const ready = await fetch(`${url}/readyz`);
    expect(ready.status).toBe(503);
  });

  test('events are told in order, by flow and from an id on', async () => {
    const { service, url } = await serve({ memory: world() });
    for (const partition of [0, 1, 2]) {
      service.events.hear(
        { event: 'restoring', flow: 'CUR', partition, cause: 'empty', reason: 'a test' },
        0,
      );
    }
    const all = (await answer(`${url}/v1/events?flow=cur`))['events'] as { id: number }[];
    expect(all.length).toBeGreaterThanOrEqual(3);
    const last = all.at(-1)?.id ?? 0;
    const some = await answer(`${url}/v1/events?flow=cur&after=${last - 2}&limit=1`);
    expect(some).toMatchObject({ events: [{ id: last, event: 'restoring', partition: 2 }] });
    expect((await fetch(`${url}/v1/events?limit=1001`)).status).toBe(400);
    expect((await fetch(`${url}/v1/events?after=-1`)).status).toBe(400);
  });
});

test('/metrics is what Prometheus takes, and counts the answers', async () => {
  const { url } = await serve({ memory: world() });
  await fetch(`${url}/nothing`);
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(await response.text()).toContain(
    'tidemark_http_requests_total{status="4xx",pipeline="p"} 1',
  );
});

describe('why', () => {
  const asked = async (
    outcome: Partial<VerbOutcome>,
  ): Promise<readonly [number, string, unknown]> => {
    const args: unknown[] = [];
    const startVerb: StartVerb = (given) => {
      args.push(...given);
      const ended = Promise.resolve({ exitCode: 0, out: '', error: undefined, ...outcome });
      return { ended, stop: () => undefined };
    };
    const { url } = await serve({ memory: world(), startVerb });
    const response = await fetch(
      `${url}/v1/tables/CUR/why?key=${encodeURIComponent('{"region":"R"}')}`,
    );
    return [response.status, await response.text(), args];
  };

  test('gives what the verb prints, digit for digit', async () => {
    const [status, text, args] = await asked({ out: '{"sequence":9007199254740993}\n' });
    expect([status, text]).toEqual([200, '{"sequence":9007199254740993}\n']);
    expect(args).toEqual(['why', 'cur', '{"region":"R"}']);
  });

  test('says so where this version cannot tell', async () => {
    const error = new FlowError('USAGE', 'the verb "why" is not built yet');
    const [status, text] = await asked({ exitCode: 2, error });
    expect([status, JSON.parse(text)]).toMatchObject([501, { code: 'NOT_BUILT' }]);
  });
});

describe('refresh', () => {
  const post = (url: string, body: unknown, type = 'application/json'): Promise<Response> =>
    fetch(`${url}/v1/tables/CUR/refresh`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  /** Runs of the verb end when the test says so. */
  function verbs(): {
    readonly startVerb: StartVerb;
    readonly asked: (readonly string[])[];
    end(outcome: Partial<VerbOutcome>): void;
  } {
    const asked: (readonly string[])[] = [];
    const ends: ((outcome: VerbOutcome) => void)[] = [];
    return {
      asked,
      startVerb: (args) => {
        asked.push(args);
        return { ended: new Promise((resolve) => ends.push(resolve)), stop: () => undefined };
      },
      end: (outcome) => ends.shift()?.({ exitCode: 0, out: '', error: undefined, ...outcome }),
    };
  }

  test('FR-05 plan gives what the verb prints; nothing but what the schema has is taken', async () => {
    const { startVerb, asked, end } = verbs();
    const { url } = await serve({ memory: world(), startVerb });
    const planned = post(url, { action: 'plan' });
    await expect.poll(() => asked.length).toBe(1);
    end({ out: '{"table":"cur","lossless":true}' });
    expect(await (await planned).json()).toEqual({ table: 'cur', lossless: true });
    expect(asked).toEqual([['refresh', 'cur', '--plan']]);
    for (const [body, status] of [
      [{ action: 'everything' }, 400],
      [{}, 400],
      [{ action: 'plan', force: true }, 400],
      [{ action: 'start', allowLoss: 'yes' }, 400],
      ['no JSON', 400],
      [`"${'x'.repeat(20_000)}"`, 413],
    ] as const) {
      expect((await post(url, body)).status).toBe(status);
    }
    expect((await post(url, { action: 'plan' }, 'text/plain')).status).toBe(415);
    expect(asked).toHaveLength(1);
  });

  test('FR-10 start is refused where the verb refuses, and where one is under way already', async () => {
    const { startVerb, asked, end } = verbs();
    const { url, service } = await serve({ memory: world(), startVerb });
    const first = post(url, { action: 'start', inPlace: true, allowLoss: true });
    await expect.poll(() => asked.length).toBe(1);
    expect(asked[0]).toEqual(['refresh', 'cur', '--yes', '--in-place', '--allow-loss']);
    const second = await post(url, { action: 'start' });
    expect([second.status, (await second.json()) as Node]).toMatchObject([
      409,
      { code: 'CONFLICT' },
    ]);
    expect(service.views.table('cur')).toMatchObject({ refresh: { state: 'running' } });
    const error = new FlowError('DATA_LOSS_REFUSED', 'rows would be lost', { hint: 'Look first.' });
    end({ exitCode: 4, error });
    const refused = (await (await first).json()) as Node;
    expect(refused).toMatchObject({ status: 409, code: 'DATA_LOSS_REFUSED', hint: 'Look first.' });
    expect(service.views.table('cur')).toMatchObject({
      refresh: { state: 'failed', error: 'rows would be lost' },
    });
  });

  test('FR-34 one that takes long is answered with 202 and goes on', async () => {
    const { startVerb, end } = verbs();
    const { url, service } = await serve({ memory: world(), startVerb, httpTimeoutMs: 100 });
    const answered = await post(url, { action: 'start' });
    expect([answered.status, await answered.json()]).toMatchObject([
      202,
      { table: 'cur', state: 'running', endedAt: null },
    ]);
    end({ out: '{}' });
    await expect
      .poll(() => service.views.table('cur'))
      .toMatchObject({ refresh: { state: 'done' } });
  });
});
