import { performance } from 'node:perf_hooks';
import { FlowError } from '../../base/errors.ts';
import type {
  StateKey,
  StateMark,
  StateSession,
  StateStore,
  StateTaskId,
  StateView,
  StateWrite,
} from '../../ports/state-store.ts';
import type { MetricRegistry } from './metric-registry.ts';

type StoreName = 'redis' | 'embedded';
type Operation = 'open' | 'read' | 'write' | 'clear';

const countedCodes = ['STATE_UNAVAILABLE', 'TASK_CORRUPTED', 'TASK_MIGRATED'] as const;

/**
 * A state store whose calls are timed and counted. Invariant: it changes neither an answer nor an error, and the
 * order of the calls is that of its caller.
 */
export function measureStateStore(
  store: StateStore,
  name: StoreName,
  registry: MetricRegistry,
): StateStore {
  const meter = new StoreMeter(name, registry);
  return {
    check: () => meter.watch(() => store.check()),
    open: async (task: StateTaskId, epoch: number) =>
      new MeasuredSession(await meter.time('open', () => store.open(task, epoch)), meter),
    forget: (task: StateTaskId, epoch: number) =>
      meter.time('clear', () => store.forget(task, epoch)),
    usage: () => store.usage(),
    close: () => store.close(),
  };
}

class StoreMeter {
  readonly #store: StoreName;
  readonly #registry: MetricRegistry;

  constructor(store: StoreName, registry: MetricRegistry) {
    this.#store = store;
    this.#registry = registry;
    registry.set('tidemark_state_store_up', { store }, 1);
    for (const op of ['open', 'read', 'write', 'clear'] as const) {
      registry.start('tidemark_state_store_operation_duration_seconds', { store, op });
    }
    for (const op of ['read', 'write'] as const) this.keys(op, 0);
    for (const error of [...countedCodes, 'other']) {
      registry.count('tidemark_state_store_errors_total', { store, error }, 0);
    }
  }

  keys(op: 'read' | 'write', count: number): void {
    this.#registry.count('tidemark_state_store_keys_total', { store: this.#store, op }, count);
  }

  async time<Result>(op: Operation, call: () => Promise<Result>): Promise<Result> {
    const startedMs = performance.now();
    try {
      return await this.watch(call);
    } finally {
      this.#registry.observe(
        'tidemark_state_store_operation_duration_seconds',
        { store: this.#store, op },
        (performance.now() - startedMs) / 1000,
      );
    }
  }

  async watch<Result>(call: () => Promise<Result>): Promise<Result> {
    const store = this.#store;
    try {
      const result = await call();
      this.#registry.set('tidemark_state_store_up', { store }, 1);
      return result;
    } catch (error) {
      const code = codeOf(error);
      this.#registry.count('tidemark_state_store_errors_total', { store, error: code });
      // A refusal is an answer, too.
      this.#registry.set(
        'tidemark_state_store_up',
        { store },
        code === 'STATE_UNAVAILABLE' ? 0 : 1,
      );
      throw error;
    }
  }
}

function codeOf(error: unknown): string {
  const code = error instanceof FlowError ? error.code : undefined;
  return countedCodes.find((counted) => counted === code) ?? 'other';
}

class MeasuredSession implements StateSession {
  readonly #session: StateSession;
  readonly #meter: StoreMeter;

  constructor(session: StateSession, meter: StoreMeter) {
    this.#session = session;
    this.#meter = meter;
  }

  mark(): Promise<StateMark | undefined> {
    return this.#meter.watch(() => this.#session.mark());
  }

  read(keys: readonly StateKey[]): Promise<StateView> {
    this.#meter.keys('read', keys.length);
    return this.#meter.time('read', () => this.#session.read(keys));
  }

  write(write: StateWrite): Promise<void> {
    this.#meter.keys('write', write.entries.count);
    return this.#meter.time('write', () => this.#session.write(write));
  }

  clear(): Promise<void> {
    return this.#meter.time('clear', () => this.#session.clear());
  }

  scan(): AsyncIterable<readonly (readonly [StateKey, Buffer])[]> {
    return this.#session.scan();
  }

  keyCount(): Promise<number> {
    // Not a call of the work: a session that was let go meanwhile is no outage of the store.
    return this.#session.keyCount();
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
