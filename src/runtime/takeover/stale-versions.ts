import type { Log } from '../../ports/log.ts';
import type { SourceFacts } from '../inspect/flow-facts.ts';
import { eachSlice } from '../refresh/refresh-fold.ts';
import type { Catalog } from '../topics/catalog.ts';
import { generationStart, swapsOf } from './generation.ts';

export type VersionsToRead = {
  readonly log: Log;
  readonly catalog: Catalog;
  readonly source: SourceFacts;
  readonly partition: number;
  /** The first record that is read, and the first that is there. */
  readonly position: number;
  readonly start: number;
};

/**
 * Which records of a table whose rows are replaced are no version of a key any more, since a full refresh of the table came
 * after them: what it wrote may be of a lower sequence, or say that the key is gone. Undefined: none that is read. Invariant:
 * where it says no, the record is the last of its key, or it came after all refreshes.
 */
export async function staleVersions({
  log,
  catalog,
  source,
  partition,
  position,
  start,
}: VersionsToRead): Promise<((offset: number) => boolean) | undefined> {
  const { topic, branches } = source;
  const replaced = branches.flatMap((branch) => branch.source.replaced ?? [])[0];
  if (replaced === undefined) return undefined;
  const swaps = swapsOf(catalog, replaced.flow);
  const to = Math.max(0, ...swaps.flatMap((swap) => (swap.partition === partition ? swap.to : [])));
  if (position >= to) return undefined;
  const floor = generationStart(swaps, partition);
  if (floor === to) return (offset) => offset < floor;
  const last = await lastOfEachKey(log, topic, { partition, from: Math.max(start, floor), to });
  // Records come by offset, so that what is asked next is never far.
  let at = 0;
  return (offset) => {
    if (offset >= to) return false;
    if ((last[at - 1] ?? -1) >= offset) at = 0;
    while (at < last.length && (last[at] as number) < offset) at += 1;
    return last[at] !== offset;
  };
}

async function lastOfEachKey(
  log: Log,
  topic: string,
  span: { readonly partition: number; readonly from: number; readonly to: number },
): Promise<Float64Array> {
  const last = new Map<string, number>();
  await eachSlice(log, topic, span, ({ records }) => {
    while (records.next() && records.offset < span.to) {
      last.set(records.bytes.toString('latin1', records.keyStart, records.keyEnd), records.offset);
    }
  });
  return Float64Array.from(last.values()).sort();
}
