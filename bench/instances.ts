import { checkOutput } from './check-output.ts';
import { PaymentGenerator } from './generate.ts';
import type { BenchOptions } from './options.ts';
import type { BenchResult } from './result.ts';
import { BenchService, round, sleep } from './service.ts';
import { untilCommitted } from './until-committed.ts';
import type { BenchWorld } from './world.ts';
import { passThrough } from './world.ts';
import { writeSource } from './write-source.ts';

/** Several processes of one pipeline share its partitions; what a record costs them all together. */
export async function instances(
  world: BenchWorld,
  options: BenchOptions,
  tell: (text: string) => void,
): Promise<BenchResult> {
  const { records, seed, output, partitions, processes } = options;
  const file = world.pipelineFile(passThrough);
  tell(`starting ${processes} processes`);
  const services = Array.from(
    { length: processes },
    (_, index) => new BenchService(file, world.environment(`bench-${index}`)),
  );
  try {
    for (const service of services) await service.assigned();
    // The last one in moves partitions once more.
    await sleep(5_000);
    const before = services.map(({ cpuSeconds }) => cpuSeconds);
    const generator = new PaymentGenerator({ work: 'w1-a', records, keys: options.keys, seed });
    tell(`writing ${records} records`);
    const begin = performance.now();
    await writeSource(world.log, world.source, partitions, generator);
    await untilCommitted(world, partitions);
    const seconds = (performance.now() - begin) / 1000;
    const cpu = services.map(({ cpuSeconds }, index) => cpuSeconds - (before[index] ?? 0));
    const { differences, keys } = await checkOutput(world.log, world.target, output, generator);
    return {
      processes,
      records,
      seconds: round(seconds, 2),
      cpuSecondsPerMillion: round((cpu.reduce((sum, one) => sum + one, 0) / records) * 1e6, 2),
      differences,
      keys,
    };
  } finally {
    for (const service of services) await service.stop();
  }
}
