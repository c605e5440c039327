import { readProvenance } from '../../data/provenance.ts';
import { readHeaders } from '../../data/record-headers.ts';
import type { PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, LogReader, RecordCursor, Slice } from '../../ports/log.ts';
import { splitNumberedKey } from '../../task/output/numbered-key.ts';
import { parseSources } from '../../task/output/output-record.ts';
import { boundsNow, gatherFacts, type RefreshFacts } from '../refresh/refresh-facts.ts';
import { tableGeneration } from '../takeover/generation.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import type { Catalog, KnownCatalog } from '../topics/catalog.ts';
import { RowSample, type SampleFigures } from './row-sample.ts';

export type ReadableOptions = {
  readonly log: Log;
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  /** The partitions of a table that this instance looks after. */
  readonly ownPartitions: (table: string) => readonly number[];
};

/** What a full refresh would lose of the partitions of a table that an instance looks after, as it was measured last. */
export type Readable = SampleFigures & {
  readonly table: string;
  readonly partition: number;
  /** That of the table when it was measured: a refresh replaces the rows. */
  readonly generation: number;
  readonly atMs: number;
};

/** Whether a figure is of the rows that the table has now. */
export function isOfNow(
  catalog: KnownCatalog | undefined,
  plan: PipelinePlan,
  { table, generation }: Readable,
): boolean {
  const writers = plan.flows.flatMap(({ name, target }) => (target === table ? [name] : []));
  return generation === tableGeneration(catalog, writers);
}

const lookIntervalMs = 60_000;
/** How long one look may read; what is left is read in the next one. */
const readMsMax = 2_000;
const keysMax = 20_000;

type Followed = { readonly sample: RowSample; position: number };

/**
 * Measures all the time which share of each table's rows can still be read from its sources: it follows the output topics
 * by their headers, at a pace that leaves the flows alone. Invariant: a figure is told only of a partition that was
 * followed to the end it had when it was looked at.
 */
export class ReadableWatch {
  readonly #options: ReadableOptions;
  readonly #reader: LogReader;
  readonly #followed = new Map<string, Followed>();
  readonly #figures = new Map<string, Readable>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ReadableOptions) {
    this.#options = options;
    this.#reader = options.log.openReader();
  }

  start(onBug: (error: unknown) => void): void {
    const look = (): void => {
      this.#looking = this.look()
        .catch(onBug)
        .finally(() => {
          if (!this.#isClosed) this.#timer = setTimeout(look, lookIntervalMs).unref();
        });
    };
    this.#timer = setTimeout(look, lookIntervalMs / 4).unref();
  }

  figures(): readonly Readable[] {
    const { catalog, plan } = this.#options;
    return [...this.#figures.values()].filter((one) => isOfNow(catalog, plan, one));
  }

  /** One look at each table; of one that can't be looked at now the former figures stand. */
  async look(): Promise<void> {
    const { plan, clock } = this.#options;
    const untilMs = clock.monotonic() + readMsMax;
    const written = plan.tables.filter(({ name }) =>
      plan.flows.some(({ target }) => target === name),
    );
    this.#forgetOthers(written);
    for (const table of written) {
      if (this.#isClosed) return;
      await this.#lookAt(table, untilMs).catch(() => undefined);
    }
    await this.#record();
  }

  /** Partitions that went to other instances are theirs to tell of. */
  #forgetOthers(tables: readonly TablePlan[]): void {
    const own = new Set(
      tables.flatMap(({ name }) =>
        this.#options.ownPartitions(name).map((partition) => partitionKey(name, partition)),
      ),
    );
    for (const map of [this.#followed, this.#figures]) {
      for (const name of map.keys()) if (!own.has(name)) map.delete(name);
    }
  }

  async #lookAt(table: TablePlan, untilMs: number): Promise<void> {
    const { log, clock, ownPartitions } = this.#options;
    const own = ownPartitions(table.name);
    if (own.length === 0) return;
    const facts = await gatherFacts({ ...this.#options, table, isGlance: true });
    for (const { partition, start, stable } of facts.output?.partitions ?? []) {
      if (!own.includes(partition)) continue;
      const name = partitionKey(table.name, partition);
      let followed = this.#followed.get(name);
      // A log that was cut at its start is followed anew: what was deleted left no tombstone.
      if (followed === undefined || followed.position < start) {
        followed = { sample: new RowSample(keysMax), position: start };
        this.#followed.set(name, followed);
      }
      if (!(await this.#follow(facts, partition, followed, stable, untilMs))) continue;
      const figures = followed.sample.figures(await boundsNow(log, facts));
      const { generation } = facts;
      const found = { table: table.name, partition, generation, atMs: clock.now(), ...figures };
      this.#figures.set(name, found);
    }
  }

  /** Whether the end was reached in the time that is left. */
  async #follow(
    facts: RefreshFacts,
    partition: number,
    followed: Followed,
    end: number,
    untilMs: number,
  ): Promise<boolean> {
    const { topic } = facts.table;
    if (followed.position >= end) return true;
    this.#reader.assign(topic, partition, followed.position);
    try {
      while (followed.position < end) {
        if (this.#isClosed || this.#options.clock.monotonic() >= untilMs) return false;
        for (const slice of await this.#reader.poll(500)) {
          if (slice.topic !== topic || slice.partition !== partition) continue;
          takeSlice(facts, slice, followed.sample);
          followed.position = slice.nextOffset;
        }
      }
      return true;
    } finally {
      this.#reader.unassign(topic, partition);
    }
  }

  /** What was measured is in the catalog, for whoever asks without a service at hand. */
  async #record(): Promise<void> {
    const { catalog, clock } = this.#options;
    const entries = this.figures().flatMap((figures) => {
      const name = partitionKey(figures.table, figures.partition);
      const known = catalog.get('readable', name)?.value;
      const isKnown = (['rows', 'lost', 'atRisk', 'generation'] as const).every(
        (part) => known?.[part] === figures[part],
      );
      return isKnown ? [] : [{ kind: 'readable' as const, name, value: figures }];
    });
    if (entries.length > 0 && !this.#isClosed) await catalog.write(entries, clock.now());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#reader.wake();
    await this.#looking.catch(() => undefined);
    await this.#reader.close();
  }
}

function takeSlice(facts: RefreshFacts, { records, partition }: Slice, sample: RowSample): void {
  while (records.next()) {
    const { bytes, keyStart, keyEnd, valueEnd, offset } = records;
    const text = facts.isAppended
      ? `${partition}@${offset}`
      : bytes.toString('latin1', keyStart, keyEnd);
    const split = facts.isNumbered ? splitNumberedKey(text) : { key: text, position: 0 };
    if (split === undefined || !sample.isWanted(split.key)) continue;
    if (valueEnd < 0) {
      sample.tombstone(split.key, split.position);
      continue;
    }
    const { sequence, sources } = headersOf(records);
    const rows = (parseSources(sources) ?? []).map((group) =>
      group.map((source) => readProvenance(source, 0)),
    );
    sample.record(split.key, split.position, sequence, rows);
  }
}

function headersOf({ bytes, headersStart, headersEnd }: RecordCursor) {
  let sequence = '';
  let sources = '';
  for (const { key, value } of readHeaders(bytes, headersStart, headersEnd)) {
    if (key === 'tm-seq') sequence = value?.toString('utf8') ?? '';
    if (key === 'tm-src') sources = value?.toString('latin1') ?? '';
  }
  return { sequence, sources };
}
