import type { Clock } from '../../ports/clock.ts';

const stepMinMs = 25;
const stepMaxMs = 250;

/**
 * Waits for a promise, at most so long: false when it is not settled by then. Invariant: nothing is left behind that
 * would keep a process alive for longer than a moment, however long the wait might have been.
 */
export async function isSettledWithin(
  clock: Clock,
  ms: number,
  promise: Promise<unknown>,
): Promise<boolean> {
  let isSettled = false;
  const note = (): void => {
    isSettled = true;
  };
  const settled = promise.then(note, note);
  const deadline = clock.monotonic() + ms;
  for (let stepMs = stepMinMs; !isSettled; stepMs = Math.min(stepMs * 2, stepMaxMs)) {
    const leftMs = deadline - clock.monotonic();
    if (leftMs <= 0) break;
    await Promise.race([settled, clock.sleep(Math.min(stepMs, leftMs))]);
  }
  return isSettled;
}
