import { provenanceSize, readProvenance, topicIdHex } from '../../data/provenance.ts';
import { sequenceCodec } from '../../data/sequence.ts';
import type { KeyedFlowPlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { groupOf } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { BadRow } from '../../task/row/bad-row.ts';
import type { SourceRow } from '../../task/row/row-collector.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import type { Catalog } from '../topics/catalog.ts';
import { StaticData } from '../views/static-data.ts';
import type { CdcFlowFacts, FlowFacts, ReplaceFlowFacts } from './flow-facts.ts';
import { type CommittedSet, readTableKeys, sequenceOfSet } from './read-table.ts';
import { SourceRows } from './source-rows.ts';

export type WhyOptions = {
  readonly log: Log;
  readonly catalog: Catalog | undefined;
  readonly clock: Clock;
  readonly pipeline: string;
  /** Of each flow that writes the table, first the one that merges. */
  readonly flows: readonly [KeyedFacts, ...KeyedFacts[]];
  readonly key: Buffer;
  /** Records of each source partition that are looked through, counted from its end. */
  readonly recordsMax: number;
};

/** A flow whose rows have keys. */
export type KeyedFacts = ReplaceFlowFacts | CdcFlowFacts;

/**
 * - `current`: it stands in the table. `superseded`: its sequence is below that of the key. `dropped`: an expectation
 *   keeps it out. `bad`: it cannot be merged. `empties`: it says that the key has no rows
 *   (of AUTO CDC: that it lost its row, or every key did). `waiting`: the flow has not
 *   read it, or not merged it yet. `missing`: it should stand in the table, and does not.
 */
export type RowFate =
  | 'current'
  | 'superseded'
  | 'dropped'
  | 'bad'
  | 'empties'
  | 'waiting'
  | 'missing';

export type ExplainedRow = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly index: number;
  readonly fate: RowFate;
  readonly reason: string;
  readonly sequence: string | undefined;
  readonly json: string;
};

export type KeyHistory = {
  readonly set: CommittedSet | undefined;
  /** Rows of the key among the last records of the sources, in the order of their places. */
  readonly rows: readonly ExplainedRow[];
  /** Records looked through, and among them those that give no row, whose key nobody knows. */
  readonly records: number;
  readonly bad: readonly (BadRow & { readonly place: string })[];
};

const badMax = 20;

/** What became of the rows of one key lately, each with its reason. Nothing is written or remembered. */
export async function explainKey(options: WhyOptions): Promise<KeyHistory> {
  const { log, flows, key } = options;
  const { table, flow } = flows[0];
  const [set] = await readTableKeys({ log, table, flow }, [key]);
  const rows: ExplainedRow[] = [];
  const bad: (BadRow & { place: string })[] = [];
  let records = 0;
  for (const facts of flows) records += await explainFlow(options, facts, { set, rows, bad });
  return { set, rows, records, bad };
}

type Explained = {
  readonly set: CommittedSet | undefined;
  readonly rows: ExplainedRow[];
  readonly bad: (BadRow & { readonly place: string })[];
};

/** Adds what one flow makes of the key. Gives the number of records that it looked through. */
async function explainFlow(
  { log, catalog, key, clock, pipeline, recordsMax }: WhyOptions,
  facts: KeyedFacts,
  { set, rows: told, bad }: Explained,
): Promise<number> {
  const { table, flow } = facts;
  const wanted = key.toString('latin1');
  const found: SourceRow[] = [];
  const isInterrupted = () => false;
  const statics = new StaticData({ facts, log, catalog: undefined, clock, isInterrupted });
  const rows = new SourceRows({
    log,
    catalog,
    facts,
    nowMs: clock.now(),
    partners: statics.partners,
    onRow: (row) => {
      if (row.key === wanted || row.isTruncate) found.push(row);
    },
    onBad: (one) => {
      bad.push(one);
      if (bad.length > badMax) bad.shift();
    },
  });
  // The programs have asked for their sides by now.
  await statics.refresh();
  let records = 0;
  const checkpoints = new Map<string, number>();
  for (const { topic, topicId, partitions } of facts.sources) {
    const numbers = numbersTo(partitions);
    const group = groupOf(pipeline, flow.name);
    for (const [partition, { offset }] of await log.committedOffsets(group, topic, numbers)) {
      checkpoints.set(`${topic}/${partition}`, offset);
    }
    for (const [partition, { start, stable }] of await log.offsetRanges(topic, numbers)) {
      const from = Math.max(start, stable - recordsMax);
      records += await rows.read({ topic, topicId, partition, from, to: stable });
    }
  }
  const judge = judgeOf(table, flow, set, checkpoints);
  for (const one of found) told.push(judge(one));
  return records;
}

function judgeOf(
  table: TablePlan,
  flow: KeyedFlowPlan,
  set: CommittedSet | undefined,
  checkpoints: ReadonlyMap<string, number>,
): (row: SourceRow) => ExplainedRow {
  const codec = sequenceCodec(flow.sequenceType);
  const level = set === undefined ? undefined : sequenceOfSet(codec, set, table);
  const standing = new Set(
    (set?.rows ?? []).flatMap(({ sources }) => sources.map((source) => JSON.stringify(source))),
  );
  return (row) => {
    const { topic, partition, offset, sequence, provenance, json } = row;
    const source = readProvenance(provenance.subarray(0, provenanceSize), 0);
    const text = sequence && codec.text(sequence, 0, sequence.length);
    const isRead = offset < (checkpoints.get(`${topic}/${partition}`) ?? 0);
    const told = (fate: RowFate, reason: string): ExplainedRow => ({
      topic,
      partition,
      offset,
      index: source.index,
      fate,
      reason,
      sequence: text,
      json,
    });
    if (standing.has(JSON.stringify(source))) return told('current', 'it stands in the table');
    if (row.bad !== undefined) {
      const after = table.deadLetterTopic === undefined ? 'it stops the flow' : 'a dead letter';
      return told('bad', `${row.bad.errorClass}: ${row.bad.message}; ${after}`);
    }
    const drop = row.violated.find(({ action }) => action !== 'warn');
    if (drop !== undefined) {
      const effect = drop.action === 'fail' ? 'stops the flow' : 'drops it';
      return told('dropped', `expectation "${drop.name}" (${drop.sql}) ${effect}`);
    }
    if (!isRead) return told('waiting', 'the flow has not read it yet');
    if (row.isTruncate) {
      return told('empties', 'it empties the whole table of what is of its sequence or below');
    }
    const order = level === undefined || sequence === undefined ? 1 : sequence.compare(level);
    if (order < 0) {
      return told('superseded', `its sequence ${text} is below ${set?.sequence}`);
    }
    if (row.isDelete) return told('empties', 'it deletes the row, and keeps older changes out');
    if (row.isMarker) {
      const effect = order === 0 ? 'rows of the same sequence win' : 'it empties the key';
      return told('empties', effect);
    }
    if (level === undefined) {
      return told(
        'superseded',
        'the key has no rows: a higher sequence has emptied it, or it waits',
      );
    }
    if (flow.kind === 'auto_cdc' && order === 0) {
      return told('superseded', 'another change of the same sequence counts, or says the same');
    }
    return told('missing', 'it is not merged yet, or the account of the flow does not close');
  };
}

/** Whether a flow gives its rows keys. */
export function hasKeys(facts: FlowFacts): facts is KeyedFacts {
  return facts.flow.kind === 'replace_using' || facts.flow.kind === 'auto_cdc';
}

/** Provenance names the topic by its id, in hexadecimal. */
export function topicNamesOf(flows: readonly KeyedFacts[]): ReadonlyMap<string, string> {
  const sources = flows.flatMap((one) => one.sources);
  return new Map(sources.map(({ topic, topicId }) => [topicIdHex(topicId), topic]));
}
