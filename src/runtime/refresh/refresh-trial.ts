import { FlowError } from '../../base/errors.ts';
import type { LogPlace } from '../../base/log-place.ts';
import { readProvenance } from '../../data/provenance.ts';
import type { FlowPlan, PipelinePlan } from '../../plan/pipeline-plan.ts';
import { hasStage, levelsTopicOf } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import {
  TrialAccount,
  type TrialFault,
  type TrialReport,
  trialSpans,
} from '../../refresh/trial.ts';
import type { SourceRow } from '../../task/row/row-collector.ts';
import type { FlowFacts } from '../inspect/flow-facts.ts';
import { definedFacts } from '../inspect/pipeline-facts.ts';
import { SourceRows, type SourceSpan } from '../inspect/source-rows.ts';
import { sourceKey } from '../inspect/verify-parts.ts';
import { swapsOf } from '../takeover/generation.ts';
import type { Catalog } from '../topics/catalog.ts';
import { StaticData } from '../views/static-data.ts';
import { readDeadLetters } from '../worker/dead-letters.ts';
import type { ReadProgress } from '../worker/read-partition.ts';
import { numbersTo } from './refresh-facts.ts';
import {
  placeKeyOf,
  placesNotGiven,
  placesOfLetter,
  rowsOfPlaces,
  waitingIn,
} from './rows-of-places.ts';

export type TrialOptions = {
  readonly log: Log;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  /** Those that write the table. */
  readonly flows: readonly FlowPlan[];
  /** Tables that are refreshed with it. */
  readonly together?: ReadonlySet<string> | undefined;
  /** Records that are tried; where there are more, an even sample of them is. */
  readonly recordsMax: number;
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
};

/** What is tried where nobody says otherwise and nothing is at stake yet: about a second. */
export const trialRecordsDefault = 100_000;

/**
 * Reads the records that a table was computed from once more, with the present definition, and tells which of them give
 * no row any more: a refresh would turn them into dead letters, or stop at them. Invariant: nothing is written, joined or
 * remembered; what the flow had set aside before does not count, unless the table has a row of it nonetheless, as after a
 * replay.
 */
export async function tryRecords(options: TrialOptions): Promise<TrialReport> {
  const { plan, flows, together } = options;
  const isRefreshed = (topic: string): boolean =>
    plan.tables.some((table) => table.topic === topic && together?.has(table.name) === true);
  const known = [];
  for (const flow of flows) known.push(await definedFacts(options, flow));
  const sources = known.map((facts) => facts.sources.filter(({ topic }) => !isRefreshed(topic)));
  const topics = new Set(known.flatMap((facts) => facts.sources.map(({ topic }) => topic)));
  const untried = plan.tables.filter(({ topic }) => topics.has(topic) && isRefreshed(topic));
  const account = new TrialAccount(untried.map(({ name }) => name));
  const ranges: Ranges[] = [];
  const setAside: SetAside = { places: new Set(), given: [], failed: new Map() };
  for (const [at, facts] of known.entries()) {
    const read = { ...facts, sources: sources[at] ?? [] } as FlowFacts;
    // In this order: the flow goes on, and what it has read by now it has set aside by then.
    const spans = await readSpans(options, read);
    const letters = await deadLettersOf(options, read);
    for (const place of [...letters.values()].flat()) setAside.places.add(place);
    ranges.push({ facts: read, spans, letters });
  }
  const total = ranges.flatMap(({ spans }) => spans).reduce((sum, one) => sum + lengthOf(one), 0);
  const share = total === 0 ? 1 : Math.min(1, options.recordsMax / total);
  for (const range of ranges) await tryFlow(options, { ...range, share }, account, setAside);
  await addKept(options, account, { ...setAside, topic: known[0]?.table.topic });
  return account.report();
}

type Ranges = {
  readonly facts: FlowFacts;
  readonly spans: readonly SourceSpan[];
  readonly letters: Letters;
};

/** Records that a flow has set aside → where their rows would say that they come from. */
type Letters = ReadonlyMap<string, readonly string[]>;

/** What is known of records that a flow has set aside before. */
type SetAside = {
  /** Where rows of them would come from, whichever flow it was. */
  readonly places: Set<string>;
  /** Provenance of the rows that come from there now. */
  readonly given: string[];
  /** Those that give no row now, and why. */
  readonly failed: Map<string, LogPlace & TrialFault & { readonly places: readonly string[] }>;
};

/** That a record was set aside says nothing of now: it was replayed, or read once more, where the table has a row of it. */
async function addKept(
  { log, catalog, pipeline, flows }: TrialOptions,
  account: TrialAccount,
  { failed, given, topic }: SetAside & { readonly topic: string | undefined },
): Promise<void> {
  const flow = flows.find(hasStage) ?? flows[0];
  if (failed.size === 0 || flow === undefined || topic === undefined) return;
  const topics = [topic, levelsTopicOf(pipeline, flow.name)];
  const places = new Set([...failed.values()].flatMap((one) => one.places));
  const swaps = swapsOf(catalog, flow.name);
  const waiting = waitingIn(pipeline, flow);
  const kept = placesNotGiven(await rowsOfPlaces(log, { topics, swaps, waiting }, places), given);
  for (const one of failed.values()) {
    if (one.places.some((place) => kept.has(place))) account.loseKnown(one, one);
  }
}

function lengthOf({ from, to }: SourceSpan): number {
  return Math.max(0, to - from);
}

/** What the flow has read, as far as it is still there. */
async function readSpans({ log }: TrialOptions, facts: FlowFacts): Promise<readonly SourceSpan[]> {
  const spans: SourceSpan[] = [];
  for (const { topic, topicId, partitions } of facts.sources) {
    const numbers = numbersTo(partitions);
    const committed = await log.committedOffsets(facts.group, topic, numbers);
    for (const [partition, { start, stable }] of await log.offsetRanges(topic, numbers)) {
      const to = Math.min(committed.get(partition)?.offset ?? start, stable);
      if (to > start) spans.push({ topic, topicId, partition, from: start, to });
    }
  }
  return spans;
}

async function tryFlow(
  options: TrialOptions,
  { facts, spans, letters, share }: Ranges & { readonly share: number },
  account: TrialAccount,
  setAside: SetAside,
): Promise<void> {
  if (spans.length === 0) return;
  const { log, catalog, clock, onProgress } = options;
  const { table } = facts;
  const isLetter = table.deadLetterTopic !== undefined;
  let start = 0;
  const reject = (place: LogPlace, fault: { errorClass: string; message: string }): void => {
    const name = nameOf(place);
    const places = letters.get(name);
    if (places !== undefined) {
      setAside.failed.set(`${facts.flow.name} ${name}`, { ...place, ...fault, places });
    }
    const fate = places !== undefined ? 'known' : isLetter ? 'dead_letter' : 'stop';
    const isNew = account.add(place, fault, fate);
    if (isNew && isLetter) account.addToShare(place, start, table.deadLetterShareMax);
  };
  const give = ({ provenance, violated }: SourceRow): void => {
    if (setAside.places.size === 0 || violated.some(({ action }) => action !== 'warn')) return;
    const isWanted = setAside.places.has(placeKeyOf(readProvenance(provenance, 0)));
    if (isWanted) setAside.given.push(sourceKey(provenance));
  };
  const statics = new StaticData({
    facts,
    log,
    catalog: undefined,
    clock,
    isInterrupted: () => false,
  });
  const rows = new SourceRows({
    log,
    catalog,
    facts,
    nowMs: clock.now(),
    partners: statics.partners,
    onBad: (bad) => reject(bad, bad),
    onRow: (row) => {
      if (row.bad !== undefined) return reject(row, row.bad);
      give(row);
      const failed = row.violated.find(({ action }) => action === 'fail');
      if (failed === undefined) return;
      const message = `expectation "${failed.name}" (${failed.sql})`;
      account.add(row, { errorClass: 'EXPECTATION_FAILED', message }, 'stop');
    },
  });
  await statics.refresh();
  for (const span of spans) {
    start = span.from;
    const pieces = trialSpans(span, Math.ceil(lengthOf(span) * share));
    account.addSpans(span, pieces);
    for (const piece of pieces) {
      await trySpan(rows, { ...span, ...piece }, account);
      const { partition, to: end } = span;
      onProgress?.({ partition, partitions: spans.length, position: piece.to, end });
    }
  }
}

async function trySpan(rows: SourceRows, span: SourceSpan, account: TrialAccount): Promise<void> {
  try {
    await rows.read(span);
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
    // What expires meanwhile counts with all else that has expired.
    if (error.code === 'OFFSET_OUT_OF_RANGE') return;
    if (error.remedy !== 'stop') throw error;
    const { topic, partition, from } = span;
    const { code, message, detail = '', place = { topic, partition, offset: from } } = error;
    account.add(place, { errorClass: code, message: `${message}. ${detail}` }, 'stop');
  }
}

async function deadLettersOf(
  { log, catalog, pipeline }: TrialOptions,
  { table, flow, sources, deadLetter }: FlowFacts,
): Promise<Letters> {
  const found = new Map<string, readonly string[]>();
  if (deadLetter === undefined || deadLetter.topicId === '') return found;
  await readDeadLetters({ log, catalog, pipeline, table, flow: flow.name }, (letter) => {
    const { topic, topicId } = letter;
    if (!sources.some((source) => source.topic === topic && source.topicId === topicId)) return;
    found.set(nameOf(letter), placesOfLetter(letter));
  });
  return found;
}

function nameOf({ topic, partition, offset }: LogPlace): string {
  return `${topic}/${partition}@${offset}`;
}
