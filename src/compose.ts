import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { openEmbeddedStateStore } from './adapters/embedded/embedded-state-store.ts';
import { FileLog } from './adapters/files/file-log.ts';
import { type KafkaLogOptions, openKafkaLog } from './adapters/kafka/kafka-log.ts';
import type { RedisStateStoreOptions } from './adapters/redis/redis-state-store.ts';
import { secretFile } from './adapters/system/secret-file.ts';
import { systemClock } from './adapters/system/system-clock.ts';
import { FlowError } from './base/errors.ts';
import { requireOptions } from './config/load-config.ts';
import type { Config, OptionName } from './config/options.ts';
import type { PipelinePlan } from './plan/pipeline-plan.ts';
import type { Log } from './ports/log.ts';
import type { StateStore } from './ports/state-store.ts';
import type { Tracer } from './ports/tracer.ts';
import type { RuntimeListener } from './runtime/runtime-events.ts';
import { defaultWorkerSettings, startWorker } from './runtime/worker/start-worker.ts';
import type { Worker } from './runtime/worker/worker.ts';
import type { WorkerSettings } from './runtime/worker/worker-settings.ts';

/** Told while something outside is waited for, in words for a person. */
export type TroubleListener = (text: string) => void;

/** Connects to the brokers; an outage at the start is waited out for `retry.startTimeoutMs`. */
export async function composeLog(
  config: Config,
  onTrouble: TroubleListener,
  isStopped: () => boolean = () => false,
  onRequest?: KafkaLogOptions['onRequest'],
): Promise<Log> {
  requireOptions(config, ['kafka.brokers']);
  const options: KafkaLogOptions = {
    brokers: config['kafka.brokers'],
    clientId: config['kafka.clientId'],
    compression: config['kafka.compression'],
    transactionTimeoutMs: config['kafka.transactionTimeoutMs'],
    onTrouble,
    ...(onRequest === undefined ? {} : { onRequest }),
    ...tlsOf(config),
    ...saslOf(config),
  };
  const what = `Kafka at ${config['kafka.brokers'].join(', ')}`;
  return waitFor({
    config,
    onTrouble,
    isStopped,
    what,
    trouble: 'silent',
    options: 'kafka.brokers',
    open: async () => new FileLog(await openKafkaLog(options)),
  });
}

function tlsOf(config: Config): Pick<KafkaLogOptions, 'ssl'> {
  if (!config['kafka.ssl']) return {};
  const certificates = certificatesOf(
    config,
    'kafka.sslCaFile',
    'kafka.sslCertFile',
    'kafka.sslKeyFile',
  );
  return { ssl: Object.keys(certificates).length === 0 ? true : certificates };
}

type FileOption = Extract<OptionName, `${string}File`>;

/** Each connection reads them anew, so that renewed certificates are used without a restart. */
function certificatesOf(
  config: Config,
  ...[ca, cert, key]: readonly [FileOption, FileOption, FileOption]
): { readonly ca?: [Buffer]; readonly cert?: Buffer; readonly key?: Buffer } {
  const certificates = {};
  const give = (name: string, option: FileOption, read = (bytes: Buffer): unknown => bytes) => {
    const path = config[option];
    if (path === undefined) return;
    const file = secretFile(path, option);
    Object.defineProperty(certificates, name, { enumerable: true, get: () => read(file()) });
  };
  give('ca', ca, (bytes) => [bytes]);
  give('cert', cert);
  give('key', key);
  return certificates;
}

function saslOf(config: Config): Pick<KafkaLogOptions, 'sasl'> {
  const mechanism = config['kafka.saslMechanism'];
  const password = config['kafka.saslPassword'] ?? '';
  if (mechanism === 'none') return {};
  const path = config['kafka.saslPasswordFile'];
  const file = path === undefined ? undefined : secretFile(path, 'kafka.saslPasswordFile');
  // Read anew each time, so that a rotated token or password is picked up.
  const secret = (): string => file?.().toString('utf8').trim() ?? password;
  if (mechanism === 'oauthbearer') {
    return {
      sasl: { mechanism, oauthBearerProvider: () => Promise.resolve({ value: secret() }) },
    };
  }
  const username = config['kafka.saslUsername'] ?? '';
  return {
    sasl: {
      mechanism,
      username,
      get password() {
        return secret();
      },
    },
  };
}

export async function composeState(
  config: Config,
  onTrouble: TroubleListener,
  isStopped: () => boolean = () => false,
): Promise<StateStore> {
  if (config['state.kind'] === 'embedded') {
    // The lock of a container that was killed stands for a while after it came back under another host name.
    const directory = config['state.directory'];
    const open = (): Promise<StateStore> => openEmbeddedStateStore({ directory });
    return waitFor({
      config,
      onTrouble,
      isStopped,
      what: 'The state directory',
      trouble: 'taken',
      options: 'state.directory',
      open,
    });
  }
  const redis = redisOptions(config);
  // Its client takes a tenth of the start, and an embedded state needs none of it.
  const { openRedisStateStore } = await import('./adapters/redis/redis-state-store.ts');
  const open = async (): Promise<StateStore> => {
    const store = await openRedisStateStore(redis);
    try {
      await store.check();
      return store;
    } catch (error) {
      await store.close().catch(() => undefined);
      throw error;
    }
  };
  const where = { what: 'Redis', trouble: 'silent', options: 'redis.url' } as const;
  return waitFor({ config, onTrouble, isStopped, ...where, open });
}

/** How Redis is reached: one server, a master behind sentinels, or a cluster. */
function redisOptions(config: Config): RedisStateStoreOptions {
  const sentinels = config['redis.sentinels'].map(hostAndPort);
  const nodes = config['redis.clusterNodes'].map(hostAndPort);
  const [first] = [...sentinels, ...nodes];
  if (first === undefined) requireOptions(config, ['redis.url']);
  const certificates = certificatesOf(
    config,
    'redis.tlsCaFile',
    'redis.tlsCertFile',
    'redis.tlsKeyFile',
  );
  const passwordFile = config['redis.passwordFile'];
  const renewed = (path: string): (() => string) => {
    const file = secretFile(path, 'redis.passwordFile');
    return () => file().toString('utf8').trim();
  };
  const given = config['redis.url'];
  const hasTls = config['redis.tls'] || given?.startsWith('rediss:') === true;
  const masterName = config['redis.sentinelMaster'];
  return {
    url:
      given ??
      `redis://${first?.host.includes(':') ? `[${first.host}]` : first?.host}:${first?.port}`,
    username: config['redis.username'],
    password: passwordFile === undefined ? config['redis.password'] : renewed(passwordFile),
    deadlineMs: config['redis.commandTimeoutMs'],
    ...(hasTls ? { tls: certificates } : {}),
    ...(masterName === undefined
      ? {}
      : {
          sentinel: {
            masterName,
            nodes: sentinels,
            username: config['redis.sentinelUsername'],
            password: config['redis.sentinelPassword'],
            ...(config['redis.sentinelTls'] ? { tls: certificates } : {}),
          },
        }),
    ...(nodes.length === 0 ? {} : { cluster: { nodes } }),
  };
}

function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(address.slice(colon + 1)) };
}

type Wait<Result> = {
  readonly config: Config;
  readonly onTrouble: TroubleListener;
  /** Whether somebody asked for the end meanwhile: the failure at hand is then the last one. */
  readonly isStopped: () => boolean;
  readonly what: string;
  /** Whether it is heard of nothing, or somebody else has it, who may keep it: that is told once. */
  readonly trouble: 'silent' | 'taken';
  /** The configuration that says where it is. */
  readonly options: string;
  readonly open: () => Promise<Result>;
};

/** Tries again with growing delays while the remedy of the failure is to try again. */
async function waitFor<Result>(wait: Wait<Result>): Promise<Result> {
  const { config, onTrouble, isStopped, what, open } = wait;
  const deadline = systemClock.monotonic() + config['retry.startTimeoutMs'];
  let delayMs = config['retry.delayMinMs'];
  let told: string | undefined;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof FlowError) || error.remedy !== 'retry' || isStopped()) throw error;
      const leftMs = deadline - systemClock.monotonic();
      if (delayMs > leftMs) throw gaveUp(wait, error);
      if (wait.trouble === 'silent') {
        onTrouble(`${what} does not answer yet (${error.message}); next try in ${delayMs} ms`);
      } else if (error.message !== told) {
        const seconds = Math.ceil(leftMs / 1000);
        onTrouble(`${what} is not free yet (${error.message}); waiting up to ${seconds} s for it`);
      }
      told = error.message;
      await systemClock.sleep(delayMs);
      if (isStopped()) throw error;
      delayMs = Math.min(delayMs * 2, config['retry.delayMaxMs']);
    }
  }
}

/** The last failure, with what to look at; its code is kept. */
function gaveUp({ config, what, options, trouble }: Wait<unknown>, error: FlowError): FlowError {
  const seconds = config['retry.startTimeoutMs'] / 1000;
  const reason = [`${error.message}.`, error.detail].filter((part) => part !== undefined).join(' ');
  const failure = trouble === 'silent' ? 'did not answer' : 'did not become free';
  return new FlowError(error.code, `${lowerFirst(what)} ${failure} within ${seconds} s`, {
    detail: reason,
    hint:
      error.hint ??
      `Check ${options} and that it can be reached from here; retry.startTimeoutMs sets how long a start waits.`,
    cause: error,
  });
}

function lowerFirst(text: string): string {
  return text.startsWith('The ') ? `the ${text.slice(4)}` : text;
}

export type ComposedService = {
  readonly worker: Worker;
  readonly log: Log;
  readonly state: StateStore;
  close(): Promise<void>;
};

export type ServiceOptions = {
  readonly config: Config;
  readonly plan: PipelinePlan;
  readonly once: boolean;
  readonly acceptGaps: readonly string[];
  readonly listener: RuntimeListener;
  readonly onTrouble: TroubleListener;
  readonly isStopped: () => boolean;
  /** Puts something around the state store, such as a meter. */
  readonly wrapState?: (store: StateStore) => StateStore;
  /** Told of every request to Kafka. */
  readonly onRequest?: KafkaLogOptions['onRequest'];
  readonly tracer?: Tracer | undefined;
};

/**
 * What a process goes by within the pipeline. Invariant: an update that nobody named does not take the place of the service
 * that runs beside it: two processes of one name fence each other.
 */
export function instanceOf(config: Config, once: boolean): string {
  const name = config['instance.name'] ?? hostname();
  return once && name === hostname() ? `${name}-once` : name;
}

/** What is not in the cache is read: over the network, or from the page cache of this machine. */
const stateCacheBytes: Readonly<Record<Config['state.kind'], number>> = {
  redis: 64 << 20,
  embedded: 8 << 20,
};

/** What a worker of the configured pipeline goes by. */
export function workerSettings(config: Config, once: boolean): WorkerSettings {
  return {
    ...defaultWorkerSettings,
    pipeline: config['pipeline.name'] ?? '',
    instance: instanceOf(config, once),
    token: randomUUID(),
    delivery: config.delivery,
    once,
    commitIntervalMs: config['commit.intervalMs'],
    viewIntervalMs: config['views.intervalMs'],
    commitRecordsMax: config['commit.recordsMax'],
    commitBytesMax: config['commit.bytesMax'],
    cacheBytesMax: config['state.cacheBytes'] ?? stateCacheBytes[config['state.kind']],
    shuffle: config['flow.shuffle'],
    sessionTimeoutMs: config['group.sessionTimeoutMs'],
    rebalanceTimeoutMs: config['group.rebalanceTimeoutMs'],
    staticMembership: config['group.static'],
    leavesOnStop: config['group.leaveOnStop'],
    retryDelayMinMs: config['retry.delayMinMs'],
    retryDelayMaxMs: config['retry.delayMaxMs'],
  };
}

/** Config → adapters → a worker that is ready to run. */
export async function composeService(options: ServiceOptions): Promise<ComposedService> {
  const { config, plan, once, acceptGaps, listener, onTrouble, isStopped } = options;
  requireOptions(config, ['pipeline.name', 'kafka.brokers']);
  const log = await composeLog(config, onTrouble, isStopped, options.onRequest);
  let state: StateStore | undefined;
  try {
    state = await composeState(config, onTrouble, isStopped);
    const worker = await startWorker({
      plan,
      log,
      state: options.wrapState?.(state) ?? state,
      clock: systemClock,
      listener,
      tracer: options.tracer,
      acceptGaps,
      isStopped,
      replicationFactor: config['kafka.replicationFactor'],
      settings: workerSettings(config, once),
    });
    const opened = state;
    return {
      worker,
      log,
      state: opened,
      close: async () => {
        await opened.close().catch(() => undefined);
        await log.close().catch(() => undefined);
      },
    };
  } catch (error) {
    await state?.close().catch(() => undefined);
    await log.close().catch(() => undefined);
    throw error;
  }
}
