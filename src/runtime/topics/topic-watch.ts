import { FlowError } from '../../base/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, TopicDescription } from '../../ports/log.ts';
import { feedOf } from '../inspect/flow-facts.ts';
import { movedStarts, refuseMovedStarts } from '../takeover/log-starts.ts';
import { RunnerError } from '../worker/blame.ts';
import type { FlowRunner } from '../worker/flow-runner.ts';
import type { Catalog } from './catalog.ts';
import { isAnother, refuseRecreated, tableTopics, writtenNames } from './refuse-recreated.ts';

const askIntervalMs = 5_000;

export type TopicWatchOptions = {
  readonly log: Log;
  readonly catalog: Catalog;
  readonly clock: Clock;
};

/**
 * Watches whether the topics that flows write are still those that they started with, and still begin where they began: to
 * write to a topic its name is enough, so nobody else would notice that a new one has taken its place, or that its first
 * records are gone. Invariant: no turn waits for the answer.
 */
export class TopicWatch {
  readonly #options: TopicWatchOptions;
  /** Ids of topics between the stages of which their flow was told: its takeover looks at the checkpoint. */
  readonly #told = new Set<string>();
  #nextMs: number;
  #isAsking = false;
  #found: RunnerError | undefined;

  constructor(options: TopicWatchOptions) {
    this.#options = options;
    this.#nextMs = options.clock.monotonic() + askIntervalMs;
  }

  /** Throws, once, what was found since the last turn. */
  turn(runners: readonly FlowRunner[]): void {
    const found = this.#found;
    this.#found = undefined;
    if (found !== undefined && runners.includes(found.runner)) throw found;
    const nowMs = this.#options.clock.monotonic();
    if (this.#isAsking || nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + askIntervalMs;
    void this.#ask(runners);
  }

  async #ask(runners: readonly FlowRunner[]): Promise<void> {
    this.#isAsking = true;
    try {
      const names = new Set(runners.flatMap(({ facts }) => writtenNames(facts)));
      const found = await this.#options.log.describeTopics([...names]);
      for (const runner of runners) await this.#look(runner, found);
    } catch {
      // A broker that does not answer is told elsewhere.
    }
    this.#isAsking = false;
  }

  async #look(runner: FlowRunner, found: ReadonlyMap<string, TopicDescription>): Promise<void> {
    const { log, catalog } = this.#options;
    try {
      refuseRecreated(runner.facts, found);
      this.#refuseOtherFeed(runner, found);
      for (const topic of tableTopics(runner.facts)) {
        refuseMovedStarts(runner.facts, topic, await movedStarts(log, catalog, topic));
      }
    } catch (error) {
      const isFinding =
        error instanceof FlowError &&
        (error.code === 'TOPIC_RECREATED' || error.code === 'OFFSET_OUT_OF_RANGE');
      if (!isFinding) throw error;
      this.#found ??= new RunnerError(runner, error);
    }
  }

  /** Rows between the stages go with their topic. Whoever merges them looks at its checkpoint, and finds the gap. */
  #refuseOtherFeed({ facts }: FlowRunner, found: ReadonlyMap<string, TopicDescription>): void {
    const feed = feedOf(facts);
    if (feed === undefined || facts.repartition === undefined || !isAnother(feed, found)) return;
    const now = found.get(feed.topic)?.topicId ?? '';
    if (this.#told.has(now)) return;
    this.#told.add(now);
    throw new FlowError(
      'TOPIC_RECREATED',
      `repartition topic "${feed.topic}" was deleted and created again`,
    );
  }
}
