import type { Log } from '../../ports/log.ts';
import { NewerOwnerError } from '../../ports/newer-owner.ts';
import type { Catalog } from '../topics/catalog.ts';

/**
 * Uses the state of a task under an epoch, or under a higher one where the state stands under an epoch that the catalog
 * has never given: it was left by a pipeline of that name on other topics, or by this one before its catalog was made
 * anew. Invariant: whoever the catalog knows as newer stays the owner.
 */
export async function pastFormerEpochs<Result>(
  { log, catalog }: { readonly log: Log; readonly catalog: Pick<Catalog, 'topic'> },
  epoch: number,
  use: (epoch: number) => Promise<Result>,
): Promise<Result> {
  try {
    return await use(epoch);
  } catch (error) {
    if (!(error instanceof NewerOwnerError)) throw error;
    // An epoch is an offset of the catalog topic, after the record of its takeover.
    const end = (await log.offsetRanges(catalog.topic, [0])).get(0)?.end;
    if (end === undefined || error.standingEpoch <= end) throw error;
    return await use(error.standingEpoch + 1);
  }
}
