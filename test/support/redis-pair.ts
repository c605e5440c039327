import { Redis } from 'ioredis';
import { sleep } from './service-process.ts';
import { type PrivateRedis, startPrivateRedis } from './services.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/**
 * A Redis and its replica behind one address that leads to whichever is the master, as a service of a cluster does.
 * Invariant: what was written while the replica did not follow is gone after a failover.
 */
export class RedisPair {
  readonly #proxy: TcpProxy;
  readonly #client: Redis;
  #master: PrivateRedis;
  #replica: PrivateRedis;

  private constructor(master: PrivateRedis, replica: PrivateRedis, proxy: TcpProxy) {
    this.#master = master;
    this.#replica = replica;
    this.#proxy = proxy;
    this.#client = patientClient(this.url);
  }

  static async start(): Promise<RedisPair> {
    const settings = ['--repl-diskless-sync-delay', '0'];
    const [master, replica] = await Promise.all([
      startPrivateRedis(settings),
      startPrivateRedis(settings),
    ]);
    const pair = new RedisPair(master, replica, await startTcpProxy(portOf(master)));
    await pair.#follow();
    return pair;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#proxy.port}`;
  }

  /** Reaches the master through everything. */
  get client(): Redis {
    return this.#client;
  }

  /** The master dies; its replica, which has not followed for a while, takes its place. */
  async failOver(lagMs: number): Promise<void> {
    await this.#on(this.#replica, (admin) => admin.replicaof('NO', 'ONE'));
    await sleep(lagMs);
    await this.#master.kill();
    [this.#master, this.#replica] = [this.#replica, this.#master];
    this.#proxy.lead(portOf(this.#master));
    await this.#replica.restart();
    await this.#follow();
  }

  /** It loses everything. */
  restart(): Promise<void> {
    return this.#master.restart();
  }

  pause(): void {
    this.#master.pause();
  }

  resume(): void {
    this.#master.resume();
  }

  async stop(): Promise<void> {
    this.#client.disconnect();
    await this.#proxy.close();
    await Promise.all([this.#master.stop(), this.#replica.stop()]);
  }

  async #follow(): Promise<void> {
    const port = portOf(this.#master);
    await this.#on(this.#replica, (admin) => admin.replicaof('127.0.0.1', port));
  }

  async #on(node: PrivateRedis, deed: (admin: Redis) => Promise<unknown>): Promise<void> {
    const admin = patientClient(node.url);
    try {
      await deed(admin);
    } finally {
      admin.disconnect();
    }
  }
}

function patientClient(url: string): Redis {
  const client = new Redis(url, { maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  return client;
}

function portOf({ url }: PrivateRedis): number {
  return Number(new URL(url).port);
}
