import { FlowError } from '../../base/errors.ts';
import type { JoinStep, SourcePlan } from '../../plan/pipeline-plan.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, TopicDescription } from '../../ports/log.ts';
import type { FindPartners } from '../../task/row/row-steps.ts';
import { StaticSide } from '../../task/static-side.ts';
import type { FlowFacts } from '../inspect/flow-facts.ts';
import type { Catalog } from '../topics/catalog.ts';

export type StaticDataOptions = {
  readonly facts: FlowFacts;
  readonly log: Log;
  /** undefined: whoever only looks leaves no trace. */
  readonly catalog: Catalog | undefined;
  readonly clock: Clock;
  /** True when the worker has to turn to something else. */
  readonly isInterrupted: () => boolean;
};

/** Where nobody says otherwise: new records of a static side are looked for so often. */
const refreshDefaultMs = 10_000;

type SourceState = {
  readonly source: SourcePlan;
  readonly sides: StaticSide[];
  topicId: string | undefined;
  /** Partition → the next offset to read. */
  readonly positions: Map<number, number>;
  dueAtMs: number;
};

/**
 * What the joins of a flow look up: the latest record of each key of their static sources, read to the end before
 * the first row of the flow and again whenever it is due. Invariant: the catalog names offsets that reach as far as
 * what rows are joined with.
 */
export class StaticData {
  readonly #options: StaticDataOptions;
  readonly #sources: readonly SourceState[];

  constructor(options: StaticDataOptions) {
    this.#options = options;
    this.#sources = options.facts.statics.map(({ source }) => ({
      source,
      sides: [],
      topicId: undefined,
      positions: new Map(),
      dueAtMs: Number.NEGATIVE_INFINITY,
    }));
  }

  /** The side of a join, from now on kept up to date. */
  readonly partners: FindPartners = (join: JoinStep) => {
    const { facts } = this.#options;
    const side = new StaticSide({
      flow: facts.flow.name,
      join,
      timeZone: facts.timeZone,
      outputOf: ({ name }) => facts.statics.find(({ source }) => source.name === name)?.output,
    });
    const names = new Set(join.side.branches.map(({ source }) => source.name));
    for (const { source, sides } of this.#sources) if (names.has(source.name)) sides.push(side);
    return (row, frame) => side.partners(row, frame);
  };

  /** Brings every source that is due to the end that its topic has now. */
  async refresh(): Promise<void> {
    const { clock } = this.#options;
    for (const state of this.#sources) {
      if (clock.monotonic() < state.dueAtMs) continue;
      if (await this.#readOn(state)) await this.#record(state);
      state.dueAtMs = clock.monotonic() + intervalMs(state.source);
    }
  }

  /** Gives whether there was anything new. */
  async #readOn(state: SourceState): Promise<boolean> {
    const { log } = this.#options;
    const { topic } = state.source;
    const found = (await log.describeTopics([topic])).get(topic);
    if (found === undefined) throw missingStatic(state.source);
    const numbers = Array.from({ length: found.partitions }, (_, partition) => partition);
    const ranges = await log.offsetRanges(topic, numbers);
    const isBehind = [...ranges].some(
      ([partition, { start, stable }]) =>
        (state.positions.get(partition) ?? start) < start ||
        (state.positions.get(partition) ?? start) > stable,
    );
    if (state.topicId !== found.topicId || isBehind) restart(state, found);
    const ends = new Map<number, number>();
    for (const [partition, { start, stable }] of ranges) {
      const position = state.positions.get(partition) ?? start;
      state.positions.set(partition, position);
      if (position < stable) ends.set(partition, stable);
    }
    if (ends.size === 0) return false;
    await this.#readTo(state, ends);
    return true;
  }

  async #readTo(state: SourceState, ends: Map<number, number>): Promise<void> {
    const { log, clock, isInterrupted } = this.#options;
    const { topic } = state.source;
    const reader = log.openReader();
    try {
      for (const partition of ends.keys()) {
        reader.assign(topic, partition, state.positions.get(partition) ?? 0);
      }
      while (ends.size > 0) {
        if (isInterrupted()) {
          throw new FlowError('TASK_MIGRATED', 'reading static data was interrupted');
        }
        for (const { partition, records, nextOffset } of await reader.poll(500)) {
          const place = { topic, partition };
          while (records.next()) {
            for (const side of state.sides) side.take(state.source, records, place, clock.now());
          }
          state.positions.set(partition, nextOffset);
          if (nextOffset < (ends.get(partition) ?? 0)) continue;
          ends.delete(partition);
          reader.unassign(topic, partition);
        }
      }
    } catch (error) {
      // Part of a slice may be in: what is known is read anew.
      state.topicId = undefined;
      throw error;
    } finally {
      await reader.close();
    }
  }

  async #record({ source, topicId, positions }: SourceState): Promise<void> {
    const { catalog, facts, clock } = this.#options;
    if (catalog === undefined) return;
    const offsets = Object.fromEntries([...positions].sort(([a], [b]) => a - b));
    const name = `${facts.flow.name}/${source.name}`;
    const value = { topic: source.topic, topicId, offsets, atMs: clock.now() };
    await catalog.write([{ kind: 'static', name, value }], clock.now());
  }
}

function restart(state: SourceState, { topicId }: TopicDescription): void {
  for (const side of state.sides) side.clear(state.source.name);
  state.positions.clear();
  state.topicId = topicId;
}

function intervalMs({ refreshIntervalMicros }: SourcePlan): number {
  return refreshIntervalMicros === undefined
    ? refreshDefaultMs
    : Number(refreshIntervalMicros / 1000n);
}

export function missingStatic({ name, topic, file }: SourcePlan): FlowError {
  if (file !== undefined) {
    return new FlowError('TOPIC_MISSING', `file "${file}" does not exist`, {
      detail: `Source "${name}" reads it, as the static side of a join.`,
      hint: 'Put it there. To change it, write a new file and rename it onto the old one.',
    });
  }

  return new FlowError('TOPIC_MISSING', `source topic "${topic}" does not exist`, {
    detail: `Source "${name}" reads it, as the static side of a join.`,
    hint: "Create the topic, or name another one with WITH (topic = '…') in CREATE SOURCE. Tidemark never creates a source topic.",
  });
}
