import type { FlowError } from '../../base/errors.ts';
import type { PartitionProgress } from '../takeover/held-partition.ts';
import type { ViewProgress } from '../views/view-updates.ts';
import type { Stage } from './stage-times.ts';
import type { WorkerState } from './worker-states.ts';

export type WorkerProgress = {
  readonly state: WorkerState;
  /** Of the source topics, read and committed by this process. */
  readonly records: number;
  readonly outputRecords: number;
  readonly commits: number;
  readonly fencings: number;
  /** Steps that the loop has begun: whoever lives, turns. */
  readonly turns: number;
  readonly stageMs: Readonly<Record<Stage, number>>;
  readonly flows: readonly FlowProgress[];
  readonly views?: readonly ViewProgress[];
};

export type FlowProgress = {
  readonly flow: string;
  readonly group: string;
  readonly failed: FlowError | undefined;
  /** Somebody has it stand still. */
  readonly isPaused?: boolean;
  /** It runs once, and had run before this process began: nothing of it is read, nor counted, again. */
  readonly isDone?: boolean;
  /** Its rows go straight to the output topic. */
  readonly appends?: boolean;
  /** Written and committed by this process. */
  readonly outputRecords: number;
  /** Of a flow with a watermark: the event time that all of its partitions here have reached. */
  readonly eventTimeMs?: number | undefined;
  readonly partitions: readonly PartitionProgress[];
};
