import type { Clock } from '../../ports/clock.ts';
import type { Log, OffsetRange } from '../../ports/log.ts';
import type { TopicFacts } from '../inspect/flow-facts.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import type { Catalog } from '../topics/catalog.ts';
import type { FlowRunner } from '../worker/flow-runner.ts';
import type { OwnId } from '../worker/own-id.ts';
import { partitionKey } from './partition-key.ts';
import { fenceOthers } from './takeover.ts';

export type StuckPartitionsOptions = {
  readonly log: Log;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly listener: RuntimeListener;
  readonly own: OwnId;
  /** This worker's own transaction holds up readers for this long by right. */
  readonly commitIntervalMs: number;
};

type Standing = { readonly stable: number; readonly sinceMs: number };

type StandingRange = OffsetRange & { readonly topic: string; readonly partition: number };

const lookIntervalMs = 500;
const askIntervalMs = 1_000;
const stuckAfterMinMs = 3_000;

/**
 * Watches the topics that the pipeline itself writes for a transaction that nobody ends: an instance that died holds up
 * the readers of every partition that it wrote to, between the stages as well as of appended rows and dead letters.
 * Invariant: only transactions of the pipeline's own instances are ended, and only after the last stable offset stood
 * still for long.
 */
export class StuckPartitions {
  readonly #options: StuckPartitionsOptions;
  readonly #seen = new Map<string, Standing>();
  readonly #seenWritten = new Map<string, Standing>();
  /** Where topics stand that nobody here reads, as they answered last. */
  #written: readonly StandingRange[] = [];
  #isAsking = false;
  #nextMs = 0;
  #nextAskMs = 0;

  constructor(options: StuckPartitionsOptions) {
    this.#options = options;
  }

  async turn(runners: readonly FlowRunner[]): Promise<void> {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + lookIntervalMs;
    const stuckAfterMs = Math.max(stuckAfterMinMs, this.#options.commitIntervalMs * 3);
    for (const runner of runners) {
      for (const { topic, partition, position, stable, end } of runner.ownRanges()) {
        const key = partitionKey(topic, partition);
        const seen = this.#seen.get(key);
        if (position < stable || stable >= end || seen?.stable !== stable) {
          this.#seen.set(key, { stable, sinceMs: nowMs });
        } else if (nowMs - seen.sinceMs >= stuckAfterMs) {
          this.#seen.set(key, { stable, sinceMs: nowMs });
          await this.#fence(topic, partition, stable);
        }
      }
    }
    await this.#freeWritten(stuckAfterMs);
    if (this.#isAsking || nowMs < this.#nextAskMs) return;
    this.#nextAskMs = nowMs + askIntervalMs;
    void this.#ask(runners);
  }

  /** Once for each offset: others may write to a topic of dead letters, too, and are not ended by this. */
  async #freeWritten(stuckAfterMs: number): Promise<void> {
    const nowMs = this.#options.clock.monotonic();
    for (const { topic, partition, stable, end } of this.#written) {
      const key = partitionKey(topic, partition);
      const seen = this.#seenWritten.get(key);
      if (stable >= end || seen?.stable !== stable) {
        this.#seenWritten.set(key, { stable, sinceMs: nowMs });
      } else if (nowMs - seen.sinceMs >= stuckAfterMs) {
        this.#seenWritten.set(key, { stable, sinceMs: Number.POSITIVE_INFINITY });
        await this.#fence(topic, partition, stable);
      }
    }
  }

  /** Nobody waits for the answer: it is looked at in the next turn, and a broker that does not answer is told elsewhere. */
  async #ask(runners: readonly FlowRunner[]): Promise<void> {
    this.#isAsking = true;
    try {
      const standing: StandingRange[] = [];
      for (const { topic, partitions } of writtenTopics(runners)) {
        const all = Array.from({ length: partitions }, (_, partition) => partition);
        for (const [partition, range] of await this.#options.log.offsetRanges(topic, all)) {
          standing.push({ topic, partition, ...range });
        }
      }
      this.#written = standing;
    } catch {
      this.#written = [];
    } finally {
      this.#isAsking = false;
    }
  }

  async #fence(topic: string, partition: number, stable: number): Promise<void> {
    await fenceOthers(
      this.#options,
      `topic "${topic}", partition ${partition} stands still at offset ${stable}`,
    );
  }
}

/** Topics in which a dead instance may have left something open that no takeover comes across. */
function writtenTopics(runners: readonly FlowRunner[]): readonly TopicFacts[] {
  const topics = new Map<string, TopicFacts>();
  for (const { facts } of runners) {
    if (facts.repartition === undefined) topics.set(facts.output.topic, facts.output);
    if (facts.deadLetter !== undefined) topics.set(facts.deadLetter.topic, facts.deadLetter);
  }
  return [...topics.values()];
}
