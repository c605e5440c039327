import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { Kafka, type KafkaConfig, logLevel, type SASLOptions } from 'kafkajs';
import { FlowError } from '../../base/errors.ts';
import { connectionError } from './kafka-errors.ts';
import { type ApiVersionRange, apiVersions } from './wire/api-versions.ts';
import { commonVersion, decodeBody, encodeBody, type RequestCodec } from './wire/request-codec.ts';

/** The only version whose internals this file knows. */
export const kafkajsVersion = '2.2.4';

export type ConnectionSettings = {
  /** host:port of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Handed to the client library as they are. */
  readonly ssl?: ConnectionOptions | boolean;
  readonly sasl?: SASLOptions;
  readonly connectTimeoutMs: number;
  /** Told of every request that was sent, once it is over. */
  readonly onRequest?: RequestListener;
};

export type RequestListener = (request: {
  /** The name of the API. */
  readonly api: string;
  readonly durationMs: number;
  /** How long the broker asks this client to wait because it has passed a quota. */
  readonly throttleMs: number;
  /** Why there was no answer; undefined: there was one, whatever it says. */
  readonly error: FlowError | undefined;
}) => void;

/** What is used of the library below its public surface; `kafkajs-internals.test.ts` names each of them again. */
type KafkajsCluster = {
  readonly connectionPoolBuilder: {
    build(address: { host: string; port: number }): Promise<KafkajsConnectionPool>;
  };
  readonly brokerPool: {
    readonly rootLogger: unknown;
    createBroker(options: {
      connectionPool: KafkajsConnectionPool;
      logger: unknown;
    }): KafkajsBroker;
  };
};
type KafkajsConnectionPool = { readonly pool: readonly KafkajsConnection[] };
type KafkajsBroker = { connect(): Promise<void> };
type KafkajsConnection = {
  readonly clientId: string;
  readonly socket: Socket | undefined;
  readonly requestQueue: KafkajsRequestQueue;
  isConnected(): boolean;
  isAuthenticated(): boolean;
  nextCorrelationId(): number;
  disconnect(): Promise<unknown>;
};
type KafkajsRequestQueue = {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
  rejectAll(error: Error): void;
  push(request: {
    entry: {
      apiKey: number;
      apiName: string;
      apiVersion: number;
      correlationId: number;
      resolve(answer: { payload: Buffer }): void;
      reject(error: Error): void;
    };
    expectResponse: boolean;
    requestTimeout: number;
    sendRequest(): void;
  }): void;
};

/**
 * Opens connections with kafkajs: its address handling, TLS and SASL. Metadata, versions, retries and
 * time-outs are ours. This file alone touches the library's internals, which are frozen at one version.
 */
export class Connector {
  readonly settings: ConnectionSettings;
  readonly #cluster: KafkajsCluster;

  constructor(settings: ConnectionSettings) {
    this.settings = settings;
    this.#cluster = createCluster(settings);
  }

  /** A connection that is authenticated and knows what its broker speaks. */
  async open(host: string, port: number): Promise<Connection> {
    const where = `broker ${host}:${port}`;
    const pool = await this.#cluster.connectionPoolBuilder.build({ host, port });
    const [connection] = pool.pool;
    if (connection === undefined) throw connectionError('no connection in the pool', where);
    stopIdleTimer(connection.requestQueue);
    const broker = this.#cluster.brokerPool.createBroker({
      connectionPool: pool,
      logger: this.#cluster.brokerPool.rootLogger,
    });
    const opened = new Connection(connection, where, this.settings);
    // The library's own requests have no deadline here, so the whole of it gets one.
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new FlowError('BROKER_TIMEOUT', `${where}: no answer in time`)),
        this.settings.connectTimeoutMs,
      );
    });
    const connected = broker.connect();
    // After the deadline nobody waits for it any more, but it may still fail.
    connected.catch(() => {});
    try {
      await Promise.race([connected, expired]);
      await opened.learnVersions(this.settings.connectTimeoutMs);
      return opened;
    } catch (error) {
      const failure = connectionError(error, where);
      opened.close(failure);
      throw failure;
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * One connection to one broker, for any number of requests at a time; the broker answers them in order, so whatever
 * waits long there (a fetch, a join) needs a connection of its own. Invariant: once a request has timed out
 * or the socket broke, every request fails and none is sent any more.
 */
export class Connection {
  readonly where: string;
  readonly #connection: KafkajsConnection;
  readonly #settings: Pick<ConnectionSettings, 'sasl' | 'onRequest'>;
  #apis: ReadonlyMap<number, ApiVersionRange> = new Map();
  #features: ReadonlyMap<string, number> = new Map();
  #failure: FlowError | undefined;

  constructor(
    connection: KafkajsConnection,
    where: string,
    settings: Pick<ConnectionSettings, 'sasl' | 'onRequest'>,
  ) {
    this.#connection = connection;
    this.where = where;
    this.#settings = settings;
  }

  /** False when another one has to be opened: broken, closed, or its SASL session is about to end. */
  get isUsable(): boolean {
    return (
      this.#failure === undefined &&
      this.#connection.isConnected() &&
      (this.#settings.sasl === undefined || this.#connection.isAuthenticated())
    );
  }

  /** Feature → level that the cluster agreed on. */
  get features(): ReadonlyMap<string, number> {
    return this.#features;
  }

  /** The newest version that the broker and we speak. */
  versionOf(codec: Pick<RequestCodec<never, unknown>, 'apiKey' | 'minVersion' | 'maxVersion'>) {
    return commonVersion(codec, this.#apis.get(codec.apiKey));
  }

  async learnVersions(timeoutMs: number): Promise<void> {
    const request = { clientSoftwareName: 'tidemark', clientSoftwareVersion: ownVersion };
    const answer = await this.#send(apiVersions, apiVersions.minVersion, request, timeoutMs);
    if (answer.errorCode !== 0) {
      throw new FlowError('BROKER_TOO_OLD', `${this.where}: the broker is too old`, {
        hint: 'Kafka 2.8 or newer is needed.',
      });
    }
    this.#apis = answer.apis;
    this.#features = answer.finalizedFeatures;
  }

  /** `versionMax` holds the version down where a newer one would mean something else. */
  async request<Request, Response>(
    codec: RequestCodec<Request, Response>,
    request: Request,
    options: { readonly timeoutMs: number; readonly versionMax?: number },
  ): Promise<Response> {
    const newest = this.versionOf(codec);
    if (newest === undefined) {
      throw new FlowError('BROKER_TOO_OLD', `${this.where}: no common version of ${codec.name}`, {
        hint: 'Kafka 2.8 or newer is needed.',
      });
    }
    const version = Math.min(newest, options.versionMax ?? newest);
    const { onRequest } = this.#settings;
    const sent = this.#send(codec, version, request, options.timeoutMs);
    return await (onRequest === undefined ? sent : reported(codec.name, sent, onRequest));
  }

  /** Takes no more requests from now on, and closes once those on the way have had their time. */
  retire(withinMs: number): void {
    setTimeout(() => this.close(), withinMs).unref();
  }

  close(reason?: FlowError): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason ?? new FlowError('BROKER_UNAVAILABLE', `${this.where}: closed`);
    this.#connection.requestQueue.rejectAll(this.#failure);
    // Ends the library's timers; the socket must not wait for a broker that answers no more.
    this.#connection.disconnect().catch(() => {});
    this.#connection.socket?.destroy();
  }

  #send<Request, Response>(
    codec: RequestCodec<Request, Response>,
    version: number,
    request: Request,
    timeoutMs: number,
  ): Promise<Response> {
    const { socket } = this.#connection;
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (socket === undefined || !this.#connection.isConnected()) {
      return Promise.reject(new FlowError('BROKER_UNAVAILABLE', `${this.where}: not connected`));
    }
    const correlationId = this.#connection.nextCorrelationId();
    const body = encodeBody(codec, version, request);
    const { clientId } = this.#connection;
    const header = requestHeader({ apiKey: codec.apiKey, version, correlationId, clientId }, body);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const text = `${this.where}: no answer to ${codec.name} within ${timeoutMs} ms`;
        this.close(new FlowError('BROKER_TIMEOUT', text));
      }, timeoutMs);
      this.#connection.requestQueue.push({
        entry: {
          apiKey: codec.apiKey,
          apiName: codec.name,
          apiVersion: version,
          correlationId,
          resolve: ({ payload }) => {
            clearTimeout(timer);
            try {
              resolve(decodeBody(codec, version, payload));
            } catch (error) {
              reject(error);
            }
          },
          reject: (error) => {
            clearTimeout(timer);
            reject(this.#failure ?? connectionError(error, this.where));
          },
        },
        expectResponse: true,
        requestTimeout: timeoutMs,
        sendRequest: () => {
          socket.cork();
          socket.write(header);
          for (const part of body) socket.write(part);
          socket.uncork();
        },
      });
    });
  }
}

const ownVersion = '0.1.0';

/** The same answer, with a word to whoever counts. */
async function reported<Response>(
  api: string,
  sent: Promise<Response>,
  onRequest: RequestListener,
): Promise<Response> {
  const startedMs = performance.now();
  let throttleMs = 0;
  let error: FlowError | undefined;
  try {
    const response = await sent;
    throttleMs = throttleOf(response);
    return response;
  } catch (failure) {
    error = connectionError(failure, api);
    throw failure;
  } finally {
    onRequest({ api, durationMs: performance.now() - startedMs, throttleMs, error });
  }
}

/** Only the answers of the APIs that move data tell it. */
function throttleOf(response: unknown): number {
  if (typeof response !== 'object' || response === null) return 0;
  const { throttleMs } = response as { readonly throttleMs?: unknown };
  return typeof throttleMs === 'number' ? throttleMs : 0;
}

function createCluster(settings: ConnectionSettings): KafkajsCluster {
  checkLibraryVersion();
  const config: KafkaConfig = {
    brokers: [...settings.brokers],
    clientId: settings.clientId,
    connectionTimeout: settings.connectTimeoutMs,
    authenticationTimeout: settings.connectTimeoutMs,
    // Its check of time-outs wakes ten times a second for each connection; ours has a timer a request.
    enforceRequestTimeout: false,
    logLevel: logLevel.NOTHING,
    socketFactory: openSocket,
    ...(settings.ssl === undefined ? {} : { ssl: settings.ssl }),
    ...(settings.sasl === undefined ? {} : { sasl: settings.sasl }),
  };
  const kafka = new Kafka(config);
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    (candidate) => candidate.description === 'private:Kafka:createCluster',
  );
  const create = symbol === undefined ? undefined : Reflect.get(kafka, symbol);
  if (typeof create !== 'function') {
    throw new FlowError('NOT_SUPPORTED', `kafkajs is not of version ${kafkajsVersion}`);
  }
  return create({ metadataMaxAge: 300_000, allowAutoTopicCreation: false });
}

function checkLibraryVersion(): void {
  const file = createRequire(import.meta.url).resolve('kafkajs/package.json');
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  if (version !== kafkajsVersion) {
    throw new FlowError('NOT_SUPPORTED', `kafkajs is of version ${version}`, {
      hint: `Install kafkajs ${kafkajsVersion} exactly.`,
    });
  }
}

/** As the library does it, but without Nagle's algorithm: small requests follow each other here. */
const openSocket: NonNullable<KafkaConfig['socketFactory']> = ({ host, port, ssl, onConnect }) => {
  const name = isIP(host) ? {} : { servername: host };
  const socket = ssl
    ? connectTls({ host, port, ...name, ...ssl }, onConnect)
    : connectTcp({ host, port }, onConnect);
  socket.setKeepAlive(true, 60_000);
  socket.setNoDelay(true);
  return socket;
};

/**
 * With nothing pending the library still asks for a check of what is pending "−1 − now" milliseconds
 * from now, which is 1 ms, for ever (tulios/kafkajs#1751).
 */
function stopIdleTimer(queue: KafkajsRequestQueue): void {
  const schedule = queue.scheduleCheckPendingRequests.bind(queue);
  queue.scheduleCheckPendingRequests = () => {
    if (queue.pending.length > 0) schedule();
  };
}

function requestHeader(
  request: {
    readonly apiKey: number;
    readonly version: number;
    readonly correlationId: number;
    readonly clientId: string;
  },
  body: readonly Buffer[],
): Buffer {
  const clientIdLength = Buffer.byteLength(request.clientId);
  const header = Buffer.allocUnsafe(14 + clientIdLength);
  const bodyLength = body.reduce((sum, part) => sum + part.length, 0);
  header.writeInt32BE(10 + clientIdLength + bodyLength, 0);
  header.writeInt16BE(request.apiKey, 4);
  header.writeInt16BE(request.version, 6);
  header.writeInt32BE(request.correlationId, 8);
  header.writeInt16BE(clientIdLength, 12);
  header.write(request.clientId, 14);
  return header;
}
