import type { BenchOptions } from './options.ts';
import type { BenchResult } from './result.ts';
import { BenchService, round, sleep } from './service.ts';
import type { BenchWorld } from './world.ts';

const settleMs = 5_000;

/** What a service costs that has nothing to do: its processor time while no record comes. */
export async function idle(world: BenchWorld, { seconds }: BenchOptions): Promise<BenchResult> {
  const service = new BenchService(world.pipelineFile(), world.environment());
  try {
    await service.assigned();
    await sleep(settleMs);
    const before = service.cpuSeconds;
    const begin = performance.now();
    await sleep(seconds * 1000);
    const elapsed = (performance.now() - begin) / 1000;
    return {
      cpuMsPerSecond: round(((service.cpuSeconds - before) / elapsed) * 1000, 2),
      rssMb: Math.round(service.rssMb),
      differences: 0,
    };
  } finally {
    await service.stop();
  }
}
