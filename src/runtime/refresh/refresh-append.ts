import { createHash } from 'node:crypto';
import { readProvenance } from '../../data/provenance.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, LogProducer, RecordCursor } from '../../ports/log.ts';
import { rowLoss } from '../../refresh/loss.ts';
import { sourceOf } from '../worker/held-records.ts';
import type { ReadProgress } from '../worker/read-partition.ts';
import { appendCopy } from './append-copy.ts';
import { CommitPace } from './commit-pace.ts';
import type { RefreshFacts } from './refresh-facts.ts';
import { eachSlice } from './refresh-fold.ts';
import { noSwapResult, type SwapResult } from './refresh-swap-options.ts';

/**
 * Empties the topic of a table that append flows write, up to where it ended when the refresh began. Rows that can't be
 * read again are written once more behind that end first, where that was asked for. Invariant: what is to stay is there,
 * committed, before the record that it was is deleted; done again after a crash, no row is written twice.
 */
export async function emptyAppended(given: EmptyOptions): Promise<SwapResult> {
  const options = paced(given);
  const { log, facts, from, producer } = options;
  const result = noSwapResult();
  const { output } = facts;
  if (output === undefined) return result;
  for (const { partition, start, stable } of output.partitions) {
    const end = from[partition] ?? start;
    const part = { topic: output.topic, partition, start, end, result };
    const kept = new KeptRows();
    if (producer !== undefined) await kept.read(log, { ...part, start: end, end: stable });
    await eachRow(options, part, (records, isLost) => {
      if (!isLost) result.buried += 1;
      else if (producer !== undefined) keepOnce(options, part, records, kept);
      else lose(result);
    });
    await options.pace?.commit();
  }
  await log.deleteRecords(output.topic, new Map(from.entries()));
  return result;
}

/**
 * Makes the rows of a new generation those of a table that append flows write: they are written behind the end that it had
 * when the swap began, with those that can't be read again, where that was asked for; then what stood before that end is
 * deleted. Invariants: the topic is never empty meanwhile; done again after a crash, no row is written twice. In the one
 * partition a new row comes before each that is kept, so that their number tells how far an attempt came.
 */
export async function swapAppended(given: SwapAppendedOptions): Promise<SwapResult> {
  const options = paced(given);
  const { log, facts, from, producer } = options;
  const result = noSwapResult();
  const { output } = facts;
  if (output === undefined) return result;
  for (const { partition, start, stable } of output.partitions) {
    const end = Math.min(from[partition] ?? start, stable);
    const part = { topic: output.topic, partition, start, end, result };
    const gone = await goneRows(options, part);
    const kept = new KeptRows(gone);
    const written =
      producer === undefined ? 0 : await kept.read(log, { ...part, start: end, end: stable });
    await writeFresh(options, part, written);
    await eachRow(options, part, (records, isLost) => {
      if (!isLost || gone?.has(sourceText(records)) === false) result.buried += 1;
      else if (!options.keeps) lose(result);
      else if (producer === undefined) keep(result, true);
      else keepOnce(options, part, records, kept);
    });
    await options.pace?.commit();
  }
  if (producer === undefined) return result;
  await log.deleteRecords(output.topic, new Map(from.entries()));
  return result;
}

export type EmptyOptions = {
  readonly log: Log;
  readonly clock: Clock;
  readonly facts: RefreshFacts;
  /** Where each partition ended when the refresh began. */
  readonly from: readonly number[];
  /** What writes the rows that stay; undefined: none do. */
  readonly producer: LogProducer | undefined;
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
};

export type SwapAppendedOptions = Omit<EmptyOptions, 'producer'> & {
  /** The topic of the new generation. */
  readonly fresh: string;
  /** Whether what can't be read again is written with it. */
  readonly keeps: boolean;
  /** Whether what is lost need only be counted, by what the sources have. */
  readonly isLossAllowed: boolean;
  /** Whether DISTINCT let the rows through: records of one key are equal rows, and stand for each other. */
  readonly isDistinct: boolean;
  /** undefined: it is only measured what would be written and lost. */
  readonly producer: LogProducer | undefined;
};

/** With that at which what is written is committed; undefined: nothing is. */
type Paced<Options> = Options & { readonly pace: CommitPace | undefined };

function paced<Options extends EmptyOptions>(options: Options): Paced<Options> {
  const { producer, clock } = options;
  return { ...options, pace: producer && new CommitPace(producer, clock) };
}

type Part = {
  readonly topic: string;
  readonly partition: number;
  /** Of the rows that stood there when the refresh began. */
  readonly start: number;
  readonly end: number;
  readonly result: SwapResult;
};

/** Each row is its own key. */
function lose(result: SwapResult): void {
  result.buried += 1;
  result.lost.keys += 1;
  result.lost.rows += 1;
}

/** It counts among those that are kept in each attempt, and is written in one. */
function keep(result: SwapResult, isNew: boolean): void {
  if (isNew) result.published += 1;
  result.kept.keys += 1;
  result.kept.rows += 1;
}

/** Every row that stood there when the refresh began, and whether its record can't be read again. */
async function eachRow(
  { log, facts, pace, onProgress }: Paced<EmptyOptions>,
  { topic, partition, start, end }: Part,
  take: (records: RecordCursor, isLost: boolean) => void,
): Promise<void> {
  await eachSlice(log, topic, { partition, from: start, to: end }, async ({ records }) => {
    while (records.next()) {
      if (records.offset >= end) continue;
      const source = sourceOf(records);
      const isLost =
        source !== undefined && rowLoss(facts.bounds, [readProvenance(source, 0)]) !== undefined;
      take(records, isLost);
    }
    await pace?.turn();
  });
  onProgress?.({
    partition,
    partitions: facts.output?.partitions.length ?? 0,
    position: end,
    end,
  });
}

/** What can't be read again and the new generation does not have, either: it may have read it before it was gone. */
async function goneRows(
  options: Paced<SwapAppendedOptions>,
  part: Part,
): Promise<ReadonlySet<string> | undefined> {
  if (options.isLossAllowed) return undefined;
  const gone = new Set<string>();
  await eachRow(options, part, (records, isLost) => {
    if (isLost) gone.add(sourceText(records));
  });
  if (gone.size === 0) return gone;
  await eachFresh(options, part.partition, (records) => {
    gone.delete(sourceText(records));
  });
  if (options.isDistinct && gone.size > 0) await forgetReplaced(options, part, gone);
  return gone;
}

/**
 * Takes out of what is gone the rows that an equal one of the new generation has taken the place of: it came later, and
 * was let through since the first one can't be read any more. Flows of one table let equal rows through each, so rows are counted.
 */
async function forgetReplaced(
  options: Paced<SwapAppendedOptions>,
  part: Part,
  gone: Set<string>,
): Promise<void> {
  const spare = new Map<string, number>();
  await eachRow(options, part, (records) => {
    if (gone.has(sourceText(records))) spare.set(keyText(records), 0);
  });
  const count = (records: RecordCursor, by: number): void => {
    const key = keyText(records);
    const known = spare.get(key);
    if (known !== undefined) spare.set(key, known + by);
  };
  await eachFresh(options, part.partition, (records) => count(records, 1));
  await eachRow(options, part, (records) => {
    if (!gone.has(sourceText(records))) count(records, -1);
  });
  await eachRow(options, part, (records) => {
    const source = sourceText(records);
    const key = keyText(records);
    const left = spare.get(key) ?? 0;
    if (!gone.has(source) || left <= 0) return;
    gone.delete(source);
    spare.set(key, left - 1);
  });
}

/** Writes the rows of the new generation, but for those that an attempt before has written. */
async function writeFresh(
  options: Paced<SwapAppendedOptions>,
  { topic, partition, result }: Part,
  written: number,
): Promise<void> {
  const { producer } = options;
  let seen = 0;
  await eachFresh(options, partition, (records) => {
    seen += 1;
    result.published += 1;
    if (producer === undefined || seen <= written) return;
    appendCopy(producer, topic, partition, records);
  });
}

async function eachFresh(
  { log, fresh, pace }: Paced<SwapAppendedOptions>,
  partition: number,
  take: (records: RecordCursor) => void,
): Promise<void> {
  const range = (await log.offsetRanges(fresh, [partition])).get(partition);
  if (range === undefined) return;
  const place = { partition, from: range.start, to: range.stable };
  await eachSlice(log, fresh, place, async ({ records }) => {
    while (records.next()) take(records);
    await pace?.turn();
  });
}

/**
 * Rows that an attempt which was interrupted has written behind the end already. Two flows may have made a row each of
 * one record, and even the same one: so they are counted.
 */
class KeptRows {
  readonly #written = new Map<string, number>();
  readonly #seen = new Map<string, number>();
  /** Of which rows it is asked; undefined: of any. */
  readonly #wanted: ReadonlySet<string> | undefined;

  constructor(wanted?: ReadonlySet<string>) {
    this.#wanted = wanted;
  }

  /** Gives how many rows there are, wanted or not. */
  async read(log: Log, { topic, partition, start, end }: Part): Promise<number> {
    let count = 0;
    await eachSlice(log, topic, { partition, from: start, to: end }, ({ records }) => {
      while (records.next()) {
        count += 1;
        if (this.#wanted?.has(sourceText(records)) === false) continue;
        const name = nameOf(records);
        this.#written.set(name, (this.#written.get(name) ?? 0) + 1);
      }
    });
    return count;
  }

  /** Whether this row, the next one of its kind, is there already. */
  has(records: RecordCursor): boolean {
    const name = nameOf(records);
    const seen = (this.#seen.get(name) ?? 0) + 1;
    this.#seen.set(name, seen);
    return seen <= (this.#written.get(name) ?? 0);
  }
}

function keyText({ bytes, keyStart, keyEnd }: RecordCursor): string {
  return bytes.toString('latin1', keyStart, Math.max(keyStart, keyEnd));
}

function sourceText(records: RecordCursor): string {
  return sourceOf(records)?.toString('latin1') ?? '';
}

/** What two records have in common that say the same of the same. */
function nameOf(records: RecordCursor): string {
  const { bytes, valueStart, valueEnd } = records;
  return createHash('sha1')
    .update(sourceOf(records) ?? '')
    .update(bytes.subarray(valueStart, Math.max(valueStart, valueEnd)))
    .digest('base64');
}

function keepOnce(
  { clock, producer }: EmptyOptions,
  { topic, partition, result }: Part,
  records: RecordCursor,
  kept: KeptRows,
): void {
  if (producer === undefined) return;
  const isNew = !kept.has(records);
  if (isNew) appendCopy(producer, topic, partition, records, clock.now());
  keep(result, isNew);
}
