import { FlowError } from '../base/errors.ts';
import { lockFlows, lockName, unlockFlows } from './locks.ts';
import { gatherFacts } from './refresh-facts.ts';
import { openRefresh, type RefreshRecord } from './refresh-record.ts';
import {
  beginRun,
  locksOf,
  type RefreshOutcome,
  type RefreshRunOptions,
  refreshInPlace,
  refuseLossOf,
} from './refresh-run.ts';

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
  const isTouched =
    open.length < all.length ||
    all.some(({ flow }) => openRefresh(catalog, flow.name)?.mode === 'in_place');
  await lockFlows(catalog, locks, clock.now());
  try {
    if (!isTouched) for (const one of open) await check(one);
  } catch (error) {
    await unlockFlows(catalog, locks, clock.now());
    throw error;
  }
  const outcomes: RefreshOutcome[] = [];
  for (const options of open) outcomes.push(await refreshInPlace(options));
  return outcomes;
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

async function check(options: RefreshRunOptions): Promise<void> {
  const open = openRefresh(options.catalog, options.flow.name);
  if (open !== undefined && open.mode !== 'in_place') {
    throw new FlowError('TABLE_LOCKED', `a refresh of table "${options.table.name}" is under way`, {
      hint: `Finish it first, or give it up: tidemark refresh ${options.table.name} --cancel`,
    });
  }
  await refuseLossOf(beginRun(options, 'in_place'), await gatherFacts(options));
}
