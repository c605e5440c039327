import type { Fault, Place } from '../../base/place.ts';
import type { Relation } from '../../sql/ast.ts';
import { type Catalog, type TableDataset, tableSourcePlan } from '../catalog.ts';
import { planFault, planWarning } from '../faults.ts';
import { outputModeOf } from '../output-mode.ts';
import { type BoundRelation, tableRelation } from '../relation.ts';
import type { BindContext } from './bind-context.ts';

/** Changes take rows back, which nobody who has streamed them would hear of. */
export function streamOfChanges(table: TableDataset, place: Place, catalog: Catalog): Fault {
  const { name } = table;
  const hasHistory = isHistory(table, catalog);
  return planFault(
    'STREAM_OF_REPLACED_ROWS',
    `the rows of streaming table "${name}" are changed by AUTO CDC, so no flow can stream them`,
    place,
    {
      detail: hasHistory
        ? 'Each version of a history (SCD type 2) holds all those before, so there is no first one to read with skipChangeCommits either.'
        : 'Which of its versions it would see depends on how the input was batched.',
      hint: hasHistory
        ? `Use a materialized view over "${name}", or stream what its AUTO CDC flows read.`
        : `Use a materialized view over "${name}", or read the first version of each key: STREAM(${name}) WITH (skipChangeCommits = true).`,
    },
  );
}

function isHistory(table: TableDataset, catalog: Catalog): boolean {
  return catalog.flows.some(
    ({ target, body }) =>
      catalog.find(target) === table && body.node === 'auto_cdc' && body.cdc.scdType === 2,
  );
}

/**
 * Of a table whose rows are replaced the first version of each key, as if it had been appended. Later ones are changes,
 * and skipped; which one is the first that is written depends on how the input was batched.
 */
export function bindFirstVersions(
  table: TableDataset,
  { place }: Extract<Relation, { readonly node: 'named' }>,
  qualifier: readonly string[],
  context: BindContext,
): BoundRelation | undefined {
  const { catalog, faults } = context;
  if (isHistory(table, catalog)) {
    faults.add(streamOfChanges(table, place, catalog));
    return undefined;
  }
  const columns = context.columnsOf(table);
  if (columns === undefined) return undefined;
  faults.add(
    planWarning(
      'NONDETERMINISTIC',
      `which rows of table "${table.name}" are read depends on their order`,
      place,
      {
        detail:
          'With skipChangeCommits the first version of a key that a commit brings is read, and every later one is skipped.',
        hint: `Read "${table.name}" in a materialized view where the result must not depend on it.`,
      },
    ),
  );
  const source = tableSourcePlan(table, columns);
  const name = `${source.name} (skipChangeCommits)`;
  const firstVersions = outputModeOf(table);
  return tableRelation({ ...source, name, skipsChanges: true, firstVersions }, qualifier, place);
}
