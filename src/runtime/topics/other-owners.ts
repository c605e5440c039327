import { FlowError } from '../../base/errors.ts';
import { catalogTopicOf } from '../../plan/topology.ts';
import type { Log } from '../../ports/log.ts';
import { Catalog } from './catalog.ts';

const suffix = '.catalog';

/** A topic as it is on the log. */
type TopicOnLog = { readonly name: string; readonly topicId: string };

export type OwnedTopic = TopicOnLog & {
  /** The pipeline whose catalog has the topic as one of its own. */
  readonly owner: string;
};

export type EnteredTopic = TopicOnLog & {
  /** What the catalog had of it before. */
  readonly before: Readonly<Record<string, unknown>> | undefined;
};

export type OwnersOptions = { readonly log: Log; readonly pipeline: string };

/**
 * Which of the topics another pipeline writes: their catalogs tell. Invariant: a topic of that name that is no catalog of
 * ours, or that this client may not read, is nobody's business.
 */
export async function ownedByOthers(
  { log, pipeline }: OwnersOptions,
  topics: readonly TopicOnLog[],
): Promise<readonly OwnedTopic[]> {
  if (topics.length === 0) return [];
  const own = catalogTopicOf(pipeline);
  const names = (await log.topicNames()).filter((name) => name.endsWith(suffix) && name !== own);
  const found: OwnedTopic[] = [];
  for (const name of names) {
    const catalog = await readOther(log, name);
    for (const topic of topics) {
      const entry = catalog?.get('topic', topic.name)?.value;
      const isOwned = entry?.['topicId'] === topic.topicId && entry['role'] !== 'dead_letter';
      if (!isOwned || entry['role'] === 'sink') continue;
      found.push({ ...topic, owner: name.slice(0, -suffix.length) });
    }
  }
  return found;
}

async function readOther(log: Log, name: string): Promise<Catalog | undefined> {
  const catalog = new Catalog(log, name);
  try {
    const found = (await log.describeTopics([name])).get(name);
    if (found?.partitions !== 1) return undefined;
    await catalog.read();
    return catalog;
  } catch (error) {
    const isNobodys =
      error instanceof FlowError &&
      ['CHECKPOINT_DAMAGED', 'NOT_AUTHORIZED', 'TOPIC_MISSING'].includes(error.code);
    if (isNobodys) return undefined;
    throw error;
  } finally {
    await catalog.close();
  }
}

/** What somebody is told who would write to another pipeline's topic. */
export function ownedError({ name, owner }: OwnedTopic, pipeline: string): FlowError {
  return new FlowError('TOPIC_CONFIG', `topic "${name}" is written by pipeline "${owner}"`, {
    detail: `The catalog of that pipeline ("${catalogTopicOf(owner)}") has it as its own. Two pipelines in one topic would take each other's rows for theirs.`,
    hint: `Is "${pipeline}" the right pipeline name? Else give the table another topic (WITH (topic = '…')), or read it as a source. If pipeline "${owner}" is no more, delete its catalog and the topic, should nothing need them.`,
  });
}

/**
 * Refuses topics that this pipeline has just entered in its catalog, where another one has them in its own. Invariant: of two
 * pipelines that name one topic at most one goes on, whichever comes first: each enters it before it looks.
 */
export async function refuseShared(
  options: OwnersOptions & { readonly catalog: Catalog; readonly nowMs: number },
  entered: readonly EnteredTopic[],
): Promise<void> {
  const [owned] = await ownedByOthers(options, entered);
  if (owned === undefined) return;
  const { catalog, nowMs } = options;
  const withdrawn = entered.map(({ name, before: value }) => ({
    kind: 'topic' as const,
    name,
    value,
  }));
  await catalog.write(withdrawn, nowMs);
  throw ownedError(owned, options.pipeline);
}
