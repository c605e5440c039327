import { FlowError } from '../../base/errors.ts';
import type { LossCounts } from '../../refresh/loss.ts';
import { downstreamOf } from '../../refresh/refresh-report.ts';
import type { RefreshMode } from '../../refresh/refresh-request.ts';
import { isUntouched } from '../../refresh/refresh-states.ts';
import { lockFlows, lockName, unlockFlows } from '../topics/locks.ts';
import { gatherFacts } from './refresh-facts.ts';
import { refreshInPlace } from './refresh-in-place.ts';
import { previewRefresh } from './refresh-preview.ts';
import { openRefresh, type RefreshRecord } from './refresh-record.ts';
import { refuseLossOf } from './refresh-refusals.ts';
import {
  beginRun,
  locksOf,
  type RefreshOutcome,
  type RefreshRunOptions,
  settleRead,
} from './refresh-run.ts';

/** Refreshes one table beside the live one. */
export type RefreshOneBeside = (options: RefreshRunOptions) => Promise<RefreshOutcome>;

/**
 * Refreshes tables that read each other, in place, those first that are read. Invariant: before the first of them is
 * touched it is known that nothing is lost of any that was not accepted; and from then on the flow of each is held until
 * its own turn is over, so that none of them goes on from rows that are no more.
 */
export async function refreshTogether(
  all: readonly RefreshRunOptions[],
): Promise<readonly RefreshOutcome[]> {
  const [first] = all;
  if (first === undefined) return [];
  const { catalog, clock } = first;
  await catalog.read();
  const open = notYetDone(all);
  const locks = open.flatMap(locksOf);
  await lockFlows(catalog, locks, clock.now());
  try {
    if (!isBegun(all, open)) for (const one of open) await check(one, 'in_place');
  } catch (error) {
    await unlockFlows(catalog, locks, clock.now());
    throw error;
  }
  const outcomes: RefreshOutcome[] = [];
  for (const options of open) outcomes.push(await refreshInPlace(options));
  return outcomes;
}

/**
 * Refreshes tables that read each other, each beside the live one, those first that are read: a table is built from what
 * those above it are in their new generation. Invariants: before the first of them changes it is known that nothing is lost
 * of any that was not accepted; from the swap of a table on the flows below it are held until their own turn is over; and
 * each table is at any time whole, in its former generation or in the new one.
 */
export async function refreshTogetherBeside(
  all: readonly RefreshRunOptions[],
  refreshOne: RefreshOneBeside,
  /** Told of each table when its turn is over. */
  onOutcome?: (outcome: RefreshOutcome) => void,
): Promise<readonly RefreshOutcome[]> {
  const [first] = all;
  if (first === undefined) return [];
  await first.catalog.read();
  const open = notYetDone(all);
  if (!isBegun(all, open)) for (const one of open) await check(one, 'beside');
  const outcomes: RefreshOutcome[] = [];
  for (const [at, options] of open.entries()) {
    const below = belowOf(options, open.slice(at + 1));
    // What a table above is now is there to be read, so only those below count as one with it.
    const together = new Set([options, ...below].map(({ table }) => table.name));
    const done = all.filter((one) => !open.slice(at).includes(one));
    const isHeld = done.some((one) => belowOf(one, [options]).length > 0);
    const lost = isHeld ? await lostTogether(options) : undefined;
    const outcome = await refreshOne({ ...options, together, below, isHeld });
    outcomes.push(lost === undefined ? outcome : { ...outcome, lost });
    onOutcome?.(outcomes.at(-1) ?? outcome);
  }
  return outcomes;
}

function belowOf(
  { plan, table }: RefreshRunOptions,
  others: readonly RefreshRunOptions[],
): readonly RefreshRunOptions[] {
  const names = downstreamOf(plan, table);
  return others.filter((other) => names.includes(other.table.name));
}

/** What a table loses with those above it: by itself it loses nothing, since it is built from what they are. */
async function lostTogether(options: RefreshRunOptions): Promise<LossCounts | undefined> {
  const { log, plan, allowLoss, flow, catalog } = options;
  const state = openRefresh(catalog, flow.name)?.state;
  if (!allowLoss || (state !== undefined && !isUntouched(state))) return undefined;
  const { report } = await previewRefresh({ log, plan, facts: await gatherFacts(options) });
  return report.lost;
}

/** Whether an attempt before this one has changed a table. */
function isBegun(all: readonly RefreshRunOptions[], open: readonly RefreshRunOptions[]): boolean {
  if (open.length < all.length) return true;
  return all.some(({ catalog, flow }) => {
    const state = openRefresh(catalog, flow.name)?.state;
    return state !== undefined && !isUntouched(state);
  });
}

/** An attempt that was interrupted has left the locks of those whose turn was not over. */
function notYetDone(all: readonly RefreshRunOptions[]): readonly RefreshRunOptions[] {
  const since = all.flatMap((options) => {
    const lock = locksOf(options)[0];
    const known = lock && options.catalog.get('lock', lockName(lock))?.value['sinceMs'];
    return typeof known === 'number' ? [known] : [];
  });
  if (since.length === 0) return all;
  const sinceMs = Math.min(...since);
  return all.filter(({ catalog, flow }) => {
    const record = catalog.get('refresh', flow.name)?.value as RefreshRecord | undefined;
    return record?.state !== 'done' || record.changedAtMs < sinceMs;
  });
}

async function check(options: RefreshRunOptions, mode: RefreshMode): Promise<void> {
  const open = openRefresh(options.catalog, options.flow.name);
  if (open !== undefined && open.mode !== mode) {
    throw new FlowError('TABLE_LOCKED', `a refresh of table "${options.table.name}" is under way`, {
      hint: `Finish it first, or give it up: tidemark refresh ${options.table.name} --cancel`,
    });
  }
  await settleRead(options);
  await refuseLossOf(beginRun(options, mode), await gatherFacts(options));
}
