import { checkOutput } from './check-output.ts';
import { PaymentGenerator } from './generate.ts';
import { measuredRun } from './measured-run.ts';
import type { BenchOptions } from './options.ts';
import type { BenchResult } from './result.ts';
import { BenchService, round } from './service.ts';
import type { BenchWorld } from './world.ts';
import { passThrough } from './world.ts';
import { writeSource } from './write-source.ts';

/**
 * How long it takes until a service is back: first without anything to take up, then from an image of its state that is
 * there, then with the state wiped, so that it is rebuilt from the output topic. All count from the start of the process.
 * What the image costs is beyond the first, what the topic costs beyond the second.
 */
export async function restore(
  world: BenchWorld,
  options: BenchOptions,
  tell: (text: string) => void,
): Promise<BenchResult> {
  const { records, seed, output, partitions } = options;
  const file = world.pipelineFile(passThrough);
  tell('starting with nothing, twice: the first one makes the topics');
  await readyAfter(file, world);
  const empty = await readyAfter(file, world);
  const generator = new PaymentGenerator({ work: 'w1-a', records, keys: options.keys, seed });
  tell(`writing ${records} records`);
  await writeSource(world.log, world.source, partitions, generator);
  tell('making the table');
  await measuredRun(['run', file], world.environment(), world.folder);
  tell('starting with the state that is there');
  const kept = await readyAfter(file, world);
  await world.wipeState();
  tell('starting with the state wiped');
  const wiped = await readyAfter(file, world);
  const { differences, keys } = await checkOutput(world.log, world.target, output, generator);
  // What starting costs without a state to speak of is in both.
  const restoreSeconds = Math.max(0.001, wiped.seconds - kept.seconds);
  return {
    keys,
    emptyReadySeconds: round(empty.seconds, 2),
    keptReadySeconds: round(kept.seconds, 2),
    wipedReadySeconds: round(wiped.seconds, 2),
    imageKeysPerSecond: Math.round(keys / Math.max(0.001, kept.seconds - empty.seconds)),
    keysPerSecond: Math.round(keys / restoreSeconds),
    keysPerCpuSecond: Math.round(keys / Math.max(0.001, wiped.cpuSeconds - kept.cpuSeconds)),
    rssMb: Math.round(wiped.rssMb),
    differences,
  };
}

async function readyAfter(
  file: string,
  world: BenchWorld,
): Promise<{ seconds: number; cpuSeconds: number; rssMb: number }> {
  const service = new BenchService(file, world.environment());
  try {
    const seconds = await service.assigned(300);
    const { cpuSeconds, rssMb } = service;
    return { seconds, cpuSeconds, rssMb };
  } finally {
    // As a crash would: nothing is left to be tidied up by whoever comes next but what a crash leaves.
    await service.stop('SIGTERM');
  }
}
