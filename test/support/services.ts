import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const scripts = resolve(import.meta.dirname, '../../scripts/services');

/** What the whole test run shares. Whichever way it was started, tests see the same two addresses. */
export type Services = {
  readonly mode: 'testcontainers' | 'native' | 'external';
  readonly kafkaBrokers: string;
  readonly redisUrl: string;
  stop(): Promise<void>;
};

/**
 * One Kafka and one Redis for a test run: those named by TEST_KAFKA_BROKERS and TEST_REDIS_URL; else
 * containers, where a Docker engine answers and has usable images; else processes of this machine.
 * TEST_SERVICES=testcontainers insists on containers, TEST_SERVICES=native forbids them.
 */
export async function startServices(): Promise<Services> {
  const kafkaBrokers = process.env['TEST_KAFKA_BROKERS'];
  const redisUrl = process.env['TEST_REDIS_URL'];
  if (kafkaBrokers && redisUrl) {
    return { mode: 'external', kafkaBrokers, redisUrl, stop: () => Promise.resolve() };
  }
  const wish = process.env['TEST_SERVICES'];
  if (wish !== 'native') {
    const services = await startContainers();
    if (services !== undefined) return services;
    if (wish === 'testcontainers') {
      throw new Error(
        'TEST_SERVICES=testcontainers, but no Docker engine with usable images answers',
      );
    }
  }
  const [kafka, redis] = await Promise.all([startPrivateKafka(), startPrivateRedis()]);
  return {
    mode: 'native',
    kafkaBrokers: kafka.brokers,
    redisUrl: redis.url,
    stop: async () => {
      await Promise.all([kafka.stop(), redis.stop()]);
    },
  };
}

export type PrivateKafka = {
  readonly brokers: string;
  /** As a power cut would: no shutdown, no flush. */
  kill(): Promise<void>;
  /** SIGSTOP and SIGCONT: the process lives and answers nothing. */
  pause(): void;
  resume(): void;
  /** Starts again on the same data and port, and waits until it answers. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

export type PrivateKafkaOptions = {
  readonly version?: string;
  readonly port?: number;
  readonly controllerPort?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** Arguments for the format of the storage, such as `--add-scram`. */
  readonly formatArgs?: string;
};

/** A broker of one test's own, that may be killed. */
export async function startPrivateKafka(options: PrivateKafkaOptions = {}): Promise<PrivateKafka> {
  const jars = await kafkaJars(options.version);
  const dir = mkdtempSync(join(tmpdir(), 'tidemark-kafka-'));
  const port = options.port ?? (await freePort());
  const controllerPort = options.controllerPort ?? (await freePort());
  const settings = Object.entries({
    'log.flush.interval.messages': '1',
    ...options.settings,
  }).map(([name, value]) => `${name}=${value}`);
  const start = async (): Promise<ChildProcess> => {
    const child = startProcess(
      join(scripts, 'kafka-broker.sh'),
      [dir, jars, String(port), String(controllerPort), ...settings],
      {
        logFile: join(dir, 'broker.log'),
        env: {
          KAFKA_HEAP_OPTS: '-Xms256m -Xmx512m',
          KAFKA_FORMAT_ARGS: options.formatArgs ?? '',
        },
      },
    );
    await untilAnswers(child, 'kafka', () => kafkaAnswers(port), join(dir, 'broker.log'));
    return child;
  };
  let child = await start();
  return {
    brokers: `127.0.0.1:${port}`,
    kill: () => end(child, 'SIGKILL'),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    restart: async () => {
      await end(child, 'SIGKILL');
      child = await start();
    },
    stop: async () => {
      await end(child, 'SIGTERM');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The folder with the jars of a Kafka version; they are fetched when they are not there yet. */
export async function kafkaJars(version = '4.1.0'): Promise<string> {
  const script = join(scripts, 'kafka-jars.sh');
  const { stdout } = await promisify(execFile)(script, [version], { encoding: 'utf8' });
  return stdout.trim();
}

export type PrivateRedis = {
  readonly url: string;
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Starts again on the same port: empty, unless the settings persist. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

/** A Redis of one test's own, without persistence and without eviction. */
export async function startPrivateRedis(settings: readonly string[] = []): Promise<PrivateRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'tidemark-redis-'));
  const port = await freePort();
  const start = async (): Promise<ChildProcess> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir];
    args.push('--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction', ...settings);
    const child = startProcess('redis-server', args, { logFile: join(dir, 'redis.log'), env: {} });
    await untilAnswers(child, 'redis', () => redisAnswers(port), join(dir, 'redis.log'));
    return child;
  };
  let child = await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    kill: () => end(child, 'SIGKILL'),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    restart: async () => {
      await end(child, 'SIGKILL');
      child = await start();
    },
    stop: async () => {
      await end(child, 'SIGTERM');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export function freePort(): Promise<number> {
  return new Promise((resolvePort, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolvePort(port));
    });
  });
}

const living = new Set<ChildProcess>();
// A run that is interrupted must not leave brokers behind.
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

function startProcess(
  command: string,
  args: readonly string[],
  options: { logFile: string; env: Record<string, string> },
): ChildProcess {
  mkdirSync(resolve(options.logFile, '..'), { recursive: true });
  const log = openSync(options.logFile, 'a');
  const child = spawn(command, args, {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...options.env },
  });
  child.on('error', () => {});
  living.add(child);
  child.once('exit', () => living.delete(child));
  return child;
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (hasEnded(child)) return;
  await new Promise<void>((done) => {
    const force = setTimeout(() => child.kill('SIGKILL'), 15_000);
    child.once('exit', () => {
      clearTimeout(force);
      done();
    });
    child.kill(signal);
  });
}

async function untilAnswers(
  child: ChildProcess,
  what: string,
  answers: () => Promise<boolean>,
  logFile: string,
): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!(await answers())) {
    if (hasEnded(child) || Date.now() > deadline) {
      await end(child, 'SIGKILL');
      const log = readFileSync(logFile, 'utf8').split('\n').slice(-20).join('\n');
      throw new Error(`${what} does not answer:\n${log}`);
    }
    await new Promise((wake) => setTimeout(wake, 200));
  }
}

/** ApiVersions, version 0: a broker that is not ready takes the connection, but gives no answer. */
const apiVersionsRequest = Buffer.from('0000000f00120000000000010005' + '7265616479', 'hex');

async function kafkaAnswers(port: number): Promise<boolean> {
  const answer = await ask(port, apiVersionsRequest, 8);
  return answer.length >= 8 && answer.readInt32BE(4) === 1;
}

async function redisAnswers(port: number): Promise<boolean> {
  const answer = (await ask(port, Buffer.from('PING\r\n'), 5)).toString();
  // One that asks for a password is up, too.
  return answer.startsWith('+PONG') || answer.startsWith('-NOAUTH');
}

function ask(port: number, request: Buffer, lengthMin: number): Promise<Buffer> {
  return new Promise((done) => {
    let answer: Buffer = Buffer.alloc(0);
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.setTimeout(2_000, () => socket.destroy());
    socket.on('error', () => {});
    socket.on('data', (data) => {
      answer = Buffer.concat([answer, data]);
      if (answer.length >= lengthMin) socket.destroy();
    });
    socket.on('close', () => done(answer));
  });
}

async function startContainers(): Promise<Services | undefined> {
  if (spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 10_000 }).status !== 0) {
    return undefined;
  }
  const kafkaImage = usableImage(
    'TEST_KAFKA_IMAGE',
    'confluentinc/cp-kafka:8.1.0',
    'local/cp-kafka:8.1.0',
  );
  const redisImage = usableImage('TEST_REDIS_IMAGE', 'redis:7-alpine', 'local/redis:7');
  if (kafkaImage === undefined || redisImage === undefined) return undefined;
  // The reaper removes what a crashed run leaves behind; where its image cannot be had, stop() has to do.
  if (usableImage('RYUK_CONTAINER_IMAGE', 'testcontainers/ryuk:0.14.0') === undefined) {
    process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
  }
  const { KafkaContainer } = await import('@testcontainers/kafka');
  const { RedisContainer } = await import('@testcontainers/redis');
  const [kafka, redis] = await Promise.all([
    new KafkaContainer(kafkaImage)
      .withKraft()
      .withEnvironment({
        KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
        KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS: '4',
        KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
        KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
        KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS: '4',
        KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
        KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS: '1000',
        KAFKA_HEAP_OPTS: '-Xms256m -Xmx512m',
      })
      .start(),
    new RedisContainer(redisImage).start(),
  ]);
  return {
    mode: 'testcontainers',
    kafkaBrokers: `${kafka.getHost()}:${kafka.getMappedPort(9093)}`,
    redisUrl: redis.getConnectionUrl(),
    stop: async () => {
      await Promise.all([kafka.stop(), redis.stop()]);
    },
  };
}

/** The first image that is there already, else the first that can be pulled. */
function usableImage(variable: string, ...names: readonly string[]): string | undefined {
  const wish = process.env[variable];
  if (wish) return wish;
  const docker = (args: readonly string[], timeout: number): boolean =>
    spawnSync('docker', args, { stdio: 'ignore', timeout }).status === 0;
  return (
    names.find((name) => docker(['image', 'inspect', name], 20_000)) ??
    names
      .filter((name) => !name.startsWith('local/'))
      .find((name) => docker(['pull', '-q', name], 300_000))
  );
}
