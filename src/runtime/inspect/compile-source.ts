import { oncePer, oncePerPair } from '../../base/once-per.ts';
import type { FlowPlan, SourcePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { RowProgram } from '../../task/row/row-program.ts';
import type { FindPartners } from '../../task/row/row-steps.ts';
import type { FlowFacts, SourceFacts } from './flow-facts.ts';

/**
 * The programs that a record of a source runs through: one for each branch of the query that reads it. Where nothing but the
 * plan is in a program, there is one, whoever starts and how often. Invariant: a slice is run through a program without a
 * pause, and a program knows nothing of the slice before.
 */
export function compileSource(
  facts: FlowFacts,
  source: SourceFacts,
  partners: FindPartners,
): RowProgram[] {
  const isChained = facts.sources.some(({ isTable }) => isTable);
  const hasStatics = facts.statics.length > 0;
  return source.branches.map(({ branch, source: plan }) => {
    const make = (): RowProgram =>
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
      });
    // Rows of a table carry where they came from, and a static side is the runner's own.
    if (hasStatics || plan.table !== undefined) return make();
    const known = programsOf(facts.flow, facts.table)(plan);
    const name = `${branch} ${isChained} ${facts.twinsBefore} ${facts.timeZone}`;
    const program = known.get(name) ?? make();
    known.set(name, program);
    return program;
  });
}

const programsOf = oncePerPair((_flow: FlowPlan, _table: TablePlan) =>
  oncePer((_source: SourcePlan) => new Map<string, RowProgram>()),
);
