import { expect, test } from 'vitest';
import { metricDeclarations } from '../../../src/adapters/prometheus/metric-declarations.ts';
import { MetricRegistry } from '../../../src/adapters/prometheus/metric-registry.ts';
import { parseExposition } from '../../support/watched-service.ts';

const options = { pipeline: 'p', hasProcessMetrics: false };

async function scrape(registry: MetricRegistry): Promise<ReadonlyMap<string, number>> {
  return parseExposition(await registry.text());
}

function fill(registry: MetricRegistry, flows: number): void {
  for (let index = 0; index < flows; index += 1) {
    const flow = `f${index}`;
    registry.count('tidemark_output_records_total', { flow, op: 'upsert' }, 2);
    registry.set('tidemark_state_keys', { flow }, 7);
    registry.observe('tidemark_row_set_rows', { flow }, 1, 3);
  }
}

test('below the bound every flow has its own series, and nothing says that it is reached', async () => {
  const registry = new MetricRegistry(options);
  fill(registry, 20);
  const series = await scrape(registry);
  expect(series.get('tidemark_output_records_total{flow="f19",op="upsert"}')).toBe(2);
  expect(series.get('tidemark_state_keys{flow="f19"}')).toBe(7);
  expect(series.get('tidemark_metrics_capped')).toBe(0);
});

test('beyond it nothing that is counted is lost: sums go on under one name, gauges are left out, and a gauge says so', async () => {
  const registry = new MetricRegistry({ ...options, seriesMax: 200 });
  fill(registry, 500);
  const series = await scrape(registry);
  const sumOf = (start: string): number =>
    [...series].reduce((sum, [name, value]) => (name.startsWith(start) ? sum + value : sum), 0);
  expect(series.size).toBeLessThan(300);
  expect(sumOf('tidemark_output_records_total{')).toBe(1_000);
  expect(series.get('tidemark_output_records_total{flow="other",op="upsert"}')).toBeGreaterThan(0);
  expect(sumOf('tidemark_row_set_rows_count{')).toBe(1_500);
  expect(series.has('tidemark_state_keys{flow="other"}')).toBe(false);
  expect(series.get('tidemark_metrics_capped')).toBe(1);
});

test('a series of before goes on under its own name, and one with words of a list alone is always there', async () => {
  const registry = new MetricRegistry({ ...options, seriesMax: 50 });
  fill(registry, 500);
  registry.count('tidemark_output_records_total', { flow: 'f0', op: 'upsert' }, 5);
  registry.count('tidemark_commits_total', { result: 'ok' });
  const series = await scrape(registry);
  expect(series.get('tidemark_output_records_total{flow="f0",op="upsert"}')).toBe(7);
  expect(series.get('tidemark_commits_total{result="ok"}')).toBe(1);
});

test('the bound counts a histogram with all of its samples', async () => {
  const registry = new MetricRegistry({ ...options, seriesMax: 1_000 });
  for (let index = 0; index < 2_000; index += 1) {
    registry.start('tidemark_row_set_rows', { flow: `f${index}` });
  }
  const series = await scrape(registry);
  const plain = metricDeclarations.filter(({ labels }) => labels.length === 0).length;
  // One more set of samples for the rest, and what has no labels and is there from the start.
  expect(series.size).toBeLessThan(1_000 + 20 * (plain + 1));
});
