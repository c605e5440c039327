import { FlowError } from '../../base/errors.ts';
import { catalogTopicOf } from '../../plan/topology.ts';
import type { Log, RecordCursor } from '../../ports/log.ts';
import type { Catalog } from './catalog.ts';

const suffix = '.catalog';
/** Seconds without a record, until the brokers are taken for away. */
const idlePollsMax = 20;

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
  if (names.length === 0) return [];
  const wanted = new Map(topics.map(({ name, topicId }) => [name, topicId]));
  let owners: readonly Owner[];
  try {
    owners = await ownersIn(log, names, wanted);
  } catch (error) {
    if (!isNobodys(error)) throw error;
    // One of them is not to be read: each by itself then.
    owners = await ownersOneByOne(log, names, wanted);
  }
  return owners.map(({ catalog, topic }) => ({
    name: topic,
    topicId: wanted.get(topic) ?? '',
    owner: catalog.slice(0, -suffix.length),
  }));
}

type Owner = { readonly catalog: string; readonly topic: string };

async function ownersOneByOne(
  log: Log,
  names: readonly string[],
  wanted: ReadonlyMap<string, string>,
): Promise<readonly Owner[]> {
  const owners: Owner[] = [];
  for (const name of names) {
    try {
      owners.push(...(await ownersIn(log, [name], wanted)));
    } catch (error) {
      if (!isNobodys(error)) throw error;
    }
  }
  return owners;
}

/** Reads all catalogs side by side, each to where it ends now. */
async function ownersIn(
  log: Log,
  names: readonly string[],
  wanted: ReadonlyMap<string, string>,
): Promise<readonly Owner[]> {
  const ends = new Map<string, number>();
  const reader = log.openReader();
  const owned = new Map<string, Owner>();
  try {
    await Promise.all(
      names.map(async (name) => {
        const range = (await log.offsetRanges(name, [0])).get(0);
        if (range === undefined || range.stable <= range.start) return;
        ends.set(name, range.stable);
        reader.assign(name, 0, range.start);
      }),
    );
    for (let idle = 0; ends.size > 0; idle += 1) {
      if (idle > idlePollsMax) throw unheard([...ends.keys()]);
      const slices = await reader.poll(1_000);
      if (slices.length > 0) idle = 0;
      else {
        // One that was deleted since has nothing to tell any more.
        const there = await log.describeTopics([...ends.keys()]);
        for (const name of [...ends.keys()]) {
          if (there.has(name)) continue;
          ends.delete(name);
          reader.unassign(name, 0);
        }
      }
      for (const { topic: catalog, records, nextOffset } of slices) {
        const isOurs = takeOwned(owned, { catalog, records, wanted });
        if (isOurs && nextOffset < (ends.get(catalog) ?? 0)) continue;
        ends.delete(catalog);
        reader.unassign(catalog, 0);
      }
    }
  } finally {
    await reader.close();
  }
  return [...owned.values()];
}

function unheard([name]: readonly string[]): FlowError {
  return new FlowError('BROKER_TIMEOUT', `catalog topic "${name ?? ''}" cannot be read`, {
    detail: 'It may tell that another pipeline writes a topic that this one has just met.',
  });
}

type CatalogSlice = {
  readonly catalog: string;
  readonly records: RecordCursor;
  readonly wanted: ReadonlyMap<string, string>;
};

/** Gives whether they are records of a catalog of ours. */
function takeOwned(owned: Map<string, Owner>, { catalog, records, wanted }: CatalogSlice): boolean {
  while (records.next()) {
    const { bytes, keyStart, keyEnd, valueStart, valueEnd } = records;
    if (keyEnd < 0) return false;
    const key = read(bytes.toString('utf8', keyStart, keyEnd));
    const { kind, name } = key ?? {};
    if (typeof kind !== 'string' || typeof name !== 'string') return false;
    const topicId = wanted.get(name);
    if (kind !== 'topic' || topicId === undefined) continue;
    const value = valueEnd < 0 ? undefined : read(bytes.toString('utf8', valueStart, valueEnd));
    const isShared = value?.['role'] === 'dead_letter' || value?.['role'] === 'sink';
    if (value?.['topicId'] === topicId && !isShared) {
      owned.set(`${catalog}/${name}`, { catalog, topic: name });
    } else {
      owned.delete(`${catalog}/${name}`);
    }
  }
  return true;
}

function read(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function isNobodys(error: unknown): boolean {
  return (
    error instanceof FlowError &&
    ['NOT_AUTHORIZED', 'TOPIC_MISSING', 'TOPIC_RECREATED'].includes(error.code)
  );
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
