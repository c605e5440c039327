import { FlowError } from '../../base/errors.ts';
import { oncePer } from '../../base/once-per.ts';
import type { Log, LogProducer, LogReader, OutgoingRecord, Slice } from '../../ports/log.ts';
import { isOverruled } from '../views/standing-pins.ts';
import { ParsedTexts } from './parsed-texts.ts';

/** What the catalog topic remembers, by kind of key. Values are JSON objects. */
export type CatalogKind =
  | 'topic'
  | 'writer'
  | 'carried'
  | 'instance'
  | 'flow'
  | 'view'
  | 'takeover'
  | 'checkpoint'
  | 'source'
  | 'gap'
  | 'generation'
  | 'lock'
  | 'refresh'
  | 'readable'
  | 'letters'
  | 'replayed'
  | 'event'
  | 'static'
  | 'once'
  | 'skip'
  | 'pause'
  | 'stop';

export type CatalogEntry = {
  readonly kind: CatalogKind;
  readonly name: string;
  readonly value: Readonly<Record<string, unknown>>;
  /** Offset of the record in the catalog topic. */
  readonly offset: number;
};

type NewEntry = {
  readonly kind: CatalogKind;
  readonly name: string;
  /** undefined deletes. */
  readonly value: Readonly<Record<string, unknown>> | undefined;
};

export type CatalogChange = {
  readonly kind: CatalogKind;
  readonly name: string;
  /** undefined: it is deleted. */
  readonly value: Readonly<Record<string, unknown>> | undefined;
};

const parsedTexts = new ParsedTexts();

/** How long each look waits for entries that a transaction hides. */
const hiddenWaitMs = 100;
/** A live writer has a record of the catalog open for a moment only. */
const stuckLooks = 20;
const hiddenLooksMax = 600;

/**
 * The pipeline's own compacted topic: the only durable memory beside outputs and group offsets.
 * Invariants: what `read` gave stands at least as far as readers could see the topic when it was called; once `write` is over all
 * that was entered before it is known here, since whoever enters a lock, or takes something over, has to see who came first.
 *
 * Record: key `{"kind":…,"name":…}`, value a JSON object with `"v":1`. Changes: 2026-11-30 version 1.
 */
export class Catalog {
  readonly #log: Log;
  readonly #topic: string;
  readonly #reader: LogReader;
  /** Kind → name → entry. */
  readonly #entries = new Map<CatalogKind, Map<string, CatalogEntry>>();
  #producer: LogProducer | undefined;
  #position = 0;
  #isAssigned = false;
  #isClosed = false;
  /** Told to everybody who asks from then on: whoever hears of it first may be one that only looks. */
  #loss: FlowError | undefined;
  /** The call that runs: reader and producer are shared by all flows of a worker, and a commit runs alone. */
  #running: Promise<unknown> = Promise.resolve();

  constructor(log: Log, topic: string) {
    this.#log = log;
    this.#topic = topic;
    this.#reader = log.openReader();
  }

  get topic(): string {
    return this.#topic;
  }

  /** Offset up to which the topic is known here. */
  get position(): number {
    return this.#position;
  }

  /** Reads on to the end of the topic, as it stands now. */
  read(): Promise<void> {
    return this.#inTurn(() => this.#read());
  }

  /**
   * Takes in what has come since, and asks nobody: the reader waits for news all the time. For whoever looks again and again
   * and may hear of a change a moment later.
   */
  follow(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isAssigned) this.#takeAll(await this.#poll(0));
      else await this.#read();
    });
  }

  async #read(): Promise<void> {
    const ranges = await this.#orLost(() => this.#log.offsetRanges(this.#topic, [0]));
    const range = ranges.get(0);
    if (range === undefined) {
      throw new FlowError('TOPIC_MISSING', `catalog topic "${this.#topic}" is missing`);
    }
    // What is known of it would be called the present, and what is written be read by nobody.
    if (range.end < this.#position) throw this.#lost();
    if (!this.#isAssigned) {
      this.#position = Math.max(this.#position, range.start);
      this.#reader.assign(this.#topic, 0, this.#position);
      this.#isAssigned = true;
    }
    while (this.#position < range.stable) {
      const slices = await this.#poll(1000);
      // A reader that is closed answers at once and for ever (simulation seed 1150).
      if (this.#isClosed) throw new FlowError('BROKER_UNAVAILABLE', 'the catalog is closed');
      this.#takeAll(slices);
      // Made anew since its end was asked for, it may never come to it (simulation seed 9140649).
      if (slices.length === 0) await this.#refuseShorter(range.stable);
    }
  }

  async #refuseShorter(goal: number): Promise<void> {
    const ranges = await this.#orLost(() => this.#log.offsetRanges(this.#topic, [0]));
    if ((ranges.get(0)?.end ?? 0) < goal) throw this.#lost();
  }

  #poll(maxWaitMs: number): Promise<readonly Slice[]> {
    return this.#orLost(() => this.#reader.poll(maxWaitMs));
  }

  /** What the log says of a topic that is gone, or is another one, said of the catalog, once that was read. */
  async #orLost<Result>(ask: () => Promise<Result>): Promise<Result> {
    try {
      return await ask();
    } catch (error) {
      if (this.#isAssigned && error instanceof FlowError && isOfAnother(error)) throw this.#lost();
      throw error;
    }
  }

  #lost(): FlowError {
    this.#loss ??= new FlowError(
      'DEFINITION_MISSING',
      `catalog topic "${this.#topic}" was deleted, perhaps created again, or has lost records`,
      {
        detail:
          'It is the only memory of definitions, gaps and locks: whoever goes on without it would call nothing wrong any more.',
        hint: `Restore topic "${this.#topic}" from a copy, with its records in order, and start again. Without a copy compute each table anew: tidemark refresh TABLE --in-place (--plan tells first what that would lose).`,
      },
    );
    return this.#loss;
  }

  #takeAll(slices: readonly Slice[]): void {
    for (const { records, nextOffset } of slices) {
      while (records.next()) {
        const { bytes } = records;
        const key = bytes.toString('utf8', records.keyStart, records.keyEnd);
        const isDeleted = records.valueEnd < 0;
        const value = isDeleted
          ? undefined
          : bytes.toString('utf8', records.valueStart, records.valueEnd);
        this.#take(key, value, records.offset);
      }
      this.#position = nextOffset;
    }
  }

  /** `undefined` deletes. */
  #take(key: string, text: string | undefined, offset: number): void {
    try {
      const { kind, name } = parsedTexts.parse(key) as { kind: CatalogKind; name: string };
      const entries = this.#entries.get(kind) ?? new Map<string, CatalogEntry>();
      if (text === undefined) {
        entries.delete(name);
        return;
      }
      const value = parsedTexts.parse(text);
      const entry = { kind, name, value, offset };
      if (kind === 'once' && isOverruled(entries.get(name), entry)) return;
      entries.set(name, entry);
      this.#entries.set(kind, entries);
    } catch (cause) {
      throw new FlowError(
        'CHECKPOINT_DAMAGED',
        `catalog topic "${this.#topic}" holds a record that is not one of ours`,
        {
          detail: `Offset ${offset}, key ${key.slice(0, 200)}.`,
          hint: 'Find out what else writes to this topic; delete the record with a tombstone of the same key to repair it.',
          cause,
        },
      );
    }
  }

  get(kind: CatalogKind, name: string): CatalogEntry | undefined {
    return this.#entries.get(kind)?.get(name);
  }

  all(kind: CatalogKind): CatalogEntry[] {
    return [...(this.#entries.get(kind)?.values() ?? [])];
  }

  /**
   * Appends entries (`undefined` deletes) and reads them back. Returns the offset after the last of them,
   * which grows with every write of whichever process: the epoch of a takeover. What a writer that died has left open over
   * them is ended.
   */
  write(entries: readonly NewEntry[], nowMs: number): Promise<number> {
    return this.#inTurn(() => this.#write(entries, nowMs));
  }

  async #write(entries: readonly NewEntry[], nowMs: number): Promise<number> {
    this.#producer ??= await this.#log.openProducer(undefined);
    for (const entry of entries) {
      this.#producer.append(this.#topic, 0, catalogRecord(entry, nowMs));
    }
    try {
      const { ends } = await this.#producer.commit([]);
      await this.#read();
      const end = ends.get(`${this.#topic}/0`) ?? this.#position;
      if (this.#position < end) await this.#readHidden(end);
      return end;
    } catch (error) {
      if (error instanceof FlowError && error.code === 'DEFINITION_MISSING') {
        await this.#takeBack(entries, nowMs).catch(() => undefined);
      }
      // A producer with an unknown outcome is of no more use; writing the same entry twice does no harm.
      const broken = this.#producer;
      this.#producer = undefined;
      await broken.close().catch(() => undefined);
      throw error;
    }
  }

  /**
   * The entries behind a transaction that has one in it. Whoever opens such a one is entered as a writer before it, so that it is
   * known here, and can be ended where it is not over soon (simulation seed 711 with refreshes).
   */
  async #readHidden(end: number): Promise<void> {
    const fenced = new Set<string>();
    for (let look = 1; this.#position < end; look += 1) {
      if (this.#isClosed) throw new FlowError('BROKER_UNAVAILABLE', 'the catalog is closed');
      if (look > hiddenLooksMax) {
        throw new FlowError(
          'BROKER_TIMEOUT',
          `a transaction is open on catalog topic "${this.#topic}"`,
          {
            detail: `Readers see nothing behind offset ${this.#position}, and none of the writers that the catalog knows holds it.`,
            hint: 'Find out who writes to this topic, and end that transaction: kafka-transactions.sh --find-hanging.',
          },
        );
      }
      if (look % stuckLooks === 0) await this.#fenceWriters(fenced);
      this.#takeAll(await this.#poll(hiddenWaitMs));
      if (this.#position < end) await this.#refuseShorter(end);
    }
  }

  async #fenceWriters(fenced: Set<string>): Promise<void> {
    for (const { name } of this.all('instance').filter(isWriter)) {
      if (fenced.has(name)) continue;
      fenced.add(name);
      await this.#log.fence(name);
    }
  }

  /**
   * What was written went into a topic that knows nothing of what was read before: whoever starts next would find a definition there, and
   * never hear that the rest is lost (simulation seed 42833).
   */
  async #takeBack(entries: readonly NewEntry[], nowMs: number): Promise<void> {
    for (const { kind, name } of entries) {
      this.#producer?.append(
        this.#topic,
        0,
        catalogRecord({ kind, name, value: undefined }, nowMs),
      );
    }
    await this.#producer?.commit([]);
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#running.then(() => {
      if (this.#loss !== undefined) throw this.#loss;
      return work();
    });
    this.#running = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reader.close();
    await this.#producer?.close();
  }
}

/** What somebody who only looks asks of a catalog. */
export type KnownCatalog = Pick<Catalog, 'get' | 'all' | 'read'>;

/** That of a pipeline which never ran. */
export const noCatalog: KnownCatalog = {
  get: () => undefined,
  all: () => [],
  read: () => Promise.resolve(),
};

/** Whether an entry is of a writer that is no instance: such a one has no other name than that of its transactions. */
function isWriter({ name, value }: CatalogEntry): boolean {
  return value['instance'] === name;
}

function isOfAnother({ code }: FlowError): boolean {
  return ['TOPIC_RECREATED', 'OFFSET_OUT_OF_RANGE', 'TOPIC_MISSING'].includes(code);
}

/** The catalog of a pipeline as it stands; undefined: it never ran. Nothing is created. */
export async function openCatalog(log: Log, topic: string): Promise<Catalog | undefined> {
  if (!(await log.describeTopics([topic])).has(topic)) return undefined;
  const catalog = new Catalog(log, topic);
  try {
    await catalog.read();
    return catalog;
  } catch (error) {
    await catalog.close();
    throw error;
  }
}

/** An entry as it is written: for a transaction that has more in it. */
export function catalogRecord({ kind, name, value }: NewEntry, nowMs: number): OutgoingRecord {
  const key = Buffer.from(`{"kind":"${kind}","name":${JSON.stringify(name)}}`);
  const body = value === undefined ? undefined : bodyOf(value);
  return textRecord(key, body, nowMs);
}

function bodyOf(value: Readonly<Record<string, unknown>>): Buffer {
  return Object.isFrozen(value) ? bodyOfFrozen(value) : Buffer.from(versioned(value));
}

/** A definition is long, and each start of a flow that is new writes the same one. */
const bodyOfFrozen = oncePer((value: Readonly<Record<string, unknown>>) =>
  Buffer.from(versioned(value)),
);

/** As JSON, with its version in front; a value that was read has one. */
function versioned(value: Readonly<Record<string, unknown>>): string {
  if ('v' in value) return JSON.stringify({ v: 1, ...value });
  const text = JSON.stringify(value);
  return text === '{}' ? '{"v":1}' : `{"v":1,${text.slice(1)}`;
}

const empty = Buffer.alloc(0);

function textRecord(key: Buffer, value: Buffer | undefined, nowMs: number): OutgoingRecord {
  return {
    key,
    keyStart: 0,
    keyEnd: key.length,
    value: value ?? empty,
    valueStart: 0,
    valueEnd: value === undefined ? -1 : value.length,
    headers: empty,
    headersStart: 0,
    headersEnd: 0,
    timestampMs: nowMs,
  };
}
