import { topicIdHex } from '../data/provenance.ts';
import type { PipelinePlan, TablePlan } from '../plan/pipeline-plan.ts';
import { sourcesOf } from '../plan/topology.ts';
import type { LossCounts, LossReport, LostPlaces, RowLoss } from './loss.ts';
import type { SourcePartitionFacts } from './retention.ts';
import { isUnreadable, type TrialReport } from './trial.ts';
import type { UntoldLoss } from './untold-loss.ts';

/** Rows between the stages: read from the source, not yet in the table. */
export type PendingRows = {
  readonly rows: number;
  /** Those that can't be read again, whether or not they would change the table. */
  readonly lost: number;
};

export type ReadRate = {
  readonly recordsPerSecond: number;
  /** Where the figure comes from; an assumed one says nothing about this pipeline. */
  readonly basis: 'assumed' | 'given' | 'measured';
};

/** Conservative for one process: a flow of middling rows on two cores reads several times as much. */
export const assumedRate: ReadRate = { recordsPerSecond: 50_000, basis: 'assumed' };

export type RefreshReport = {
  readonly table: string;
  readonly generation: number;
  /** Whether a refresh brings back everything: for certain, where every record was tried. */
  readonly lossless: boolean;
  readonly lost: LossCounts;
  /** The part of `lost` that a compacted source may still have. */
  readonly atRisk: LossCounts;
  readonly reasons: Readonly<Partial<Record<RowLoss['reason'], number>>>;
  readonly pending: PendingRows;
  /** Why there may be more that is lost, which nobody can count; null: `lost` is all. */
  readonly untold: UntoldLoss | null;
  readonly sources: readonly SourceReport[];
  /** Tables that have to be refreshed with it, and materialized views, which the next update computes anew. */
  readonly downstream: readonly string[];
  readonly records: number;
  readonly estimateSeconds: number;
  readonly rate: ReadRate;
  /** How the records that are there fare with the present definition; null: they were not tried. */
  readonly trial: TrialReport | null;
  /** Records of its sources that its flows were made to skip: a refresh steps over them, too. */
  readonly skipped: readonly SkippedPlace[];
  /** Offsets that were gone before the flows had read them: what they held was never in the table, and no refresh brings it. */
  readonly unread: readonly UnreadSpan[];
};

export type UnreadSpan = {
  readonly topic: string;
  readonly partition: number;
  readonly first: number;
  readonly last: number;
};

export type SkippedPlace = {
  readonly flow: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
};

export type SourceReport = {
  readonly source: string;
  readonly topic: string;
  readonly partition: number;
  /** Where the flow began to read; null: it did not, or nobody knows. */
  readonly firstRead: number | null;
  readonly logStart: number;
  readonly committed: number | null;
  readonly end: number;
  /** Offsets that are still there: an upper bound of the records. */
  readonly records: number;
  /** Timestamps of the first and the last record, ISO 8601. */
  readonly from: string | null;
  readonly to: string | null;
  readonly compacted: boolean;
  /** What of the table came from there and can not be read again; null: nothing. */
  readonly lost: LostPlaces | null;
};

export type ReportInput = {
  readonly table: string;
  readonly generation: number;
  readonly sources: readonly SourcePartitionFacts[];
  readonly loss: LossReport;
  readonly pending: PendingRows;
  readonly untold: UntoldLoss | undefined;
  readonly downstream: readonly string[];
  readonly rate: ReadRate;
  readonly trial: TrialReport | undefined;
  readonly skipped: readonly SkippedPlace[];
  readonly isoTime: (ms: number) => string;
};

/** What a full refresh would do, as people and scripts read it. */
export function refreshReport(input: ReportInput): RefreshReport {
  const { table, generation, loss, pending, untold, downstream, rate, trial, isoTime } = input;
  const sources = input.sources.map((facts): SourceReport => {
    const { source, topic, partition, firstRead, logStart, committed, end, fromMs, toMs } = facts;
    return {
      source,
      topic,
      partition,
      firstRead: firstRead ?? null,
      logStart,
      committed: committed ?? null,
      end,
      records: end - logStart,
      from: fromMs === undefined ? null : isoTime(fromMs),
      to: toMs === undefined ? null : isoTime(toMs),
      compacted: facts.isCompacted,
      lost: loss.places.get(`${topicIdHex(facts.topicId)}/${partition}`) ?? null,
    };
  });
  const records = sourceRecords(input.sources);
  return {
    table,
    generation,
    lossless:
      loss.lost.keys === 0 &&
      pending.lost === 0 &&
      untold === undefined &&
      (trial === undefined || !isUnreadable(trial)),
    lost: loss.lost,
    atRisk: loss.atRisk,
    reasons: loss.reasons,
    pending,
    untold: untold ?? null,
    sources,
    downstream,
    records,
    estimateSeconds: Math.ceil(records / rate.recordsPerSecond),
    rate,
    trial: trial ?? null,
    skipped: input.skipped.map(({ flow, topic, partition, offset }) => ({
      ...{ flow, topic, partition, offset },
    })),
    unread: unreadSpans(input.sources),
  };
}

/** Between the checkpoint and the log start; a topic that several sources read is told once, from its hindmost checkpoint. */
export function unreadSpans(sources: readonly SourcePartitionFacts[]): readonly UnreadSpan[] {
  const spans = new Map<string, UnreadSpan>();
  for (const { topic, partition, committed, logStart, isAnew } of sources) {
    if (committed === undefined || isAnew === true || committed >= logStart) continue;
    const key = `${topic}/${partition}`;
    const first = Math.min(committed, spans.get(key)?.first ?? committed);
    spans.set(key, { topic, partition, first, last: logStart - 1 });
  }
  return [...spans.values()];
}

/** What offsets alone tell of a loss, at once. */
export type LossGlance = {
  /** Offsets before the checkpoints. */
  readonly read: number;
  /** Those of them whose records are no more, or are those of another topic by now. */
  readonly gone: number;
};

/**
 * A first estimate, before any row is looked at: what has gone of the sources may have been replaced since, or never have given a row.
 * Invariant: where nothing was read that is gone, no row is lost that came straight from these sources.
 */
export function lossGlance(sources: readonly SourcePartitionFacts[]): LossGlance {
  const byPlace = new Map<string, SourcePartitionFacts>();
  for (const one of sources) byPlace.set(`${one.topicId}/${one.partition}`, one);
  let [read, gone] = [0, 0];
  for (const { committed = 0, logStart, end, isAnew } of byPlace.values()) {
    read += committed;
    const there = isAnew === true ? 0 : Math.max(0, Math.min(committed, end) - logStart);
    gone += committed - there;
  }
  return { read, gone };
}

/** A topic that several sources of a flow read is read once. */
function sourceRecords(sources: readonly SourcePartitionFacts[]): number {
  const counts = new Map<string, number>();
  for (const { topicId, partition, logStart, end } of sources) {
    counts.set(`${topicId}/${partition}`, end - logStart);
  }
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** The tables whose flows read a table, and those that read these, in the order in which they have to be refreshed. */
export function downstreamOf(plan: PipelinePlan, table: TablePlan): readonly string[] {
  const found: string[] = [];
  const open = [table];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const { topic } = next;
    const readers = new Set(
      plan.sources.flatMap(({ name, topic: read, skipsChanges }) =>
        read === topic && skipsChanges !== true ? [name] : [],
      ),
    );
    for (const { branches, target } of plan.flows) {
      if (!branches.some(({ source }) => readers.has(source))) continue;
      const reading = plan.tables.find(({ name }) => name === target);
      if (reading === undefined || target === table.name || found.includes(target)) continue;
      found.push(target);
      open.push(reading);
    }
  }
  return found;
}

/**
 * The tables that one command refreshes: those that were named, with everything that reads them where the cascade was asked
 * for, each after the tables that it reads itself.
 */
export function refreshOrder(
  plan: PipelinePlan,
  named: readonly TablePlan[],
  cascade: boolean,
): readonly TablePlan[] {
  const names = new Set(named.map(({ name }) => name));
  if (cascade)
    for (const table of named) for (const name of downstreamOf(plan, table)) names.add(name);
  const wanted = plan.tables.filter(({ name }) => names.has(name));
  const readers = new Map(wanted.map((table) => [table.name, downstreamOf(plan, table)]));
  const upstreamOf = ({ name }: TablePlan): number =>
    wanted.filter((other) => readers.get(other.name)?.includes(name) === true).length;
  return wanted.toSorted((left, right) => upstreamOf(left) - upstreamOf(right));
}

/**
 * The tables with those in which their own flows remember what they have let through (DISTINCT, LIMIT) and, where the table
 * is emptied, what they have joined: they are a part of the flow, which nobody has named.
 */
export function withHelpers(
  plan: PipelinePlan,
  tables: readonly TablePlan[],
  isEmptied: boolean,
): readonly TablePlan[] {
  const names = new Set(tables.map(({ name }) => name));
  const isHelper = (name: string | undefined): boolean =>
    plan.flows.some(
      ({ target, kind }) => target === name && (kind === 'sift' || (isEmptied && kind === 'join')),
    );
  for (const name of names) {
    for (const flow of plan.flows) {
      if (flow.target !== name) continue;
      for (const { table } of sourcesOf(plan, flow)) {
        if (table !== undefined && isHelper(table)) names.add(table);
      }
    }
  }
  return plan.tables.filter(({ name }) => names.has(name));
}

/** Whether one of the tables reads another of them. */
export function areChained(plan: PipelinePlan, tables: readonly TablePlan[]): boolean {
  return tables.some((table) =>
    tables.some(({ name }) => downstreamOf(plan, table).includes(name)),
  );
}

/** The materialized views that are computed from tables, or from each other, in the order in which they are computed. */
export function viewsOver(plan: PipelinePlan, tables: readonly string[]): readonly string[] {
  const changed = new Set(tables);
  const found: string[] = [];
  for (const { name, inputs } of plan.materializedViews) {
    if (!inputs.some((input) => input.kind === 'table' && changed.has(input.name))) continue;
    changed.add(name);
    found.push(name);
  }
  return found;
}
