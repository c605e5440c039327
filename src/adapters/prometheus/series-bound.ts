type Labels = Readonly<Record<string, string>>;

export type SeriesShape = {
  /** Labels whose values are words of a fixed list. */
  readonly words: ReadonlySet<string>;
  /** Samples of one series: a histogram has one for each bucket, and three more. */
  readonly size: number;
};

/** What takes the place of names, such as those of flows and sources, in series beyond the bound. */
const rest = 'other';

/**
 * Bounds the samples that one process exposes, whatever its pipelines declare. Invariant: a series that was there before
 * the bound was reached stays, and one that has no names, but words of fixed lists alone, is always admitted.
 */
export class SeriesBound {
  readonly #max: number;
  readonly #admitted = new Set<string>();
  #samples = 0;
  #isReached = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether any series was not admitted. */
  get isReached(): boolean {
    return this.#isReached;
  }

  admits(metric: string, labels: Labels, { words, size }: SeriesShape): boolean {
    const name = `${metric}\n${Object.values(labels).join('\n')}`;
    if (this.#admitted.has(name)) return true;
    const hasNames = Object.keys(labels).some((label) => !words.has(label));
    if (hasNames && this.#samples + size > this.#max) {
      this.#isReached = true;
      return false;
    }
    this.#samples += size;
    this.#admitted.add(name);
    return true;
  }
}

/** Labels under which everything is summed up that is not admitted. */
export function restOf(labels: Labels, { words }: SeriesShape): Labels {
  return Object.fromEntries(
    Object.entries(labels).map(([label, value]) => [label, words.has(label) ? value : rest]),
  );
}
