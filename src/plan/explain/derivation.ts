import { formatType } from '../../data/type-text.ts';
import { sha1 } from '../../expr/digest/sha1.ts';
import type { Expression } from '../../expr/expression.ts';
import { expressionText } from '../../expr/print.ts';
import { type JoinStep, joinedColumns, type RowStep } from '../pipeline-plan.ts';
import type { BoundBranch } from '../relation.ts';

/** What becomes of a record on its way to the target, taken apart by what a change of it means. */
export type Derivation = {
  readonly values: readonly string[];
  readonly filters: readonly string[];
  readonly generators: readonly string[];
};

/** A text that is longer is told by its beginning and its digest. */
const textMax = 400;

/**
 * How each column of the last step comes from the columns of the source, which stand by name. Invariant: equal texts,
 * equal values; subqueries, their names and the order of columns leave no trace.
 */
export function derivation({ source, steps }: BoundBranch): Derivation {
  let columns = source.columns.map(
    ({ name, type }) => `${JSON.stringify(name)}:${formatType(type)}`,
  );
  const filters: string[] = [];
  const generators: string[] = [];
  for (const step of steps) {
    columns = follow(step, columns, { filters, generators });
  }
  return { values: columns, filters, generators };
}

type Made = { readonly filters: string[]; readonly generators: string[] };

function follow(step: RowStep, columns: string[], { filters, generators }: Made): string[] {
  const textOf = (value: Expression): string => textOver(columns, value);
  switch (step.step) {
    case 'expect':
      return columns;
    case 'filter':
      filters.push(textOf(step.condition));
      return columns;
    case 'watermark':
      // It only counts.
      return columns;
    case 'explode': {
      const text = `${step.form}${step.outer ? '_outer' : ''}(${textOf(step.value)})`;
      generators.push(text);
      const number = generators.length;
      return [...columns, ...step.columns.map((_, at) => bounded(`${text}/${number}.${at}`))];
    }
    case 'join': {
      const text = bounded(joinText(step, columns));
      generators.push(text);
      const number = generators.length;
      return [
        ...columns,
        ...joinedColumns(step).map((_, at) => bounded(`${text}/${number}.${at}`)),
      ];
    }
    case 'project':
      return step.columns.map(({ value }) => textOf(value));
  }
}

function bounded(text: string): string {
  if (text.length <= textMax) return text;
  return `${text.slice(0, 80)}… ${sha1(Buffer.from(text, 'utf8'))}`;
}

function textOver(columns: readonly string[], value: Expression): string {
  return bounded(expressionText(value, ({ index }) => columns[index] ?? `#${index}`));
}

/** What a join does, the rows that it looks up included. */
function joinText({ kind, side, keys, condition }: JoinStep, columns: readonly string[]): string {
  const sideColumns = side.columns.map(({ name }) => `side.${JSON.stringify(name.toLowerCase())}`);
  const parts = keys.map(
    ({ left, right, nullSafe }) =>
      `${textOver(columns, left)} ${nullSafe ? '<=>' : '='} ${textOver(sideColumns, right)}`,
  );
  if (condition !== undefined) parts.push(textOver([...columns, ...sideColumns], condition));
  const branches = side.branches.map((branch) => {
    const { values, filters, generators } = derivation(branch);
    return JSON.stringify([branch.source.topic, branch.source.format, values, filters, generators]);
  });
  return `${kind} join ${bounded(branches.join(' union '))} on ${parts.join(' and ')}`;
}
