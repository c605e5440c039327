import { FlowError } from '../../base/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, TopicDescription } from '../../ports/log.ts';
import type { TopicFacts } from '../inspect/flow-facts.ts';
import { lostRecords, type MovedStart, movedStarts } from '../takeover/log-starts.ts';
import type { Catalog } from '../topics/catalog.ts';
import { lostTable } from '../topics/check-topics.ts';
import { lockOf } from '../topics/locks.ts';
import { isAnother } from '../topics/refuse-recreated.ts';
import type { InputFacts } from './read-input-rows.ts';
import type { ViewFacts } from './view-facts.ts';

export type ViewTopicsOptions = {
  readonly facts: ViewFacts;
  readonly log: Log;
  readonly catalog: Catalog;
  readonly clock: Clock;
};

type TableInput = Extract<InputFacts, { kind: 'table' }>;

/** How often they are looked at while nothing is to be computed. */
const lookIntervalMs = 5_000;

/**
 * The topics of a materialized view and of the tables that it reads: whether they are still those that it started with, and
 * begin where they began. Invariant: what a view publishes was computed over whole tables, and what it keeps of its own rows
 * is all that it ever wrote.
 */
export class ViewTopics {
  readonly #options: ViewTopicsOptions;
  #nextMs = 0;

  constructor(options: ViewTopicsOptions) {
    this.#options = options;
  }

  /** True where records of the view's own topic are gone, which is computed anew then. Looked up now and then. */
  async isTorn(): Promise<boolean> {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < this.#nextMs) return false;
    this.#nextMs = nowMs + lookIntervalMs;
    return this.check();
  }

  /** The same, asked now; throws where nothing right can be computed. */
  async check(): Promise<boolean> {
    const { facts, log } = this.#options;
    const { output, view, table } = facts;
    const tables = facts.inputs.filter(isTable);
    const found = await log.describeTopics([output.topic, ...tables.map(({ topic }) => topic)]);
    for (const input of tables) this.#refuseOther(input, found);
    if (isAnother(output, found)) {
      if (view.replaceWhere !== undefined) throw lostKept(facts);
      throw new FlowError(
        'TOPIC_RECREATED',
        `output topic "${output.topic}" of view "${view.name}" was deleted and created again`,
        {
          hint: 'Nothing is lost that its inputs do not have. Start the service again: it computes the view anew.',
        },
      );
    }
    for (const input of tables) {
      const [moved] = await this.#moved(topicOf(input));
      // A refresh that empties the table takes note of where it starts then.
      if (moved === undefined || this.#isRefreshed(input)) continue;
      throw lostRecords({ flow: view.name, table: input.name, topic: input.topic }, moved);
    }
    const [moved] = await this.#moved(output);
    if (moved !== undefined && view.replaceWhere !== undefined) {
      throw lostRecords({ flow: view.name, table: table.name, topic: output.topic }, moved);
    }
    return moved !== undefined;
  }

  /** Takes note of where the view's own topic starts, after it was computed anew. */
  async remember(): Promise<void> {
    const { facts, catalog, log, clock } = this.#options;
    const name = facts.output.topic;
    const value = catalog.get('topic', name)?.value;
    if (value === undefined) return;
    const numbers = Array.from({ length: facts.output.partitions }, (_, number) => number);
    const ranges = await log.offsetRanges(name, numbers);
    const starts = numbers.map((partition) => ranges.get(partition)?.start ?? 0);
    await catalog.write([{ kind: 'topic', name, value: { ...value, starts } }], clock.now());
  }

  async #moved(topic: TopicFacts): Promise<readonly MovedStart[]> {
    const { log, catalog } = this.#options;
    const moved = await movedStarts(log, catalog, topic);
    if (moved.length === 0) return moved;
    // Somebody may have taken note of it since.
    await catalog.read();
    return movedStarts(log, catalog, topic);
  }

  #isRefreshed({ writers = [] }: TableInput): boolean {
    const { catalog, clock } = this.#options;
    return writers.some((flow) => lockOf(catalog, flow, clock.now()) !== undefined);
  }

  #refuseOther(input: TableInput, found: ReadonlyMap<string, TopicDescription>): void {
    if (!isAnother(topicOf(input), found)) return;
    const { view } = this.#options.facts;
    throw new FlowError(
      'TOPIC_RECREATED',
      `view "${view.name}" cannot be computed: topic "${input.topic}" of table "${input.name}" was deleted and created again`,
      {
        detail:
          'What is in it by now is a part of the table, and the view would call it the whole.',
        hint: `Compute the table anew, and start the service again: tidemark refresh ${input.name} --in-place`,
      },
    );
  }
}

function isTable(input: InputFacts): input is TableInput {
  return input.kind === 'table' && input.topicId !== undefined;
}

function topicOf({ topic, topicId = '', partitions }: TableInput): TopicFacts {
  return { topic, topicId, partitions };
}

function lostKept({ output, view, table }: ViewFacts): FlowError {
  const topic = { role: 'output', name: output.topic, flow: view.name, table: table.name } as const;
  return lostTable(topic, 'created again');
}
