import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { renderDocument } from '../../../scripts/write-docs.ts';
import { metricDeclarations } from '../../../src/adapters/prometheus/metric-declarations.ts';

/** Whose values are bounded by the definition of the pipeline or by a list. */
const labelsAllowed = [
  'version',
  'node_version',
  'flow',
  'table',
  'kind',
  'phase',
  'reason',
  'mode',
  'operator',
  'error',
  'target',
  'api',
  'source',
  'expectation',
  'state',
  'stage',
  'result',
  'outcome',
  'cause',
  'remedy',
  'store',
  'op',
  'status',
];

const units =
  /_(seconds|bytes|records|rows|keys|partitions|total|info|up|state|ready|failed|paused|difference|max|active|ratio|done|capped)$/;

test.each(metricDeclarations)('$name is named and described by the rules', (metric) => {
  const { name, type, labels, values, help } = metric;
  expect(name).toMatch(/^tidemark_[a-z_]+$/);
  expect(name).toMatch(units);
  expect(name.endsWith('_total')).toBe(type === 'counter');
  expect(help).toMatch(/^[A-Z0-9].*[.)]$/);
  expect(labelsAllowed).toEqual(expect.arrayContaining([...labels]));
  expect([...labels]).toEqual(expect.arrayContaining(Object.keys(values ?? {})));
  expect(metric.buckets !== undefined).toBe(type === 'histogram');
});

test('no metric is declared twice', () => {
  const names = metricDeclarations.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test('docs/metrics.md has what is declared now (else: npm run docs)', () => {
  const text = readFileSync(resolve(import.meta.dirname, '../../../docs/metrics.md'), 'utf8');
  expect(renderDocument(text)).toBe(text);
  for (const { name } of metricDeclarations) expect(text).toContain(`\`${name}\``);
});
