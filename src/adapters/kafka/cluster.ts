import { FlowError } from '../../base/errors.ts';
import { type Connection, type ConnectionSettings, Connector } from './connection.ts';
import { actionOf, brokerError, connectionError, isTransient } from './kafka-errors.ts';
import { addOffsetsToTxn } from './wire/add-offsets-to-txn.ts';
import { addPartitionsToTxn } from './wire/add-partitions-to-txn.ts';
import { endTxn } from './wire/end-txn.ts';
import { fetch } from './wire/fetch.ts';
import { findCoordinator } from './wire/find-coordinator.ts';
import { heartbeat } from './wire/heartbeat.ts';
import { initProducerId } from './wire/init-producer-id.ts';
import { joinGroup } from './wire/join-group.ts';
import { listOffsets } from './wire/list-offsets.ts';
import { type MetadataTopic, metadata } from './wire/metadata.ts';
import { offsetCommit } from './wire/offset-commit.ts';
import { offsetFetch } from './wire/offset-fetch.ts';
import { produce } from './wire/produce.ts';
import type { RequestCodec } from './wire/request-codec.ts';
import { txnOffsetCommit } from './wire/txn-offset-commit.ts';

export type ClusterSettings = ConnectionSettings & {
  readonly requestTimeoutMs: number;
  /** How long an operation is tried again through elections and restarts before it fails. */
  readonly retryMs: number;
};

export type CoordinatorKind = 'group' | 'transaction';

/** Who answers a request, and over which connections it goes. */
export type CoordinatedBy = {
  readonly channel: Channel;
  readonly kind: CoordinatorKind;
  readonly key: string;
};

/** What every broker has to speak. Metadata 10 carries topic ids: without them a recreated topic goes unnoticed. */
const needed: readonly {
  readonly name: string;
  readonly apiKey: number;
  readonly minVersion: number;
  readonly maxVersion: number;
}[] = [
  produce,
  fetch,
  listOffsets,
  { name: 'Metadata', apiKey: metadata.apiKey, minVersion: 10, maxVersion: metadata.maxVersion },
  findCoordinator,
  joinGroup,
  heartbeat,
  offsetCommit,
  offsetFetch,
  initProducerId,
  addPartitionsToTxn,
  addOffsetsToTxn,
  txnOffsetCommit,
  endTxn,
];

/**
 * The brokers of one cluster: where they are, who leads a partition, who coordinates a group or a
 * transactional id, and how a request is tried again when that has changed. What is remembered here is a hint only:
 * a broker's answer overrules it, and the next look-up asks again.
 */
export class KafkaCluster {
  readonly settings: ClusterSettings;
  readonly #connector: Connector;
  readonly #brokers = new Map<number, { readonly host: string; readonly port: number }>();
  readonly #topics = new Map<string, MetadataTopic>();
  readonly #coordinators = new Map<string, number>();
  readonly #channels = new Set<Channel>();
  readonly #control: Channel;
  readonly #closing = new AbortController();
  #features: ReadonlyMap<string, number> = new Map();
  #controllerId = -1;
  #clusterId: string | undefined;
  #refresh: { readonly topics: ReadonlySet<string>; readonly done: Promise<void> } | undefined;

  constructor(settings: ClusterSettings) {
    this.settings = settings;
    this.#connector = new Connector(settings);
    this.#control = this.openChannel();
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  get features(): ReadonlyMap<string, number> {
    return this.#features;
  }

  /** For whatever answers at once. */
  get control(): Channel {
    return this.#control;
  }

  /** Connects to one broker, and refuses a cluster that is too old. */
  async connect(): Promise<void> {
    const connection = await this.#control.anyConnection();
    checkVersions(connection);
    this.#features = connection.features;
    await this.refreshTopics([]);
  }

  /** A set of connections of its own, one a broker, so that a request that waits there delays no other. */
  openChannel(): Channel {
    const channel = new Channel(this, this.#connector, () => this.#channels.delete(channel));
    this.#channels.add(channel);
    return channel;
  }

  addressOf(nodeId: number): { readonly host: string; readonly port: number } | undefined {
    return this.#brokers.get(nodeId);
  }

  /** Brokers that the cluster has, as it said last. */
  nodeIds(): readonly number[] {
    return [...this.#brokers.keys()];
  }

  /** Those that are known, then those that were configured. */
  addresses(): readonly { readonly host: string; readonly port: number }[] {
    const known = shuffle([...this.#brokers.values()]);
    return [...known, ...shuffle(this.settings.brokers.map(parseAddress))];
  }

  /** Asks for these topics, whatever is remembered; those that are missing are left out. Equal questions at one time are asked once. */
  async refreshTopics(topics: readonly string[]): Promise<void> {
    const running = this.#refresh;
    if (running !== undefined && topics.every((topic) => running.topics.has(topic))) {
      return await running.done;
    }
    const done = this.#askMetadata(topics);
    const refresh = { topics: new Set(topics), done };
    this.#refresh = refresh;
    try {
      await done;
    } finally {
      if (this.#refresh === refresh) this.#refresh = undefined;
    }
  }

  async #askMetadata(topics: readonly string[]): Promise<void> {
    const answer = await this.#control.requestAny(metadata, {
      topics: [...topics],
      allowAutoTopicCreation: false,
    });
    if (answer.brokers.length > 0) {
      this.#brokers.clear();
      for (const broker of answer.brokers) {
        this.#brokers.set(broker.nodeId, { host: broker.host, port: broker.port });
      }
    }
    this.#controllerId = answer.controllerId;
    this.#clusterId = answer.clusterId ?? undefined;
    for (const name of topics) this.#topics.delete(name);
    for (const topic of answer.topics) {
      if (topic.errorCode === 29) throw brokerError(29, `topic "${topic.name}"`);
      if (topic.errorCode === 0 || topic.errorCode === 5) this.#topics.set(topic.name, topic);
    }
  }

  /** Of all topics that this client may describe, but the brokers' own. */
  async topicNames(): Promise<readonly string[]> {
    const { topics } = await this.#control.requestAny(metadata, {
      topics: null,
      allowAutoTopicCreation: false,
    });
    return topics
      .flatMap(({ name, errorCode, isInternal }) => (errorCode === 0 && !isInternal ? [name] : []))
      .sort();
  }

  /** As last heard of; undefined: it has none. */
  get clusterId(): string | undefined {
    return this.#clusterId;
  }

  /** As last heard of. */
  knownTopic(name: string): MetadataTopic | undefined {
    return this.#topics.get(name);
  }

  async topic(name: string): Promise<MetadataTopic | undefined> {
    if (!this.#topics.has(name)) await this.refreshTopics([name]);
    return this.#topics.get(name);
  }

  /** The node that leads a partition, as far as is known; undefined: ask with `refreshTopics`. */
  knownLeader(topic: string, partition: number): number | undefined {
    const found = this.#topics.get(topic)?.partitions.find((item) => item.partition === partition);
    return found === undefined || found.leaderId < 0 ? undefined : found.leaderId;
  }

  async leader(topic: string, partition: number): Promise<number> {
    const known = this.knownLeader(topic, partition);
    if (known !== undefined) return known;
    await this.refreshTopics([topic]);
    const leader = this.knownLeader(topic, partition);
    if (leader !== undefined) return leader;
    const exists = this.#topics.get(topic)?.partitions.some((item) => item.partition === partition);
    throw brokerError(exists ? 5 : 3, `topic "${topic}" partition ${partition}`);
  }

  async controller(): Promise<number> {
    await this.refreshTopics([]);
    return this.#controllerId;
  }

  async coordinator(kind: CoordinatorKind, key: string): Promise<number> {
    const cacheKey = `${kind} ${key}`;
    const known = this.#coordinators.get(cacheKey);
    if (known !== undefined && this.#brokers.has(known)) return known;
    const answer = await this.#control.requestAny(findCoordinator, { keyType: kind, keys: [key] });
    const [found] = answer.coordinators;
    const errorCode = found?.errorCode ?? 15;
    if (found === undefined || errorCode !== 0) {
      throw brokerError(errorCode, `${nameOf(kind)} "${key}"`, found?.errorMessage);
    }
    this.#brokers.set(found.nodeId, { host: found.host, port: found.port });
    this.#coordinators.set(cacheKey, found.nodeId);
    return found.nodeId;
  }

  forgetCoordinator(kind: CoordinatorKind, key: string): void {
    this.#coordinators.delete(`${kind} ${key}`);
  }

  /**
   * Sends a request to a coordinator, and again while its answer says "later" or "elsewhere". The last answer is
   * returned, whatever error it holds; a broken connection is thrown when `retryMs` is over.
   */
  async requestCoordinator<Request, Response>(
    { channel, kind, key }: CoordinatedBy,
    codec: RequestCodec<Request, Response>,
    request: Request,
    options: {
      readonly errorOf: (response: Response) => number;
      readonly retryMs?: number;
      readonly timeoutMs?: number;
      readonly versionMax?: number;
    },
  ): Promise<Response> {
    const where = `${nameOf(kind)} "${key}"`;
    return await this.retry(options.retryMs ?? this.settings.retryMs, async (isLast) => {
      if (channel.isClosed) throw new Final(closedError());
      const nodeId = await this.coordinator(kind, key);
      let response: Response;
      try {
        response = await channel.request(nodeId, codec, request, {
          ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
          ...(options.versionMax === undefined ? {} : { versionMax: options.versionMax }),
        });
      } catch (error) {
        this.forgetCoordinator(kind, key);
        throw connectionError(error, where);
      }
      const errorCode = options.errorOf(response);
      const action = actionOf(errorCode);
      if (errorCode === 0 || action === 'fail' || isLast) return response;
      if (action === 'coordinator') this.forgetCoordinator(kind, key);
      throw brokerError(errorCode, where);
    });
  }

  /** Runs an attempt again while it throws something transient and the time is not over. */
  async retry<Result>(
    retryMs: number,
    attempt: (isLast: boolean) => Promise<Result>,
  ): Promise<Result> {
    const startedAt = performance.now();
    const deadline = startedAt + retryMs;
    for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 500)) {
      const isLast = performance.now() + pauseMs >= deadline;
      try {
        return await attempt(isLast);
      } catch (error) {
        if (error instanceof Final) throw error.failure;
        // Brokers hear of a new topic one after another.
        const isNew = isMissing(error) && performance.now() - startedAt < 2_000;
        if (isLast || !(isTransient(error) || isNew)) throw error;
      }
      await this.pause(pauseMs);
    }
  }

  /** Sleeps; rejects when the cluster is closed meanwhile. */
  async pause(ms: number): Promise<void> {
    const { signal } = this.#closing;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, ms * (0.75 + Math.random() / 2));
      signal.addEventListener('abort', wake);
    });
    this.assertOpen();
  }

  assertOpen(): void {
    if (this.isClosed) throw closedError();
  }

  close(): void {
    this.#closing.abort();
    for (const channel of [...this.#channels]) channel.close();
  }
}

/** Thrown in an attempt of `retry`: the error in it is not tried again. */
export class Final {
  readonly failure: FlowError;

  constructor(failure: FlowError) {
    this.failure = failure;
  }
}

/** One connection a broker, opened when first needed and opened again when it broke. */
export class Channel {
  readonly #cluster: KafkaCluster;
  readonly #connector: Connector;
  readonly #onClose: () => void;
  readonly #connections = new Map<string, Promise<Connection>>();
  #isClosed = false;

  constructor(cluster: KafkaCluster, connector: Connector, onClose: () => void) {
    this.#cluster = cluster;
    this.#connector = connector;
    this.#onClose = onClose;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  async request<Request, Response>(
    nodeId: number,
    codec: RequestCodec<Request, Response>,
    request: Request,
    options: { readonly timeoutMs?: number; readonly versionMax?: number } = {},
  ): Promise<Response> {
    const connection = await this.connection(nodeId);
    return await connection.request(codec, request, {
      timeoutMs: this.#cluster.settings.requestTimeoutMs,
      ...options,
    });
  }

  /** To whichever broker answers first in turn. */
  async requestAny<Request, Response>(
    codec: RequestCodec<Request, Response>,
    request: Request,
  ): Promise<Response> {
    return await this.#withAny((connection) =>
      connection.request(codec, request, { timeoutMs: this.#cluster.settings.requestTimeoutMs }),
    );
  }

  async anyConnection(): Promise<Connection> {
    return await this.#withAny((connection) => Promise.resolve(connection));
  }

  async #withAny<Result>(use: (connection: Connection) => Promise<Result>): Promise<Result> {
    let failure: unknown;
    for (const address of this.#cluster.addresses()) {
      try {
        return await use(await this.#open(address));
      } catch (error) {
        // A wrong password is wrong everywhere; so is an old version.
        if (!isTransient(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  async connection(nodeId: number): Promise<Connection> {
    let address = this.#cluster.addressOf(nodeId);
    if (address === undefined) {
      await this.#cluster.refreshTopics([]);
      address = this.#cluster.addressOf(nodeId);
    }
    if (address === undefined) {
      throw new FlowError('BROKER_UNAVAILABLE', `broker ${nodeId}: not in the cluster`);
    }
    return await this.#open(address);
  }

  async #open(address: { readonly host: string; readonly port: number }): Promise<Connection> {
    if (this.#isClosed) throw closedError();
    const key = `${address.host}:${address.port}`;
    const opening = this.#connections.get(key);
    if (opening !== undefined) {
      const connection = await opening;
      if (connection.isUsable) return connection;
      // Whoever sees it first opens the next; requests on the way still get their answers, or their errors.
      if (this.#connections.get(key) === opening) {
        this.#connections.delete(key);
        connection.retire(this.#cluster.settings.requestTimeoutMs);
      }
      return await this.#open(address);
    }
    const opened = this.#connector.open(address.host, address.port);
    this.#connections.set(key, opened);
    try {
      const connection = await opened;
      if (this.#isClosed) {
        connection.close();
        throw closedError();
      }
      return connection;
    } catch (error) {
      if (this.#connections.get(key) === opened) this.#connections.delete(key);
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#onClose();
    for (const opening of this.#connections.values()) {
      opening.then((connection) => connection.close()).catch(() => {});
    }
    this.#connections.clear();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof FlowError && error.code === 'TOPIC_MISSING';
}

function nameOf(kind: CoordinatorKind): string {
  return kind === 'group' ? 'group' : 'transactional id';
}

function closedError(): FlowError {
  return new FlowError('BROKER_UNAVAILABLE', 'log is closed');
}

function checkVersions(connection: Connection): void {
  const missing = needed.filter((codec) => connection.versionOf(codec) === undefined);
  if (missing.length === 0) return;
  const names = missing.map((codec) => `${codec.name} ${codec.minVersion}`).join(', ');
  throw new FlowError('BROKER_TOO_OLD', `${connection.where}: the broker is too old`, {
    detail: `It does not speak ${names}.`,
    hint: 'Kafka 2.8 or newer is needed.',
  });
}

function parseAddress(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  const port = Number(text.slice(colon + 1));
  if (colon < 1 || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new FlowError('CONFIG_INVALID', `broker "${text}" is not host:port`);
  }
  return { host, port };
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
