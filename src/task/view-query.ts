import { FlowError } from '../base/errors.ts';
import type { Row } from '../data/value.ts';
import { sha2 } from '../expr/digest/sha2.ts';
import { ExpressionError } from '../expr/expression-error.ts';
import type { BatchPlan } from '../plan/batch/batch-plan.ts';
import type { MaterializedViewPlan } from '../plan/pipeline-plan.ts';
import { type BatchSettings, runBatch } from './batch-run.ts';

/** All rows that a materialized view has over its inputs; throws BAD_ROW where an expression fails on one of theirs. */
export function viewRows(view: MaterializedViewPlan, settings: BatchSettings): Row[] {
  const { name, query, replaceWhere } = view;
  return batchRows(
    query,
    settings,
    replaceWhere === undefined
      ? {
          message: `materialized view "${name}" cannot be computed`,
          effect: 'The view keeps the rows that it had.',
        }
      : {
          message: `the rows of REPLACE WHERE flow "${name}" cannot be computed`,
          effect: 'The table keeps the rows that it had.',
        },
  );
}

/** All rows of a batch query; `failed`: what is said where an expression fails on one of its inputs. */
export function batchRows(
  query: BatchPlan,
  settings: BatchSettings,
  failed: { readonly message: string; readonly effect: string },
): Row[] {
  try {
    return [...runBatch(query, settings)];
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new FlowError('BAD_ROW', failed.message, {
      detail: `${error.errorClass}: ${error.message}. ${failed.effect}`,
      hint: 'Correct the rows or the query (try_cast, try_divide and the like give NULL instead); then start again.',
    });
  }
}

/** Whether it was rows that a query failed on: over all of them it fails as well, and says so in its own words. */
export function isOfRows(error: unknown): boolean {
  if (error instanceof ExpressionError) return true;
  const codes: readonly string[] = ['EXPECTATION_FAILED', 'RECORD_CORRUPT'];
  return error instanceof FlowError && codes.includes(error.code);
}

/** Short enough for a checkpoint; equal exactly when the fingerprints are. */
export function viewDigest({ fingerprint }: MaterializedViewPlan): string {
  return sha2(Buffer.from(fingerprint, 'utf8'), 256) ?? '';
}
