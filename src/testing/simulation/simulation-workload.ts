import type { MemoryLog } from '../../adapters/memory/memory-log.ts';
import { emptyFlowCounters, type FlowCounters } from '../../task/row-account.ts';
import { sourceText } from '../check/fold-output.ts';
import type { ReferenceRow } from '../check/reference.ts';
import type { Random } from '../random.ts';
import { abortedRecord } from './aborted-record.ts';
import {
  type BranchResult,
  type DecodedRecord,
  type PlacedRecord,
  recordText,
  type ShapeFlow,
  type SimulationShape,
  type SourceRecord,
} from './shape-parts.ts';

/** Where a record lies in its source. */
export type RecordPlace = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
};

/** A row that a flow must make of a record. */
export type WorkloadRow = ReferenceRow<number> & {
  readonly place: RecordPlace;
  readonly isTruncate?: true | undefined;
};

/** What a flow must make of everything that was produced. */
export type FlowExpectation = {
  readonly rows: readonly WorkloadRow[];
  readonly counters: FlowCounters;
  readonly deadLetters: readonly RecordPlace[];
};

type Produced = {
  readonly place: RecordPlace;
  readonly topicId: string;
  readonly record: SourceRecord;
};

export type WorkloadOptions = {
  readonly shape: SimulationShape;
  readonly log: MemoryLog;
  readonly random: Random;
  readonly keys: number;
  readonly sequences: number;
  /** Of a thousand records, how many are bad or tombstones. */
  readonly dirtPermille: number;
};

/**
 * The producers of a simulated world, and what the definition makes of what they wrote. Invariant: a record
 * counts from the moment that it lies in the log, whoever sent it and however often.
 */
export class Workload {
  readonly #options: WorkloadOptions;
  readonly #produced: Produced[] = [];
  readonly #topicIds = new Map<string, string>();
  /** Flow → records that it lost by a gap that was accepted. */
  readonly #lost = new Map<string, ((place: RecordPlace, topicId: string) => boolean)[]>();
  #last: SourceRecord = 'tombstone';

  constructor(options: WorkloadOptions) {
    this.#options = options;
  }

  get records(): number {
    return this.#produced.length;
  }

  /** Reads the topics' ids again: some may have been created anew. */
  async learnTopics(): Promise<void> {
    const { log, shape } = this.#options;
    for (const [name, { topicId }] of await log.describeTopics(shape.topics)) {
      this.#topicIds.set(name, topicId.replaceAll('-', ''));
    }
  }

  async produce(count: number): Promise<void> {
    const { random, shape, log } = this.#options;
    for (let made = 0; made < count; made += 1) {
      const topic = random.pick(shape.topics) ?? '';
      const partition = random.below(log.partitionCountNow(topic));
      if (random.chance(30)) await this.#abortOne(topic, partition);
      // A producer that sends a record twice, as a record of its own.
      if (!random.chance(80)) this.#last = this.#draw();
      this.produceTo(topic, partition, this.#last);
    }
  }

  produceTo(topic: string, partition: number, record: SourceRecord = this.#draw()): void {
    const { log, shape } = this.#options;
    const value =
      typeof record === 'string' || shape.text === undefined
        ? recordText(record, shape.isTimed === true)
        : shape.text(record);
    const offset = log.produce(topic, partition, { value });
    const topicId = this.#topicIds.get(topic) ?? '';
    this.#produced.push({ place: { topic, partition, offset }, topicId, record });
  }

  /** Records that a flow need not know: they were gone before it read them, and somebody took that into account. */
  lose(flow: string, isLost: (place: RecordPlace, topicId: string) => boolean): void {
    this.#lost.set(flow, [...(this.#lost.get(flow) ?? []), isLost]);
  }

  /** What can be decoded of the topics of a flow. */
  recordsOf({ branches }: ShapeFlow): readonly PlacedRecord[] {
    return this.#produced.flatMap(({ place, record }) => {
      const isRead = branches.some((branch) => branch.topic === place.topic);
      return isRead && typeof record !== 'string' ? [{ ...place, record }] : [];
    });
  }

  /** Where the bad records of a flow lie, whatever its rows follow from. */
  badOf({ branches, isBad }: ShapeFlow): readonly RecordPlace[] {
    return this.#produced.flatMap(({ place, record }) => {
      const isRead = branches.some(({ topic, via }) => topic === place.topic && via === undefined);
      const isBadHere =
        record === 'malformed' || (typeof record !== 'string' && isBad?.(record) === true);
      return isRead && isBadHere ? [place] : [];
    });
  }

  /** `isInTime`: whether a record counts for a flow that reads no more than there was at its start. */
  expectationOf(
    flow: ShapeFlow,
    expectations: readonly string[],
    isInTime: (place: RecordPlace) => boolean = () => true,
  ): FlowExpectation {
    const counters = emptyFlowCounters(expectations);
    const rows: WorkloadRow[] = [];
    const deadLetters: RecordPlace[] = [];
    const losses = this.#lost.get(flow.name) ?? [];
    for (const { place, topicId, record } of this.#produced) {
      if (!flow.branches.some(({ topic }) => topic === place.topic)) continue;
      if (losses.some((isLost) => isLost(place, topicId)) || !isInTime(place)) continue;
      const passes = flow.branches.filter(({ via }) => via !== undefined);
      if (passes.length > 0) {
        rows.push(...passedOn(flow, place, topicId, record, counters));
        continue;
      }
      counters.records += 1;
      const made = record === 'malformed' ? undefined : rowsOf(flow, place, topicId, record);
      if (made === undefined) {
        counters.deadLettered += 1;
        deadLetters.push(place);
      } else if (record === 'tombstone') {
        counters.tombstones += 1;
      } else {
        counters.decoded += 1;
        counters.rows += made.generated;
        counters.filtered += made.filtered;
        counters.dropped += made.dropped;
        counters.handedOn += made.rows.length;
        for (const one of made.judged) addJudged(counters, one);
        rows.push(...made.rows);
      }
    }
    return { rows, counters, deadLetters };
  }

  /** A record that every reader can decode, and that tells a time. */
  produceClean(topic: string, partition: number): void {
    this.produceTo(topic, partition, this.#draw(0));
  }

  #draw(dirtPermille = this.#options.dirtPermille): SourceRecord {
    const { random, keys, sequences } = this.#options;
    if (random.chance(dirtPermille)) return random.chance(500) ? 'tombstone' : 'malformed';
    const v = `v${this.#produced.length}`;
    return {
      k: random.chance(50) ? null : random.below(keys),
      g: random.below(4),
      seq: random.chance(dirtPermille) ? null : random.below(sequences),
      v,
      items: Array.from({ length: random.below(4) }, (_, index) => `${v}.${index}`),
    };
  }

  /** Some of what is written is aborted: offsets are left out, and nothing of it may show. */
  async #abortOne(topic: string, partition: number): Promise<void> {
    const producer = await this.#options.log.openProducer('foreign');
    producer.append(topic, partition, abortedRecord);
    await producer.abort();
  }
}

function addJudged(counters: FlowCounters, judged: NonNullable<BranchResult['judged']>): void {
  for (const one of counters.expectations) {
    one.passed += judged[one.name]?.passed ?? 0;
    one.failed += judged[one.name]?.failed ?? 0;
  }
}

type MadeRows = Omit<BranchResult, 'rows' | 'judged'> & {
  readonly rows: readonly WorkloadRow[];
  /** Of each branch. */
  readonly judged: readonly NonNullable<BranchResult['judged']>[];
};

function rowsOf(
  flow: ShapeFlow,
  place: RecordPlace,
  topicId: string,
  record: DecodedRecord | 'tombstone',
): MadeRows | undefined {
  const judged: NonNullable<BranchResult['judged']>[] = [];
  const made = { rows: [] as WorkloadRow[], generated: 0, filtered: 0, dropped: 0, judged };
  if (record === 'tombstone') return made;
  for (const [branch, { topic, rows }] of flow.branches.entries()) {
    if (topic !== place.topic) continue;
    const result = rows(record);
    if (result === undefined) return undefined;
    made.generated += result.generated;
    made.filtered += result.filtered;
    made.dropped += result.dropped;
    if (result.judged !== undefined) judged.push(result.judged);
    for (const { index, key, sequence, row, isTruncate } of result.rows) {
      const { partition, offset } = place;
      const provenance = sourceText({ topicId, partition, offset, branch, index });
      made.rows.push({ key, sequence, row, provenance, place, isTruncate });
    }
  }
  return made;
}

/** Rows that come through a table of the pipeline: its records are what the flow reads. */
function passedOn(
  flow: ShapeFlow,
  place: RecordPlace,
  topicId: string,
  record: SourceRecord,
  counters: FlowCounters,
): readonly WorkloadRow[] {
  if (typeof record === 'string') return [];
  const rows: WorkloadRow[] = [];
  for (const { topic, isPassedOn, rows: rowsOfBranch } of flow.branches) {
    if (topic !== place.topic || isPassedOn?.(record) === false) continue;
    const result = rowsOfBranch(record);
    if (result === undefined) throw new Error(`flow "${flow.name}" is passed a bad record`);
    counters.records += 1;
    counters.decoded += 1;
    counters.rows += result.generated;
    counters.filtered += result.filtered;
    counters.dropped += result.dropped;
    counters.handedOn += result.rows.length;
    for (const { index, key, sequence, row } of result.rows) {
      const { partition, offset } = place;
      const provenance = sourceText({ topicId, partition, offset, branch: 0, index });
      rows.push({ key, sequence, row, provenance, place });
    }
  }
  return rows;
}
