import type { Tracer } from '../ports/tracer.ts';
import { isOver } from '../refresh/refresh-states.ts';
import type { RefreshRecord } from '../runtime/refresh/refresh-record.ts';

export type RefreshSpansOptions = {
  readonly tracer: Pick<Tracer, 'step'>;
  /** Whether this instance tells of the table: of all instances that look, one does. */
  readonly tellsOf: (table: string) => boolean;
};

/**
 * A span for each full refresh that ends, whoever ran it, made from what the catalog says of it. Invariant: a refresh that had ended
 * before the first look has none, so that a restart tells nothing twice.
 */
export class RefreshSpans {
  readonly #options: RefreshSpansOptions;
  /** Table → the refresh that was open at the last look. */
  #open = new Map<string, number>();

  constructor(options: RefreshSpansOptions) {
    this.#options = options;
  }

  look(records: readonly RefreshRecord[]): void {
    const { tracer, tellsOf } = this.#options;
    const open = new Map<string, number>();
    for (const record of records) {
      const { table, flow, state, mode, generation, startedAtMs, changedAtMs, read } = record;
      if (!isOver(state)) {
        open.set(table, startedAtMs);
        continue;
      }
      if (this.#open.get(table) !== startedAtMs || !tellsOf(table)) continue;
      tracer.step({
        name: `full refresh ${table}`,
        startedAtMs,
        durationMs: Math.max(0, changedAtMs - startedAtMs),
        attributes: {
          'tidemark.flow': flow,
          'tidemark.refresh.mode': mode,
          'tidemark.refresh.result': state,
          'tidemark.generation': generation,
          'tidemark.records': read ?? 0,
          'tidemark.refresh.loss_allowed': String(record.allowLoss),
        },
      });
    }
    this.#open = open;
  }
}
