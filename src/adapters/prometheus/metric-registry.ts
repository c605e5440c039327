import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { assert } from '../../base/assert.ts';
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  metricDeclarations,
} from './metric-declarations.ts';
import { restOf, SeriesBound, type SeriesShape } from './series-bound.ts';
import { WeightedHistogram } from './weighted-histogram.ts';

export type MetricRegistryOptions = {
  /** On every series, so that pipelines can be told apart wherever they are scraped. */
  readonly pipeline: string;
  /** Whether those of the process and of Node.js are there as well. */
  readonly hasProcessMetrics: boolean;
  /** Samples of declared metrics; default 20,000. What exceeds it is counted under the name `other`. */
  readonly seriesMax?: number;
};

type Labels = Readonly<Record<string, string>>;

/** A pipeline of 20 flows with 2 sources and 3 expectations each has about 2,400. */
const seriesMaxDefault = 20_000;

/**
 * Every declared metric, ready to be counted and scraped. Invariant: nothing but what is declared is exposed, beside
 * the metrics of the process that prom-client defines; the number of series is bounded.
 */
export class MetricRegistry {
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #histograms = new Map<string, WeightedHistogram>();

  readonly #bound: SeriesBound;
  readonly #shapes = new Map<string, SeriesShape>();

  constructor({ pipeline, hasProcessMetrics, seriesMax }: MetricRegistryOptions) {
    this.#bound = new SeriesBound(seriesMax ?? seriesMaxDefault);
    this.#registry.setDefaultLabels({ pipeline });
    for (const { name, type, help, labels, values, buckets } of metricDeclarations) {
      const words = new Set(Object.keys(values ?? {}));
      this.#shapes.set(name, { words, size: buckets === undefined ? 1 : buckets.length + 3 });
      const settings = { name, help, labelNames: [...labels], registers: [this.#registry] };
      if (type === 'counter') this.#counters.set(name, new Counter(settings));
      else if (type === 'gauge') this.#gauges.set(name, new Gauge(settings));
      else {
        this.#histograms.set(
          name,
          new WeightedHistogram({ ...settings, buckets: [...(buckets ?? [])] }),
        );
      }
    }
    if (hasProcessMetrics) collectDefaultMetrics({ register: this.#registry });
  }

  /** Also with 0, so that a series is there before the first event: else its first increase is not seen. */
  count<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    found(this.#counters, name).inc(this.#admitted(name, labels), by);
  }

  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void {
    // The values of several series can't stand in one: of the rest there is none.
    if (!this.#bound.admits(name, labels, found(this.#shapes, name))) return;
    found(this.#gauges, name).set(labels, value);
  }

  /** `count` equal values at once. */
  observe<Name extends HistogramName>(
    name: Name,
    labels: LabelsOf<Name>,
    value: number,
    count = 1,
  ): void {
    found(this.#histograms, name).add(this.#admitted(name, labels), value, count);
  }

  /** Makes the series of a histogram visible before its first value. */
  start<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>): void {
    found(this.#histograms, name).start(this.#admitted(name, labels));
  }

  #admitted(name: string, labels: Labels): Labels {
    const shape = found(this.#shapes, name);
    return this.#bound.admits(name, labels, shape) ? labels : restOf(labels, shape);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The exposition as Prometheus scrapes it. */
  text(): Promise<string> {
    this.set('tidemark_metrics_capped', {}, this.#bound.isReached ? 1 : 0);
    return this.#registry.metrics();
  }
}

function found<Metric>(metrics: ReadonlyMap<string, Metric>, name: string): Metric {
  const metric = metrics.get(name);
  assert(metric !== undefined, `metric ${name} is declared`);
  return metric;
}
