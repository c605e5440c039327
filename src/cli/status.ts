import { systemClock } from '../adapters/system/system-clock.ts';
import type { LogPlace } from '../base/log-place.ts';
import { requireOptions } from '../config/load-config.ts';
import { durationText } from '../refresh/headroom.ts';
import { progressText, refreshFigures } from '../refresh/refresh-progress.ts';
import { isoTime } from '../runtime/inspect/iso-time.ts';
import {
  type FlowStatus,
  StatusReader,
  type TopicStatus,
} from '../runtime/inspect/pipeline-status.ts';
import type { RefreshRecord } from '../runtime/refresh/refresh-record.ts';
import { readViewStatus, type ViewStatus } from '../runtime/views/view-status.ts';
import type { Stop } from '../runtime/worker/stops.ts';
import { unexplained } from '../task/row-account.ts';
import { type Command, type ExitCode, type Invocation, usageError } from './command.ts';
import { countText } from './count-text.ts';
import { namedPipeline, pipelineFlag, withLog } from './pipeline-files.ts';
import { type TableReport, tableReports, tableReportText } from './table-report.ts';
import { tableText } from './table-text.ts';
import { type FlowSummary, flowLines, flowSummary } from './update-summary.ts';

const watchIntervalMs = 2000;

export const status: Command = {
  name: 'status',
  summary: 'show how far each flow is: checkpoints, lag, and the account of its rows',
  arguments: '',
  example:
    'tidemark status --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092 --watch',
  flags: {
    ...pipelineFlag,
    watch: { type: 'boolean', doc: 'Repeat every 2 s until it is interrupted.' },
  },
  usesConfig: true,
  run: async (invocation) => {
    if (invocation.positionals.length > 0) {
      throw usageError('status takes no arguments', 'Name the pipeline with --pipeline FILE.');
    }
    const config = invocation.config();
    const plan = await namedPipeline(invocation, config);
    if (plan === undefined) return 3;
    requireOptions(config, ['pipeline.name', 'kafka.brokers']);
    const pipeline = config['pipeline.name'] ?? '';
    return withLog<ExitCode>(invocation, config, async (log) => {
      const reader = new StatusReader(plan, pipeline, log, systemClock);
      try {
        const isWatching = invocation.isSet('watch');
        let stop: () => void = () => undefined;
        const stopped = new Promise<'stopped'>((resolve) => {
          stop = () => resolve('stopped');
        });
        if (isWatching) invocation.terminal.onStop(stop);
        for (;;) {
          const isExact = config.delivery === 'exactly_once';
          const flows = (await reader.read()).map((one) => flowReport(one, isExact));
          const refreshes = reader.refreshes().map(refreshReport);
          const lag = sum(flows.map((flow) => flow.lag));
          const found = await readViewStatus({
            ...{ log, plan, pipeline, clock: systemClock },
            catalog: reader.catalog,
          });
          const views = found.map(({ pausedSinceMs, ...one }) => ({
            ...one,
            pausedSince: timeText(pausedSinceMs),
            stopped: stopReport(reader.viewStop(one.view)),
          }));
          const tables = tableReports(plan, reader.readable());
          const report = { pipeline, lag, flows, views, tables, refreshes };
          show(invocation, report, isWatching);
          if (!isWatching) return 0;
          const next = await Promise.race([stopped, systemClock.sleep(watchIntervalMs)]);
          if (next === 'stopped') return 0;
        }
      } finally {
        await reader.close();
      }
    });
  },
};

type PipelineReport = {
  readonly pipeline: string;
  /** Of all flows and both stages. */
  readonly lag: number;
  readonly flows: readonly FlowReport[];
  readonly views: readonly (Omit<ViewStatus, 'pausedSinceMs'> & {
    readonly pausedSince: string | null;
    readonly stopped: StopReport | null;
  })[];
  /** Those that a running service has measured. */
  readonly tables: readonly TableReport[];
  /** Full refreshes that are under way, or were interrupted. */
  readonly refreshes: readonly RefreshReport[];
};

type RefreshReport = {
  readonly table: string;
  readonly mode: 'beside' | 'in_place';
  readonly state: string;
  readonly generation: number;
  /** Between 0 and 1. */
  readonly progress: number;
  readonly secondsLeft: number | null;
  readonly startedAt: string;
  readonly changedAt: string;
  readonly text: string;
};

function refreshReport(record: RefreshRecord): RefreshReport {
  const { table, mode, state, generation, startedAtMs, changedAtMs } = record;
  const { ratio, secondsLeft } = refreshFigures(record);
  return {
    table,
    mode,
    state,
    generation,
    progress: Math.round(ratio * 1000) / 1000,
    secondsLeft: secondsLeft ?? null,
    startedAt: new Date(startedAtMs).toISOString(),
    changedAt: new Date(changedAtMs).toISOString(),
    text: progressText(record),
  };
}

type FlowReport = {
  readonly flow: string;
  readonly table: string;
  readonly group: string;
  /** Since when it stands still by `tidemark pause`; null: it does not. */
  readonly pausedSince: string | null;
  /** Why it stood when it was tried last; null: nothing is known to keep it from going on. */
  readonly stopped: StopReport | null;
  readonly lag: number;
  readonly missingTopics: readonly string[];
  /** The topic that it writes; null: it is there. */
  readonly missingOutput: string | null;
  readonly partitions: readonly PartitionReport[];
  /** Since the first start of the flow; undefined while nothing was committed. */
  readonly account: FlowSummary | undefined;
  /** What the account cannot explain: 0, or a fault. null: rows are on their way between the stages. */
  readonly difference: number | null;
  /** Partitions that lost their account with their checkpoint; while there are any, nothing is compared between the stages. */
  readonly lostAccounts: readonly string[];
  /** Flows that fed the table and are no longer in the pipeline; while there are any, neither. */
  readonly formerFeeds: readonly string[];
  /** Topics of which nobody can say where its checkpoints stand, since a transaction is open that may move them. */
  readonly heldCheckpoints: readonly string[];
};

type PartitionReport = {
  readonly stage: TopicStatus['stage'];
  readonly topic: string;
  readonly partition: number;
  readonly committed: number | null;
  readonly logStart: number;
  readonly end: number;
  /** null: its checkpoint is held. */
  readonly lag: number | null;
  /** Offsets behind `end` that an open transaction of a producer holds back; no lag counts them. */
  readonly held: number;
  /** Records of a source, rows of a repartition topic, that the checkpoint's account holds. */
  readonly records: number | null;
  /** What the account of this partition cannot explain; null: it has none. */
  readonly difference: number | null;
  readonly instance: string | null;
  /** Of a source: time until retention may take the oldest record that waits; null: never, or not a source. */
  readonly headroomSeconds: number | null;
  /** Of a compacted source: time until compaction may take the oldest record that waits; null: never, or none waits. */
  readonly compactionSeconds: number | null;
  /** Of a source: offsets between the log start and the checkpoint. */
  readonly headroomRecords: number | null;
  /** Of a source: offsets that were gone before the flow had read them. */
  readonly lostRecords: number | null;
};

type StopReport = {
  readonly code: string;
  readonly message: string;
  readonly detail: string | null;
  readonly hint: string | null;
  readonly place: LogPlace | null;
  readonly since: string;
  readonly instance: string;
};

function stopReport(stop: Stop | undefined): StopReport | null {
  if (stop === undefined) return null;
  const { code, message, detail, hint, place, atMs, instance } = stop;
  return {
    code,
    message,
    detail: detail ?? null,
    hint: hint ?? null,
    place: place ?? null,
    since: new Date(atMs).toISOString(),
    instance,
  };
}

/** Without transactions rows may be handed on twice, which the keys they meet at take for what they are. */
export function flowReport(status: FlowStatus, isExact: boolean): FlowReport {
  const { flow, table, kind, group, topics, betweenStages, pausedSinceMs, stop } = status;
  const { lostAccounts, formerFeeds } = status;
  const isCompared =
    isExact &&
    topics.some(({ stage }) => stage === 'repartition') &&
    lostAccounts.length === 0 &&
    formerFeeds.length === 0;
  const partitions = topics.flatMap(({ stage, topic, isHeld, partitions: all }) =>
    all.map((one): PartitionReport => {
      const { partition, committed, logStart, end, held, lag, counters, instance, headroom } = one;
      const seconds = headroom?.seconds ?? Number.POSITIVE_INFINITY;
      const compaction = headroom?.compactionSeconds ?? Number.POSITIVE_INFINITY;
      const records =
        counters === undefined ? null : 'records' in counters ? counters.records : counters.rows;
      return {
        stage,
        topic,
        partition,
        committed: committed ?? null,
        logStart,
        end,
        lag: isHeld ? null : lag,
        held,
        records,
        difference: counters === undefined ? null : unexplained(counters),
        instance: instance ?? null,
        headroomSeconds: Number.isFinite(seconds) ? seconds : null,
        compactionSeconds: Number.isFinite(compaction) ? compaction : null,
        headroomRecords: headroom?.records ?? null,
        lostRecords: headroom?.lost ?? null,
      };
    }),
  );
  const isAppended = kind === 'append';
  const heldCheckpoints = topics.flatMap(({ topic, isHeld }) => (isHeld ? [topic] : []));
  // Of a part it would be taken for that of the flow.
  const counters = topics.flatMap((topic) =>
    heldCheckpoints.length > 0 ? [] : topic.partitions.flatMap((one) => one.counters ?? []),
  );
  return {
    flow,
    table,
    group,
    pausedSince: timeText(pausedSinceMs),
    stopped: stopReport(stop),
    lag: sum(partitions.map(({ lag }) => lag ?? 0)),
    missingTopics: topics.filter(({ exists }) => !exists).map(({ topic }) => topic),
    missingOutput: status.missingOutput ?? null,
    partitions,
    account: counters.length === 0 ? undefined : flowSummary(flow, counters, isAppended),
    difference: differenceOf(partitions, isCompared ? betweenStages : 0),
    lostAccounts,
    formerFeeds,
    heldCheckpoints,
  };
}

/** A partition that does not close is told at once, whatever is on its way. */
function differenceOf(
  partitions: readonly PartitionReport[],
  betweenStages: number | undefined,
): number | null {
  const own = sum(partitions.map(({ difference }) => difference ?? 0));
  if (betweenStages === undefined) return own === 0 ? null : own;
  return own + Math.abs(betweenStages);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function show(invocation: Invocation, report: PipelineReport, isWatching: boolean): void {
  const { terminal } = invocation;
  if (invocation.json) {
    if (isWatching) terminal.out(`${JSON.stringify(report)}\n`);
    else invocation.printJson(report);
    return;
  }
  // On a terminal each round takes the place of the one before.
  if (isWatching && terminal.isTerminal) terminal.out('\u001b[H\u001b[2J');
  terminal.out(reportText(report));
}

function differenceLine(report: FlowReport): string {
  const { account, difference, partitions, lostAccounts, formerFeeds } = report;
  if (account === undefined) return '';
  if (difference === null) return '  account: rows are on their way between the stages\n';
  if (difference === 0 && lostAccounts.length > 0) {
    return `  account: each partition's is explained; the stages are not compared with each other since ${lostAccounts.join(', ')} lost its account with its checkpoint (until a full refresh)\n`;
  }
  if (difference === 0 && formerFeeds.length > 0) {
    return `  account: each partition's is explained; the stages are not compared with each other since ${formerFeeds.join(', ')} fed the table and is no longer in the pipeline (until a full refresh)\n`;
  }
  if (difference === 0) return '  account: every record and row is explained\n';
  const places = partitions.filter((one) => (one.difference ?? 0) !== 0);
  const where = places.map(({ topic, partition }) => `${topic}/${partition}`).join(', ');
  return `  ACCOUNT OPEN: ${countText(difference, 'row')} not explained${where === '' ? ', between the stages' : `, at ${where}`}; see docs/runbooks/TidemarkRowAccountOpen.md\n`;
}

/** A topic that is cut short could be another one. */
const topicNameMax = 249;

const headers = [
  'topic',
  'partition',
  'committed',
  'log start',
  'end',
  'lag',
  'records',
  'headroom',
  'last taken by',
];

/** Until the oldest record that waits may be gone. */
export function headroomText({
  stage,
  headroomSeconds,
  compactionSeconds,
  lostRecords,
}: Pick<
  PartitionReport,
  'stage' | 'headroomSeconds' | 'compactionSeconds' | 'lostRecords'
>): string {
  if (stage !== 'source') return '-';
  if (lostRecords !== null && lostRecords > 0) return `lost ${lostRecords}`;
  const kept = durationText(headroomSeconds ?? Number.POSITIVE_INFINITY);
  return compactionSeconds === null
    ? kept
    : `${kept}, compacted: ${durationText(compactionSeconds)}`;
}

/** What a person reads of it. */
export function reportText(report: PipelineReport): string {
  const { pipeline, lag, flows, views, tables, refreshes } = report;
  const parts = flows.map((flow) => {
    const rows = flow.partitions.map((one) => [
      one.topic,
      String(one.partition),
      one.lag === null ? 'held' : one.committed === null ? '-' : String(one.committed),
      String(one.logStart),
      String(one.end),
      one.lag === null ? '?' : String(one.lag),
      one.records === null ? '-' : String(one.records),
      headroomText(one),
      one.instance ?? '-',
    ]);
    return [
      `flow ${flow.flow}, table ${flow.table}, group ${flow.group}\n`,
      flow.pausedSince === null ? '' : `PAUSED since ${flow.pausedSince}\n`,
      stopText(flow.stopped),
      ...flow.missingTopics.map((topic) => `topic "${topic}" does not exist yet\n`),
      missingOutputText(flow),
      rows.length === 0 ? '' : tableText(headers, rows, topicNameMax),
      checkpointsText(flow.heldCheckpoints),
      flow.account !== undefined
        ? flowLines(flow.account)
        : flow.heldCheckpoints.length > 0
          ? ''
          : 'nothing is committed yet\n',
      ...flow.partitions.map(heldText),
      differenceLine(flow),
      '\n',
    ].join('');
  });
  for (const { view, kind, table, topic, group, state, last, stopped, pausedSince } of views) {
    const what =
      kind === 'replace_where' ? `REPLACE WHERE flow ${view}, table ${table}` : `view ${view}`;
    const paused = pausedSince === null ? '' : `PAUSED since ${pausedSince}\n`;
    parts.push(
      `${what}, topic ${topic}, group ${group}\n${paused}${stopText(stopped)}${viewText(state, last)}\n\n`,
    );
  }
  const running = refreshes.map(
    ({ table, text, startedAt }) => `refresh of table ${table} since ${startedAt}: ${text}\n`,
  );
  const measured = tables.map(tableReportText);
  const isPart = flows.some(({ heldCheckpoints }) => heldCheckpoints.length > 0);
  return `${parts.join('')}${measured.join('')}${running.join('')}pipeline ${pipeline}: total lag ${lag}${isPart ? ', without that of held checkpoints' : ''}\n`;
}

const heldBy =
  'a transaction is open that may move it, perhaps of an instance that is gone; a start of the pipeline ends it, and so does an instance that runs';

function checkpointsText(topics: readonly string[]): string {
  return topics.length === 0 ? '' : `CHECKPOINT HELD for ${topics.join(', ')}: ${heldBy}\n`;
}

/** Before the first commit nobody misses it. */
function missingOutputText({ table, missingOutput, account, heldCheckpoints }: FlowReport): string {
  if (missingOutput === null) return '';
  return account === undefined && heldCheckpoints.length === 0
    ? `topic "${missingOutput}" does not exist yet\n`
    : `OUTPUT GONE: topic "${missingOutput}" does not exist, and the checkpoints stand behind rows that were in it. See what can still be computed: tidemark refresh ${table} --plan\n`;
}

/** A transaction that is under way is nothing bad; one that stays is seen nowhere else, for no lag counts it. */
function heldText({ stage, topic, partition, end, held }: PartitionReport): string {
  if (stage !== 'source' || held === 0) return '';
  return `  held back: ${countText(held, 'offset')} of ${topic}/${partition} from ${end} on, behind an open transaction of a producer; if it stays so see docs/runbooks/TidemarkSourceHeld.md\n`;
}

/** As the service said it. */
function stopText(stopped: StopReport | null): string {
  if (stopped === null) return '';
  const { code, message, detail, hint, place, since, instance } = stopped;
  const where =
    place === null
      ? ''
      : ` at topic ${place.topic}, partition ${place.partition}, offset ${place.offset}`;
  const lines = [
    `STOPPED since ${since} (instance ${instance})${where}`,
    `  ${code}: ${message}`,
    ...(detail === null ? [] : [`  ${detail}`]),
    ...(hint === null ? [] : [`  hint: ${hint}`]),
  ];
  return `${lines.join('\n')}\n`;
}

const stateTexts: Readonly<Record<Exclude<ViewStatus['state'], 'held'>, string>> = {
  current: 'up to date',
  stale: 'its inputs have changed since',
  unsettled: 'its inputs are being written',
};

function timeText(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : isoTime(timeMs);
}

function viewText(state: ViewStatus['state'], last: ViewStatus['last']): string {
  if (state === 'held') return `CHECKPOINT HELD: ${heldBy}`;
  if (last === undefined) return 'never computed yet';
  return `run ${last.run}: ${countText(last.rows, 'row')}; ${stateTexts[state]}`;
}
