import { oncePer, oncePerPair } from '../../base/once-per.ts';
import { rowEncoder } from '../../data/json-encode.ts';
import type { Column } from '../../data/types.ts';
import { columnsOf } from '../../expr/columns.ts';
import { changeColumns } from '../../plan/flows/cdc-plan.ts';
import { sourceColumnsOf } from '../../plan/optimize.ts';
import {
  type BranchPlan,
  type FlowPlan,
  isHelping,
  type SourcePlan,
  type TablePlan,
} from '../../plan/pipeline-plan.ts';
import type { ReadColumns } from './source-reader.ts';
import { passedThrough, type WrittenColumns } from './spliced-row.ts';

/** Which columns one branch of a flow reads, copies, decodes and writes. */
export type RowLayout = {
  /** Of rows at the branch's end. */
  readonly columns: readonly Column[];
  /** Those of a change feed that are left out where they are NULL. */
  readonly omitted: ReadonlySet<number>;
  /** Target columns that pass through and that nothing looks at: they are never decoded. */
  readonly unread: ReadonlySet<number>;
  /** The source column that is the sequence, where it is a BIGINT that nothing else looks at; else -1. */
  readonly sequenceSource: number;
  readonly read: ReadColumns;
  readonly key: WrittenColumns;
  readonly row: WrittenColumns;
  readonly rowText: ReturnType<typeof rowEncoder>;
};

type RowLayoutOptions = {
  readonly flow: FlowPlan;
  readonly branch: number;
  readonly source: SourcePlan;
  readonly table: TablePlan;
  readonly isSpliced: boolean;
};

/** It follows from the plan alone: of each branch there is one, whoever starts and how often. Invariant: it is never changed. */
export function rowLayoutOf(options: RowLayoutOptions): RowLayout {
  const { flow, table, source, branch, isSpliced } = options;
  const known = layoutsOf(flow, table)(source);
  const name = branch * 2 + (isSpliced ? 1 : 0);
  const layout = known.get(name) ?? rowLayout(options);
  known.set(name, layout);
  return layout;
}

const layoutsOf = oncePerPair((_flow: FlowPlan, _table: TablePlan) =>
  oncePer((_source: SourcePlan) => new Map<number, RowLayout>()),
);

function rowLayout({ flow, branch, source, table, isSpliced }: RowLayoutOptions): RowLayout {
  const plan = flow.branches[branch] as BranchPlan;
  const columns = rowColumns(flow, branch, table);
  const omitted = new Set(flow.kind === 'auto_cdc' ? flow.ignoreNull : []);
  // What is left out is known of decoded values only.
  const passed =
    isSpliced && omitted.size === 0 ? passedThrough(plan, source, columns) : columns.map(() => -1);
  const sequenceColumn = copiedSequence(flow, table, passed);
  const needed = neededColumns(flow, table, { passed, sequenceColumn });
  const unread = new Set(passed.flatMap((from, to) => (from >= 0 && !needed.has(to) ? [to] : [])));
  const keys = keysOf(flow);
  const isCompared = flow.kind === 'replace_using' || flow.kind === 'sift';
  const zeros = isCompared && flow.distinct ? 'merged' : 'kept';
  return {
    columns,
    omitted,
    unread,
    sequenceSource: needed.has(sequenceColumn) ? -1 : (passed[sequenceColumn] ?? -1),
    read: {
      source,
      used: sourceColumns(plan, source.columns.length, unread),
      located: new Set(passed.filter((from) => from >= 0)),
    },
    key: {
      columns: keys.map((position) => columns[position] as Column),
      positions: keys,
      // One that is decoded all the same is written from its value.
      passed: keys.map((position) => (needed.has(position) ? -1 : (passed[position] ?? -1))),
      zeros: 'merged',
    },
    row: { columns, positions: [...columns.keys()], passed, zeros },
    rowText: rowEncoder(columns, zeros),
  };
}

/** Positions of the source's columns that any step before the first projection, or that projection, reads. */
function sourceColumns(
  { steps }: BranchPlan,
  sourceColumnCount: number,
  unread: ReadonlySet<number>,
): ReadonlySet<number> {
  const last = steps.at(-1);
  const read = steps.map((step) =>
    step === last && step.step === 'project'
      ? { ...step, columns: step.columns.filter((_, to) => !unread.has(to)) }
      : step,
  );
  return new Set([...sourceColumnsOf(read)].filter((index) => index < sourceColumnCount));
}

/** The columns that rows of a branch have at its end. */
function rowColumns(flow: FlowPlan, branch: number, table: TablePlan): readonly Column[] {
  if (flow.kind === 'auto_cdc') return changeColumns(flow, table);
  if (flow.kind !== 'join') return table.columns;
  return branch < flow.leftBranches ? flow.join.left.columns : flow.join.right.columns;
}

function keysOf(flow: FlowPlan): readonly number[] {
  if (flow.kind === 'join') return [...flow.join.left.keys.keys()];
  if (flow.kind === 'sift') return flow.distinct ? [...flow.definition.columns.keys()] : [];
  return flow.kind === 'append' ? [] : flow.keys;
}

/** The target column that is the sequence, where its digits are copied and no rule looks at its value; else -1. */
function copiedSequence(flow: FlowPlan, table: TablePlan, passed: readonly number[]): number {
  if (flow.kind !== 'replace_using' || table.sequenceMax !== undefined) return -1;
  const { sequence, sequenceType } = flow;
  if (sequence.node !== 'column' || sequence.type.kind !== 'bigint') return -1;
  const isCopied = sequenceType.kind === 'bigint' && (passed[sequence.index] ?? -1) >= 0;
  return isCopied ? sequence.index : -1;
}

type CopiedColumns = { readonly passed: readonly number[]; readonly sequenceColumn: number };

/** Target columns whose values something looks at: expectations, and key and sequence where they are not copied. */
function neededColumns(
  flow: FlowPlan,
  table: TablePlan,
  { passed, sequenceColumn }: CopiedColumns,
): ReadonlySet<number> {
  const needed = new Set<number>();
  for (const { condition, action } of table.expectations) {
    for (const position of columnsOf(condition)) needed.add(position);
    // The error of a failed expectation shows the whole row.
    if (action === 'fail') for (const index of table.columns.keys()) needed.add(index);
  }
  if (flow.kind === 'append') return needed;
  for (const position of keysOf(flow)) {
    if (flow.kind === 'auto_cdc' || (passed[position] ?? -1) < 0) needed.add(position);
  }
  if (isHelping(flow)) return needed;
  for (const position of columnsOf(flow.sequence)) {
    if (position !== sequenceColumn) needed.add(position);
  }
  if (flow.kind === 'auto_cdc') {
    for (const position of flow.ignoreNull) needed.add(position);
    return needed;
  }
  if (flow.emptyWhen !== undefined) {
    for (const position of columnsOf(flow.emptyWhen)) needed.add(position);
  }
  return needed;
}
