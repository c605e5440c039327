import { FlowError } from '../../base/errors.ts';
import { builtFlowOf } from '../../plan/bind/names.ts';
import { groupOf } from '../../plan/topology.ts';
import type { StateStore } from '../../ports/state-store.ts';
import { type LockFacts, lockFlows, unlockFlows } from '../topics/locks.ts';
import { type BesideOptions, claimMs } from './refresh-beside.ts';
import { refuseTouched } from './refresh-beside-refusals.ts';
import { BuiltGeneration } from './refresh-built.ts';
import { flowsOf } from './refresh-facts.ts';
import { openRefresh } from './refresh-record.ts';
import { beginRun, locksOf } from './refresh-run.ts';

/** Whoever builds looks every two seconds whether it is still wanted. */
const builderWaitMs = 6_000;
const pollMs = 200;

export type CancelOptions = Omit<BesideOptions, 'state'> & {
  /** Whoever builds may hold it, and lets go of it when it hears of the cancellation. */
  readonly openState: () => Promise<StateStore>;
};

/**
 * Gives up a refresh that has not touched the table yet, and removes what it has built. Invariant: whoever builds is told before
 * anything is taken from under it.
 */
export async function cancelRefresh({ openState, ...options }: CancelOptions): Promise<void> {
  const { catalog, clock, table, flow } = options;
  await catalog.read();
  const open = openRefresh(catalog, flow.name);
  if (open === undefined) {
    throw new FlowError('USAGE', `no refresh of table "${table.name}" is under way`);
  }
  refuseTouched(options, open);
  // Whoever builds stops when it finds this lock, and nobody begins to swap while it stands.
  const claim: LockFacts = {
    flow: builtFlowOf(flow.name),
    command: options.command,
    token: 'cancel',
    untilMs: clock.now() + claimMs,
  };
  await lockFlows(catalog, [claim], clock.now());
  try {
    refuseTouched(options, openRefresh(catalog, flow.name) ?? open);
    const run = beginRun(options, 'beside');
    const { log, waitMs = builderWaitMs } = options;
    const untilMs = clock.monotonic() + Math.min(waitMs, builderWaitMs);
    for (const { name } of flowsOf(options.plan, table)) {
      const group = groupOf(options.pipeline, builtFlowOf(name));
      // One that was killed stays a member until its session has timed out, and is not waited for.
      while ((await log.groupMembers(group)).length > 0 && clock.monotonic() < untilMs) {
        await clock.sleep(pollMs);
      }
    }
    const state = await openState();
    try {
      await new BuiltGeneration({ ...options, state }, run).cleanUp();
    } finally {
      await state.close().catch(() => undefined);
    }
    await run.progress.close('cancelled', clock.now(), locksOf(options));
  } finally {
    await unlockFlows(catalog, [claim], clock.now());
  }
}
