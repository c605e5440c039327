import type { PipelinePlan } from '../../plan/pipeline-plan.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { StateStore } from '../../ports/state-store.ts';

/**
 * One process that runs a pipeline, as tests drive it. Contract:
 * 1. `start` resolves when the process is on its way; it need not have a partition yet.
 * 2. `untilCaughtUp` resolves when every record that was in the sources when it was called is committed,
 *    by whichever process; it rejects with the FlowError of the first flow that cannot go on.
 * 3. `stop` finishes and commits what is open and leaves the groups.
 * 4. `kill` only forgets: the caller cuts the process off from log and state store itself.
 */
export type PipelineUnderTest = {
  start(): Promise<void>;
  untilCaughtUp(): Promise<void>;
  stop(): Promise<void>;
  kill(): void;
};

export type PipelineRunOptions = {
  /** Prefix of groups and internal topics. */
  readonly pipeline: string;
  /** Of the process; one that comes after a kill under the same name takes its predecessor's place. */
  readonly instance: string;
  readonly clock: Clock;
};

export type StartPipeline = (
  plan: PipelinePlan,
  log: Log,
  state: StateStore,
  options: PipelineRunOptions,
) => PipelineUnderTest;
