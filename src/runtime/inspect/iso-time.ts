/** What a Date can hold, in milliseconds. */
const dateMsMax = 8.64e15;

/**
 * A time for whoever reads of it. A record says of itself when it was made, in nanoseconds by mistake for one: what no
 * calendar has is told as the number that it is, and ends no command.
 */
export function isoTime(ms: number): string {
  return Math.abs(ms) <= dateMsMax ? new Date(ms).toISOString() : `${ms} ms`;
}
