import { expect } from 'vitest';
import type { Log } from '../../src/ports/log.ts';
import { openCatalog } from '../../src/runtime/topics/catalog.ts';
import { FailingLog } from './failing-log.ts';
import type { RefreshWorld } from './refresh-world.ts';

export type RefreshCrashOptions = {
  /** As it is before the refresh. */
  readonly open: () => Promise<RefreshWorld>;
  readonly refresh: (world: RefreshWorld, log: Log) => Promise<unknown>;
  /** The flow under whose name the catalog remembers the refresh. */
  readonly flow: string;
  /** After the interrupted attempt, before the next one; undefined: nothing is tried. */
  readonly between?: ((world: RefreshWorld) => Promise<void>) | undefined;
  /** Once it has come to its end and the pipeline has run. */
  readonly check: (world: RefreshWorld, killedAt: string) => Promise<void>;
  /** Whether the call at which it dies still has its effect. */
  readonly hasEffect: boolean;
  /** Every so many calls. TEST_CRASH_STEP=1 kills at every single one. */
  readonly step: number;
};

const callsBound = 3_000;

/**
 * Has a refresh die at one call to the log after another, each time in a world of its own, and starts it again. Gives the
 * number of worlds. Invariant: the last of them has seen no death.
 */
export async function refreshThroughCrashes(options: RefreshCrashOptions): Promise<number> {
  const { open, refresh, flow, between, check, hasEffect } = options;
  const step = Number(process.env['TEST_CRASH_STEP'] ?? options.step);
  for (let callsMax = 0, worlds = 1; ; callsMax += step, worlds += 1) {
    const world = await open();
    const client = world.log.connect();
    const failing = new FailingLog(client, callsMax, hasEffect);
    const error = await refresh(world, failing.log).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    client.kill();
    if (error !== undefined) {
      expect(failing.hasFailed, String(error)).toBe(true);
      await between?.(world);
      const catalog = await openCatalog(world.log, `${world.pipeline}.catalog`);
      if (catalog?.get('refresh', flow)?.value['state'] !== 'done') {
        await refresh(world, world.log);
      }
    }
    await world.update();
    await check(world, `killed at call ${callsMax}`);
    if (!failing.hasFailed) return worlds;
    expect(callsMax).toBeLessThan(callsBound);
  }
}

/** An update between two attempts is refused, or finds the flow as it was. */
export async function updateOrLocked(world: RefreshWorld): Promise<'ran' | 'TABLE_LOCKED'> {
  const early = await world.update().then(
    () => 'ran',
    (thrown: unknown) => (thrown as { code: string }).code,
  );
  expect(['ran', 'TABLE_LOCKED']).toContain(early);
  return early as 'ran' | 'TABLE_LOCKED';
}
