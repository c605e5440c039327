import { FlowError } from '../../base/errors.ts';
import { catalogTopicOf, groupOf, levelsTopicOf, repartitionTopicOf } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, TopicDescription, TopicSpec } from '../../ports/log.ts';
import { moveTo } from '../../refresh/alternatives.ts';
import { readDeadLetter } from '../../task/output/dead-letter.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import { answerOnceEnded } from '../worker/answer-within.ts';
import type { KnownCatalog } from './catalog.ts';
import { ownedByOthers, ownedError } from './other-owners.ts';

export type TopicRole = 'output' | 'sink' | 'repartition' | 'levels' | 'dead_letter' | 'result';

/** A topic that a pipeline writes. */
export type WantedTopic = TopicSpec & {
  readonly role: TopicRole;
  /** The flow, or the materialized view, that it is for; of several flows of one table the first. */
  readonly flow: string;
  /** The table that it writes. */
  readonly table: string;
  /** The flows that keep their rows in it; none: it is computed anew as a whole wherever something of it is gone. */
  readonly keepers: readonly string[];
  /** Topics whose offsets its flow commits. */
  readonly reads: readonly string[];
};

/** Who asks whether there are checkpoints. */
export type CheckpointAsker = {
  readonly log: Log;
  readonly pipeline: string;
  /** Ends what holds the answer up, as an instance that is gone does; absent: who only looks waits for as long as the log does. */
  readonly ending?: {
    readonly clock: Clock;
    readonly endOpen: (flow: string) => Promise<void>;
  };
};

export type TopicCheck = CheckpointAsker & {
  readonly catalog: KnownCatalog;
  readonly existing: ReadonlyMap<string, TopicDescription>;
  readonly wanted: readonly WantedTopic[];
};

/** Of a topic from which nothing may go away by itself. */
export const keptWhole = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
};

/**
 * Refuses a topic that the pipeline can't work with, with what to change. Invariant: what passes is the pipeline's own or
 * empty, keeps what the pipeline relies on, and has not lost what a checkpoint stands for.
 */
export async function checkTopic(check: TopicCheck, topic: WantedTopic): Promise<void> {
  const { existing, wanted, catalog, pipeline } = check;
  // A sink is as its owner made it.
  if (topic.role === 'sink') return;
  await refuseLost(check, topic);
  if (topic.role === 'dead_letter' || topic.role === 'output') {
    refuseInternal(pipeline, topic, wanted);
  }
  const found = existing.get(topic.name);
  if (found === undefined) return;
  const isKnown = catalog.get('topic', topic.name) !== undefined;
  if (topic.role === 'dead_letter') {
    if (!isKnown) await refuseOtherRecords(check, topic);
    checkKept(topic, found);
    return;
  }
  checkPartitions(topic, found);
  // What is between the stages is lost where it goes away by itself, as appended rows are.
  if (topic.configs['cleanup.policy'] === 'delete') checkKept(topic, found);
  else checkCompacted(topic, found);
  checkTombstones(topic, found);
  if (topic.role !== 'repartition' && !isKnown) await refuseForeign(check, topic);
}

/**
 * A table whose topic is gone, or another one of the same name, has lost rows that its checkpoints stand behind: who went on
 * from them would call what is left the whole table.
 */
export async function refuseLost(check: TopicCheck, topic: WantedTopic): Promise<void> {
  const { catalog, existing } = check;
  if (topic.role !== 'output' && topic.role !== 'levels') return;
  const known = catalog.get('topic', topic.name)?.value['topicId'];
  const found = existing.get(topic.name)?.topicId;
  if (typeof known !== 'string' || known === found) return;
  const { reads } = topic;
  for (const flow of topic.keepers) {
    const isKnown = catalog.all('checkpoint').some(({ name }) => name.startsWith(`${flow}/`));
    // The catalog hears of the first checkpoint only once that is committed.
    if (!isKnown && !(await hasCheckpoints(check, { flow, reads }))) continue;
    throw lostTable({ ...topic, flow }, found === undefined ? 'gone' : 'created again');
  }
}

/** What the flow computed up to its checkpoints is not there any more. */
export function lostTable(
  { role, name, flow, table }: Pick<WantedTopic, 'role' | 'name' | 'flow' | 'table'>,
  fate: 'gone' | 'created again',
): FlowError {
  const isGone = fate === 'gone';
  return new FlowError(
    isGone ? 'TOPIC_MISSING' : 'TOPIC_RECREATED',
    `${role} topic "${name}" ${isGone ? 'is gone' : 'was deleted and created again'}`,
    {
      detail: `Flow "${flow}" has checkpoints, and what it computed up to them stood in that topic. From them on it would write a part of the table, and call it whole.`,
      hint: `See what can still be computed: tidemark refresh ${table} --plan. Then compute the table anew: tidemark refresh ${table} --in-place`,
    },
  );
}

/** What the service keeps for itself takes neither rows nor dead letters: they would be read as something else. */
function refuseInternal(
  pipeline: string,
  topic: WantedTopic,
  wanted: readonly WantedTopic[],
): void {
  const isInternal =
    topic.name === catalogTopicOf(pipeline) ||
    wanted.some(({ flow }) =>
      [repartitionTopicOf(pipeline, flow), levelsTopicOf(pipeline, flow)].includes(topic.name),
    );
  if (!isInternal) return;
  const isOutput = topic.role === 'output';
  const what = isOutput ? 'rows' : 'dead letters';
  const option = isOutput ? 'topic' : 'dead_letter_topic';
  throw new FlowError(
    'TOPIC_CONFIG',
    `${what} of flow "${topic.flow}" can not go to topic "${topic.name}"`,
    {
      detail: 'The pipeline keeps its own records there.',
      hint: `Give them a topic of their own: WITH (${option} = '…').`,
    },
  );
}

function checkPartitions(topic: WantedTopic, found: TopicDescription): void {
  if (found.partitions === topic.partitions) return;
  throw new FlowError(
    'TOPIC_PARTITIONS',
    `topic "${topic.name}" has ${found.partitions} partitions, expected ${topic.partitions}`,
    {
      detail: `Keys of flow "${topic.flow}" are spread over ${topic.partitions} partitions; with another count the rows of a key would be in two places.`,
      hint:
        topic.role === 'output'
          ? `Declare the ${found.partitions} partitions that it has (WITH (partitions = ${found.partitions})), or ${moveTo(topic.table, 'partitions')}.`
          : `Give table "${topic.table}" ${found.partitions} partitions, too, as it had before, or ${moveTo(topic.table, 'partitions')}.`,
    },
  );
}

/** The catalog is the only memory of definitions, topic ids and gaps: what it forgets, nobody misses in time. */
export function checkCatalog(found: TopicDescription): void {
  const { name, partitions } = found;
  if (partitions !== 1) {
    throw new FlowError(
      'TOPIC_PARTITIONS',
      `catalog topic "${name}" has ${partitions} partitions, expected 1`,
      {
        hint: 'Give the pipeline another name (pipeline.name), or take the topic away if nothing needs it.',
      },
    );
  }
  checkCompacted({ name, role: 'catalog' }, found);
}

const compactedWhy = {
  catalog:
    'It keeps definitions, topic ids and gaps for ever; what a delete policy removes would be missed only when it is too late.',
  table:
    'A table keeps the current rows of a key for ever; a delete policy would remove the rows of quiet keys.',
};

function checkCompacted(
  topic: { readonly name: string; readonly role: TopicRole | 'catalog' },
  found: TopicDescription,
): void {
  const policy = found.configs.get('cleanup.policy') ?? 'delete';
  if (policy === 'compact') return;
  throw new FlowError(
    'TOPIC_CONFIG',
    `${topic.role} topic "${topic.name}" has cleanup.policy=${policy}, and needs compact`,
    {
      detail: compactedWhy[topic.role === 'catalog' ? 'catalog' : 'table'],
      hint: `Set cleanup.policy=compact on topic "${topic.name}", for example: kafka-configs.sh --alter --topic ${topic.name} --add-config cleanup.policy=compact`,
    },
  );
}

const keptRoles = {
  output: {
    name: 'output',
    why: 'It holds the rows of append flows, each once; a row that it drops is gone for ever.',
  },
  repartition: {
    name: 'repartition',
    why: 'It holds rows that are in no table yet, and is purged behind the checkpoint; a row that goes before is gone for ever.',
  },
  result: {
    name: 'result',
    why: 'It holds what a once flow computed one time; a row that goes before it was read is gone for ever.',
  },
  dead_letter: {
    name: 'dead-letter',
    why: 'It holds the records that gave no rows, each once; one that it drops can not be replayed.',
  },
};

/** Neither compaction nor age nor size may remove a record. */
function checkKept(topic: WantedTopic, found: TopicDescription): void {
  const isOwn = topic.role !== 'sink' && topic.role !== 'levels';
  const { name: kind, why } = keptRoles[isOwn ? topic.role : 'output'];
  for (const [name, needed] of Object.entries(keptWhole)) {
    const given = found.configs.get(name) ?? needed;
    if (given === needed) continue;
    throw new FlowError(
      'TOPIC_CONFIG',
      `${kind} topic "${topic.name}" has ${name}=${given}, and needs ${needed}`,
      {
        detail: why,
        hint: `Set ${name}=${needed} on topic "${topic.name}", for example: kafka-configs.sh --alter --topic ${topic.name} --add-config ${name}=${needed}`,
      },
    );
  }
}

/** Where a REPLACE USING flow streams the table, a tombstone that is gone before it was read would leave its rows below. */
function checkTombstones({ name, configs }: WantedTopic, found: TopicDescription): void {
  const needed = configs['delete.retention.ms'];
  const given = found.configs.get('delete.retention.ms');
  if (needed === undefined || given === undefined || Number(given) >= Number(needed)) return;
  throw new FlowError(
    'TOPIC_CONFIG',
    `output topic "${name}" has delete.retention.ms=${given}, and needs ${needed}`,
    {
      detail:
        'A REPLACE USING flow streams the table, and learns from tombstones that a key was emptied; one that compaction takes away before it is read would leave the rows of the key for ever.',
      hint: `Set delete.retention.ms=${needed} on topic "${name}", for example: kafka-configs.sh --alter --topic ${name} --add-config delete.retention.ms=${needed}`,
    },
  );
}

type ForeignCheck = Pick<TopicCheck, 'log' | 'catalog' | 'pipeline'>;

/** Refuses a topic with records that the catalog does not know; one that somebody created beforehand is fine while it is empty. */
export async function refuseForeign(
  { log, catalog, pipeline }: ForeignCheck,
  topic: Pick<WantedTopic, 'name' | 'partitions'>,
): Promise<void> {
  const { topicId } = (await log.describeTopics([topic.name])).get(topic.name) ?? {};
  const own = topicId === undefined ? [] : [{ name: topic.name, topicId }];
  const [owned] = await ownedByOthers({ log, pipeline }, own);
  if (owned !== undefined) throw ownedError(owned, pipeline);
  const records = await recordCount(log, topic);
  if (records === 0) return;
  // Another instance may have created it since the catalog was read (simulation seed 3166).
  await catalog.read();
  if (catalog.get('topic', topic.name) !== undefined) return;
  const detail = `The catalog of the pipeline ("${catalogTopicOf(pipeline)}") does not know the topic, and it holds up to ${records} records.`;
  throw new FlowError(
    'TOPIC_CONFIG',
    `topic "${topic.name}" holds records and is not this pipeline's`,
    {
      detail,
      hint: `Is "${pipeline}" the right pipeline name? Else give the table another topic (WITH (topic = '…')). Delete the topic only if nothing needs it: what it holds is gone then.`,
    },
  );
}

/**
 * Whether the pipeline has ever committed anything for the flow: then what stands in its output topic is its own. What an
 * instance that died in its first commit left open would be waited for by whoever has to end it (simulation seed 95142330).
 */
export async function hasCheckpoints(
  { log, pipeline, ending }: CheckpointAsker,
  { flow, reads }: Pick<WantedTopic, 'flow' | 'reads'>,
): Promise<boolean> {
  for (const { name, partitions } of (await log.describeTopics(reads)).values()) {
    const numbers = numbersTo(partitions);
    const asking = log.committedOffsets(groupOf(pipeline, flow), name, numbers);
    const committed =
      ending === undefined
        ? await asking
        : await answerOnceEnded(ending.clock, asking, () => ending.endOpen(flow));
    if (committed.size > 0) return true;
  }
  return false;
}

async function recordCount(
  log: Log,
  { name, partitions }: Pick<WantedTopic, 'name' | 'partitions'>,
): Promise<number> {
  const ranges = await log.offsetRanges(name, numbersTo(partitions));
  return [...ranges.values()].reduce((sum, { start, end }) => sum + end - start, 0);
}

/** Pipelines may share a topic of dead letters; anything else that is in it is somebody's table, or worse. */
async function refuseOtherRecords({ log }: TopicCheck, topic: WantedTopic): Promise<void> {
  const found = (await log.describeTopics([topic.name])).get(topic.name);
  const ranges = await log.offsetRanges(topic.name, numbersTo(found?.partitions ?? 0));
  const reader = log.openReader();
  try {
    for (const [partition, { start, stable }] of ranges) {
      for (let position = start; position < stable; ) {
        reader.assign(topic.name, partition, position);
        const [slice] = await reader.poll(500);
        if (slice === undefined) continue;
        position = slice.nextOffset;
        if (!slice.records.next()) continue;
        // The first that is there tells what the topic is for.
        if (readDeadLetter(slice.records) !== undefined) break;
        throw new FlowError(
          'TOPIC_CONFIG',
          `topic "${topic.name}" holds records that are no dead letters`,
          {
            detail: `Partition ${partition}, offset ${slice.records.offset}. Flow "${topic.flow}" would put its dead letters between them.`,
            hint: "Give them a topic of their own: WITH (dead_letter_topic = '…').",
          },
        );
      }
      reader.unassign(topic.name, partition);
    }
  } finally {
    await reader.close();
  }
}
