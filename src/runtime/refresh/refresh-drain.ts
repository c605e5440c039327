import type { Log, OffsetRange } from '../../ports/log.ts';
import { overriding } from './overriding.ts';

/** By topic, where each partition counts as ended. */
export type SourceEnds = ReadonlyMap<string, ReadonlyMap<number, number>>;

/**
 * The same log, whose sources end where they are said to. Invariant: nothing of them is read, so that flows which stand there
 * take in what is on its way between their stages, and leave nothing there.
 */
export function endedLog(log: Log, ends: SourceEnds): Log {
  return overriding(log, {
    offsetRanges: async (topic, partitions) => {
      const found = await log.offsetRanges(topic, partitions);
      const known = ends.get(topic);
      if (known === undefined) return found;
      return new Map([...found].map(([at, range]) => [at, endedAt(range, known.get(at) ?? 0)]));
    },
    openReader: () => {
      const reader = log.openReader();
      return overriding(reader, {
        poll: async (maxWaitMs) =>
          (await reader.poll(maxWaitMs)).filter(({ topic }) => !ends.has(topic)),
      });
    },
  });
}

function endedAt(range: OffsetRange, end: number): OffsetRange {
  const at = Math.max(range.start, Math.min(range.stable, end));
  return { ...range, stable: at, end: at };
}
