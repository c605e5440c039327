import { sequenceCodec } from '../../data/sequence.ts';
import type { ReplaceUsingFlowPlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { groupOf, repartitionTopicOf } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SourceRow } from '../../task/row/row-collector.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import { eachSlice } from '../refresh/refresh-fold.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import type { Catalog } from '../topics/catalog.ts';
import { halves, isInShare, type KeyShare, shareBitsMax, wholeShare } from '../worker/key-share.ts';
import type { ReplaceFlowFacts } from './flow-facts.ts';
import { type CommittedSet, readTable, sequenceOfSet } from './read-table.ts';
import { SourceRows } from './source-rows.ts';
import {
  bytesOf,
  type KeyDifference,
  newReport,
  placeText,
  readSpans,
  refuseUnverifiable,
  sourceKey,
  type VerifyReport,
} from './verify-parts.ts';
import {
  isVersioned,
  type KeyReadability,
  type VerifiedSpan,
  VerifyReadability,
} from './verify-readability.ts';

export type VerifyOptions = {
  readonly log: Log;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly pipeline: string;
  readonly facts: ReplaceFlowFacts;
  readonly onDifference: (difference: KeyDifference) => void;
  /** Bytes of recomputed rows that may be held at once. */
  readonly heldBytesMax?: number;
};

type Recomputed = { sequence: Buffer; readonly rows: Map<string, string> };

const heldBytesDefault = 256 * 1024 * 1024;
const heldOverheadBytes = 200;
const settleMsMax = 30_000;

/**
 * Computes a table anew from its sources, up to its checkpoints, and compares it with the output topic, key by key.
 * Invariant: nothing is written; no more than a bound of rows is held, and where there are more the sources are read again
 * for a part of the keys at a time.
 */
export async function verifyTable(options: VerifyOptions): Promise<VerifyReport> {
  const { facts } = options;
  const { flow, table } = facts;
  refuseUnverifiable(flow, table.name);
  const spans = await readSpans(options, facts);
  const waiting = await waitingKeys(options);
  const readability = new VerifyReadability(facts, spans);
  const report = newReport();
  const shares: KeyShare[] = [wholeShare];
  for (let isFirst = true; ; isFirst = false) {
    const share = shares.shift();
    if (share === undefined) {
      return report.unknownKeys === 0 ? report : { ...report, partTables: readability.partTables };
    }
    const computed = new Recomputation(options, share, waiting);
    await computed.read(spans);
    await computed.readMoved(spans);
    shares.unshift(...computed.postponed);
    if (isFirst) report.badRecords = computed.badRecords;
    await compare({ options, flow, table, computed, spans, readability, report });
  }
}

class Recomputation {
  readonly sets = new Map<string, Recomputed>();
  /**
   * Keys that are left out: rows of them are not merged yet, or a table that is read has a later version, or later rows,
   * than the flow has read.
   */
  readonly moved = new Set<string>();
  /** Shares that had no room: they are for later. */
  readonly postponed: KeyShare[] = [];
  badRecords = 0;
  share: KeyShare;
  #heldBytes = 0;
  /** Up to where `readMoved` has read, by topic and partition. */
  readonly #movedTo = new Map<string, number>();
  readonly #options: VerifyOptions;
  readonly #versionTopics: ReadonlySet<string>;

  constructor(options: VerifyOptions, share: KeyShare, waiting: ReadonlySet<string>) {
    this.#options = options;
    for (const key of waiting) this.moved.add(key);
    this.#versionTopics = new Set(
      options.facts.sources.flatMap((one) => (isVersioned(one) ? one.topic : [])),
    );
    this.share = share;
  }

  async read(spans: readonly VerifiedSpan[]): Promise<void> {
    const { log, catalog, facts, clock } = this.#options;
    const rows = new SourceRows({
      log,
      catalog,
      facts,
      nowMs: clock.now(),
      onRow: (row) => this.#merge(row),
      onBad: () => {
        this.badRecords += 1;
      },
    });
    for (const span of spans) await rows.read(span);
  }

  /**
   * Looks for what the flow had not read when its checkpoints were taken, as far as a table of the pipeline has it by now:
   * its rows do not say by themselves that they are later. Compaction may also have taken away the version that the table has.
   */
  async readMoved(spans: readonly VerifiedSpan[]): Promise<void> {
    const { log, catalog, facts, clock } = this.#options;
    const onRow = ({ key }: SourceRow): void => {
      this.moved.add(key);
    };
    const rows = new SourceRows({ log, catalog, facts, nowMs: clock.now(), onRow });
    for (const span of spans) {
      if (!span.isVersions && span.table === undefined) continue;
      const { topic, partition } = span;
      const place = partitionKey(topic, partition);
      const from = this.#movedTo.get(place) ?? span.to;
      const range = (await log.offsetRanges(topic, [partition])).get(partition);
      const to = Math.max(from, range?.stable ?? from);
      await rows.read({ ...span, from, to });
      this.#movedTo.set(place, to);
    }
  }

  #merge(row: SourceRow): void {
    if (row.bad !== undefined) {
      this.badRecords += 1;
      return;
    }
    const isDropped = row.violated.some(({ action }) => action !== 'warn');
    // A version of which nothing is left says that its key has no rows.
    if (isDropped && !this.#versionTopics.has(row.topic)) return;
    if (!isInShare(row.key, this.share)) return;
    this.add(isDropped ? { ...row, isMarker: true } : row);
    const { heldBytesMax = heldBytesDefault } = this.#options;
    while (this.#heldBytes > heldBytesMax && this.share.bits < shareBitsMax) this.#divide();
  }

  add({ key, sequence, isMarker, provenance, json }: AddedRow): void {
    if (sequence === undefined) return;
    const set = this.sets.get(key);
    const order = set === undefined ? 1 : sequence.compare(set.sequence);
    if (order < 0) return;
    const rows = order > 0 || set === undefined ? new Map<string, string>() : set.rows;
    if (order > 0 || set === undefined) {
      for (const [source, text] of set?.rows ?? []) this.#heldBytes -= sizeOf(source, text);
      this.sets.set(key, { sequence, rows });
    }
    if (isMarker) return;
    const source = sourceKey(provenance);
    if (!rows.has(source)) this.#heldBytes += sizeOf(source, json);
    rows.set(source, json);
  }

  #divide(): void {
    const [kept, later] = halves(this.share);
    this.share = kept;
    this.postponed.unshift(later);
    for (const [key, { rows }] of this.sets) {
      if (isInShare(key, kept)) continue;
      this.sets.delete(key);
      for (const [source, text] of rows) this.#heldBytes -= sizeOf(source, text);
    }
  }
}

type AddedRow = Pick<SourceRow, 'key' | 'sequence' | 'isMarker' | 'provenance' | 'json'>;

function sizeOf(source: string, json: string): number {
  return source.length + json.length + heldOverheadBytes;
}

type Comparison = {
  readonly options: VerifyOptions;
  readonly flow: ReplaceUsingFlowPlan;
  readonly table: TablePlan;
  readonly computed: Recomputation;
  readonly spans: readonly VerifiedSpan[];
  readonly readability: VerifyReadability;
  readonly report: VerifyReport;
};

/** Differences that may wait at once until it is known that their keys did not move on while they were compared. */
const pendingMax = 1_000;

type FoundDifference = {
  readonly difference: KeyDifference;
  readonly set?: CommittedSet;
};

function countCompared(report: VerifyReport, { rows }: CommittedSet): void {
  report.keys += 1;
  report.rows += rows.length;
}

/** Differences are told once it is known that their keys did not move on meanwhile. */
class PendingDifferences {
  readonly #comparison: Comparison;
  /** With the rows that the table has of the key; undefined: it has none. */
  readonly #pending = new Map<string, FoundDifference>();

  constructor(comparison: Comparison) {
    this.#comparison = comparison;
  }

  async add(key: string, found: FoundDifference): Promise<void> {
    this.#pending.set(key, found);
    if (this.#pending.size >= pendingMax) await this.settle();
  }

  async settle(): Promise<void> {
    if (this.#pending.size === 0) return;
    const { options, computed, spans, report } = this.#comparison;
    await computed.readMoved(spans);
    for (const [key, { difference, set }] of this.#pending) {
      if (computed.moved.has(key)) {
        report.movedKeys += 1;
        continue;
      }
      if (set !== undefined) countCompared(report, set);
      report.differences += 1;
      options.onDifference(difference);
    }
    this.#pending.clear();
  }
}

async function compare(comparison: Comparison): Promise<void> {
  const { options, flow, table, computed, report } = comparison;
  const pending = new PendingDifferences(comparison);
  for await (const set of readTable({ log: options.log, table, flow })) {
    const key = Buffer.from(set.key, 'utf8').toString('latin1');
    if (!isInShare(key, computed.share)) continue;
    const state = computed.moved.has(key) ? 'moved' : comparison.readability.of(set);
    if (state === 'moved') {
      report.movedKeys += 1;
      computed.sets.delete(key);
      continue;
    }
    const difference = compareSet(comparison, key, set, state);
    if (difference === undefined) countCompared(report, set);
    else await pending.add(key, { difference, set });
  }
  for (const [key, expected] of computed.sets) {
    if (expected.rows.size === 0) continue;
    if (computed.moved.has(key)) {
      report.movedKeys += 1;
      continue;
    }
    const name = Buffer.from(key, 'latin1').toString('utf8');
    const missing = { key: name, kind: 'missing', found: 'no rows' } as const;
    await pending.add(key, { difference: { ...missing, expected: shown(rowsOf(expected, flow)) } });
  }
  await pending.settle();
}

/** How the rows of a key differ from those that are expected; undefined: they do not. */
function compareSet(
  { options, flow, table, computed, report }: Comparison,
  key: string,
  set: CommittedSet,
  state: Exclude<KeyReadability, 'moved'>,
): KeyDifference | undefined {
  const codec = sequenceCodec(flow.sequenceType);
  if (state !== 'readable') {
    report[state === 'unknown' ? 'unknownKeys' : 'unreadableKeys'] += 1;
    addCommitted(computed, key, set, sequenceOfSet(codec, set, table));
  }
  const expected = computed.sets.get(key);
  computed.sets.delete(key);
  const found = set.rows.map(({ json }) => json).sort();
  if (expected === undefined || expected.rows.size === 0) {
    return { key: set.key, kind: 'extra', expected: 'no rows', found: shown(found) };
  }
  const { sequence } = expected;
  const text = codec.text(sequence, 0, sequence.length);
  if (text !== set.sequence) {
    const other = `sequence ${set.sequence}`;
    return { key: set.key, kind: 'sequence', expected: `sequence ${text}`, found: other };
  }
  if (isSame(expected, set, flow.distinct)) return undefined;
  const wanted = rowsOf(expected, flow);
  if (wanted.join() !== found.join()) {
    return { key: set.key, kind: 'rows', expected: shown(wanted), found: shown(found) };
  }
  const { sources } = options.facts;
  const from = (json: string, source: Buffer): string =>
    `${json} from ${placeText(source, sources)}`;
  const places = [...expected.rows].map(([source, json]) =>
    from(json, Buffer.from(source, 'latin1')),
  );
  const others = set.rows.flatMap((row) =>
    row.sources.map((source) => from(row.json, bytesOf(source))),
  );
  return {
    key: set.key,
    kind: 'provenance',
    expected: shown(places.sort()),
    found: shown(others.sort()),
  };
}

/** Rows that cannot be read again are inputs of the merge: it is idempotent. */
function addCommitted(
  computed: Recomputation,
  key: string,
  set: CommittedSet,
  sequence: Buffer,
): void {
  for (const { json, sources } of set.rows) {
    for (const source of sources) {
      computed.add({ key, sequence, isMarker: false, provenance: bytesOf(source), json });
    }
  }
}

function isSame(expected: Recomputed, set: CommittedSet, isDistinct: boolean): boolean {
  let count = 0;
  for (const { json, sources } of set.rows) {
    for (const source of sources) {
      count += 1;
      const text = expected.rows.get(sourceKey(bytesOf(source)));
      // Of equal rows one stands for all, however each of them wrote its numbers.
      if (text === undefined || (!isDistinct && text !== json)) return false;
    }
  }
  return count === expected.rows.size;
}

const shownMax = 2_000;

/** Of equal rows of a DISTINCT one stands for all. */
function rowsOf({ rows }: Recomputed, { distinct }: ReplaceUsingFlowPlan): readonly string[] {
  const all = [...rows.values()];
  return (distinct ? [...new Set(all)] : all).sort();
}

function shown(rows: readonly string[]): string {
  return `[${rows.join(',')}]`.slice(0, shownMax);
}

/**
 * Waits until what was read has reached the table, as long as an instance is there that merges it. Gives the keys of rows that
 * wait still, such as those of dead letters that were replayed while nobody runs.
 */
async function waitingKeys({
  log,
  facts,
  pipeline,
  clock,
}: VerifyOptions): Promise<ReadonlySet<string>> {
  const deadline = clock.monotonic() + settleMsMax;
  const group = groupOf(pipeline, facts.flow.name);
  const topic = repartitionTopicOf(pipeline, facts.flow.name);
  const numbers = numbersTo(facts.repartition.partitions);
  const goals = await log.offsetRanges(topic, numbers);
  for (;;) {
    const committed = await log.committedOffsets(group, topic, numbers);
    const waiting = [...goals].flatMap(([partition, { start, end, stable }]) => {
      const from = committed.get(partition)?.offset ?? start;
      return from >= end ? [] : [{ partition, from: Math.max(from, start), to: stable }];
    });
    const isOver = waiting.length === 0 || clock.monotonic() > deadline;
    if (isOver || (await log.groupMembers(group)).length === 0) {
      const keys = new Set<string>();
      for (const span of waiting) {
        await eachSlice(log, topic, span, ({ records }) => {
          while (records.next()) {
            const { bytes, keyStart, keyEnd } = records;
            if (keyEnd >= 0) keys.add(bytes.toString('latin1', keyStart, keyEnd));
          }
        });
      }
      return keys;
    }
    await clock.sleep(200);
  }
}
