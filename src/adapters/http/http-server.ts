import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { FlowError } from '../../base/errors.ts';
import { HttpProblem, problemDocument } from './http-problem.ts';
import { RateLimiter } from './rate-limiter.ts';
import { type Reply, type Route, RouteTable } from './route-table.ts';

export type HttpServerOptions = {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly routes: readonly Route[];
  /** What guarded routes demand; undefined: there is none. Asked for at each request, so that it may be changed. */
  readonly token: () => string | undefined;
  /** How long a handler may take. */
  readonly handlerTimeoutMs: number;
  /** Guarded requests a second that one address may send. */
  readonly requestsPerSecondMax: number;
  /** Told the status of every answer. */
  readonly onAnswer: (status: number) => void;
  /** Told of what is a bug in a handler. */
  readonly onBug: (error: unknown) => void;
};

export type HttpServer = {
  readonly port: number;
  /** Takes no new requests, lets those under way end, then cuts what is left. */
  close(): Promise<void>;
};

const headerBytesMax = 16 * 1024;
const bodyBytesMax = 16 * 1024;
const connectionsMax = 256;
/** Guarded requests that are under way at once. */
const guardedMax = 32;
const headersTimeoutMs = 5_000;
const keepAliveMs = 5_000;
const closeGraceMs = 2_000;

/**
 * A small server for the service's own interface. Invariants: a request is bounded in size and in time, and an
 * address in its rate; guarded routes answer only to the token, or on a loopback address to a client that names
 * a loopback host; every refusal is a problem document.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  let handler: RequestHandler | undefined;
  const server = createServer(
    {
      maxHeaderSize: headerBytesMax,
      headersTimeout: headersTimeoutMs,
      requestTimeout: headersTimeoutMs * 2,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: 2_000,
    },
    (request, response) => {
      handler?.answer(request, response).catch(options.onBug);
    },
  );
  server.maxConnections = connectionsMax;
  await listen(server, options);
  const { address, port } = server.address() as AddressInfo;
  const bound = new RequestHandler(options, isLoopback(address));
  handler = bound;
  return { port, close: () => close(server, bound) };
}

function listen(server: Server, { host, port }: HttpServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        new FlowError('CONFIG_INVALID', `the HTTP interface cannot listen on ${host}:${port}`, {
          detail:
            cause.code === 'EADDRINUSE' ? 'Another process has the port.' : `${cause.message}.`,
          hint: 'Choose another one with http.port and http.host, or do without it: http.enabled = false.',
          cause,
        }),
      );
    });
    server.listen(port, host, resolve);
  });
}

function close(server: Server, handler: RequestHandler): Promise<void> {
  handler.isClosing = true;
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), closeGraceMs);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}

class RequestHandler {
  /** Connections are not kept alive any more. */
  isClosing = false;
  readonly #options: HttpServerOptions;
  readonly #table: RouteTable;
  readonly #limiter: RateLimiter;
  /** By the address that was bound, not by that of a connection: a proxy in the same pod comes over loopback, too. */
  readonly #isLoopback: boolean;
  #guarded = 0;

  constructor(options: HttpServerOptions, isBoundToLoopback: boolean) {
    this.#options = options;
    this.#isLoopback = isBoundToLoopback;
    this.#table = new RouteTable(options.routes);
    const perSecond = options.requestsPerSecondMax;
    this.#limiter = new RateLimiter({ perSecond, burst: perSecond * 2 });
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let reply: Reply;
    let headers: Readonly<Record<string, string>> = {};
    try {
      const { route, request: asked } = this.#table.match(request.method ?? '', request.url ?? '');
      if (route.method !== 'POST') refuseBody(request);
      const run = async (): Promise<Reply> => {
        const body = route.method === 'POST' ? await readJson(request) : undefined;
        return this.#inTime(route, { ...asked, body });
      };
      reply = route.access === 'open' ? await run() : await this.#guard(request, run);
    } catch (error) {
      if (!(error instanceof HttpProblem) && !(error instanceof FlowError)) {
        this.#options.onBug(error);
      }
      if (error instanceof HttpProblem) ({ headers } = error);
      reply = problemReply(error);
    }
    this.#options.onAnswer(reply.status);
    this.#send(request, response, reply, headers);
  }

  async #guard(request: IncomingMessage, run: () => Promise<Reply>): Promise<Reply> {
    const address = request.socket.remoteAddress ?? '';
    const waitSeconds = this.#limiter.take(address, performance.now());
    if (waitSeconds > 0) {
      throw new HttpProblem('TOO_MANY_REQUESTS', 'this address sends too many requests', {
        hint: `Try again in ${waitSeconds} s. The bound is http.requestsPerSecondMax.`,
        headers: { 'retry-after': String(waitSeconds) },
      });
    }
    this.#authorize(request);
    if (this.#guarded >= guardedMax) {
      throw new HttpProblem('OVERLOADED', 'too many requests are under way', {
        headers: { 'retry-after': '1' },
      });
    }
    this.#guarded += 1;
    try {
      return await run();
    } finally {
      this.#guarded -= 1;
    }
  }

  #authorize({ headers }: IncomingMessage): void {
    const token = this.#options.token();
    if (token === undefined) {
      if (this.#isLoopback) refuseForeignHost(headers.host ?? '');
      else throw noToken();
      return;
    }
    const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
    // Digests are of one length, whatever was sent, and compared in constant time.
    if (!timingSafeEqual(digest(given), digest(token))) throw wrongToken();
  }

  async #inTime({ handle, path }: Route, request: Parameters<Route['handle']>[0]): Promise<Reply> {
    const { handlerTimeoutMs } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(
          new HttpProblem('TIMEOUT', `${path} took longer than ${handlerTimeoutMs} ms`, {
            hint: 'Kafka or the state store may be away: /readyz says what does not answer.',
          }),
        );
      }, handlerTimeoutMs);
    });
    try {
      return await Promise.race([handle(request), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #send(
    request: IncomingMessage,
    response: ServerResponse,
    { status, contentType, body }: Reply,
    headers: Readonly<Record<string, string>>,
  ): void {
    const bytes = Buffer.from(body, 'utf8');
    response.writeHead(status, {
      'content-type': contentType,
      'content-length': bytes.length,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // What was not read of a request must not be taken for the next one.
      ...(this.isClosing || (hasBody(request) && !request.complete) ? { connection: 'close' } : {}),
      ...headers,
    });
    response.end(request.method === 'HEAD' ? undefined : bytes);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  const isEmpty = headers['content-length'] === undefined || headers['content-length'] === '0';
  return !isEmpty || headers['transfer-encoding'] !== undefined;
}

function refuseBody(request: IncomingMessage): void {
  if (!hasBody(request)) return;
  throw new HttpProblem('BODY_TOO_LARGE', 'a request to this resource has no body');
}

/** Read only after the token was seen, so that nobody else makes the service read anything. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    throw new HttpProblem('UNSUPPORTED_MEDIA_TYPE', 'the body has to be JSON', {
      hint: 'Send the header Content-Type: application/json.',
    });
  }
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > bodyBytesMax) {
      throw new HttpProblem('BODY_TOO_LARGE', `the body is larger than ${bodyBytesMax} bytes`);
    }
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    throw new HttpProblem('BAD_REQUEST', 'the body is no JSON');
  }
}

function noToken(): HttpProblem {
  return new HttpProblem('FORBIDDEN', 'this resource needs a token, and none is configured', {
    hint: 'Set http.tokenFile, or bind the interface to a loopback address with http.host.',
  });
}

function wrongToken(): HttpProblem {
  return new HttpProblem('UNAUTHORIZED', 'the bearer token is missing or wrong', {
    hint: 'Send the header Authorization: Bearer TOKEN with the content of http.tokenFile.',
    headers: { 'www-authenticate': 'Bearer realm="tidemark"' },
  });
}

/** A web page must not reach the interface by a name of its own that it lets point to the loopback address. */
function refuseForeignHost(host: string): void {
  const name = host.replace(/:\d+$/, '').toLowerCase();
  if (name === 'localhost' || name === '[::1]' || isLoopback(name)) return;
  throw new HttpProblem('FORBIDDEN', `host "${name}" is no name of this interface`, {
    hint: 'Without a token it answers only to localhost and to loopback addresses.',
  });
}

export function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(address) || address === '::1';
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function problemReply(error: unknown): Reply {
  const document = problemDocument(error);
  return {
    status: document.status,
    contentType: 'application/problem+json',
    body: `${JSON.stringify(document)}\n`,
  };
}
