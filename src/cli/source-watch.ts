import type { Clock } from '../ports/clock.ts';
import type { Log, LogReader } from '../ports/log.ts';
import { compactionMs, headroom } from '../refresh/headroom.ts';
import type { FlowFacts } from '../runtime/inspect/flow-facts.ts';
import { isVersioned } from '../runtime/inspect/verify-readability.ts';
import type { PartitionProgress } from '../runtime/takeover/held-partition.ts';
import { answerWithin } from '../runtime/worker/answer-within.ts';
import type { WorkerProgress } from '../runtime/worker/worker-progress.ts';
import type { LastToStop } from './last-to-stop.ts';

export type SourceWatchOptions = {
  readonly log: Log;
  readonly clock: Clock;
  readonly progress: () => WorkerProgress;
  readonly facts: readonly FlowFacts[];
  /** Who tells how much waits for a flow that stands: records are summed over instances. */
  readonly lastToStop: LastToStop;
};

/** What waits in the partitions of one source that this instance reads for one flow. */
export type Waiting = {
  /** Timestamp of the oldest record that has waited for longer than one look; undefined: none has. */
  readonly oldestMs: number | undefined;
  /** How long the topic keeps records; Infinity: for ever; undefined: not known yet. */
  readonly retentionMs: number | undefined;
  /** Offsets between the log start and the checkpoint, the fewest over the partitions; undefined: not known yet. */
  readonly headroomRecords: number | undefined;
  /** Time until retention by time or by size may take the oldest record that waits; undefined: not known yet. */
  readonly headroomSeconds: number | undefined;
  /** Time until compaction may take the oldest record that waits; Infinity: none waits; undefined: it takes none that counts. */
  readonly compactionSeconds: number | undefined;
  /** Since when, as far as was looked, an open transaction of a producer has held back what is behind it; undefined: none does. */
  readonly heldSinceMs: number | undefined;
  /** Offsets that were taken away before the flow had read them. */
  readonly lostRecords: number;
  /** Of a flow that stands, offsets that wait; undefined: the flow is followed, and its progress has them. */
  readonly standingRecords: number | undefined;
};

/** As much of a partition as is looked at. */
type Place = Pick<
  PartitionProgress,
  'topic' | 'partition' | 'committed' | 'stable' | 'end' | 'logStart'
>;

type Seen = {
  /** Where the log ended at the last look. */
  stable: number;
  /** The checkpoint that `oldestMs` belongs to. */
  committed: number;
  /** An estimate where it is not exact: the timestamp of an older record, or the look at which something waited first. */
  oldestMs: number | undefined;
  /** Whether `oldestMs` is the record's own timestamp. */
  isExact: boolean;
  /** The look in which a record was read last. */
  readIn: number;
  /** The first look that found the last stable offset where it is now, with records behind it. */
  heldSinceMs: number | undefined;
};

/** How fast the log start of a partition moves. */
type Pace = { logStart: number; atMs: number; perSecond: number };

/** What the last look weighs against all before it. */
const paceWeight = 0.2;

type Standing = { readonly places: readonly Place[]; readonly isTold: boolean };

type Late = { readonly seen: Seen; readonly at: Place };

const lookIntervalMs = 5_000;
/** Topic settings are looked at in every so many looks. */
const retentionEvery = 12;
/** Partitions whose oldest record is read in one look: what is late already must not be held up by being watched. */
const readsMax = 8;
const readDeadlineMs = 2_000;

/**
 * Looks now and then how old the records are that wait, and how long they will still be there. Of a flow that has failed nobody
 * follows the partitions any more, while retention goes on: there the log is asked for all of them. Invariant: it reads no
 * record of a partition that keeps up; so a flow in good health costs nothing but a glance at its numbers.
 */
export class SourceWatch {
  readonly #options: SourceWatchOptions;
  readonly #reader: LogReader;
  /** "flow topic/partition" → what was seen there. */
  readonly #seen = new Map<string, Seen>();
  readonly #retention = new Map<string, number>();
  /** Compacted topic → how long compaction leaves a record alone. */
  readonly #compaction = new Map<string, number>();
  readonly #paces = new Map<string, Pace>();
  /** Flow that stands → its source partitions, as of the last look. */
  readonly #standing = new Map<string, Standing>();
  #looks = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(options: SourceWatchOptions) {
    this.#options = options;
    this.#reader = options.log.openReader();
  }

  start(onBug: (error: unknown) => void): void {
    const look = (): void => {
      this.#looking = this.look()
        .catch(onBug)
        .finally(() => {
          if (this.#timer !== undefined) this.#timer = setTimeout(look, lookIntervalMs).unref();
        });
    };
    this.#timer = setTimeout(look, lookIntervalMs).unref();
  }

  /** One look. An outage of the log leaves what was known. */
  async look(): Promise<void> {
    if (this.#looks % retentionEvery === 0) await this.#readRetention();
    this.#looks += 1;
    await this.#askForStanding();
    const late = this.#findLate();
    late.sort((a, b) => a.seen.readIn - b.seen.readIn);
    for (const { seen, at } of late.slice(0, readsMax)) {
      seen.readIn = this.#looks;
      const oldestMs = await this.#readOldest(at);
      if (oldestMs === undefined) continue;
      seen.oldestMs = oldestMs;
      seen.isExact = true;
    }
  }

  /** Partitions in which something waits of which the exact time is not known. */
  #findLate(): Late[] {
    const { clock, facts, progress } = this.#options;
    const nowMs = clock.now();
    const late: Late[] = [];
    const known = new Set<string>();
    for (const { flow } of progress().flows) {
      const sources = facts.find((one) => one.flow.name === flow)?.sources ?? [];
      for (const at of this.#places(flow)) {
        if (!sources.some(({ topic }) => topic === at.topic)) continue;
        const key = keyOf(flow, at);
        known.add(key);
        this.#notePace(key, at);
        const seen = glance(this.#seen.get(key), at, nowMs);
        this.#seen.set(key, seen);
        if (seen.oldestMs !== undefined && !seen.isExact) late.push({ seen, at });
      }
    }
    for (const map of [this.#seen, this.#paces]) {
      for (const key of map.keys()) if (!known.has(key)) map.delete(key);
    }
    return late;
  }

  #places(flow: string): readonly Place[] {
    const standing = this.#standing.get(flow);
    if (standing !== undefined) return standing.places;
    return this.#options.progress().flows.find((one) => one.flow === flow)?.partitions ?? [];
  }

  async #askForStanding(): Promise<void> {
    for (const { flow, failed } of this.#options.progress().flows) {
      const facts = this.#options.facts.find((one) => one.flow.name === flow);
      if (failed === undefined || facts === undefined) {
        this.#standing.delete(flow);
        continue;
      }
      try {
        const places = await this.#askFor(facts);
        if (places === undefined) continue;
        this.#standing.set(flow, { places, isTold: await this.#options.lastToStop.isOwn(flow) });
      } catch {
        // What was known stands until the log answers again.
      }
    }
  }

  /** undefined: the log does not tell, for what stood there left a transaction open. The other flows are looked at meanwhile. */
  async #askFor({ group, sources }: FlowFacts): Promise<readonly Place[] | undefined> {
    const { log, clock } = this.#options;
    const places: Place[] = [];
    for (const { topic, partitions } of sources) {
      const numbers = Array.from({ length: partitions }, (_, partition) => partition);
      // Checkpoints first: an end that is read later is never behind them.
      const asking = log.committedOffsets(group, topic, numbers);
      const checkpoints = await answerWithin(clock, readDeadlineMs, asking);
      if (checkpoints === undefined) return undefined;
      const ranges = await log.offsetRanges(topic, numbers);
      for (const [partition, { start, stable, end }] of ranges) {
        const committed = checkpoints.get(partition)?.offset ?? start;
        places.push({ topic, partition, committed, stable, end, logStart: start });
      }
    }
    return places;
  }

  /** Retention by size shows in nothing else. */
  #notePace(key: string, { logStart }: Place): void {
    if (logStart === undefined) return;
    const atMs = this.#options.clock.monotonic();
    const before = this.#paces.get(key);
    if (before === undefined) {
      this.#paces.set(key, { logStart, atMs, perSecond: 0 });
      return;
    }
    const seconds = (atMs - before.atMs) / 1000;
    if (seconds <= 0) return;
    const now = Math.max(0, logStart - before.logStart) / seconds;
    const perSecond = before.perSecond + paceWeight * (now - before.perSecond);
    this.#paces.set(key, { logStart, atMs, perSecond });
  }

  /** Timestamp of the first record from the checkpoint on. */
  async #readOldest({
    topic,
    partition,
    committed,
    stable,
    logStart = 0,
  }: Place): Promise<number | undefined> {
    const { clock } = this.#options;
    const deadline = clock.monotonic() + readDeadlineMs;
    let position = Math.max(committed, logStart);
    try {
      this.#reader.assign(topic, partition, position);
      while (position < stable && clock.monotonic() < deadline) {
        for (const slice of await this.#reader.poll(500)) {
          if (slice.topic !== topic || slice.partition !== partition) continue;
          if (slice.records.next()) return slice.records.timestampMs;
          position = slice.nextOffset;
        }
      }
      return undefined;
    } catch {
      // The flow's own reader runs into the same, and tells it.
      return undefined;
    } finally {
      this.#reader.unassign(topic, partition);
    }
  }

  async #readRetention(): Promise<void> {
    const sources = this.#options.facts.flatMap((facts) => facts.sources);
    const topics = new Set(sources.map(({ topic }) => topic));
    // Of a table whose rows are replaced it takes versions that count no more.
    const replaced = new Set(sources.filter(isVersioned).map(({ topic }) => topic));
    try {
      for (const { name, configs } of (
        await this.#options.log.describeTopics([...topics])
      ).values()) {
        const isDeleted = (configs.get('cleanup.policy') ?? 'delete').includes('delete');
        const retentionMs = Number(configs.get('retention.ms') ?? Number.NaN);
        const isEndless = !isDeleted || retentionMs < 0;
        if (isEndless) this.#retention.set(name, Number.POSITIVE_INFINITY);
        else if (Number.isFinite(retentionMs)) this.#retention.set(name, retentionMs);
        const compactedMs = replaced.has(name) ? undefined : compactionMs(configs);
        if (compactedMs === undefined) this.#compaction.delete(name);
        else this.#compaction.set(name, compactedMs);
      }
    } catch {
      // Looked at again later.
    }
  }

  waiting(flow: string, topic: string): Waiting {
    let oldestMs: number | undefined;
    let headroomRecords: number | undefined;
    let headroomSeconds: number | undefined;
    let compactionSeconds: number | undefined;
    let heldSinceMs: number | undefined;
    let lostRecords = 0;
    let waitingRecords = 0;
    const retentionMs = this.#retention.get(topic);
    for (const at of this.#places(flow)) {
      if (at.topic !== topic) continue;
      const lost = Math.max(0, (at.logStart ?? 0) - at.committed);
      lostRecords += lost;
      waitingRecords += Math.max(0, at.stable - at.committed - lost);
      const seen = this.#seen.get(keyOf(flow, at));
      if (seen?.oldestMs !== undefined) {
        oldestMs = Math.min(seen.oldestMs, oldestMs ?? Number.POSITIVE_INFINITY);
      }
      if (seen?.heldSinceMs !== undefined) {
        heldSinceMs = Math.min(seen.heldSinceMs, heldSinceMs ?? Number.POSITIVE_INFINITY);
      }
      if (at.logStart !== undefined) {
        const records = Math.max(0, at.committed - at.logStart);
        headroomRecords = Math.min(records, headroomRecords ?? Number.POSITIVE_INFINITY);
      }
      if (at.logStart === undefined || retentionMs === undefined) continue;
      const compactedMs = this.#compaction.get(topic);
      const left = headroom({
        retentionMs: Number.isFinite(retentionMs) ? retentionMs : undefined,
        compactionMs: compactedMs,
        oldestMs: seen?.oldestMs,
        nowMs: this.#options.clock.now(),
        committed: at.committed,
        logStart: at.logStart,
        logStartPerSecond: this.#paces.get(keyOf(flow, at))?.perSecond,
      });
      headroomSeconds = Math.min(left.seconds, headroomSeconds ?? Number.POSITIVE_INFINITY);
      if (compactedMs === undefined) continue;
      const soonest = compactionSeconds ?? Number.POSITIVE_INFINITY;
      compactionSeconds = Math.min(left.compactionSeconds, soonest);
    }
    const standing = this.#standing.get(flow);
    const told = standing?.isTold === true ? waitingRecords : 0;
    const standingRecords = standing === undefined ? undefined : told;
    return {
      ...{ oldestMs, retentionMs, headroomRecords, headroomSeconds, heldSinceMs },
      compactionSeconds,
      ...{ lostRecords, standingRecords },
    };
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#looking.catch(() => undefined);
    await this.#reader.close();
    await this.#options.lastToStop.close();
  }
}

/** Compares with the look before: what was there then and is not committed now has waited all the time. */
function glance(before: Seen | undefined, { committed, stable, end }: Place, nowMs: number): Seen {
  const isHeld = end > stable;
  const heldSinceMs =
    isHeld && before?.stable === stable
      ? (before.heldSinceMs ?? nowMs)
      : isHeld
        ? nowMs
        : undefined;
  const isWaiting = before !== undefined && stable > committed && committed < before.stable;
  if (!isWaiting) {
    return {
      stable,
      committed,
      oldestMs: undefined,
      isExact: false,
      readIn: before?.readIn ?? 0,
      heldSinceMs,
    };
  }
  return {
    stable,
    committed,
    oldestMs: before.oldestMs ?? nowMs - lookIntervalMs,
    isExact: before.isExact && before.committed === committed,
    readIn: before.readIn,
    heldSinceMs,
  };
}

function keyOf(
  flow: string,
  { topic, partition }: Pick<PartitionProgress, 'topic' | 'partition'>,
): string {
  return `${flow} ${topic}/${partition}`;
}
