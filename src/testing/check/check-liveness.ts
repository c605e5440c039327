import type { Clock } from '../../ports/clock.ts';

/**
 * Whether something comes to its end within a time, by a clock that leaps: whatever needs longer hangs. Returns what
 * did not end, as a complaint.
 */
export async function checkEnds(
  clock: Clock,
  withinMs: number,
  what: string,
  work: Promise<unknown>,
): Promise<string[]> {
  const late = clock.sleep(withinMs).then(() => [`${what}, though nothing failed any more`]);
  return await Promise.race([work.then((): string[] => []), late]);
}
