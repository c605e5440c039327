import { FlowError } from '../../base/errors.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import { rowEncoder } from '../../data/json-encode.ts';
import type { Row } from '../../data/value.ts';
import { compile } from '../../expr/compile.ts';
import type { CompileContext, Frame } from '../../expr/expression.ts';
import type { ExpectationPlan, ExpectStep } from '../../plan/pipeline-plan.ts';

/** Whose expectations they are, how their results are told, and how a row is shown. */
export type Judged = {
  readonly owner: string;
  readonly count: (expectation: ExpectationPlan, isMet: boolean) => void;
  readonly rowText: (row: Row) => string;
};

/**
 * Whether a row may go on: every expectation is evaluated and told, fail wins over drop, drop over warn. Throws
 * EXPECTATION_FAILED where one of them stops the flow.
 */
export function compileJudge(
  expectations: readonly ExpectationPlan[],
  { context, frame }: { readonly context: CompileContext; readonly frame: Frame },
  judged: Judged,
): (row: Row) => boolean {
  const compiled = expectations.map((expectation) => ({
    expectation,
    evaluate: compile(expectation.condition, context),
  }));
  return (row) => {
    let isDropped = false;
    let failed: ExpectationPlan | undefined;
    for (const { expectation, evaluate } of compiled) {
      const isMet = evaluate(row, frame) === true;
      judged.count(expectation, isMet);
      if (isMet) continue;
      if (expectation.action === 'drop') isDropped = true;
      if (expectation.action === 'fail') failed ??= expectation;
    }
    if (failed !== undefined) throw expectationFailed(failed, judged, row);
    return !isDropped;
  };
}

/** The judge of a view, which shows a row by its own columns. */
export function compileViewJudge(
  step: ExpectStep,
  options: { readonly context: CompileContext; readonly frame: Frame },
  count: Judged['count'],
): (row: Row) => boolean {
  const encode = rowEncoder(
    step.columns.map(({ name, value }) => ({ name, type: value.type })),
    'kept',
  );
  const values = step.columns.map(({ value }) => compile(value, options.context));
  return compileJudge(step.expectations, options, {
    owner: `view "${step.view}"`,
    count,
    rowText: (row) =>
      rowText(
        encode,
        values.map((value) => value(row, options.frame)),
      ),
  });
}

/** The beginning of a row, for people. */
export function rowText(encode: ReturnType<typeof rowEncoder>, row: Row): string {
  const out = new ByteWriter(1024);
  encode(row, out);
  return out.copy().toString('utf8').slice(0, 2000);
}

function expectationFailed(
  { name, sql }: ExpectationPlan,
  { owner, rowText: textOf }: Judged,
  row: Row,
): FlowError {
  return new FlowError('EXPECTATION_FAILED', `expectation "${name}" of ${owner} failed`, {
    detail: `The condition ${sql} is not true for the row ${textOf(row)}.`,
    logDetail: `The condition ${sql} is not true for a row.`,
    hint: 'Correct the row at its producer, change the expectation to ON VIOLATION DROP ROW, or filter such rows in the query; then start again.',
  });
}
