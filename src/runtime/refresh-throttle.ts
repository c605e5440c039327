import type { Clock } from '../ports/clock.ts';
import type { Log, LogReader, Slice } from '../ports/log.ts';

/**
 * The same log, with readers that give no more than so many records of some topics a second, together. Invariant: nothing
 * is held back for good, and what is no source is not slowed down.
 */
export function throttledLog(
  log: Log,
  clock: Clock,
  limit: { readonly recordsPerSecond: number; readonly topics: ReadonlySet<string> },
): Log {
  let freeAtMs = clock.monotonic();
  const note = (slices: readonly Slice[]): void => {
    let records = 0;
    for (const { topic, recordCountMax } of slices) {
      if (limit.topics.has(topic)) records += recordCountMax;
    }
    freeAtMs = Math.max(freeAtMs, clock.monotonic()) + (records * 1000) / limit.recordsPerSecond;
  };
  const poll = async (reader: LogReader, maxWaitMs: number): Promise<readonly Slice[]> => {
    const waitMs = freeAtMs - clock.monotonic();
    if (waitMs > maxWaitMs) {
      await clock.sleep(maxWaitMs);
      return [];
    }
    if (waitMs > 0) await clock.sleep(waitMs);
    const slices = await reader.poll(maxWaitMs);
    note(slices);
    return slices;
  };
  return overriding(log, {
    openReader: () => {
      const reader = log.openReader();
      return overriding(reader, { poll: (maxWaitMs) => poll(reader, maxWaitMs) });
    },
  });
}

function overriding<Target extends object>(target: Target, own: Partial<Target>): Target {
  return new Proxy(target, {
    get: (inner, name) => {
      const override: unknown = Reflect.get(own, name);
      if (override !== undefined) return override;
      const member: unknown = Reflect.get(inner, name, inner);
      return typeof member === 'function' ? member.bind(inner) : member;
    },
  });
}
