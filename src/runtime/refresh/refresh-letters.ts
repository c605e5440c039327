import type { Clock } from '../../ports/clock.ts';
import type { Log, LogProducer, TopicDescription } from '../../ports/log.ts';
import { type DeadLetter, readDeadLetter } from '../../task/output/dead-letter.ts';
import { SettledLetters } from '../inspect/settled-letters.ts';
import type { CatalogChange, KnownCatalog } from '../topics/catalog.ts';
import { letterOwner } from '../worker/letter-owner.ts';
import { readPartition } from '../worker/read-partition.ts';
import { appendCopy } from './append-copy.ts';
import { CommitPace } from './commit-pace.ts';
import { type KeptIn, placesNotGiven, placesOfLetter, rowsOfPlaces } from './rows-of-places.ts';

export type LettersOptions = {
  readonly log: Log;
  readonly catalog: KnownCatalog;
  readonly pipeline: string;
  /** What the new generation has set aside. */
  readonly from: string;
  /** Where the table's dead letters are. */
  readonly to: string;
  readonly replicationFactor: number;
  readonly openProducer: () => Promise<LogProducer>;
  readonly clock: Clock;
};

const shownMax = 3;
const messageShownMax = 200;

/**
 * Hands what a new generation has set aside over to the topic of the table's dead letters. Invariants: a record that is there
 * with the same fault already, as the former generation left it, is not written once more; done again after a crash, nothing
 * is written twice.
 */
export async function handLetters(options: LettersOptions): Promise<void> {
  const { log, from, to, openProducer } = options;
  const found = await log.describeTopics([from, to]);
  const built = found.get(from);
  if (built === undefined) return;
  const missing = new Set<string>();
  await eachLetter(options, built, (letter) => {
    missing.add(nameOf(letter));
  });
  if (missing.size === 0) return;
  const target = found.get(to) ?? (await makeAnew(options, built));
  await eachLetter(options, target, (letter) => {
    missing.delete(nameOf(letter));
  });
  if (missing.size === 0) return;
  const producer = await openProducer();
  const pace = new CommitPace(producer, options.clock);
  try {
    await eachLetter(options, built, async (letter, records) => {
      if (missing.delete(nameOf(letter))) {
        appendCopy(producer, to, letter.partition % target.partitions, records);
      }
      await pace.turn();
    });
    await pace.commit();
  } finally {
    await producer.close();
  }
}

export type NewLettersOptions = Omit<
  LettersOptions,
  'replicationFactor' | 'openProducer' | 'clock'
> & {
  /** What the live table holds, and what the new generation does. */
  readonly live: KeptIn;
  readonly built: KeptIn;
  /** Whether the former generation has read its record. */
  readonly isRead: (letter: DeadLetter) => boolean;
};

/**
 * Those of them that the former generation has not set aside, though it has read their records, or that it has rows of
 * nonetheless, as after a replay. Invariant: places are compared, so that what can be read now makes up for nothing.
 */
export async function newLetters(options: NewLettersOptions): Promise<NewLetters> {
  const { log, from, to, live: liveTable, built: builtTable, isRead } = options;
  const found = await log.describeTopics([from, to]);
  const [built, live] = [found.get(from), found.get(to)];
  const fresh = new Map<string, string>();
  const sources = new Map<string, readonly string[]>();
  if (built === undefined) return { count: 0, first: [] };
  await eachLetter(options, built, (letter) => {
    if (!isRead(letter)) return;
    const { topic, partition, offset, errorClass, message } = letter;
    const place = `${topic}/${partition}@${offset}`;
    fresh.set(
      placeOfLetter(letter),
      `${place}: ${errorClass}: ${message.slice(0, messageShownMax)}`,
    );
    sources.set(placeOfLetter(letter), placesOfLetter(letter));
  });
  const known = new Set<string>();
  if (fresh.size > 0 && live !== undefined) {
    await eachLetter(options, live, (letter) => {
      if (fresh.has(placeOfLetter(letter))) known.add(placeOfLetter(letter));
    });
  }
  const places = new Set([...known].flatMap((name) => sources.get(name) ?? []));
  const rows = await rowsOfPlaces(log, liveTable, places);
  const kept = placesNotGiven(
    rows,
    rows.length === 0 ? [] : await rowsOfPlaces(log, builtTable, places),
  );
  for (const name of known) {
    if (sources.get(name)?.some((place) => kept.has(place)) !== true) fresh.delete(name);
  }
  return { count: fresh.size, first: [...fresh.values()].slice(0, shownMax) };
}

/**
 * What the catalog is told of the letters whose records the new generation has read, and has not set aside again: they are settled.
 * Invariant: a record of which it made a letter, of whatever fault, has none that is.
 */
export async function settledLetters(
  options: Pick<NewLettersOptions, 'log' | 'catalog' | 'pipeline' | 'from' | 'to' | 'isRead'> & {
    readonly generation: number;
  },
): Promise<readonly CatalogChange[]> {
  const { log, catalog, from, to, generation, isRead } = options;
  const found = await log.describeTopics([from, to]);
  const [built, live] = [found.get(from), found.get(to)];
  if (live === undefined) return [];
  const bad = new Set<string>();
  if (built !== undefined) {
    await eachLetter(options, built, (letter) => {
      bad.add(placeOfLetter(letter));
    });
  }
  const byFlow = new Map<string, SettledLetters>();
  await eachLetter(options, live, (letter, { offset }, partition) => {
    const { flow } = letter;
    const { topicId } = live;
    const settled = byFlow.get(flow) ?? new SettledLetters({ catalog, flow, topicId, generation });
    byFlow.set(flow, settled);
    const isSettled = isRead(letter) && !bad.has(placeOfLetter(letter));
    settled.see({ letter: { partition, offset } }, isSettled);
  });
  return [...byFlow.values()].flatMap((settled) => settled.changes());
}

export type NewLetters = {
  readonly count: number;
  /** The first few, for a person. */
  readonly first: readonly string[];
};

type TakeLetter = (
  letter: DeadLetter,
  records: Parameters<typeof readDeadLetter>[0],
  /** Of the topic that is read. */
  letterPartition: number,
) => Promise<void> | void;

/** Those of the pipeline, each as one of the flow that has it now. */
async function eachLetter(
  { log, catalog, pipeline }: Pick<LettersOptions, 'log' | 'catalog' | 'pipeline'>,
  { name: topic, topicId, partitions }: TopicDescription,
  take: TakeLetter,
): Promise<void> {
  const ownerOf = letterOwner(catalog, pipeline, topicId);
  for (let partition = 0; partition < partitions; partition += 1) {
    await readPartition({ log, topic, partition, partitions }, async ({ records }) => {
      while (records.next()) {
        const letter = readDeadLetter(records);
        if (letter === undefined) continue;
        const flow = ownerOf(letter, { partition, offset: records.offset });
        if (flow !== undefined) await take({ ...letter, flow }, records, partition);
      }
    });
  }
}

/** What two letters have in common that tell the same fault of the same record. */
function nameOf(letter: DeadLetter): string {
  return `${placeOfLetter(letter)} ${letter.errorClass}`;
}

/** The record of a letter, as its flow reads it. */
export function placeOfLetter({
  flow,
  topicId,
  partition,
  offset,
}: Pick<DeadLetter, 'flow' | 'topicId' | 'partition' | 'offset'>): string {
  return `${flow} ${topicId} ${partition} ${offset}`;
}

async function makeAnew(
  { log, to: name, replicationFactor }: LettersOptions,
  { partitions, configs }: TopicDescription,
): Promise<TopicDescription> {
  const same = ['cleanup.policy', 'retention.ms', 'retention.bytes', 'max.message.bytes'].flatMap(
    (config) => {
      const value = configs.get(config);
      return value === undefined ? [] : [[config, value] as const];
    },
  );
  await log.createTopics([
    { name, partitions, replicationFactor, configs: Object.fromEntries(same) },
  ]);
  const made = (await log.describeTopics([name])).get(name);
  if (made === undefined) throw new Error(`topic ${name} was made and is not there`);
  return made;
}
