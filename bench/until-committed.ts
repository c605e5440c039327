import { sleep } from './service.ts';
import type { BenchWorld } from './world.ts';

/** Until everything is committed that lies in the source topic, and then in the one between the stages. */
export async function untilCommitted(
  world: BenchWorld,
  partitions: number,
  lookMs = 100,
): Promise<void> {
  const group = `${world.name}.payments_current`;
  const numbers = Array.from({ length: partitions }, (_, partition) => partition);
  for (const topic of [world.source, `${group}.repartition`]) {
    const ends = await world.log.offsetRanges(topic, numbers);
    for (;;) {
      const committed = await world.log.committedOffsets(group, topic, numbers);
      const isDone = numbers.every(
        (partition) => (committed.get(partition)?.offset ?? 0) >= (ends.get(partition)?.end ?? 0),
      );
      if (isDone) break;
      await sleep(lookMs);
    }
  }
}
