import type { PipelinePlan } from '../../plan/pipeline-plan.ts';
import type { Log } from '../../ports/log.ts';
import { type KeyLoss, LossAccount, type LossReport } from '../../refresh/loss.ts';
import {
  assumedRate,
  downstreamOf,
  type ReadRate,
  type RefreshReport,
  refreshReport,
  viewsOver,
} from '../../refresh/refresh-report.ts';
import type { TrialReport } from '../../refresh/trial.ts';
import { isoTime } from '../inspect/iso-time.ts';
import type { ReadProgress } from '../worker/read-partition.ts';
import type { RefreshFacts } from './refresh-facts.ts';
import { scanLoss, scanPending } from './refresh-scan.ts';

export type PreviewOptions = {
  readonly log: Log;
  readonly plan: PipelinePlan;
  readonly facts: RefreshFacts;
  readonly rate?: ReadRate | undefined;
  /** Tries the records that are there with the present definition; absent: they are taken to be readable. */
  readonly trial?: (() => Promise<TrialReport>) | undefined;
  readonly onLoss?: (loss: KeyLoss) => Promise<void> | void;
  readonly onProgress?: (progress: ReadProgress) => void;
};

export type Preview = { readonly report: RefreshReport; readonly loss: LossReport };

/** What a full refresh of a table would do and lose, to the key. Nothing is changed. */
export async function previewRefresh(options: PreviewOptions): Promise<Preview> {
  const { log, plan, facts, rate = rateOf(facts), onLoss, onProgress } = options;
  const account = new LossAccount();
  const scan = { log, facts, ...(onProgress === undefined ? {} : { onProgress }) };
  for await (const loss of scanLoss(scan)) {
    account.add(loss);
    await onLoss?.(loss);
  }
  const loss = account.report();
  const below = downstreamOf(plan, facts.table);
  const report = refreshReport({
    table: facts.table.name,
    generation: facts.generation,
    sources: facts.sources,
    loss,
    pending: await scanPending(scan),
    untold: facts.untold,
    downstream: [...below, ...viewsOver(plan, [facts.table.name, ...below])],
    rate,
    trial: await options.trial?.(),
    skipped: facts.skipped,
    isoTime,
  });
  return { report, loss };
}

function rateOf({ measuredRate }: RefreshFacts): ReadRate {
  if (measuredRate === undefined) return assumedRate;
  return { recordsPerSecond: measuredRate, basis: 'measured' };
}
