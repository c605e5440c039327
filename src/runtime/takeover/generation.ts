import { FlowError } from '../../base/errors.ts';
import type { PipelinePlan } from '../../plan/pipeline-plan.ts';
import { readDeployedFlow } from '../../refresh/deployed-flow.ts';
import type { FlowFacts, SwapRange } from '../inspect/flow-facts.ts';
import { carriedError } from '../topics/carried-flows.ts';
import type { Catalog, KnownCatalog } from '../topics/catalog.ts';
import { succeededError } from '../topics/table-writer.ts';
import { partitionKey } from './partition-key.ts';

/** How often a flow's table was refreshed fully: part of the name of its state, and of every record it writes. */
export function generationOf(catalog: KnownCatalog | undefined, flow: string): number {
  const known = catalog?.get('generation', flow)?.value['generation'];
  return typeof known === 'number' ? known : 0;
}

/** The generation of a table, by the flows that write it; 0 where it was never refreshed, and of a topic that is no table's. */
export function tableGeneration(
  catalog: KnownCatalog | undefined,
  writers: readonly string[],
): number {
  return Math.max(0, ...writers.map((flow) => generationOf(catalog, flow)));
}

/** The flows whose table has this topic; none: it is no table's. */
export function writersOf({ tables, flows }: PipelinePlan, topic: string): readonly string[] {
  const names = tables.flatMap((table) => (table.topic === topic ? [table.name] : []));
  return flows.flatMap(({ name, target }) => (names.includes(target) ? [name] : []));
}

/**
 * What the catalog keeps of a checkpoint: the incarnation of its topic, how many partitions that had when the flow had
 * its first checkpoint there (undefined: unknown), and the incarnation of the table whose topic it is.
 */
export type CheckpointMark = {
  readonly topicId: string;
  readonly partitions: number | undefined;
  /** Of the table that is read; absent: it was never refreshed, or is none. */
  readonly generation?: number;
  /** The generation of the flow whose checkpoint it is; absent: that was never refreshed. */
  readonly of?: number;
  /** The offset at which the flow began to read the partition; absent: nobody knows. */
  readonly first?: number;
};

/** `generation` is that of the table that is read, `of` that of the flow. */
export function checkpointMark(
  topicId: string,
  partitions: number | undefined,
  { generation, of }: { readonly generation: number; readonly of: number },
  first: number | undefined,
): CheckpointMark {
  return {
    topicId,
    partitions,
    ...(generation === 0 ? {} : { generation }),
    ...(of === 0 ? {} : { of }),
    ...(first === undefined ? {} : { first }),
  };
}

/**
 * What the catalog keeps of a flow's checkpoint; undefined: it knows of none. An instance that slept while its flow was refreshed
 * may enter one of before, which the refresh has taken away (simulation seed 548 with refreshes).
 */
export function markOfCheckpoint(
  catalog: KnownCatalog | undefined,
  flow: string,
  { topic, partition }: { readonly topic: string; readonly partition: number },
): Readonly<Record<string, unknown>> | undefined {
  const mark = catalog?.get('checkpoint', `${flow}/${partitionKey(topic, partition)}`)?.value;
  return (mark?.['of'] ?? 0) === generationOf(catalog, flow) ? mark : undefined;
}

/** Where the flow began to read the partition; undefined: that was another topic, or nobody knows. */
export function markedFirst(
  value: Readonly<Record<string, unknown>> | undefined,
  topicId: string,
): number | undefined {
  const first = value?.['first'];
  return value?.['topicId'] === topicId && typeof first === 'number' ? first : undefined;
}

export function markedGeneration(value: Readonly<Record<string, unknown>> | undefined): number {
  const known = value?.['generation'];
  return typeof known === 'number' ? known : 0;
}

/** What refreshes wrote into the output topic of a flow. */
export function swapsOf(catalog: KnownCatalog | undefined, flow: string): readonly SwapRange[] {
  const known = catalog?.get('generation', flow)?.value['swaps'];
  return Array.isArray(known) ? (known as SwapRange[]) : [];
}

/** The first offset of a partition that counts: where a refresh has emptied it, what lies before is of no generation. */
export function generationStart(swaps: readonly SwapRange[], partition: number): number {
  return swaps.reduce(
    (start, swap) =>
      swap.partition === partition && swap.isStart ? Math.max(start, swap.to) : start,
    0,
  );
}

/** Whether a refresh wrote what stands at an offset; undefined: none ever wrote to the partition. */
export function swapTest(
  swaps: readonly SwapRange[],
  partition: number,
): ((offset: number) => boolean) | undefined {
  const own = swaps.filter((swap) => swap.partition === partition);
  if (own.length === 0) return undefined;
  return (offset) => own.some(({ from, to }) => offset >= from && offset < to);
}

/**
 * The facts of a flow that was held, as the command has left it; an error where its table has another definition now than
 * this instance runs.
 */
export function inPresentGeneration(catalog: Catalog, facts: FlowFacts): FlowFacts | FlowError {
  const { name, fingerprint } = facts.flow;
  const deployed = readDeployedFlow(catalog.get('flow', name)?.value);
  if (deployed !== undefined && deployed.fingerprint !== fingerprint) {
    return new FlowError('DEFINITION_CHANGED', `flow "${name}" has another definition now`, {
      detail: 'Its table was refreshed with a definition that this instance does not run.',
      hint: 'Start the instance with the files that the refresh was made with.',
    });
  }
  const succeeded = succeededError(catalog, facts);
  if (succeeded !== undefined) return succeeded;
  return { ...facts, generation: generationOf(catalog, name), swaps: swapsOf(catalog, name) };
}

/** An instance that was away does not know that its table has another writer now, or its checkpoint another flow. */
export function refuseSucceeded(catalog: Catalog, facts: FlowFacts): void {
  const succeeded = succeededError(catalog, facts) ?? carriedError(catalog, facts.flow);
  if (succeeded !== undefined) throw succeeded;
}

/** An instance that was away while a table was refreshed knows neither its generation nor its definition. */
export function refuseOtherGeneration(catalog: Catalog, { flow, generation }: FlowFacts): void {
  const now = generationOf(catalog, flow.name);
  if (now === generation) return;
  throw new FlowError(
    'TABLE_LOCKED',
    `flow "${flow.name}" was refreshed while this instance was away`,
    {
      detail: `It knows generation ${generation}, and the table is in generation ${now}.`,
      hint: 'Start the instance again.',
    },
  );
}
