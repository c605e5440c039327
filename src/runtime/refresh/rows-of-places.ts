import { decodeChanges } from '../../data/change.ts';
import { readProvenance, topicIdHex } from '../../data/provenance.ts';
import { readHeaders } from '../../data/record-headers.ts';
import { readEnvelope, truncateKey } from '../../data/row-envelope.ts';
import type { FlowPlan } from '../../plan/pipeline-plan.ts';
import { groupOf, hasStage, repartitionTopicOf } from '../../plan/topology.ts';
import type { Log, RecordCursor } from '../../ports/log.ts';
import type { DeadLetter } from '../../task/output/dead-letter.ts';
import { parseSources } from '../../task/output/output-record.ts';
import { readTableHeaders } from '../../task/table-records.ts';
import type { SwapRange } from '../inspect/flow-facts.ts';
import { sourceKey } from '../inspect/verify-parts.ts';
import { generationStart } from '../takeover/generation.ts';
import { provenanceOf } from '../takeover/record-losses.ts';
import { eachWaiting } from '../worker/each-waiting.ts';
import { readPartition } from '../worker/read-partition.ts';

/** A record of a source, by the topic's id in hexadecimal digits. */
export type SourcePlace = {
  readonly topicId: string;
  readonly partition: number;
  readonly offset: number;
};

export type KeptIn = {
  /** Of the rows and of the levels; those that are not there hold nothing. */
  readonly topics: readonly string[];
  /** What refreshes wrote into the topic of the rows. */
  readonly swaps?: readonly SwapRange[];
  /** Where rows wait that the table is yet to take, and the group that takes them. */
  readonly waiting?: { readonly topic: string; readonly group: string } | undefined;
};

/** Where rows of a flow wait between its stages; undefined: it has one stage. */
export function waitingIn(pipeline: string, flow: FlowPlan): KeptIn['waiting'] {
  if (!hasStage(flow)) return undefined;
  return { topic: repartitionTopicOf(pipeline, flow.name), group: groupOf(pipeline, flow.name) };
}

export function placeKeyOf({ topicId, partition, offset }: SourcePlace): string {
  return `${topicId}/${partition}@${offset}`;
}

/** Where the rows of a dead letter would say that they come from: a record of a table says so itself. */
export function placesOfLetter({
  topicId,
  partition,
  offset,
  headers,
}: Pick<DeadLetter, 'topicId' | 'partition' | 'offset' | 'headers'>): readonly string[] {
  const places = [placeKeyOf({ topicId: topicIdHex(topicId), partition, offset })];
  for (const { key, value } of readHeaders(headers, 0, headers.length)) {
    if (key !== 'tm-src' || value === null) continue;
    const sources = parseSources(value.toString('latin1')) ?? [];
    for (const source of sources.flat()) places.push(placeKeyOf(readProvenance(source, 0)));
  }
  return places;
}

/**
 * What a table holds, as rows or as levels, of some records of its sources, by provenance. Invariant: of a key only its last
 * record counts, and memory is taken by what is held of these places alone. A row that stands for another record, too, is
 * none of these. A row that waits between the stages counts once, however often it waits, and not where it is held already.
 */
export async function rowsOfPlaces(
  log: Log,
  { topics, swaps = [], waiting }: KeptIn,
  places: ReadonlySet<string>,
): Promise<readonly string[]> {
  const rows: string[] = [];
  if (places.size === 0) return rows;
  const [output] = topics;
  for (const { name: topic, partitions } of (await log.describeTopics(topics)).values()) {
    for (let partition = 0; partition < partitions; partition += 1) {
      const held = new HeldRows(places, partition);
      const from = topic === output ? generationStart(swaps, partition) : 0;
      await readPartition({ log, topic, partition, partitions, from }, ({ records }) => {
        while (records.next()) held.take(records);
      });
      for (const found of held.rows()) for (const row of found) rows.push(row);
    }
  }
  if (waiting === undefined) return rows;
  const held = new Set(rows);
  // A replay puts rows there, and the flow merges them when it runs.
  for (const row of await waitingRows(log, waiting, places)) if (!held.has(row)) rows.push(row);
  return rows;
}

async function waitingRows(
  log: Log,
  { topic, group }: NonNullable<KeptIn['waiting']>,
  places: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const rows = new Set<string>();
  const found = (await log.describeTopics([topic])).get(topic);
  if (found === undefined) return rows;
  const { partitions } = found;
  const parts = { flags: 0, provenanceStart: 0, sequenceStart: 0, sequenceEnd: 0, rowStart: 0 };
  await eachWaiting(log, group, { topic, partitions }, ({ bytes, valueStart, valueEnd }) => {
    if (valueEnd < 0 || !readEnvelope(bytes, valueStart, valueEnd, parts)) return;
    const { provenanceStart: start } = parts;
    if (places.has(placeKeyOf(readProvenance(bytes, start)))) {
      rows.add(sourceKey(bytes.subarray(start)));
    }
  });
  return rows;
}

/** What one partition holds of the places. */
class HeldRows {
  readonly #places: ReadonlySet<string>;
  readonly #partition: number;
  readonly #byKey = new Map<string, readonly string[]>();
  readonly #appended: (readonly string[])[] = [];

  constructor(places: ReadonlySet<string>, partition: number) {
    this.#places = places;
    this.#partition = partition;
  }

  take(records: RecordCursor): void {
    const { bytes, keyStart, keyEnd } = records;
    const found = sourcesIn(records, this.#places);
    const key = keyEnd < 0 ? undefined : bytes.toString('latin1', keyStart, keyEnd);
    // The last truncate of a table stands in each of its partitions.
    if (key === truncateKey && this.#partition !== 0) return;
    if (found.length === 0) {
      if (key !== undefined) this.#byKey.delete(key);
      return;
    }
    if (key === undefined) this.#appended.push(found);
    else this.#byKey.set(key, found);
  }

  rows(): Iterable<readonly string[]> {
    return [...this.#appended, ...this.#byKey.values()];
  }
}

/** The places of rows that are not given once more: several flows may have made a row each of one record. */
export function placesNotGiven(
  rows: readonly string[],
  given: readonly string[],
): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const row of given) counts.set(row, (counts.get(row) ?? 0) + 1);
  const left = new Set<string>();
  for (const row of rows) {
    const count = counts.get(row) ?? 0;
    if (count > 0) counts.set(row, count - 1);
    else left.add(placeKeyOf(readProvenance(Buffer.from(row, 'latin1'), 0)));
  }
  return left;
}

function sourcesIn(records: RecordCursor, places: ReadonlySet<string>): readonly string[] {
  const { sources, state } = readTableHeaders(records);
  const isWanted = (source: Buffer): boolean => places.has(placeKeyOf(readProvenance(source, 0)));
  const groups = (sources === undefined ? undefined : parseSources(sources)) ?? [];
  if (state === undefined) {
    // Equal rows stand for each other.
    return groups.filter((group) => group.every(isWanted)).flatMap((group) => group.map(sourceKey));
  }
  const changes = (decodeChanges(state) ?? []).map(provenanceOf);
  return [...new Set([...groups.flat(), ...changes].filter(isWanted).map(sourceKey))];
}
