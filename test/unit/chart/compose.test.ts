import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../../src/config/load-config.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';

const folder = resolve(import.meta.dirname, '../../../deploy/compose');

type Service = {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>> | readonly string[];
};

const { services } = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8')) as {
  services: Readonly<Record<string, Service>>;
};

test('everything that is mounted is there', () => {
  const mounts = Object.values(services).flatMap(({ volumes }) => volumes ?? []);
  const paths = mounts
    .map((mount) => mount.split(':')[0] ?? '')
    .filter((path) => path.startsWith('.'));
  expect(paths.length).toBeGreaterThan(5);
  expect(paths.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
  expect(existsSync(join(folder, 'token'))).toBe(true);
});

test('ports are published on the loopback address alone', () => {
  for (const { ports } of Object.values(services)) {
    for (const port of ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});

test('services wait only for services that there are', () => {
  for (const { depends_on: needed } of Object.values(services)) {
    const names = Array.isArray(needed) ? (needed as string[]) : Object.keys(needed ?? {});
    for (const name of names) expect(services).toHaveProperty(name);
  }
});

test('the service understands its environment, and its pipeline is valid', () => {
  const { environment = {}, command } = services['tidemark'] ?? {};
  const known = Object.fromEntries(
    Object.entries(environment)
      // The file of the secret is inside the container only.
      .filter(([name]) => name !== 'TIDEMARK_HTTP_TOKEN_FILE')
      .map(([name, value]) => [name, String(value)]),
  );
  const config = loadConfig({ file: undefined, environment: known, flags: new Map() });
  expect(config['kafka.brokers']).toEqual(['kafka:9092']);
  expect(config['redis.url']).toBe('redis://redis:6379');
  expect(command).toEqual(['run', '/pipeline/bookings.sql']);
  const file = resolve(folder, '../../examples/bookings/bookings.sql');
  const { faults } = planPipeline([{ file, text: readFileSync(file, 'utf8') }]);
  expect(faults.filter(({ severity }) => severity === 'error')).toEqual([]);
});

test('Prometheus scrapes the service under a job that the alerts know', () => {
  const { scrape_configs: jobs } = parse(readFileSync(join(folder, 'prometheus.yaml'), 'utf8')) as {
    scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
  };
  expect(jobs[0]?.job_name).toMatch(/tidemark/);
  expect(jobs[0]?.static_configs[0]?.targets).toEqual(['tidemark:8080']);
});
