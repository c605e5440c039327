import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { StateMachine } from '../../base/state-machine.ts';
import type { FlowPlan, TablePlan } from '../../plan/pipeline-plan.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RefreshMode } from '../../refresh/refresh-request.ts';
import { isOver, type RefreshState, refreshTransitions } from '../../refresh/refresh-states.ts';
import type { Catalog, CatalogChange } from '../topics/catalog.ts';
import { type LockFacts, lockName } from '../topics/locks.ts';

/** A full refresh as the catalog remembers it, under the name of its flow. */
export type RefreshRecord = {
  readonly flow: string;
  readonly table: string;
  readonly mode: RefreshMode;
  readonly state: RefreshState;
  /** The generation that the table is in afterwards. */
  readonly generation: number;
  readonly allowLoss: boolean;
  readonly keepUnrecoverable: boolean;
  readonly startedAtMs: number;
  readonly changedAtMs: number;
  /** Digest of the definition that it makes the table of. */
  readonly definition: string;
  /** It is only built, to tell what would change. */
  readonly isShadow?: true;
  /** Where the output topic ended before anything was written to it, one offset a partition. */
  readonly from?: readonly number[] | undefined;
  /** Records read so far, of those that stood there when it was looked last. */
  readonly read?: number | undefined;
  readonly toRead?: number | undefined;
  readonly recordsPerSecond?: number | undefined;
};

/** Of the flows that write a table, and of where they write it: equal digests, equal tables. */
export function definitionDigest(flows: readonly FlowPlan[], { topic, output }: TablePlan): string {
  const hash = createHash('sha256').update(`${topic} ${output}`);
  for (const { name, fingerprint } of flows) hash.update(`\0${name}\0${fingerprint}`);
  return hash.digest('base64');
}

/** The refresh of a flow that is under way, or was interrupted; undefined: there is none. */
export function openRefresh(catalog: Catalog | undefined, flow: string): RefreshRecord | undefined {
  const record = catalog?.get('refresh', flow)?.value as RefreshRecord | undefined;
  if (catalog === undefined || record === undefined || isOver(record.state)) return undefined;
  return asItStands(catalog, record);
}

export function refreshesOf(catalog: Catalog | undefined): readonly RefreshRecord[] {
  if (catalog === undefined) return [];
  return catalog
    .all('refresh')
    .map(({ value }) => asItStands(catalog, value as unknown as RefreshRecord));
}

/** The token of its locks, the same for every attempt. */
export function refreshToken(flow: string): string {
  return `refresh ${flow}`;
}

/**
 * An attempt that heard no answer when it said that it swaps has touched nothing and let go of the flow, which went on: what
 * was built is behind it since, and is built on. Only who holds the flow may swap.
 */
function asItStands(catalog: Catalog, record: RefreshRecord): RefreshRecord {
  const isLetGo = record.state === 'swapping' && !isHeld(catalog, record);
  return isLetGo ? { ...record, state: 'building' } : record;
}

const tellEveryMs = 10_000;
const tellLookMs = 200;

/** Follows one refresh from state to state. Invariant: what the catalog says was true when it was written. */
export class RefreshProgress {
  readonly #catalog: Catalog;
  readonly #machine: StateMachine<RefreshState>;
  #record: RefreshRecord;
  /** Where the catalog has what this attempt knows; undefined: nothing of it yet. */
  #offset: number | undefined;

  constructor(catalog: Catalog, record: RefreshRecord) {
    this.#catalog = catalog;
    this.#record = record;
    this.#machine = new StateMachine('refresh', refreshTransitions, record.state);
    this.#offset = catalog.get('refresh', record.flow)?.offset;
  }

  /** What somebody else has made of it since this attempt wrote last, as far as the catalog was read; undefined: nothing. */
  overtaken(): RefreshState | undefined {
    const known = this.#catalog.get('refresh', this.#record.flow);
    if (known === undefined || known.offset === this.#offset) return undefined;
    const { v: _version, ...record } = known.value as RefreshRecord & { readonly v?: unknown };
    // Its own, though no answer said that it was written.
    if (isDeepStrictEqual(record, plain(this.#record))) return undefined;
    return record.state;
  }

  get record(): RefreshRecord {
    return this.#record;
  }

  get state(): RefreshState {
    return this.#machine.state;
  }

  async enter(
    state: RefreshState,
    nowMs: number,
    more: Partial<Pick<RefreshRecord, 'from' | 'read' | 'toRead' | 'recordsPerSecond'>> = {},
  ): Promise<void> {
    await this.#write(state, nowMs, more, []);
  }

  /** The end, and the end of the locks, in one step. */
  async close(
    state: 'done' | 'cancelled',
    nowMs: number,
    locks: readonly LockFacts[],
  ): Promise<void> {
    const released = locks.map((lock) => ({
      kind: 'lock' as const,
      name: lockName(lock),
      value: undefined,
    }));
    await this.#write(state, nowMs, {}, released);
  }

  /**
   * Does what replaces records of the table, and tells meanwhile that it goes on: whoever hears nothing for long takes the
   * refresh for interrupted.
   */
  async whileTold<Result>(clock: Clock, work: () => Promise<Result>): Promise<Result> {
    let isEnded = false;
    let writing: Promise<void> | undefined;
    const tell = async (): Promise<void> => {
      let toldMs = clock.monotonic();
      for (;;) {
        await clock.sleep(tellLookMs);
        if (isEnded) return;
        if (clock.monotonic() - toldMs < tellEveryMs) continue;
        toldMs = clock.monotonic();
        writing = this.enter(this.state, clock.now()).catch(() => undefined);
        await writing;
      }
    };
    void tell();
    try {
      return await work();
    } finally {
      isEnded = true;
      await writing;
    }
  }

  async #write(
    state: RefreshState,
    nowMs: number,
    more: Partial<RefreshRecord>,
    entries: readonly CatalogChange[],
  ): Promise<void> {
    this.#machine.transition(state);
    this.#record = { ...this.#record, ...more, state, changedAtMs: nowMs };
    const { flow } = this.#record;
    const change: CatalogChange = { kind: 'refresh', name: flow, value: this.#record };
    await this.#catalog.write([change, ...entries], nowMs);
    this.#offset = this.#catalog.get('refresh', flow)?.offset;
  }
}

/**
 * A table that is emptied whatever it loses may hold anything: records that nobody but the refresh can get rid of. Beside
 * the table that would not help, since they stay where the state is restored from.
 */
export function takesAll({ mode, allowLoss }: Pick<RefreshRecord, 'mode' | 'allowLoss'>): boolean {
  return mode === 'in_place' && allowLoss;
}

function isHeld(catalog: Catalog, { flow }: RefreshRecord): boolean {
  return catalog.get('lock', lockName({ flow, token: refreshToken(flow) })) !== undefined;
}

/** As it is read back. */
function plain(record: RefreshRecord): unknown {
  return JSON.parse(JSON.stringify(record));
}
