import type { RuntimeEvent } from '../runtime/runtime-events.ts';
import { errorFields } from './run-log.ts';

export type RecentEvent = {
  readonly id: number;
  readonly at: string;
  readonly event: string;
  readonly [field: string]: unknown;
};

export type RecentEventsQuery = {
  readonly flow: string | undefined;
  readonly after: number | undefined;
  readonly limit: number;
};

const eventsMax = 1_000;
/** These come many times a second and say nothing that the metrics do not. */
const unkept: ReadonlySet<RuntimeEvent['event']> = new Set(['committed', 'restore_progress']);

/** What happened lately, bounded: the newest events win. Ids grow by one from event to event. */
export class RecentEvents {
  readonly #events: RecentEvent[] = [];
  #lastId = 0;

  hear(event: RuntimeEvent, nowMs: number): void {
    if (unkept.has(event.event)) return;
    this.#lastId += 1;
    this.#events.push({
      id: this.#lastId,
      at: new Date(nowMs).toISOString(),
      ...('error' in event ? { ...event, error: errorFields(event.error) } : event),
      ...('durationMs' in event ? { durationMs: Math.round(event.durationMs) } : {}),
    });
    if (this.#events.length > eventsMax) this.#events.shift();
  }

  /** Oldest first. */
  find({ flow, after = 0, limit }: RecentEventsQuery): readonly RecentEvent[] {
    const found = this.#events.filter(
      (event) =>
        event.id > after &&
        (flow === undefined || String(event['flow']).toLowerCase() === flow.toLowerCase()),
    );
    return limit === 0 ? [] : found.slice(-limit);
  }
}
