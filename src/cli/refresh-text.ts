import type { FlowError } from '../base/errors.ts';
import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import type { LossCounts, RowLoss } from '../refresh/loss.ts';
import { lossGlance, type RefreshReport } from '../refresh/refresh-report.ts';
import type { TrialReport } from '../refresh/trial.ts';
import { untoldText } from '../refresh/untold-loss.ts';
import { isoTime } from '../runtime/inspect/iso-time.ts';
import type { RefreshFacts } from '../runtime/refresh/refresh-facts.ts';
import type { Preview } from '../runtime/refresh/refresh-preview.ts';
import type { RefreshOutcome } from '../runtime/refresh/refresh-run.ts';
import { countText } from './count-text.ts';
import { lostKeyLine } from './lost-keys-file.ts';
import { skippedText } from './skipped-text.ts';
import { tableText } from './table-text.ts';

const reasonTexts: Readonly<Record<RowLoss['reason'], string>> = {
  at_risk: 'may be compacted away',
  expired: 'expired: before the log start',
  truncated: 'behind the end of the log',
  elsewhere: 'in a topic that was deleted, created anew, or is not read any more',
};

const rateTexts: Readonly<Record<RefreshReport['rate']['basis'], string>> = {
  assumed: 'assumed',
  given: 'given',
  measured: 'measured by its last refresh',
};

/** The sources as they stand, and what that tells of the loss: known at once, before anything is scanned. */
export function sourcesText(facts: RefreshFacts): string {
  return `${sourcesTable(facts)}${glanceText(facts)}\n`;
}

/** The exact figure follows, so it is said what this one is. */
export function glanceText({ sources }: Pick<RefreshFacts, 'sources'>): string {
  const { read, gone } = lossGlance(sources);
  const be = gone === 1 ? 'is' : 'are';
  return gone === 0
    ? 'At first sight: every offset that was read is still there.'
    : `At first sight: of ${countText(read, 'offset')} that were read ${gone} ${be} gone (${Math.max(1, Math.round((gone * 100) / read))} %). Which rows that takes, the table tells.`;
}

function sourcesTable(facts: RefreshFacts): string {
  const time = (ms: number | undefined): string => (ms === undefined ? '-' : isoTime(ms));
  return tableText(
    [
      ...['source', 'topic', 'partition', 'first read', 'log start', 'checkpoint', 'end'],
      ...['offsets', 'from', 'to'],
    ],
    facts.sources.map((one) => [
      one.source,
      one.topic,
      String(one.partition),
      one.firstRead === undefined ? '-' : String(one.firstRead),
      String(one.logStart),
      one.committed === undefined ? '-' : String(one.committed),
      String(one.end),
      String(one.end - one.logStart),
      time(one.fromMs),
      time(one.toMs),
    ]),
  );
}

/** What a refresh would do, for a person. */
export function previewText(
  { report, loss }: Preview,
  facts: RefreshFacts,
  plan: PipelinePlan,
): string {
  const { table, lost, atRisk, pending, downstream, records, estimateSeconds, rate, untold } =
    report;
  const lines = [
    `A refresh of table ${table} (generation ${report.generation}) goes through ${countText(records, 'offset')} again, markers of transactions among them: about ${estimateSeconds} s at ${rate.recordsPerSecond} records/s (${rateTexts[rate.basis]}).`,
  ];
  if (untold !== null) {
    lines.push(
      `What it loses can not be told. ${untoldText(untold)} It is refused without --allow-loss.`,
    );
  }
  if (lost.keys === 0 && pending.lost === 0) {
    if (untold === null) {
      lines.push(
        report.lossless
          ? 'It loses nothing: every row of the table can be read again.'
          : 'Every row that the table has can be read again, but:',
      );
    }
  } else {
    const levels = lost.levels === 0 ? '' : `, levels of empty keys: ${lost.levels}`;
    lines.push(
      `${untold === null ? 'It loses' : 'It loses at least'}: keys: ${lost.keys}, rows: ${lost.rows}${levels}.`,
    );
    for (const [reason, count] of Object.entries(report.reasons)) {
      lines.push(`  ${count} ${reasonTexts[reason as RowLoss['reason']]}`);
    }
    for (const { topic, partition, logStart, from, lost: there } of uniqueSources(report)) {
      if (there === null) continue;
      const age =
        from === null || there.last >= logStart
          ? ''
          : `; the first record that is there is of ${from}`;
      lines.push(
        `  of ${topic}/${partition}, whose log starts at ${logStart}: ${there.rows}, from offset ${there.first} to ${there.last}${age}`,
      );
    }
    if (atRisk.keys > 0) {
      lines.push(
        `  ${atRisk.keys} of these keys are only at risk: a compacted source keeps the newest offset of a record key, not the highest sequence, so what it has left can't be known.`,
      );
    }
    if (pending.lost > 0) {
      lines.push(
        `  Between the stages, not in the table yet, and can't be read again: ${countText(pending.lost, 'row')}. Let the pipeline catch up first: tidemark run --once.`,
      );
    }
    for (const one of loss.sample) lines.push(`  ${lostKeyLine(one, facts).trimEnd()}`);
    if (lost.keys > loss.sample.length) {
      lines.push(`  … and ${lost.keys - loss.sample.length} more: --lost-keys FILE writes all.`);
    }
  }
  if (facts.becomesHistory) {
    lines.push(
      'Its history begins with the first change of each key that is still there: of what had expired or was replaced before, the table has no rows that could be lost, and gets none.',
    );
  }
  lines.push(...trialLines(report.trial), ...unreadLines(report.unread));
  const skipped = skippedText(report.skipped);
  if (skipped !== '') lines.push(skipped.trimEnd());
  const views = new Set(plan.materializedViews.map(({ name }) => name));
  const tables = downstream.filter((name) => !views.has(name));
  lines.push(
    tables.length === 0
      ? 'No table of the pipeline reads it.'
      : `These tables read it and have to be refreshed with it (--cascade): ${tables.join(', ')}.`,
  );
  const recomputed = downstream.filter((name) => views.has(name));
  if (recomputed.length > 0) {
    lines.push(
      `These materialized views are computed anew by the next update: ${recomputed.join(', ')}.`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** What stands in the way of a refresh whatever it loses. */
export function foreseenText({ message, detail, hint }: FlowError): string {
  const why = detail === undefined ? '' : ` ${detail}`;
  return `As it is asked for it is refused: ${message}.${why}\n${hint === undefined ? '' : `  hint: ${hint}\n`}`;
}

const unreadShown = 5;

/** What was gone before it was read: no part of the table, and so of no loss of it. */
export function unreadLines(unread: RefreshReport['unread']): readonly string[] {
  if (unread.length === 0) return [];
  const named = unread
    .slice(0, unreadShown)
    .map(
      ({ topic, partition, first, last }) => `${topic}/${partition} offsets ${first} to ${last}`,
    );
  const more = unread.length > unreadShown ? `, and of ${unread.length - unreadShown} more` : '';
  return [
    `Gone before they were read: of ${named.join(', of ')}${more}. What they held was never in the table, and no refresh brings it back.`,
  ];
}

/** A topic that several sources read is told once. */
function uniqueSources({ sources }: RefreshReport): RefreshReport['sources'] {
  const byPlace = new Map(sources.map((one) => [`${one.topic}/${one.partition}`, one]));
  return [...byPlace.values()];
}

/** How the records that are there fare with the present definition. */
export function trialLines(trial: TrialReport | null): readonly string[] {
  if (trial === null) return [];
  const { records, tried, deadLetters, setAside, stops, reasons, sample, untried } = trial;
  const lines: string[] = [];
  const part =
    tried < records
      ? `A sample of ${tried} of the ${countText(records, 'record')} that it was computed from was`
      : records === 1
        ? 'The one record that it was computed from was'
        : `All ${records} records that it was computed from and that are still there were`;
  if (records > 0) {
    const isSound = deadLetters + stops === 0;
    const but =
      setAside === 0
        ? ''
        : setAside === 1
          ? ', but for 1 that gave no row before, and is a dead letter already'
          : `, but for ${setAside} that gave no row before, and are dead letters already`;
    lines.push(
      `${part} read with the present definition: ${isSound ? `each can be read${but}` : `not each can be read${but}`}.`,
    );
  }
  if (deadLetters > 0) {
    lines.push(
      `  ${countText(deadLetters, 'dead letter')} would come of it, and their rows be gone`,
    );
  }
  if (stops > 0) lines.push(`  ${stops} would stop the flow`);
  for (const [errorClass, count] of Object.entries(reasons)) lines.push(`  ${count} ${errorClass}`);
  for (const { topic, partition, offset, errorClass, message } of sample) {
    lines.push(`  ${topic}/${partition}@${offset}: ${errorClass}: ${message}`);
  }
  if (untried.length > 0) {
    lines.push(
      `What it reads from ${untried.join(', ')} is computed anew with it, and could not be tried.`,
    );
  }
  return lines;
}

/** What a refresh has done, in records of the table's topics, and what became of what can't be read again. */
export function outcomeText(outcome: RefreshOutcome): string {
  const { table, generation, mode, published, lost, untold, deadLetters } = outcome;
  const removed = `${removedText(outcome)}${keptText(outcome)}`;
  const loss =
    lost.keys === 0
      ? untold === undefined
        ? 'nothing was lost'
        : 'what was lost can not be told'
      : `lost: ${countsText(lost)}`;
  const unread = deadLetters === 0 ? '' : `; dead letters: ${deadLetters} (tidemark dlq list)`;
  if (outcome.isShadow === true) {
    const losing = lost.keys === 0 ? 'lose nothing' : `lose ${countsText(lost)}`;
    return `a refresh of table ${table} would write ${published} records, remove ${removed}, and ${losing}${unread}. It was thrown away: the table is as it was.\n`;
  }
  const next =
    mode === 'in_place'
      ? 'The next run fills it: tidemark run.'
      : 'The next run goes on from there.';
  return `table ${table} is in generation ${generation}: records written: ${published}, removed: ${removed}; ${loss}${unread}. ${next}\n`;
}

/** The level of a key without rows is a record, too, and no row. */
function removedText({ buried, buriedLevels }: RefreshOutcome): string {
  return buriedLevels === 0
    ? String(buried)
    : `${buried} (${buriedLevels} of them about keys without rows)`;
}

function keptText({ kept }: RefreshOutcome): string {
  return kept.keys === 0 ? '' : `, kept though it can not be read again: ${countsText(kept)}`;
}

function countsText({ keys, rows, levels }: LossCounts): string {
  return `keys: ${keys}, rows: ${rows}${levels > 0 ? `, levels: ${levels}` : ''}`;
}
