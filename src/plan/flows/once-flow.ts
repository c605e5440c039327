import type { Fault, Place } from '../../base/place.ts';
import { type FaultList, notSupportedYet } from '../faults.ts';
import type { BoundRelation } from '../relation.ts';

/**
 * Faults of a once flow's query. What a stream cannot do at all is only not there yet for a query that runs one time:
 * it sees all of its input.
 */
export function onceFaults(faults: FaultList, place: Place): readonly Fault[] {
  const all = faults.sorted([]);
  const refused = all.find(({ code }) => code.endsWith('_REFUSED'));
  if (refused === undefined) return all;
  const what = 'a once flow that does more than look at one row after the other';
  const hint =
    'Aggregate in a materialized view over the table; projections, filters, EXPLODE, UNION ALL and joins can run once.';
  return [
    ...all.filter((fault) => fault !== refused && !fault.code.endsWith('_REFUSED')),
    notSupportedYet(what, refused.place ?? place, hint),
  ];
}

/** An AUTO CDC flow that runs once streams up to an end, and the end of a table of the pipeline is none for it. */
export function checkOnceSources(relation: BoundRelation, place: Place, faults: FaultList): void {
  const table = relation.branches.find(({ source }) => source.table !== undefined)?.source.table;
  if (table === undefined) return;
  const what = `AUTO CDC ONCE over table "${table}" of the pipeline`;
  const hint = 'Read the source of that table, or drop ONCE.';
  faults.add(notSupportedYet(what, place, hint));
}
