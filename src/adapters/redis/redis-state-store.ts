import { FlowError } from '../../base/errors.ts';
import { NewerOwnerError } from '../../ports/newer-owner.ts';
import type { StateSession, StateStore, StateTaskId, StateUsage } from '../../ports/state-store.ts';
import { stateTaskName } from '../../ports/state-task-name.ts';
import { RedisClient, type RedisClientOptions } from './redis-client.ts';
import { plainRequest } from './redis-requests.ts';
import { redisScripts } from './redis-scripts.ts';
import { decodeMark, RedisStateSession } from './redis-state-session.ts';

/** Every command in use is older; releases below this one are maintained by nobody. */
const versionMin = '6.2';

export type RedisStateStoreOptions = RedisClientOptions;

/**
 * Opens the state store in Redis: one server, a master behind sentinels, or a cluster. Rejects with
 * STATE_UNAVAILABLE when the server is away for longer than the deadline, so that the caller can try again.
 */
export async function openRedisStateStore(options: RedisStateStoreOptions): Promise<StateStore> {
  const client = new RedisClient(options);
  try {
    await client.connect();
  } catch (error) {
    client.close();
    throw error;
  }
  return new RedisStateStore(client);
}

/**
 * State in Redis, one hash a task. Invariant: entries, mark and epoch of a task are fields of the same hash, so
 * that whatever removes a part of them (expiry, eviction, a flush, a moved slot) removes all.
 */
class RedisStateStore implements StateStore {
  readonly #client: RedisClient;

  constructor(client: RedisClient) {
    this.#client = client;
  }

  async check(): Promise<void> {
    for (const text of await this.#client.info()) {
      checkServer(text, this.#client.server.address);
    }
  }

  async open(task: StateTaskId, epoch: number): Promise<StateSession> {
    const hash = hashOf(task);
    const answer = await this.#asOwner(redisScripts.open, hash, epoch);
    return new RedisStateSession({ client: this.#client, hash, epoch, mark: decodeMark(answer) });
  }

  async forget(task: StateTaskId, epoch: number): Promise<void> {
    await this.#asOwner(redisScripts.forget, hashOf(task), epoch);
  }

  async #asOwner(script: string, hash: string, epoch: number): Promise<Buffer | null> {
    const request = plainRequest('EVAL', script, '1', hash, String(epoch));
    const [isOwn, answer] = (await this.#client.send(request)) as [number, Buffer | null];
    if (isOwn === 1) return answer;
    throw new NewerOwnerError(hash, Number(answer), epoch);
  }

  async usage(): Promise<StateUsage> {
    const usage = { usedBytes: 0, limitBytes: 0, evictedKeys: 0 };
    for (const text of await this.#client.info()) {
      const info = parseInfo(text);
      usage.usedBytes += Number(info.get('used_memory') ?? 0);
      usage.limitBytes += Number(info.get('maxmemory') ?? 0);
      usage.evictedKeys += Number(info.get('evicted_keys') ?? 0);
    }
    return usage;
  }

  close(): Promise<void> {
    this.#client.close();
    return Promise.resolve();
  }
}

/** The braces make all of a task's name the hash tag, so that a cluster spreads tasks over its nodes. */
function hashOf(task: StateTaskId): string {
  return `tidemark:{${stateTaskName(task).join('.')}}`;
}

function parseInfo(text: string): ReadonlyMap<string, string> {
  const info = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0) info.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return info;
}

function checkServer(text: string, address: string): void {
  const info = parseInfo(text);
  const version = info.get('redis_version') ?? '0';
  if (isBelow(version, versionMin)) {
    throw new FlowError('NOT_SUPPORTED', `redis ${version} at ${address} is too old`, {
      hint: `Use Redis ${versionMin} or later.`,
    });
  }
  const limit = info.get('maxmemory');
  const policy = info.get('maxmemory_policy') ?? 'unknown';
  if (limit !== '0' && policy !== 'noeviction') {
    throw new FlowError(
      'CONFIG_INVALID',
      `redis at ${address} may evict state: maxmemory-policy is ${policy}`,
      {
        detail: `Its maxmemory is ${limit ?? 'unknown'} bytes; the state of a whole task would vanish when they are used up.`,
        hint: 'Set maxmemory-policy to noeviction, or give the pipeline a Redis of its own.',
      },
    );
  }
}

function isBelow(version: string, minimum: string): boolean {
  const [parts, bounds] = [version.split('.').map(Number), minimum.split('.').map(Number)];
  for (const [index, bound] of bounds.entries()) {
    const part = parts[index] ?? 0;
    if (part !== bound) return part < bound;
  }
  return false;
}
