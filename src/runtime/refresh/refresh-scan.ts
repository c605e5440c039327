import { readProvenance } from '../../data/provenance.ts';
import { type EnvelopeParts, readEnvelope } from '../../data/row-envelope.ts';
import type { Log, RecordCursor, Slice } from '../../ports/log.ts';
import type { KeyLoss, RowLoss } from '../../refresh/loss.ts';
import { LostKeys } from '../../refresh/lost-keys.ts';
import type { PendingRows } from '../../refresh/refresh-report.ts';
import type { SourceBounds } from '../../refresh/retention.ts';
import { splitNumberedKey } from '../../task/output/numbered-key.ts';
import { foreignRecord } from '../../task/table-records.ts';
import { generationStart } from '../takeover/generation.ts';
import {
  formOf,
  isTwinFloor,
  levelLoss,
  lossAgain,
  type RecordForm,
  recordLosses,
} from '../takeover/record-losses.ts';
import { halves, isInShare, type KeyShare, shareBitsMax, wholeShare } from '../worker/key-share.ts';
import { type ReadProgress, readPartition } from '../worker/read-partition.ts';
import { boundsNow, type OwnTopic, type RefreshFacts } from './refresh-facts.ts';

export type LossScanOptions = {
  readonly log: Log;
  readonly facts: RefreshFacts;
  /** What is held of keys that lose something, in bytes. */
  readonly heldBytesMax?: number;
  readonly onProgress?: (progress: ReadProgress) => void;
};

const heldBytesDefault = 256 * 1024 * 1024;

/**
 * The exact loss of a full refresh, key by key: one pass over the provenance headers of the output topic and over the
 * levels. Invariant: each key that loses something comes once; memory is taken by such keys only, and where they are too
 * many for it they are divided and the partition is read again.
 */
export async function* scanLoss(options: LossScanOptions): AsyncGenerator<KeyLoss> {
  const { output } = options.facts;
  if (output === undefined) return;
  for (const { partition } of output.partitions) {
    const shares: KeyShare[] = [wholeShare];
    for (let share = shares.shift(); share !== undefined; share = shares.shift()) {
      const scan = new PartitionScan(options, share, shares);
      await scan.run(output, partition);
      yield* await certain(options, [...scan.keys.losses()]);
    }
  }
}

/** Without what seemed to lie behind the end of a source only because that has grown meanwhile. */
async function certain(
  { log, facts }: LossScanOptions,
  losses: readonly KeyLoss[],
): Promise<readonly KeyLoss[]> {
  const isYoung = (loss: RowLoss | undefined): boolean => loss?.reason === 'truncated';
  if (!losses.some(({ rows, level }) => rows.some(isYoung) || isYoung(level))) return losses;
  const bounds = await boundsNow(log, facts);
  const how = { bounds, form: formOf(facts) };
  const again = (loss: RowLoss): RowLoss | undefined => lossAgain(how, loss);
  return losses.flatMap(({ key, rows, level }) => {
    const left = rows.flatMap((row) => again(row) ?? []);
    const levelLeft = level === undefined ? undefined : again(level);
    return left.length === 0 && levelLeft === undefined
      ? []
      : [{ key, rows: left, level: levelLeft }];
  });
}

class PartitionScan {
  readonly keys: LostKeys;
  readonly #options: LossScanOptions;
  readonly #how: { readonly bounds: SourceBounds; readonly form: RecordForm };
  readonly #later: KeyShare[];
  #share: KeyShare;

  constructor(options: LossScanOptions, share: KeyShare, later: KeyShare[]) {
    this.keys = new LostKeys();
    this.#options = options;
    this.#how = { bounds: options.facts.bounds, form: formOf(options.facts) };
    this.#share = share;
    this.#later = later;
  }

  async run(output: OwnTopic, partition: number): Promise<void> {
    const { log, facts, onProgress } = this.#options;
    const place = { log, partition, partitions: output.partitions.length };
    const from = generationStart(facts.swaps, partition);
    await readPartition({ ...place, topic: output.topic, from, onProgress }, (slice) => {
      this.#output(slice);
      this.#divide();
    });
    if (facts.levels === undefined) return;
    await readPartition({ ...place, topic: facts.levels.topic }, (slice) => {
      this.#levels(slice);
      this.#divide();
    });
  }

  #divide(): void {
    const heldBytesMax = this.#options.heldBytesMax ?? heldBytesDefault;
    while (this.keys.heldBytes > heldBytesMax && this.#share.bits < shareBitsMax) {
      const [kept, later] = halves(this.#share);
      this.#later.unshift(later);
      this.#share = kept;
      this.keys.drop((key) => !isInShare(key, kept));
    }
  }

  #output(slice: Slice): void {
    const { isNumbered, isAppended } = this.#options.facts;
    const { records } = slice;
    while (records.next()) {
      if (isAppended) {
        this.#appended(slice, records);
        continue;
      }
      if (records.keyEnd < 0) throw foreignRecord(slice, records.offset, 'it has no key');
      const recordKey = records.bytes.toString('latin1', records.keyStart, records.keyEnd);
      const split = isNumbered ? splitNumberedKey(recordKey) : { key: recordKey, position: 0 };
      if (split === undefined)
        throw foreignRecord(slice, records.offset, 'its key has no row number');
      if (!isInShare(split.key, this.#share)) continue;
      if (records.valueEnd < 0) {
        this.keys.tombstone(split.key, split.position);
        continue;
      }
      this.keys.record({ ...split, ...recordLosses(slice, this.#how) });
    }
  }

  /** A row without a key goes by its place in the table. */
  #appended(slice: Slice, records: RecordCursor): void {
    const key = JSON.stringify({ _partition: slice.partition, _offset: records.offset });
    if (!isInShare(key, this.#share)) return;
    const { losses } = recordLosses(slice, this.#how);
    if (losses.length > 0) this.keys.record({ key, position: 0, sequence: '', losses });
  }

  #levels(slice: Slice): void {
    const { records } = slice;
    while (records.next()) {
      if (records.keyEnd < 0) throw foreignRecord(slice, records.offset, 'it has no key');
      const key = records.bytes.toString('latin1', records.keyStart, records.keyEnd);
      if (!isInShare(key, this.#share) || isTwinFloor(key, slice)) continue;
      const isTombstone = records.valueEnd < 0;
      this.keys.level(key, isTombstone ? undefined : levelLoss(recordLosses(slice, this.#how)));
    }
  }
}

/** Rows that lie between the stages: they are in no table yet, and a refresh drops them. */
export async function scanPending({ log, facts }: LossScanOptions): Promise<PendingRows> {
  const { repartition } = facts;
  const pending = { rows: 0, lost: 0 };
  if (repartition === undefined) return pending;
  const bounds = await boundsNow(log, facts);
  const parts = emptyEnvelopeParts();
  const { topic, partitions } = repartition;
  for (const { partition, start, stable, committed } of partitions) {
    const from = Math.max(committed ?? start, start);
    if (from >= stable) continue;
    const place = { log, topic, partition, partitions: partitions.length, from, mayGo: true };
    await readPartition(place, ({ records }) => {
      // What came since may be of younger records than the bounds know.
      while (records.next() && records.offset < stable) {
        const { bytes, valueStart, valueEnd } = records;
        if (!readEnvelope(bytes, valueStart, valueEnd, parts)) continue;
        pending.rows += 1;
        const source = readProvenance(bytes, parts.provenanceStart);
        if (bounds.readability(source) !== 'readable') pending.lost += 1;
      }
    });
  }
  return pending;
}

function emptyEnvelopeParts(): EnvelopeParts {
  return { flags: 0, provenanceStart: 0, sequenceStart: 0, sequenceEnd: 0, rowStart: 0 };
}
