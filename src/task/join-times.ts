import type { Span } from '../data/bytes.ts';
import type { JoinSideName } from '../data/kept-rows.ts';
import type { StreamTimes } from '../plan/pipeline-plan.ts';
import type { StateKey } from '../ports/state-store.ts';

/** Keys of rows are JSON objects, so no row ever has this one. */
export const timesKey: StateKey = 'times';

/** Topic id and partition: what stands first in a provenance. */
const placeBytes = 20;

/** The source partitions of each side, as `placeOf` writes them. */
export type JoinPlaces = Readonly<Record<JoinSideName, readonly string[]>>;

/** The partition that a provenance names, as text. */
export function placeOf({ bytes, start }: Span): string {
  return bytes.toString('hex', start, start + placeBytes);
}

/**
 * How far the source partitions of a join have come, and until when its rows are of use. Invariant: the watermark of a
 * side is behind every row of it that is still to come, but for late ones, which are left out before; so what it lets go
 * has met all of its partners.
 */
export class JoinTimes {
  readonly #times: StreamTimes;
  readonly #places: JoinPlaces;
  /** Milliseconds since 1970; 0: it has no rows. */
  readonly #reached = new Map<string, number>();
  #isChanged = false;
  /** What the watermarks are, until something changes. */
  readonly #known = new Map<JoinSideName, bigint | undefined>();

  constructor(times: StreamTimes, places: JoinPlaces) {
    this.#times = times;
    this.#places = places;
  }

  get isChanged(): boolean {
    return this.#isChanged;
  }

  take(entry: Buffer | undefined): void {
    this.#reached.clear();
    this.#known.clear();
    this.#isChanged = false;
    if (entry === undefined) return;
    for (const [place, ms] of JSON.parse(entry.toString('utf8')) as [string, number][]) {
      this.#reached.set(place, ms);
    }
  }

  entry(): Buffer {
    this.#isChanged = false;
    return Buffer.from(JSON.stringify([...this.#reached]), 'utf8');
  }

  reach(place: string, ms: number): void {
    const before = this.#reached.get(place);
    if (before !== undefined && before >= ms) return;
    this.#reached.set(place, ms);
    this.#known.clear();
    this.#isChanged = true;
  }

  /** No row of the side is older that is still to come; undefined: nobody knows. */
  watermark(side: JoinSideName): bigint | undefined {
    if (!this.#known.has(side)) this.#known.set(side, this.#least(side));
    return this.#known.get(side);
  }

  #least(side: JoinSideName): bigint | undefined {
    const { leftDelayMicros, rightDelayMicros } = this.#times;
    let least = Number.POSITIVE_INFINITY;
    for (const place of this.#places[side]) {
      const ms = this.#reached.get(place);
      if (ms === undefined) return undefined;
      if (ms > 0) least = Math.min(least, ms);
    }
    if (!Number.isFinite(least)) return undefined;
    return BigInt(least) * 1000n - (side === 'left' ? leftDelayMicros : rightDelayMicros);
  }

  /** The latest time of a partner of a row, in microseconds; undefined: there is none. */
  lastPartner(side: JoinSideName, time: bigint): bigint | undefined {
    const { lowMicros, highMicros } = this.#times;
    if (side === 'left') return highMicros === undefined ? undefined : time + highMicros;
    return lowMicros === undefined ? undefined : time - lowMicros;
  }

  /** Whether every partner of a row has come. */
  isOver(side: JoinSideName, time: bigint): boolean {
    const last = this.lastPartner(side, time);
    const watermark = this.watermark(side === 'left' ? 'right' : 'left');
    return last !== undefined && watermark !== undefined && watermark > last;
  }

  /** Whether a row comes after those that it may have gone with were let go. */
  isLate(side: JoinSideName, time: bigint): boolean {
    const watermark = this.watermark(side);
    return watermark !== undefined && time < watermark;
  }
}
