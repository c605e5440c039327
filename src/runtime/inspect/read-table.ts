import { FlowError } from '../../base/errors.ts';
import { splitJsonArray } from '../../data/json-split.ts';
import { partitionOf } from '../../data/murmur2.ts';
import { type Provenance, readProvenance } from '../../data/provenance.ts';
import { sequenceCodec } from '../../data/sequence.ts';
import type { KeyedFlowPlan, TablePlan } from '../../plan/pipeline-plan.ts';
import type { Log, RecordCursor, Slice } from '../../ports/log.ts';
import { splitNumberedKey } from '../../task/output/numbered-key.ts';
import { parseSources } from '../../task/output/output-record.ts';
import {
  foreignRecord,
  foreignTombstone,
  readAt,
  readTableHeaders,
  type TableHeaders,
} from '../../task/table-records.ts';
import { halves, isInShare, type KeyShare, shareBitsMax, wholeShare } from '../worker/key-share.ts';
import {
  type PartitionToRead,
  type ReadProgress,
  readPartition,
} from '../worker/read-partition.ts';

/** One row as the output topic holds it. */
export type CommittedRow = {
  /** JSON, byte for byte: no digit passed through a number. */
  readonly json: string;
  /** Where it came from; several places where equal rows were written as one. */
  readonly sources: readonly Provenance[];
  /** Of its record, in the partition of its set; absent: it was read from the state. */
  readonly offset?: number;
};

/** The row-set of one key. */
export type CommittedSet = {
  readonly partition: number;
  /** JSON object of the key columns. */
  readonly key: string;
  /** Canonical text, as header `tm-seq` has it. */
  readonly sequence: string;
  readonly rows: readonly CommittedRow[];
};

/** The sequence of a row-set, encoded; what is none of the type is told with its record. */
export function sequenceOfSet(
  codec: { readonly parse: (text: string) => Buffer },
  { partition, sequence, rows }: CommittedSet,
  { topic }: Pick<TablePlan, 'topic'>,
): Buffer {
  return readAt({ topic, partition }, rows[0]?.offset ?? 0, () => codec.parse(sequence));
}

export type ReadTableOptions = {
  readonly log: Log;
  readonly table: TablePlan;
  readonly flow: Pick<KeyedFlowPlan, 'sequenceType'>;
  /** Bytes of rows that may be held at once. */
  readonly heldBytesMax?: number;
  readonly onProgress?: (progress: ReadProgress) => void;
};

const heldBytesDefault = 256 * 1024 * 1024;
/** What a map entry and its objects take beside the bytes themselves; measured roughly. */
const heldOverheadBytes = 250;

/** The committed row-sets of some keys, by position; undefined: the key has no rows. Keys are canonical bytes. */
export async function readTableKeys(
  options: ReadTableOptions,
  keys: readonly Buffer[],
): Promise<readonly (CommittedSet | undefined)[]> {
  const partitions = await partitionCount(options);
  const byPartition = new Map<number, Set<string>>();
  const places = keys.map((key) => {
    const partition = partitionOf(key, 0, key.length, partitions);
    const text = key.toString('latin1');
    const wanted = byPartition.get(partition) ?? new Set();
    byPartition.set(partition, wanted.add(text));
    return { partition, text };
  });
  const found = new Map<string, CommittedSet>();
  for (const [partition, wanted] of byPartition) {
    const fold = new KeyFold(options, partition, (key) => wanted.has(key));
    await readPartition(placeOf(options, partition, partitions), (slice) => fold.take(slice));
    for (const [text, set] of fold.sets()) found.set(text, set);
  }
  return places.map(({ text }) => found.get(text));
}

/**
 * Every committed row-set of a table, partition after partition, in the order in which the keys first appear.
 * Invariant: each key comes once, with one of its committed row-sets, none older than the call; and no more than
 * `heldBytesMax` of rows are held. Where a partition has more, its keys are divided and it is read again.
 */
export async function* readTable(options: ReadTableOptions): AsyncGenerator<CommittedSet> {
  const heldBytesMax = options.heldBytesMax ?? heldBytesDefault;
  const partitions = await partitionCount(options);
  for (let partition = 0; partition < partitions; partition += 1) {
    const shares: KeyShare[] = [wholeShare];
    for (;;) {
      const first = shares.shift();
      if (first === undefined) break;
      let share = first;
      const fold = new KeyFold(options, partition, (key) => isInShare(key, share));
      await readPartition(placeOf(options, partition, partitions), (slice) => {
        fold.take(slice);
        while (fold.heldBytes > heldBytesMax && share.bits < shareBitsMax) {
          const [kept, later] = halves(share);
          shares.unshift(later);
          share = kept;
          fold.drop((key) => !isInShare(key, share));
        }
      });
      for (const [, set] of fold.sets()) yield set;
    }
  }
}

function placeOf(
  { log, table, onProgress }: ReadTableOptions,
  partition: number,
  partitions: number,
): PartitionToRead {
  return { log, topic: table.topic, partition, partitions, onProgress };
}

async function partitionCount({ log, table }: ReadTableOptions): Promise<number> {
  const found = (await log.describeTopics([table.topic])).get(table.topic);
  if (found !== undefined) return found.partitions;
  throw new FlowError(
    'TOPIC_MISSING',
    `output topic "${table.topic}" of table "${table.name}" does not exist`,
    {
      hint: 'Run the pipeline once: the first run creates the topic. If it ran before, tidemark plan tells what a start would refuse.',
    },
  );
}

/** A record as it is kept until it is known to be the last of its key. */
type Held = {
  readonly value: Buffer;
  readonly sequence: string;
  readonly sources: string;
  readonly offset: number;
  /** Why it is none of ours; undefined: it is. */
  readonly foreign: FlowError | undefined;
};

/** The last record of each record key, rows of one key together. */
class KeyFold {
  heldBytes = 0;
  readonly #options: ReadTableOptions;
  readonly #partition: number;
  readonly #isWanted: (key: string) => boolean;
  readonly #place: { readonly topic: string; readonly partition: number };
  /** Key columns → its records: one in mode `row_set`, one a row number in mode `rows`. */
  readonly #held = new Map<string, (Held | undefined)[]>();

  constructor(options: ReadTableOptions, partition: number, isWanted: (key: string) => boolean) {
    this.#options = options;
    this.#partition = partition;
    this.#place = { topic: options.table.topic, partition };
    this.#isWanted = isWanted;
  }

  take({ records }: Slice): void {
    const isNumbered = this.#options.table.output === 'rows';
    while (records.next()) {
      const { bytes, keyStart, keyEnd, offset } = records;
      if (keyEnd < 0) throw foreignRecord(this.#place, offset, 'it has no key');
      const recordKey = bytes.toString('latin1', keyStart, keyEnd);
      const split = isNumbered ? splitNumberedKey(recordKey) : { key: recordKey, position: 0 };
      if (split === undefined)
        throw foreignRecord(this.#place, offset, 'its key has no row number');
      if (this.#isWanted(split.key)) this.#keep(split.key, split.position, records);
    }
  }

  /**
   * What is not ours counts only where it has the last word on its key: after the table was emptied, it stands in the
   * topic until it is compacted away.
   */
  #keep(key: string, numbered: number | undefined, records: RecordCursor): void {
    const held = this.#held.get(key);
    const position = numbered ?? 0;
    const before = held?.[position];
    if (before !== undefined) this.heldBytes -= sizeOf(key, before);
    const { valueStart, valueEnd, offset } = records;
    const headers = readTableHeaders(records);
    if (valueEnd < 0 && headers.isOurs) {
      if (held === undefined) return;
      held[position] = undefined;
      if (held.every((one) => one === undefined)) this.#held.delete(key);
      return;
    }
    const { sequence = '', sources = '' } = headers;
    // A copy of its own: the slice is far larger than what is kept of it.
    const after: Held = {
      value: Buffer.from(records.bytes.subarray(valueStart, Math.max(valueStart, valueEnd))),
      sequence,
      sources,
      offset,
      foreign: this.#foreign(records, headers, numbered !== undefined),
    };
    this.heldBytes += sizeOf(key, after);
    if (held === undefined) {
      const fresh: (Held | undefined)[] = [];
      fresh[position] = after;
      this.#held.set(key, fresh);
    } else {
      held[position] = after;
    }
  }

  #foreign(
    { valueEnd, offset }: RecordCursor,
    { sequence, sources }: TableHeaders,
    hasPosition: boolean,
  ): FlowError | undefined {
    if (valueEnd < 0) return foreignTombstone(this.#place, offset);
    if (!hasPosition) return foreignRecord(this.#place, offset, 'its key has no row number');
    if (sequence !== undefined && sources !== undefined) return undefined;
    return foreignRecord(this.#place, offset, 'its headers tm-seq and tm-src are missing');
  }

  drop(isUnwanted: (key: string) => boolean): void {
    for (const [key, held] of this.#held) {
      if (!isUnwanted(key)) continue;
      this.#held.delete(key);
      for (const one of held) if (one !== undefined) this.heldBytes -= sizeOf(key, one);
    }
  }

  /** Latin1 text of the key → its row-set. */
  *sets(): Generator<readonly [string, CommittedSet]> {
    for (const [key, held] of this.#held) {
      const foreign = held.find((one) => one?.foreign !== undefined)?.foreign;
      if (foreign !== undefined) throw foreign;
      const records = this.#newest(held.filter((one) => one !== undefined));
      yield [
        key,
        {
          partition: this.#partition,
          key: Buffer.from(key, 'latin1').toString('utf8'),
          sequence: records[0]?.sequence ?? '',
          rows: records.flatMap((one) => this.#rows(one)),
        },
      ];
    }
  }

  /** Numbered rows of a lower sequence are leftovers whose tombstones follow. */
  #newest(records: readonly Held[]): readonly Held[] {
    if (records.every(({ sequence }) => sequence === records[0]?.sequence)) return records;
    const { parse } = sequenceCodec(this.#options.flow.sequenceType);
    const parsed = records.map((record) => ({
      record,
      sequence: readAt(this.#place, record.offset, () => parse(record.sequence)),
    }));
    const highest = parsed.reduce((best, one) =>
      one.sequence.compare(best.sequence) > 0 ? one : best,
    );
    return parsed
      .filter(({ sequence }) => sequence.equals(highest.sequence))
      .map(({ record }) => record);
  }

  #rows({ value, sources, offset }: Held): CommittedRow[] {
    const groups = parseSources(sources);
    const isWhole = this.#options.table.output === 'row_set';
    const spans = isWhole
      ? splitJsonArray(value, 0, value.length)
      : [{ bytes: value, start: 0, end: value.length }];
    if (groups === undefined || spans === undefined || spans.length !== groups.length) {
      throw foreignRecord(this.#place, offset, 'its rows and its header tm-src do not agree');
    }
    return spans.map(({ bytes, start, end }, index) => ({
      json: bytes.toString('utf8', start, end),
      sources: (groups[index] ?? []).map((group) => readProvenance(group, 0)),
      offset,
    }));
  }
}

function sizeOf(key: string, { value, sources }: Held): number {
  return key.length + value.length + sources.length + heldOverheadBytes;
}
