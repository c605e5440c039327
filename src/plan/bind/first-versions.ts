import type { Relation } from '../../sql/ast.ts';
import { type TableDataset, tableSourcePlan } from '../catalog.ts';
import { notSupportedYet, planWarning } from '../faults.ts';
import { outputModeOf } from '../output-mode.ts';
import { type BoundRelation, tableRelation } from '../relation.ts';
import type { BindContext } from './bind-context.ts';

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
  const isHistory = catalog.flows.some(
    ({ target, body }) =>
      catalog.find(target) === table && body.node === 'auto_cdc' && body.cdc.scdType === 2,
  );
  if (isHistory) {
    const hint = `Read "${table.name}" in a materialized view.`;
    faults.add(notSupportedYet('skipChangeCommits over a history (SCD type 2)', place, hint));
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
