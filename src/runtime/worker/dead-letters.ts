import { FlowError } from '../../base/errors.ts';
import type { TablePlan } from '../../plan/pipeline-plan.ts';
import type { Log } from '../../ports/log.ts';
import { type DeadLetter, readDeadLetter } from '../../task/output/dead-letter.ts';
import type { KnownCatalog } from '../topics/catalog.ts';
import { letterOwner } from './letter-owner.ts';
import { readPartition } from './read-partition.ts';

type FlowOfLetters = {
  readonly log: Log;
  readonly catalog: KnownCatalog;
  readonly pipeline: string;
  readonly table: TablePlan;
  readonly flow: string;
};

/** A dead letter with its place in the dead-letter topic. */
export type PlacedDeadLetter = DeadLetter & {
  readonly letter: {
    readonly partition: number;
    readonly offset: number;
    readonly atMs: number;
  };
};

/**
 * Hands over the dead letters of a flow, partition after partition in the order in which they were set aside.
 * Invariant: one is held at a time; what others wrote to the topic, and letters of other flows and pipelines, are passed over.
 */
export async function readDeadLetters(
  { log, catalog, pipeline, table, flow }: FlowOfLetters,
  take: (letter: PlacedDeadLetter) => Promise<void> | void,
): Promise<void> {
  const topic = table.deadLetterTopic;
  if (topic === undefined) {
    throw new FlowError('USAGE', `table "${table.name}" has no dead-letter topic`, {
      detail: `A bad row of flow "${flow}" stops it.`,
      hint: "Give the table one: WITH (dead_letter_topic = '…').",
    });
  }
  const found = (await log.describeTopics([topic])).get(topic);
  if (found === undefined) {
    throw new FlowError('TOPIC_MISSING', `dead-letter topic "${topic}" does not exist`, {
      hint: 'Run the pipeline once: it creates the topic.',
    });
  }
  const { partitions } = found;
  const ownerOf = letterOwner(catalog, pipeline, found.topicId);
  for (let partition = 0; partition < partitions; partition += 1) {
    await readPartition({ log, topic, partition, partitions }, async ({ records }) => {
      while (records.next()) {
        const letter = readDeadLetter(records);
        const { offset, timestampMs: atMs } = records;
        if (letter === undefined || ownerOf(letter, { partition, offset }) !== flow) continue;
        await take({ ...letter, letter: { partition, offset, atMs } });
      }
    });
  }
}
