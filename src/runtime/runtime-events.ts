import type { FlowError } from '../base/errors.ts';
import type { BatchKind } from '../plan/flows/batch-kind.ts';
import type { CommitPhases } from '../ports/log.ts';
import type { Gap } from '../refresh/continuity.ts';
import type { FlowFigures } from './worker/flow-tally.ts';

/**
 * Why the state of a partition is brought to the end of the output topic: there is none, it is of another topic, it
 * stands below the end, or an open transaction hides where the end is.
 */
export type RestoreCause = 'empty' | 'foreign' | 'behind' | 'unsettled';

/** What the runtime tells whoever watches it; the composition turns it into log lines and metrics. */
export type RuntimeEvent =
  | { readonly event: 'topic_created'; readonly topic: string; readonly partitions: number }
  | {
      readonly event: 'assigned';
      readonly flow: string;
      readonly partitions: readonly string[];
      /** From the end of the work under the assignment before to the first record under this one. */
      readonly durationMs: number;
    }
  | { readonly event: 'revoked'; readonly flow: string; readonly partitions: readonly string[] }
  | {
      readonly event: 'restoring';
      readonly flow: string;
      readonly partition: number;
      readonly cause: RestoreCause;
      readonly reason: string;
    }
  | {
      readonly event: 'restore_progress';
      readonly flow: string;
      readonly partition: number;
      /** Offsets that are still to be read. */
      readonly remaining: number;
    }
  | {
      readonly event: 'restored';
      readonly flow: string;
      readonly partition: number;
      readonly cause: RestoreCause;
      readonly records: number;
      readonly durationMs: number;
    }
  | { readonly event: 'fencing'; readonly transactionalId: string; readonly reason: string }
  | {
      readonly event: 'committed';
      readonly records: number;
      readonly outputRecords: number;
      readonly durationMs: number;
      /** Of `durationMs`, what the log needed; undefined: the log does not tell. */
      readonly phases: CommitPhases | undefined;
      readonly flows: readonly FlowFigures[];
    }
  | {
      readonly event: 'recovering';
      readonly error: FlowError;
      readonly attempt: number;
      readonly delayMs: number;
    }
  | { readonly event: 'gap'; readonly flow: string; readonly gap: Gap }
  | { readonly event: 'flow_failed'; readonly flow: string; readonly error: FlowError }
  /** An open transaction of a producer holds back what a flow has to read, or what an update leaves to the next one. */
  | {
      readonly event: 'source_held';
      readonly flow: string;
      readonly topic: string;
      readonly partition: number;
      /** The first offset behind which nothing can be read. */
      readonly offset: number;
      /** Offsets from there on. */
      readonly held: number;
      /** Whether the flow is not done before they are read. */
      readonly isAwaited: boolean;
    }
  /** A command asked for the flow, and has it until it is released. */
  | { readonly event: 'held'; readonly flow: string }
  | { readonly event: 'released'; readonly flow: string }
  /** The table was written by a flow of another name, and this one takes it over. */
  | {
      readonly event: 'succeeding';
      readonly flow: string;
      readonly before: string;
      readonly table: string;
    }
  | { readonly event: 'caught_up'; readonly flow: string }
  | {
      readonly event: 'view_computed';
      readonly view: string;
      readonly kind: BatchKind;
      readonly run: number;
      readonly rows: number;
      /** Keys that were written, and of them those that are gone. */
      readonly changed: number;
      readonly removed: number;
      readonly durationMs: number;
    };

export type RuntimeListener = (event: RuntimeEvent) => void;
