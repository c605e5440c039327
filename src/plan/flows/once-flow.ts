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

/** What a table of the pipeline holds when a once flow starts first depends on which flow was quicker. */
export function checkOnceSources(relation: BoundRelation, place: Place, faults: FaultList): void {
  const table = relation.branches.find(({ source }) => source.table !== undefined)?.source.table;
  if (table === undefined) return;
  const hint =
    'What that table holds when the flow starts first depends on which flow was quicker. Read the source of that table.';
  faults.add(notSupportedYet(`a once flow over table "${table}" of the pipeline`, place, hint));
}
