import { Histogram, type HistogramConfiguration } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

type Series = {
  readonly labels: Labels;
  /** By bucket, not added up yet. */
  readonly counts: number[];
  sum: number;
  count: number;
};

type Exposed = Awaited<ReturnType<Histogram['get']>>;

/**
 * A histogram that takes many equal values at once. Invariant: n values at a time leave it as n single ones would;
 * the rows of a whole commit cost a few calls, and no more.
 */
export class WeightedHistogram extends Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor(settings: HistogramConfiguration<string> & { readonly buckets: number[] }) {
    super(settings);
    this.#name = settings.name;
    this.#help = settings.help;
    this.#bounds = settings.buckets;
    if ((settings.labelNames ?? []).length === 0) this.#of({});
  }

  /** Makes the series visible before its first value. */
  start(labels: Labels): void {
    this.#of(labels);
  }

  add(labels: Labels, value: number, count: number): void {
    const series = this.#of(labels);
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) series.counts[bucket] = (series.counts[bucket] ?? 0) + count;
    series.sum += value * count;
    series.count += count;
  }

  #of(labels: Labels): Series {
    const name = Object.values(labels).join('\n');
    const known = this.#series.get(name);
    if (known !== undefined) return known;
    const made = { labels, counts: this.#bounds.map(() => 0), sum: 0, count: 0 };
    this.#series.set(name, made);
    return made;
  }

  override get(): Promise<Exposed> {
    const values = [...this.#series.values()].flatMap(({ labels, counts, sum, count }) => {
      let below = 0;
      return [
        ...this.#bounds.map((le, index) => {
          below += counts[index] ?? 0;
          return {
            labels: { ...labels, le: String(le) },
            value: below,
            metricName: `${this.#name}_bucket`,
          };
        }),
        { labels: { ...labels, le: '+Inf' }, value: count, metricName: `${this.#name}_bucket` },
        { labels, value: sum, metricName: `${this.#name}_sum` },
        { labels, value: count, metricName: `${this.#name}_count` },
      ];
    });
    // The library declares more of it than it gives itself.
    const exposed = { name: this.#name, help: this.#help, type: 'histogram', values };
    return Promise.resolve(exposed as unknown as Exposed);
  }

  /** What the registry of the library asks for where it is there. */
  getForPromString(): Promise<Exposed> {
    return this.get();
  }
}
