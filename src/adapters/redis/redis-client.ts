import { performance } from 'node:perf_hooks';
import type { ConnectionOptions } from 'node:tls';
import { Cluster, type ClusterOptions, type Command, Redis, type RedisOptions } from 'ioredis';
import { FlowError } from '../../base/errors.ts';
import { redisError, type ServerName } from './redis-errors.ts';

export type RedisClientOptions = {
  /** `redis://` or, with TLS, `rediss://` [user[:password]@]host[:port][/database]. */
  readonly url: string;
  /** These two take the place of those in the URL, so that a secret can come from a file. */
  readonly username?: string | undefined;
  /** Asked for each connection where it may change meanwhile. */
  readonly password?: string | (() => string) | undefined;
  /** Certificates and the like; implied by `rediss://`. */
  readonly tls?: ConnectionOptions | undefined;
  /** Find the master through sentinels; user, password, database and TLS of the URL are the master's. */
  readonly sentinel?: SentinelOptions | undefined;
  /** The server of the URL is a node of a cluster. */
  readonly cluster?: ClusterNodes | undefined;
  /** How long a command may take, waiting for the connection included. */
  readonly deadlineMs?: number | undefined;
};

export type SentinelOptions = {
  readonly masterName: string;
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: ConnectionOptions | undefined;
};

export type ClusterNodes = {
  /** Further nodes to ask for the layout of the cluster. */
  readonly nodes?: readonly { readonly host: string; readonly port: number }[] | undefined;
  readonly natMap?: ClusterOptions['natMap'] | undefined;
};

const deadlineMsDefault = 5_000;
const reconnectDelayMsMax = 2_000;

type Waiter = { readonly resolve: () => void; readonly reject: (error: FlowError) => void };

/**
 * A connection to Redis that sends commands under a deadline. Invariant: a command is sent at most once by us;
 * one that was under way when the connection broke is rejected, never sent again behind the caller's back,
 * and none is queued while there is no connection.
 */
export class RedisClient {
  readonly #client: Redis | Cluster;
  readonly #server: ServerName;
  readonly #deadlineMs: number;
  readonly #waiters = new Set<Waiter>();
  #lastError: FlowError | undefined;
  /** What a node of a cluster refused that waiting does not mend: the cluster's own error tells of one node only. */
  #refusal: FlowError | undefined;

  constructor(options: RedisClientOptions) {
    const url = parseUrl(options.url);
    const secrets: string[] = [];
    const given = options.password ?? url.password;
    if (given === undefined && url.username !== undefined) throw noPassword();
    const password = (): string | undefined => {
      const secret = typeof given === 'function' ? given() : given;
      if (secret && !secrets.includes(secret)) secrets.push(secret);
      return secret;
    };
    for (const secret of [password(), options.sentinel?.password, url.rawPassword]) {
      if (secret && !secrets.includes(secret)) secrets.push(secret);
    }
    this.#deadlineMs = options.deadlineMs ?? deadlineMsDefault;
    this.#server = {
      address: options.sentinel === undefined ? url.address : addressesOf(options.sentinel),
      secrets,
    };
    this.#client = createClient(options, url, { deadlineMs: this.#deadlineMs, password });
    this.#client.setMaxListeners(0);
    this.#client.on('error', (error: unknown) => this.#onError(error));
    this.#client.on('node error', (error: unknown) => {
      const refusal = redisError(error, this.#server);
      if (refusal.remedy === 'fix-input') this.#refusal = refusal;
    });
    this.#client.on('ready', () => {
      this.#lastError = undefined;
      this.#refusal = undefined;
      for (const waiter of this.#waiters) waiter.resolve();
    });
  }

  get server(): ServerName {
    return this.#server;
  }

  /** Resolves once the server can be spoken to. */
  async connect(): Promise<void> {
    // Its outcome is told by the events; a rejection here only repeats the first of them.
    this.#client.connect().catch(() => undefined);
    await this.#ready(performance.now() + this.#deadlineMs);
  }

  /** Sends one command. Rejects with a FlowError, or with the server's own error where the caller asks for it. */
  async send(command: Command): Promise<unknown> {
    const [outcome] = await this.sendAll([command]);
    if (outcome?.status !== 'fulfilled') {
      throw redisError(outcome?.reason, this.#server);
    }
    return outcome.value;
  }

  /** Sends some commands back to back, in this order on one connection, and waits for the outcome of all. */
  async sendAll(commands: readonly Command[]): Promise<PromiseSettledResult<unknown>[]> {
    const end = performance.now() + this.#deadlineMs;
    await this.#ready(end);
    return await Promise.allSettled(
      commands.map((command) =>
        this.#within(end, Promise.resolve(this.#client.sendCommand(command))),
      ),
    );
  }

  /** The texts of INFO, of each master. */
  async info(): Promise<string[]> {
    const end = performance.now() + this.#deadlineMs;
    await this.#ready(end);
    const nodes = this.#client instanceof Cluster ? this.#client.nodes('master') : [this.#client];
    try {
      return await Promise.all(nodes.map((node) => this.#within(end, node.info())));
    } catch (error) {
      throw redisError(error, this.#server);
    }
  }

  close(): void {
    this.#client.disconnect();
    this.#rejectWaiters(this.#closed());
  }

  #ready(end: number): Promise<void> {
    if (this.#client.status === 'ready') {
      return Promise.resolve();
    }
    if (this.#client.status === 'end') {
      return Promise.reject(this.#closed());
    }
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        resolve: () => {
          settle();
          resolve();
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      const timer = setTimeout(
        () => waiter.reject(this.#lastError ?? this.#late('offers no connection')),
        Math.max(0, end - performance.now()),
      );
      this.#waiters.add(waiter);
    });
  }

  #within<Result>(end: number, outcome: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(this.#late('does not answer')),
        Math.max(0, end - performance.now()),
      );
      outcome.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  #late(what: string): FlowError {
    return new FlowError('STATE_UNAVAILABLE', `redis at ${this.#server.address} ${what}`, {
      detail: `It was given ${this.#deadlineMs} ms.`,
    });
  }

  #closed(): FlowError {
    return new FlowError('STATE_UNAVAILABLE', 'the state store is closed');
  }

  #onError(error: unknown): void {
    this.#lastError = this.#refusal ?? redisError(error, this.#server);
    // Waiting does not mend a wrong password, so nobody is left to find out by the deadline.
    if (this.#lastError.remedy === 'fix-input') {
      this.#rejectWaiters(this.#lastError);
    }
  }

  #rejectWaiters(error: FlowError): void {
    for (const waiter of this.#waiters) waiter.reject(error);
  }
}

type PasswordReader = () => string | undefined;

type ServerUrl = {
  readonly address: string;
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly rawPassword: string;
  readonly database: number;
  readonly isSecure: boolean;
};

function parseUrl(text: string): ServerUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const database = Number(url?.pathname.slice(1) ?? '');
  if (
    (url?.protocol !== 'redis:' && url?.protocol !== 'rediss:') ||
    url.hostname === '' ||
    !Number.isInteger(database)
  ) {
    // The text itself is not quoted: it may hold a password.
    throw new FlowError('CONFIG_INVALID', 'the URL of Redis cannot be read', {
      hint: 'Write it as redis://user:password@host:6379/0, or with rediss:// for TLS.',
    });
  }
  const port = url.port === '' ? 6379 : Number(url.port);
  return {
    address: `${url.hostname}:${port}`,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    username: url.username === '' ? undefined : decodeURIComponent(url.username),
    password: url.password === '' ? undefined : decodeURIComponent(url.password),
    rawPassword: url.password,
    database,
    isSecure: url.protocol === 'rediss:',
  };
}

/** Nobody would be logged in by it. The name is not quoted: often it is the password, in the wrong place. */
function noPassword(): FlowError {
  return new FlowError('CONFIG_INVALID', 'the URL of Redis names a user and no password', {
    hint: 'Write redis://user:password@host:6379/0; redis://:password@host:6379/0 where there is a password and no user; or give the password with redis.password or redis.passwordFile.',
  });
}

function addressesOf(sentinel: SentinelOptions): string {
  const nodes = sentinel.nodes.map(({ host, port }) => `${host}:${port}`);
  return `sentinels ${nodes.join(', ')}`;
}

function createClient(
  options: RedisClientOptions,
  url: ServerUrl,
  { deadlineMs, password }: { readonly deadlineMs: number; readonly password: PasswordReader },
): Redis | Cluster {
  // Handed on as it is: what it gives may change from connection to connection.
  const tls = options.tls ?? (url.isSecure ? {} : undefined);
  const common = {
    username: options.username ?? url.username,
    password: password(),
    tls,
    protocol: 2,
    connectionName: 'tidemark',
    connectTimeout: deadlineMs,
    // A connection on which nothing comes back is given up, or a path that swallows packets would never be left.
    socketTimeout: deadlineMs,
    // 0: whatever is unanswered when the connection breaks is rejected at once.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    maxLoadingRetryTime: 1_000,
    // A replica that was the master: the name or the sentinels may lead to the new one.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  } satisfies RedisOptions;
  if (options.cluster !== undefined) {
    const nodes = [{ host: url.host, port: url.port }, ...(options.cluster.nodes ?? [])];
    const cluster = new Cluster(nodes, {
      redisOptions: common,
      ...(options.cluster.natMap === undefined ? {} : { natMap: options.cluster.natMap }),
      lazyConnect: true,
      // Nodes are connected to when they are first needed; what is asked of them meanwhile has to wait.
      enableOfflineQueue: true,
      clusterRetryStrategy: reconnectDelayMs,
      // Else a command that was under way at a disconnect would be sent again after a while.
      retryDelayOnFailover: 0,
    });
    cluster.on('+node', (node: Redis) => renewPassword(node.options, password));
    return cluster;
  }
  const address: Omit<RedisOptions, 'replyMapping'> =
    options.sentinel === undefined
      ? { host: url.host, port: url.port }
      : sentinelOptions(options.sentinel, tls);
  const single: Omit<RedisOptions, 'replyMapping'> = {
    ...common,
    ...address,
    db: url.database,
    lazyConnect: true,
    enableOfflineQueue: false,
    retryStrategy: reconnectDelayMs,
  };
  const client = new Redis(single);
  renewPassword(client.options, password);
  return client;
}

/** The client looks into its options whenever it connects. */
function renewPassword(options: RedisOptions, password: PasswordReader): void {
  Object.defineProperty(options, 'password', { enumerable: true, get: password });
}

function sentinelOptions(
  sentinel: SentinelOptions,
  tls: ConnectionOptions | undefined,
): Omit<RedisOptions, 'replyMapping'> {
  return {
    sentinels: sentinel.nodes.map(({ host, port }) => ({ host, port })),
    name: sentinel.masterName,
    sentinelUsername: sentinel.username,
    sentinelPassword: sentinel.password,
    sentinelTLS: sentinel.tls,
    enableTLSForSentinelMode: tls !== undefined,
    sentinelRetryStrategy: reconnectDelayMs,
  };
}

/** Doubling from 50 ms, with some luck in it so that a fleet does not come back in step. */
function reconnectDelayMs(times: number): number {
  return Math.min(50 * 2 ** Math.min(times - 1, 10), reconnectDelayMsMax) * (0.5 + Math.random());
}
