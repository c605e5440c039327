import { systemClock } from '../adapters/system/system-clock.ts';
import type { TrialReport } from '../refresh/trial.ts';
import type { RefreshFacts } from '../runtime/refresh/refresh-facts.ts';
import { trialRecordsDefault, tryRecords } from '../runtime/refresh/refresh-trial.ts';
import type { ReadProgress } from '../runtime/worker/read-partition.ts';
import type { Deployment } from './deployment.ts';

type TrialChoice = {
  readonly together?: ReadonlySet<string>;
  readonly recordsMax?: number | undefined;
  readonly onProgress?: (progress: ReadProgress) => void;
};

/** How the plan of a refresh tries the records of a table; undefined: the pipeline never ran, so there are none. */
export function trialOf(
  { log, catalog, pipeline, plan }: Deployment,
  { flows }: RefreshFacts,
  { recordsMax = trialRecordsDefault, ...choice }: TrialChoice = {},
): (() => Promise<TrialReport>) | undefined {
  if (catalog === undefined) return undefined;
  const clock = systemClock;
  return () => tryRecords({ log, catalog, clock, pipeline, plan, flows, recordsMax, ...choice });
}
