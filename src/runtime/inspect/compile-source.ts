import { RowProgram } from '../../task/row/row-program.ts';
import type { FindPartners } from '../../task/row/row-steps.ts';
import type { FlowFacts, SourceFacts } from './flow-facts.ts';

/** The programs that a record of a source runs through: one for each branch of the query that reads it. */
export function compileSource(
  facts: FlowFacts,
  source: SourceFacts,
  partners: FindPartners,
): RowProgram[] {
  const isChained = facts.sources.some(({ isTable }) => isTable);
  return source.branches.map(
    ({ branch, source: plan }) =>
      new RowProgram({
        flow: facts.flow,
        branch,
        isChained,
        twinsBefore: facts.twinsBefore,
        source: plan,
        table: facts.table,
        timeZone: facts.timeZone,
        isSpliced: true,
        partners,
      }),
  );
}
