import { FlowError } from '../../base/errors.ts';
import type { LogPlace } from '../../base/log-place.ts';
import type { FlowPlan, PipelinePlan } from '../../plan/pipeline-plan.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { TrialAccount, type TrialReport, trialSpans } from '../../refresh/trial.ts';
import type { FlowFacts } from '../inspect/flow-facts.ts';
import { definedFacts } from '../inspect/pipeline-facts.ts';
import { SourceRows, type SourceSpan } from '../inspect/source-rows.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import type { Catalog } from '../topics/catalog.ts';
import { StaticData } from '../views/static-data.ts';
import { readDeadLetters } from '../worker/dead-letters.ts';
import type { ReadProgress } from '../worker/read-partition.ts';
import { numbersTo } from './refresh-facts.ts';

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
 * remembered; what the flow had set aside before does not count.
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
  for (const [at, facts] of known.entries()) {
    const read = { ...facts, sources: sources[at] ?? [] } as FlowFacts;
    ranges.push({ facts: read, spans: await readSpans(options, read) });
  }
  const total = ranges.flatMap(({ spans }) => spans).reduce((sum, one) => sum + lengthOf(one), 0);
  const share = total === 0 ? 1 : Math.min(1, options.recordsMax / total);
  for (const { facts, spans } of ranges) await tryFlow(options, { facts, spans, share }, account);
  return account.report();
}

type Ranges = { readonly facts: FlowFacts; readonly spans: readonly SourceSpan[] };

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
  { facts, spans, share }: Ranges & { readonly share: number },
  account: TrialAccount,
): Promise<void> {
  if (spans.length === 0) return;
  const { log, catalog, clock, onProgress } = options;
  const { table } = facts;
  const letters = await deadLettersOf(options, facts);
  const isLetter = table.deadLetterTopic !== undefined;
  let start = 0;
  const reject = (place: LogPlace, fault: { errorClass: string; message: string }): void => {
    const name = partitionKey(place.topic, place.partition);
    const isKnown = letters.get(name)?.has(place.offset) === true;
    const isNew = account.add(place, fault, isKnown ? 'known' : isLetter ? 'dead_letter' : 'stop');
    if (isNew && isLetter) account.addToShare(place, start, table.deadLetterShareMax);
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

/** Topic and partition → offsets of the records that the flow has set aside. */
async function deadLettersOf(
  { log }: TrialOptions,
  { table, flow, sources, deadLetter }: FlowFacts,
): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
  const found = new Map<string, Set<number>>();
  if (deadLetter === undefined || deadLetter.topicId === '') return found;
  await readDeadLetters(
    { log, table, flow: flow.name },
    ({ topic, topicId, partition, offset }) => {
      if (!sources.some((source) => source.topic === topic && source.topicId === topicId)) return;
      const name = partitionKey(topic, partition);
      const offsets = found.get(name) ?? new Set<number>();
      found.set(name, offsets.add(offset));
    },
  );
  return found;
}
