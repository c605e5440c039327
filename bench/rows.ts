import type { BenchOptions } from './options.ts';
import { benchOptions } from './options.ts';

const embeddedRows = ['--state', 'embedded', '--output', 'rows'];
const embeddedSets = ['--state', 'embedded', '--output', 'row_set'];
const redisSets = ['--state', 'redis', '--output', 'row_set'];
const redisRows = ['--state', 'redis', '--output', 'rows'];

/** Every row of the table that the service is measured by, as arguments of the benchmark. */
const rows: readonly (readonly string[])[] = [
  ...[embeddedRows, embeddedSets, redisRows, redisSets].map((kind) => ['--work', 'w1-a', ...kind]),
  ['--work', 'w1-a', ...embeddedRows, '--records', '6000000', '--keys', '200000'],
  ['--work', 'w1-a', ...embeddedRows, '--shuffle', 'topic'],
  ['--work', 'w1-b', ...embeddedRows],
  ['--work', 'w1-b', ...embeddedSets],
  ['--work', 'w2', ...embeddedRows],
  ['--work', 'w2', ...embeddedSets],
  ['--work', 'w2-a', ...embeddedRows],
  ['--work', 'w2-a', ...embeddedSets],
  ['--work', 'expressions', ...embeddedRows],
  ['--work', 'expressions', ...embeddedSets],
  ...['memory', 'topic'].flatMap((shuffle) =>
    ['1000', '10000'].flatMap((rate) =>
      ['100', '20'].map((commitMs) => [
        ...['--work', 'latency', '--rate', rate, '--commit-ms', commitMs, '--shuffle', shuffle],
        ...embeddedRows,
      ]),
    ),
  ),
  ['--work', 'kill', ...embeddedRows],
  ['--work', 'kill', ...redisSets],
  ['--work', 'restore', ...embeddedRows, '--keys', '1000000'],
  ['--work', 'restore', ...redisSets, '--keys', '1000000'],
  ['--work', 'memory'],
  ['--work', 'memory', '--state', 'redis'],
  ['--work', 'idle', ...embeddedRows],
  ['--work', 'idle', ...redisSets],
  ...['1', '2', '4'].map((processes) => [
    ...['--work', 'instances', '--processes', processes],
    ...redisSets,
  ]),
];

/** The rows with a share of their records, each with what was given beside. */
export function tableRows(given: BenchOptions): readonly BenchOptions[] {
  const { percent, compare, keepIn, json } = given;
  return rows.map((row) => {
    const options = benchOptions(row);
    const part = (count: number): number => Math.max(1, Math.round((count * percent) / 100));
    const keys = options.keys === undefined ? undefined : part(options.keys);
    return { ...options, records: part(options.records), keys, compare, keepIn, json };
  });
}
