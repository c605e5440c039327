import { checkOutput } from './check-output.ts';
import { PaymentGenerator } from './generate.ts';
import { measuredRun } from './measured-run.ts';
import type { BenchOptions } from './options.ts';
import type { BenchResult } from './result.ts';
import { round } from './service.ts';
import type { BenchWorld } from './world.ts';
import { mixedExpressions, passThrough } from './world.ts';
import { writeSource } from './write-source.ts';

/**
 * The source is written first, then `run --once` is timed as a process of its own, then every key of the output topic
 * is checked against the reference of the generator.
 */
export async function throughput(
  world: BenchWorld,
  options: BenchOptions,
  tell: (text: string) => void,
): Promise<BenchResult> {
  const { work, records, seed, output, partitions } = options;
  const generator = new PaymentGenerator({ work, records, keys: options.keys, seed });
  tell(`writing ${records} records to ${world.source}`);
  await writeSource(world.log, world.source, partitions, generator);
  const file = world.pipelineFile(work === 'expressions' ? mixedExpressions : passThrough);
  tell('running the service');
  const run = await measuredRun(['run', file], world.environment(), world.folder);
  tell('checking every key');
  const { differences, keys } = await checkOutput(world.log, world.target, output, generator);
  return {
    records,
    seconds: round(run.seconds, 2),
    startSeconds: round(run.startSeconds, 2),
    recordsPerSecond: Math.round(records / run.seconds),
    cpuSecondsPerMillion: round((run.cpuSeconds / records) * 1e6, 2),
    peakRssMb: Math.round(run.peakRssMb),
    longestGcMs: round(run.longestGcMs, 1),
    outputRecords: run.outputRecords,
    differences: differences + (run.records === records ? 0 : 1),
    keys,
    commits: run.commits,
  };
}
