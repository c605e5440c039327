import type { FlowError } from '../base/errors.ts';

/** What the runtime tells whoever watches it; the composition turns it into log lines and metrics. */
export type RuntimeEvent =
  | { readonly event: 'topic_created'; readonly topic: string; readonly partitions: number }
  | { readonly event: 'assigned'; readonly flow: string; readonly partitions: readonly string[] }
  | { readonly event: 'revoked'; readonly flow: string; readonly partitions: readonly string[] }
  | {
      readonly event: 'restoring';
      readonly flow: string;
      readonly partition: number;
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
      readonly records: number;
      readonly durationMs: number;
    }
  | { readonly event: 'fencing'; readonly transactionalId: string; readonly reason: string }
  | {
      readonly event: 'committed';
      readonly records: number;
      readonly outputRecords: number;
      readonly durationMs: number;
    }
  | {
      readonly event: 'recovering';
      readonly error: FlowError;
      readonly attempt: number;
      readonly delayMs: number;
    }
  | { readonly event: 'flow_failed'; readonly flow: string; readonly error: FlowError }
  | { readonly event: 'caught_up'; readonly flow: string };

export type RuntimeListener = (event: RuntimeEvent) => void;
