import type { Clock } from '../ports/clock.ts';
import { usageError } from './command.ts';

export type WaitUntilOptions = {
  readonly clock: Clock;
  readonly say: (text: string) => void;
  /** Registers what ends the wait early. */
  readonly onStop: (listener: () => void) => void;
};

/** A clock that is set meanwhile is noticed within this time. */
const napMs = 1_000;
const sayEveryMs = 600_000;

/** A time of the day and the year, in milliseconds. */
export function timeFlag(flag: string, text: string): number {
  const isWhole = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const timeMs = isWhole ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(timeMs)) return timeMs;
  throw usageError(
    `--${flag} is no time: "${text}"`,
    'Write it with its zone, for example 2026-12-01T03:00:00Z or 2026-12-01T03:00+01:00.',
  );
}

/** Waits for a time by the clock on the wall; false: somebody stopped it before. */
export async function waitUntil(
  timeMs: number,
  { clock, say, onStop }: WaitUntilOptions,
): Promise<boolean> {
  let isStopped = false;
  onStop(() => {
    isStopped = true;
  });
  let toldMs: number | undefined;
  for (let nowMs = clock.now(); nowMs < timeMs && !isStopped; nowMs = clock.now()) {
    if (toldMs === undefined || nowMs - toldMs >= sayEveryMs) {
      const minutes = Math.ceil((timeMs - nowMs) / 60_000);
      say(`waiting until ${new Date(timeMs).toISOString()}: ${minutes} min to go`);
      toldMs = nowMs;
    }
    await clock.sleep(Math.min(napMs, timeMs - nowMs));
  }
  return !isStopped;
}
