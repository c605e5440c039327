import type { FlowPlan, PipelinePlan } from '../../plan/pipeline-plan.ts';
import { tableOf } from '../../plan/topology.ts';
import type { Log } from '../../ports/log.ts';
import { tableGeneration, writersOf } from '../takeover/generation.ts';
import type { CatalogChange, KnownCatalog } from '../topics/catalog.ts';
import { type PlacedDeadLetter, readDeadLetters } from '../worker/dead-letters.ts';

/** Offsets of a dead-letter partition, the last one among them. */
type LetterRange = { readonly from: number; readonly to: number };

type LetterAt = { readonly letter: Pick<PlacedDeadLetter['letter'], 'partition' | 'offset'> };

type SettledScope = {
  readonly catalog: KnownCatalog;
  readonly flow: string;
  /** Of the dead-letter topic. */
  readonly topicId: string;
  /** Of the table: what was replayed before a refresh says nothing of its rows, which it has computed itself. */
  readonly generation: number;
};

/** What the catalog holds for a partition: letters beyond that show as open, which only costs another replay. */
const rangesMax = 10_000;

/**
 * Which dead letters are settled: their records were given to the flow since they were set aside, by a replay or by a refresh that
 * could read them. Invariant: a letter that neither the last refresh of the table nor a replay since has taken is never called
 * settled.
 */
export class SettledLetters {
  readonly #scope: SettledScope;
  readonly #ranges = new Map<number, LetterRange[]>();
  /** The last letter of the flow that was seen of each partition, whatever became of it. */
  readonly #last = new Map<number, number>();

  constructor(scope: SettledScope) {
    this.#scope = scope;
    const { catalog, flow, topicId, generation } = scope;
    for (const { name, value } of catalog.all('replayed')) {
      const { partition, ranges } = value;
      if (value['flow'] !== flow || value['topicId'] !== topicId) continue;
      if (value['generation'] !== generation || typeof partition !== 'number') continue;
      if (name === nameOf(flow, topicId, partition))
        this.#ranges.set(partition, readRanges(ranges));
    }
  }

  get isEmpty(): boolean {
    return this.#ranges.size === 0;
  }

  has({ letter: { partition, offset } }: LetterAt): boolean {
    const ranges = this.#ranges.get(partition) ?? [];
    let [low, high] = [0, ranges.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ranges[middle]?.to ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    const found = ranges[low];
    return found !== undefined && found.from <= offset;
  }

  /** A letter of the flow; they come in the order of their partition, and what is between two of them is of others. */
  see(one: LetterAt, isReplayed: boolean): void {
    const { partition, offset } = one.letter;
    const last = this.#last.get(partition);
    this.#last.set(partition, offset);
    if (!isReplayed || this.has(one)) return;
    const ranges = this.#ranges.get(partition) ?? [];
    this.#ranges.set(partition, ranges);
    // Mostly it lies behind all that are known: there may be many, and a refresh holds the flow meanwhile.
    const isLast = (ranges.at(-1)?.from ?? -1) < offset;
    const at = isLast ? -1 : ranges.findIndex(({ from }) => from > offset);
    const before = ranges[(at < 0 ? ranges.length : at) - 1];
    if (before !== undefined && last !== undefined && before.to >= last) {
      ranges[(at < 0 ? ranges.length : at) - 1] = { from: before.from, to: offset };
      return;
    }
    ranges.splice(at < 0 ? ranges.length : at, 0, { from: offset, to: offset });
  }

  /** What the catalog is told of the partitions. */
  changes(): readonly CatalogChange[] {
    const { flow, topicId, generation } = this.#scope;
    return [...this.#ranges].map(([partition, ranges]) => ({
      kind: 'replayed' as const,
      name: nameOf(flow, topicId, partition),
      value: {
        ...{ flow, topicId, generation, partition },
        ranges: ranges.slice(-rangesMax).map(({ from, to }) => [from, to]),
      },
    }));
  }
}

function nameOf(flow: string, topicId: string, partition: number): string {
  return `${flow}/${topicId}/${partition}`;
}

function readRanges(value: unknown): LetterRange[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly unknown[]).flatMap((one) => {
    const [from, to] = Array.isArray(one) ? (one as readonly unknown[]) : [];
    return typeof from === 'number' && typeof to === 'number' ? [{ from, to }] : [];
  });
}

export type SettledOptions = {
  readonly log: Log;
  readonly catalog: KnownCatalog;
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  readonly flow: FlowPlan;
};

/** What the catalog knows of the letters of a flow; undefined: there is no topic of them. */
export async function openSettled({
  log,
  catalog,
  plan,
  flow,
}: SettledOptions): Promise<SettledLetters | undefined> {
  const { topic, deadLetterTopic } = tableOf(plan, flow);
  if (deadLetterTopic === undefined) return undefined;
  const topicId = (await log.describeTopics([deadLetterTopic])).get(deadLetterTopic)?.topicId;
  if (topicId === undefined) return undefined;
  const generation = tableGeneration(catalog, writersOf(plan, topic));
  return new SettledLetters({ catalog, flow: flow.name, topicId, generation });
}

/**
 * Tells of each letter of a flow whether it is settled. A record that was read again may have several: those that were there when
 * one of them was replayed are settled with it, and one that was set aside later is open.
 */
export async function settledJudge(
  options: SettledOptions,
): Promise<(letter: PlacedDeadLetter) => boolean> {
  const { log, catalog, pipeline, plan, flow } = options;
  const settled = await openSettled(options);
  if (settled === undefined || settled.isEmpty) return () => false;
  const lastOf = new Map<string, number>();
  const scope = { log, catalog, pipeline, table: tableOf(plan, flow), flow: flow.name };
  // All letters of a record are in one partition.
  await readDeadLetters(scope, (letter) => {
    if (settled.has(letter)) lastOf.set(recordOf(letter), letter.letter.offset);
  });
  return (letter) => letter.letter.offset <= (lastOf.get(recordOf(letter)) ?? -1);
}

function recordOf({ topicId, partition, offset }: PlacedDeadLetter): string {
  return `${topicId} ${partition} ${offset}`;
}

/** What the catalog is told when a checkpoint is carried: its letters go with it, and what became of them. */
export function movedSettled(
  catalog: KnownCatalog,
  { before, after }: { readonly before: string; readonly after: string },
): readonly CatalogChange[] {
  return catalog.all('replayed').flatMap(({ kind, name, value }) => {
    if (value['flow'] !== before) return [];
    const moved = { kind, name: `${after}${name.slice(before.length)}` };
    return [
      { ...moved, value: { ...value, flow: after } },
      { kind, name, value: undefined },
    ];
  });
}
