import type { RowStep } from '../pipeline-plan.ts';

/** The positions of a row in two nested arrays fill the bits that its provenance has for them. */
export const indexLevelsMax = 2;

/**
 * How many numbers tell apart the rows that one record gives: one for each generator, and one for each run of
 * joins, whose rows are counted together. Invariant: what numbers the rows (`task/row/row-steps.ts`) uses so many.
 */
export function indexLevels(steps: readonly RowStep[]): number {
  let levels = 0;
  let isInRun = false;
  for (const step of steps) {
    if (step.step === 'explode') {
      levels += 1;
      isInRun = false;
    } else if (isMultiplying(step) && !isInRun) {
      levels += 1;
      isInRun = true;
    }
  }
  return levels;
}

/** Whether a step is a join that may give several rows for one. */
export function isMultiplying(step: RowStep): boolean {
  return step.step === 'join' && (step.kind === 'inner' || step.kind === 'left');
}
