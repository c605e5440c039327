import { type ExpectationPlan, isHelping, isKeyed } from '../../plan/pipeline-plan.ts';
import type { Log, RecordCursor } from '../../ports/log.ts';
import { FlowTask } from '../../task/flow-task.ts';
import type { BadRow } from '../../task/row/bad-row.ts';
import { RowCollector, type SourceRow } from '../../task/row/row-collector.ts';
import type { RowProgram } from '../../task/row/row-program.ts';
import type { FindPartners } from '../../task/row/row-steps.ts';
import { skippedOffsets } from '../takeover/skips.ts';
import { staleVersions } from '../takeover/stale-versions.ts';
import type { Catalog } from '../topics/catalog.ts';
import { compileSource } from './compile-source.ts';
import type { FlowFacts } from './flow-facts.ts';

export type SourceSpan = {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
};

/** A record, and how people write its place. */
export type RecordAt = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly place: string;
};

export type SourceRowsOptions = {
  readonly log: Log;
  readonly catalog: Catalog | undefined;
  readonly facts: FlowFacts;
  readonly nowMs: number;
  readonly onRow: (row: SourceRow) => void;
  /** Told of each record that gives no row at all. */
  readonly onBad?: (bad: BadRow & RecordAt) => void;
  /** Finds the rows of static sides; absent: a query that joins is a bug of the caller. */
  readonly partners?: FindPartners;
};

/**
 * Runs a flow's query over spans of its sources, and hands over what it gives, rows that expectations drop among it.
 * Invariant: nothing is written, joined or remembered; a row has the key, sequence, provenance and bytes that the flow
 * itself would give it.
 */
export class SourceRows {
  readonly #options: SourceRowsOptions;
  readonly #programs: ReadonlyMap<string, readonly RowProgram[]>;

  constructor(options: SourceRowsOptions) {
    this.#options = options;
    const { facts } = options;
    // An expectation that drops or fails would keep its rows from being seen.
    const table = {
      ...facts.table,
      expectations: judged(facts).map((one) => ({ ...one, action: 'warn' as const })),
    };
    this.#programs = new Map(
      facts.sources.map((source) => [
        source.topic,
        compileSource({ ...facts, table } as FlowFacts, source, options.partners ?? refuseJoin),
      ]),
    );
  }

  /** Gives the number of records between the offsets, of which markers of transactions are none. */
  async read({ topic, topicId, partition, from, to }: SourceSpan): Promise<number> {
    if (from >= to) return 0;
    const { log, catalog, facts, nowMs, onRow, onBad } = this.#options;
    const flow = facts.flow.name;
    const place = { flow, topic, topicId, partition };
    const source = facts.sources.find((one) => one.topic === topic);
    const stale =
      catalog === undefined || source === undefined
        ? undefined
        : await staleVersions({ log, catalog, source, partition, position: from, start: from });
    const task = new FlowTask({
      ...place,
      programs: this.#programs.get(topic) ?? [],
      output: new RowCollector(
        {
          table: { ...facts.table, expectations: judged(facts) },
          timeZone: facts.timeZone,
          nowMs,
          isKeyed: isKeyed(facts.flow),
          onRow,
        },
        { topic, partition },
      ),
      skipped: catalog === undefined ? undefined : skippedOffsets(catalog, place),
      stale,
      deadLetters: undefined,
      onBad: (bad, { offset }) => {
        const place = `${topic}/${partition}@${offset}`;
        onBad?.({ ...bad, topic, partition, offset, place });
      },
      deadLetterShareMax: 1,
    });
    const sink = { append: () => undefined };
    const reader = log.openReader();
    try {
      reader.assign(topic, partition, from);
      for (let position = from; position < to; ) {
        for (const slice of await reader.poll(500)) {
          task.process({ ...slice, records: new BoundedCursor(slice.records, to) }, sink, nowMs);
          position = slice.nextOffset;
        }
      }
    } finally {
      await reader.close();
    }
    return task.counters.records;
  }
}

/** What a flow that works for another one is given is no row of the table yet. */
function judged({ flow, table }: FlowFacts): readonly ExpectationPlan[] {
  return isHelping(flow) ? [] : table.expectations;
}

const refuseJoin: FindPartners = () => {
  throw new Error('a query that joins is not recomputed');
};

/** The records below an offset: a view of the same cursor. */
class BoundedCursor implements RecordCursor {
  readonly #cursor: RecordCursor;
  readonly #to: number;

  constructor(cursor: RecordCursor, to: number) {
    this.#cursor = cursor;
    this.#to = to;
  }

  next(): boolean {
    return this.#cursor.next() && this.#cursor.offset < this.#to;
  }

  get offset(): number {
    return this.#cursor.offset;
  }
  get timestampMs(): number {
    return this.#cursor.timestampMs;
  }
  get bytes(): Buffer {
    return this.#cursor.bytes;
  }
  get keyStart(): number {
    return this.#cursor.keyStart;
  }
  get keyEnd(): number {
    return this.#cursor.keyEnd;
  }
  get valueStart(): number {
    return this.#cursor.valueStart;
  }
  get valueEnd(): number {
    return this.#cursor.valueEnd;
  }
  get headersStart(): number {
    return this.#cursor.headersStart;
  }
  get headersEnd(): number {
    return this.#cursor.headersEnd;
  }
}
