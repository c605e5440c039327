import { FlowTask } from '../../task/flow-task.ts';
import type { PlacedBadRow } from '../../task/row/bad-row.ts';
import { copyFlowCounters, type FlowCounters, type TableCounters } from '../../task/row-account.ts';
import type { TableSlot } from '../worker/table-slot.ts';
import type { CheckpointMark } from './generation.ts';

/** One partition that this worker reads for a flow. */
export type HeldPartition = {
  readonly topic: string;
  readonly partition: number;
  readonly work: FlowTask | TableSlot;
  /** Next offset to process. */
  position: number;
  /** As of the last commit that stands. */
  committed: number;
  committedCounters: FlowCounters | TableCounters;
  isDirty: boolean;
  /** Where a flow that runs once has read all of it; undefined: it goes on for ever. */
  readonly until: number | undefined;
  /** The catalog does not know yet that there is a checkpoint, and of which incarnation of the topic. */
  unrecorded: { readonly name: string; readonly value: CheckpointMark } | undefined;
  /** Gaps that were accepted, until a commit stands behind them. */
  acceptedGaps: readonly string[];
};

export type HeldTable = HeldPartition & { readonly work: TableSlot };

export type PartitionProgress = {
  readonly topic: string;
  readonly partition: number;
  readonly position: number;
  readonly committed: number;
  readonly stable: number;
  /** The high watermark; what lies from `stable` up to it waits for a transaction of its producer. */
  readonly end: number;
  /** First available offset; undefined before the log has answered. */
  readonly logStart: number | undefined;
  readonly counters: FlowCounters | TableCounters;
  /** The account as it stands with the checkpoint. */
  readonly committedCounters: FlowCounters | TableCounters;
  /** Keys that a table task has in memory; 0 of a source partition. */
  readonly keysHeld: number;
  /** The last row of a source partition that was set aside since it is here; absent or undefined: none. */
  readonly lastBadRow?: PlacedBadRow | undefined;
};

export function isHeldTable(read: HeldPartition): read is HeldTable {
  return !(read.work instanceof FlowTask);
}

/** A copy: those of the task go on. */
export function countersOf(work: FlowTask | TableSlot): FlowCounters | TableCounters {
  return work instanceof FlowTask ? copyFlowCounters(work.counters) : { ...work.task.counters };
}
