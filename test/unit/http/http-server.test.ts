import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { HttpProblem } from '../../../src/adapters/http/http-problem.ts';
import {
  type HttpServer,
  type HttpServerOptions,
  startHttpServer,
} from '../../../src/adapters/http/http-server.ts';
import type { Route } from '../../../src/adapters/http/route-table.ts';
import { FlowError } from '../../../src/base/errors.ts';

const servers: HttpServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

type Handle = Route['handle'];

function route(path: string, handle: Handle, more: Partial<Route> = {}): Route {
  return { method: 'GET', path, access: 'guarded', query: [], handle, ...more };
}

const text = (body: string): ReturnType<Handle> => ({
  status: 200,
  contentType: 'text/plain',
  body,
});

async function serve(
  routes: readonly Route[],
  options: Partial<HttpServerOptions> = {},
): Promise<{ url: string; server: HttpServer; statuses: number[]; bugs: unknown[] }> {
  const statuses: number[] = [];
  const bugs: unknown[] = [];
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    routes,
    token: () => undefined,
    handlerTimeoutMs: 1_000,
    requestsPerSecondMax: 1_000,
    onAnswer: (status) => statuses.push(status),
    onBug: (error) => bugs.push(error),
    ...options,
  });
  servers.push(server);
  return { url: `http://127.0.0.1:${server.port}`, server, statuses, bugs };
}

/** A request with headers that fetch does not let anybody set. */
function raw(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.setTimeout(5_000, () => socket.destroy());
    socket.on('data', (bytes) => {
      answer += bytes.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

async function problem(response: Response): Promise<Record<string, unknown>> {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const document = (await response.json()) as Record<string, unknown>;
  expect(document['status']).toBe(response.status);
  expect(document['type']).toBe(`urn:tidemark:error:${String(document['code'])}`);
  return document;
}

test('a route answers with its parameters decoded; HEAD has no body', async () => {
  const { url } = await serve([
    route('/a/{name}/{other}', ({ params }) => text(JSON.stringify(params))),
    route('/a/{name}/fixed', () => text('fixed')),
  ]);
  const response = await fetch(`${url}/a/x%2Fy%20z/w`);
  expect(await response.json()).toEqual({ name: 'x/y z', other: 'w' });
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(await (await fetch(`${url}/a/x/fixed`)).text()).toBe('fixed');
  const head = await fetch(`${url}/a/x/y`, { method: 'HEAD' });
  expect(head.status).toBe(200);
  expect(head.headers.get('content-length')).toBe('24');
  expect(await head.text()).toBe('');
});

test.each([
  ['/nothing', 404, 'NOT_FOUND'],
  ['/a/', 404, 'NOT_FOUND'],
  ['/a/%E0%A4%A', 400, 'BAD_REQUEST'],
  ['/a/x?what=1', 400, 'BAD_REQUEST'],
  ['/a/x?key=1&key=2', 400, 'BAD_REQUEST'],
])('%s is refused with %i and a problem document', async (path, status, code) => {
  const { url, statuses } = await serve([route('/a/{name}', () => text(''), { query: ['key'] })]);
  const response = await fetch(`${url}${path}`);
  expect(response.status).toBe(status);
  expect(await problem(response)).toMatchObject({ code });
  expect(statuses).toEqual([status]);
});

test('another method is refused with the ones that are allowed', async () => {
  const { url } = await serve([route('/a', () => text(''))]);
  const response = await fetch(`${url}/a`, { method: 'DELETE' });
  expect(response.status).toBe(405);
  expect(response.headers.get('allow')).toBe('GET, HEAD');
  await problem(response);
});

test('an error of ours becomes a problem with its code, remedy and hint; a bug tells nothing', async () => {
  const { url, bugs } = await serve([
    route('/usage', () => {
      throw new FlowError('USAGE', 'that is no key', {
        hint: 'Write it so.',
        detail: 'It is "x".',
      });
    }),
    route('/away', () => {
      throw new FlowError('STATE_UNAVAILABLE', 'redis is away');
    }),
    route('/bug', () => {
      throw new TypeError('secret of the inside');
    }),
    route('/full', () => {
      throw new HttpProblem('OVERLOADED', 'too much', { headers: { 'retry-after': '1' } });
    }),
  ]);
  const usage = await fetch(`${url}/usage`);
  expect(usage.status).toBe(400);
  expect(await problem(usage)).toEqual({
    type: 'urn:tidemark:error:USAGE',
    title: 'that is no key',
    status: 400,
    code: 'USAGE',
    remedy: 'fix-input',
    detail: 'It is "x".',
    hint: 'Write it so.',
  });
  const away = await fetch(`${url}/away`);
  expect(away.status).toBe(503);
  expect(await problem(away)).toMatchObject({ remedy: 'retry' });
  const bug = await fetch(`${url}/bug`);
  expect(bug.status).toBe(500);
  expect(JSON.stringify(await problem(bug))).not.toContain('secret');
  expect(bugs).toHaveLength(1);
  expect((await fetch(`${url}/full`)).headers.get('retry-after')).toBe('1');
});

test('a handler that takes too long is told off, and the connection is free', async () => {
  const { url } = await serve([route('/slow', () => new Promise(() => undefined))], {
    handlerTimeoutMs: 50,
  });
  const response = await fetch(`${url}/slow`);
  expect(response.status).toBe(504);
  expect(await problem(response)).toMatchObject({
    code: 'TIMEOUT',
    hint: expect.stringContaining('/readyz'),
  });
});

test('guarded routes take the token alone, open ones anybody', async () => {
  let token = 'first';
  const { url } = await serve(
    [route('/data', () => text('data')), route('/open', () => text('open'), { access: 'open' })],
    { token: () => token },
  );
  const asking = (given?: string): Promise<Response> =>
    fetch(`${url}/data`, given === undefined ? {} : { headers: { authorization: given } });
  expect((await fetch(`${url}/open`)).status).toBe(200);
  for (const wrong of [undefined, 'Bearer', 'Bearer second', 'Basic first', 'Bearer first more']) {
    const response = await asking(wrong);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain('Bearer');
    expect(JSON.stringify(await problem(response))).not.toContain('first');
  }
  expect((await asking('Bearer first')).status).toBe(200);
  token = 'second';
  expect((await asking('Bearer first')).status).toBe(401);
  expect((await asking('bearer second')).status).toBe(200);
});

test('without a token only a loopback address serves data, and only by a name of its own', async () => {
  const routes = [route('/data', () => text('data'))];
  const beyond = await serve(routes, { host: '0.0.0.0' });
  const refused = await fetch(`${beyond.url}/data`);
  expect(refused.status).toBe(403);
  expect(await problem(refused)).toMatchObject({ code: 'FORBIDDEN' });
  const local = await serve(routes);
  expect((await fetch(`${local.url}/data`)).status).toBe(200);
  const named = (host: string): Promise<string> =>
    raw(local.server.port, `GET /data HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(await named('localhost:1')).toContain('200 OK');
  expect(await named('evil.example')).toContain('403 Forbidden');
});

test('an address that asks too often has to wait; probes are not held up', async () => {
  const { url } = await serve(
    [route('/data', () => text('')), route('/open', () => text(''), { access: 'open' })],
    { requestsPerSecondMax: 2 },
  );
  const statuses: number[] = [];
  for (let index = 0; index < 6; index += 1) statuses.push((await fetch(`${url}/data`)).status);
  expect(statuses.slice(0, 4)).toEqual([200, 200, 200, 200]);
  expect(statuses.slice(4)).toContain(429);
  const refused = await fetch(`${url}/data`);
  if (refused.status === 429) expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await fetch(`${url}/open`)).status).toBe(200);
});

test('bodies are refused unread, and so are headers without end', async () => {
  const { url, server } = await serve([route('/data', () => text(''))]);
  const body = await raw(
    server.port,
    'GET /data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nabc',
  );
  expect(body).toContain('413 ');
  expect(body.toLowerCase()).toContain('connection: close');
  const long = await raw(
    server.port,
    `GET /data HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
  );
  expect(long).toContain('431 ');
  expect((await fetch(`${url}/data`)).status).toBe(200);
});

test('no more than a bounded number of guarded requests are under way', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { url, statuses: refused } = await serve([
    route('/data', async () => {
      await held;
      return text('');
    }),
  ]);
  const all = Array.from({ length: 40 }, () => fetch(`${url}/data`));
  await expect.poll(() => refused).toEqual(Array.from({ length: 8 }, () => 503));
  release();
  const statuses = (await Promise.all(all)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(32);
  expect(statuses.filter((status) => status === 503)).toHaveLength(8);
});

test('a close lets what is under way end, and takes nothing new', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { url, server } = await serve([
    route('/data', async () => {
      await held;
      return text('done');
    }),
  ]);
  const asked = fetch(`${url}/data`);
  await new Promise((wake) => setTimeout(wake, 50));
  const closing = server.close();
  release();
  const response = await asked;
  expect(await response.text()).toBe('done');
  expect(response.headers.get('connection')).toBe('close');
  await closing;
  await expect(fetch(`${url}/data`)).rejects.toThrow();
});

test('a port that is taken is told with the option that changes it', async () => {
  const { server } = await serve([]);
  await expect(serve([], { port: server.port })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    hint: expect.stringContaining('http.port') as string,
  });
});
