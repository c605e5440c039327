import type { BatchKind } from '../plan/flows/batch-kind.ts';
import type { WorkerProgress } from '../runtime/worker/worker-progress.ts';
import type { FlowCounters, TableCounters } from '../task/row-account.ts';
import { countText } from './count-text.ts';

export type FlowSummary = {
  readonly flow: string;
  readonly records: number;
  readonly tombstones: number;
  readonly deadLettered: number;
  /** Of these, the records that somebody had the flow step over. */
  readonly skipped: number;
  readonly rows: number;
  readonly filtered: number;
  readonly dropped: number;
  readonly late: number;
  readonly new: number;
  readonly replacing: number;
  readonly tied: number;
  readonly superseded: number;
  readonly duplicate: number;
  readonly distinct: number;
  readonly limited: number;
  readonly expectations: Readonly<Record<string, { passed: number; failed: number }>>;
};

export type ViewSummary = {
  readonly view: string;
  readonly kind: BatchKind;
  readonly table: string;
  readonly run: number;
  readonly rows: number;
  /** Keys that this process wrote in this update. */
  readonly changed: number;
  readonly removed: number;
  readonly expectations: Readonly<Record<string, { passed: number; failed: number }>>;
};

/** `done`: it runs once and did so before this update, which counted nothing of it. */
export type UpdatedFlow = FlowSummary & { readonly done?: true };

export type UpdateSummary = {
  /** False: it was told to stop before it had read to its end; the next update goes on from there. */
  readonly done: boolean;
  readonly seconds: number;
  readonly records: number;
  readonly outputRecords: number;
  readonly commits: number;
  /** Totals since the first start of each flow, over the partitions of this process. */
  readonly flows: readonly UpdatedFlow[];
  readonly views: readonly ViewSummary[];
  /** Flows and views that somebody had stand still, so that the update left them out. */
  readonly paused: readonly string[];
};

export function updateSummary(
  progress: WorkerProgress,
  durationMs: number,
  {
    paused = [],
    done = true,
  }: { readonly paused?: readonly string[]; readonly done?: boolean } = {},
): UpdateSummary {
  return {
    done,
    seconds: Math.round(durationMs) / 1000,
    records: progress.records,
    outputRecords: progress.outputRecords,
    commits: progress.commits,
    flows: progress.flows.map(({ flow, appends, isDone, partitions }) => ({
      ...flowSummary(
        flow,
        partitions.map(({ counters }) => counters),
        appends === true,
      ),
      ...(isDone === true ? { done: true } : {}),
    })),
    views: (progress.views ?? []).flatMap(({ view, kind, table, last, changed }) =>
      last === undefined
        ? []
        : {
            view,
            kind,
            table,
            run: last.run,
            rows: last.rows,
            changed,
            removed: changed === 0 ? 0 : last.removed,
            expectations: last.expectations,
          },
    ),
    paused,
  };
}

/** The account of a flow, both of its stages. */
export function accountSummary(
  flow: string,
  account: { readonly source: FlowCounters; readonly table: TableCounters },
): FlowSummary {
  return flowSummary(flow, [account.source, account.table]);
}

/** Adds the accounts of partitions up. In an append flow every row that is handed on is a new one. */
export function flowSummary(
  flow: string,
  counters: readonly (FlowCounters | TableCounters)[],
  appends = false,
): FlowSummary {
  const sum = {
    flow,
    records: 0,
    tombstones: 0,
    deadLettered: 0,
    skipped: 0,
    rows: 0,
    filtered: 0,
    dropped: 0,
    late: 0,
    new: 0,
    replacing: 0,
    tied: 0,
    superseded: 0,
    duplicate: 0,
    distinct: 0,
    limited: 0,
    expectations: {} as Record<string, { passed: number; failed: number }>,
  };
  for (const one of counters) {
    if ('records' in one) {
      for (const field of [
        'records',
        'tombstones',
        'deadLettered',
        'skipped',
        'rows',
        'filtered',
        'dropped',
        'late',
      ] as const) {
        sum[field] += one[field];
      }
      if (appends) sum.new += one.handedOn;
      for (const { name, passed, failed } of one.expectations) {
        const known = sum.expectations[name] ?? { passed: 0, failed: 0 };
        sum.expectations[name] = { passed: known.passed + passed, failed: known.failed + failed };
      }
    } else {
      for (const field of [
        'new',
        'replacing',
        'tied',
        'superseded',
        'duplicate',
        'distinct',
        'limited',
      ] as const) {
        sum[field] += one[field];
      }
    }
  }
  return sum;
}

export function summaryText(summary: UpdateSummary): string {
  const lines = [
    `${summary.done ? 'update done in' : 'update stopped before it was done, after'} ${summary.seconds} s: ${countText(summary.records, 'record')} read, ${countText(summary.outputRecords, 'record')} written, ${countText(summary.commits, 'commit')}`,
  ];
  const views = summary.views.map(viewLines).join('');
  const paused = summary.paused.map(
    (name) => `${name} is paused, and was left out: tidemark resume ${name} lets it go on\n`,
  );
  return `${lines.join('\n')}\n${summary.flows.map(updatedLines).join('')}${views}${paused.join('')}`;
}

function updatedLines(flow: UpdatedFlow): string {
  return flow.done === true
    ? `flow ${flow.flow}, which runs once, was done before: tidemark status has its account\n`
    : flowLines(flow);
}

/** The account of one flow, for people. */
export function flowLines(flow: FlowSummary): string {
  const { skipped, late, limited } = flow;
  const input = [
    countText(flow.tombstones, 'tombstone'),
    countText(flow.deadLettered - skipped, 'dead letter'),
    ...(skipped === 0 ? [] : [`${skipped} skipped`]),
  ];
  const fates = [
    `${flow.filtered} filtered`,
    `${flow.dropped} dropped`,
    ...(late === 0 ? [] : [`${late} late`]),
    `${flow.new} new`,
    `${flow.replacing} replacing`,
    `${flow.tied} tied`,
    `${flow.superseded} superseded`,
    `${flow.duplicate} duplicate`,
    `${flow.distinct} distinct`,
    ...(limited === 0 ? [] : [`${limited} beyond LIMIT`]),
  ];
  const records = countText(flow.records, 'record');
  const rows = countText(flow.rows, 'row');
  const lines = [
    `flow ${flow.flow}, since its first start: ${records} (${input.join(', ')}), ${rows}: ${fates.join(', ')}`,
  ];
  for (const [name, { passed, failed }] of Object.entries(flow.expectations)) {
    lines.push(`  expectation ${name}: ${passed} passed, ${failed} failed`);
  }
  return `${lines.join('\n')}\n`;
}

/** What the last computation of a materialized view, or of a REPLACE WHERE flow, gave, for people. */
function viewLines(summary: ViewSummary): string {
  const { view, kind, table, run, rows, changed, removed, expectations } = summary;
  const what =
    kind === 'replace_where' ? `REPLACE WHERE flow ${view}, table ${table}` : `view ${view}`;
  const written =
    changed === 0
      ? 'nothing to write'
      : `${countText(changed, 'key')} written, ${removed} of them gone`;
  return `${what}, run ${run}: ${countText(rows, 'row')}, ${written}\n${expectationLines(expectations)}`;
}

function expectationLines(expectations: FlowSummary['expectations']): string {
  return Object.entries(expectations)
    .map(
      ([name, { passed, failed }]) => `  expectation ${name}: ${passed} passed, ${failed} failed\n`,
    )
    .join('');
}
