import { requireOptions } from '../config/load-config.ts';
import type { Config } from '../config/options.ts';
import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import { catalogTopicOf } from '../plan/topology.ts';
import { type Gap, gapText } from '../refresh/continuity.ts';
import { unmetGaps } from '../runtime/inspect/gaps-ahead.ts';
import { type RecordedGap, recordedGaps } from '../runtime/takeover/gaps.ts';
import { openCatalog } from '../runtime/topics/catalog.ts';
import type { Command, ExitCode, Invocation } from './command.ts';
import { loadPipeline } from './load-pipeline.ts';
import { pipelineFlag, withLog } from './pipeline-files.ts';

export const gaps: Command = {
  name: 'gaps',
  summary:
    'list the gaps in what the flows have read: who lost which records, whether a run has met it, and whether it was accepted',
  arguments: '',
  example:
    'tidemark gaps --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092',
  flags: pipelineFlag,
  usesConfig: true,
  run: async (invocation) => {
    const config = invocation.config();
    requireOptions(config, ['pipeline.name', 'kafka.brokers']);
    const pipeline = config['pipeline.name'] ?? '';
    const { terminal } = invocation;
    const plan = await knownPlan(invocation, config);
    return withLog<ExitCode>(invocation, config, async (log) => {
      const catalog = await openCatalog(log, catalogTopicOf(pipeline));
      try {
        const found = catalog === undefined ? [] : recordedGaps(catalog);
        found.sort((a, b) => a.detectedAtMs - b.detectedAtMs);
        const ahead = plan === undefined ? [] : await unmetGaps({ log, catalog, pipeline, plan });
        if (catalog === undefined) {
          terminal.err(`pipeline "${pipeline}" has not run on this cluster yet\n`);
        }
        if (invocation.json) {
          invocation.printJson([
            ...found.map((gap) => ({ ...gap, met: true })),
            ...ahead.map((gap) => ({ ...gap, met: false })),
          ]);
        } else {
          terminal.out(gapsText(found, ahead));
          if (plan === undefined) {
            terminal.err(
              'Those that a run has stopped at are listed. With the files of the pipeline (--pipeline FILE) those that the next run would stop at are, too.\n',
            );
          }
        }
        return 0;
      } finally {
        await catalog?.close();
      }
    });
  },
};

/** The catalog alone knows what was met, so the files may be missing, or invalid, which is told. */
async function knownPlan(
  invocation: Invocation,
  config: Config,
): Promise<PipelinePlan | undefined> {
  const given = invocation.texts('pipeline');
  const paths = given.length > 0 ? given : config['pipeline.files'];
  if (paths.length === 0) return undefined;
  const { plan, faultText } = await loadPipeline(paths);
  if (plan === undefined) invocation.terminal.err(`${faultText}\n`);
  return plan;
}

/** What a person reads of them, those that were met first. */
export function gapsText(found: readonly RecordedGap[], ahead: readonly Gap[]): string {
  if (found.length + ahead.length === 0) {
    return 'no gaps: no flow has met records that were gone before it had read them\n';
  }
  return [...found.map(metLines), ...ahead.map(aheadLines)].join('');
}

function metLines(gap: RecordedGap): string {
  const time = (ms: number): string => new Date(ms).toISOString();
  const accepted =
    gap.acceptedAtMs !== undefined
      ? `accepted ${time(gap.acceptedAtMs)}`
      : gap.refreshedAtMs !== undefined
        ? `answered ${time(gap.refreshedAtMs)} by a full refresh, which began anew from what was there`
        : 'not accepted';
  return `${gap.id}\n  ${gapText(gap)}\n  detected ${time(gap.detectedAtMs)}, ${accepted}\n`;
}

function aheadLines(gap: Gap): string {
  return `${gap.id}\n  ${gapText(gap)}\n  not met yet: the next run stops at it, and can be told to go on from then on\n`;
}
