import type { Expression } from '../expr/expression.ts';
import { comparison } from '../expr/operators/comparison.ts';
import { and } from '../expr/operators/logic.ts';
import type { Relation } from '../sql/ast.ts';
import type { BindContext } from './bind-context.ts';
import { bindRow } from './bind-row.ts';
import type { BoundColumn } from './bound-column.ts';
import { planFault } from './faults.ts';
import { checkIndexLevels } from './generator.ts';
import {
  asJoinCondition,
  sharedNames,
  shifted,
  splitCondition,
  usingColumn,
} from './join-parts.ts';
import { refuseLimit } from './limit.ts';
import { columnNode } from './move-columns.ts';
import { optimizeBranch } from './optimize.ts';
import {
  type JoinStep,
  joinedColumns,
  type StaticJoinKind,
  type StaticSidePlan,
} from './pipeline-plan.ts';
import { type BoundRelation, withStep } from './relation.ts';
import { checkRowExpression } from './row-rules.ts';

export type StaticJoin = {
  readonly relation: Extract<Relation, { node: 'join' }>;
  readonly kind: StaticJoinKind;
  readonly stream: BoundRelation;
  readonly side: BoundRelation;
  readonly context: BindContext;
};

/**
 * Binds the join of a stream with static data: one step, which looks each row up. Gives undefined where it has a
 * fault. Invariant: the columns of the side stand behind the row, whatever of them the query names.
 */
export function bindStaticJoin(join: StaticJoin): BoundRelation | undefined {
  const { relation, kind, stream, side, context } = join;
  refuseLimit(stream, context.faults);
  refuseLimit(side, context.faults);
  if (side.distinct !== undefined) {
    context.faults.add(
      planFault('STATIC_DISTINCT', 'the static side of a join has DISTINCT', side.distinct, {
        hint: 'Keep its rows distinct in a table of their own, or use LEFT SEMI JOIN to choose rows.',
      }),
    );
    return undefined;
  }
  const sideColumns = shifted(
    side.columns.map((column, index) => ({ ...column, index })),
    stream.width,
  );
  const condition = conditionOf(join, sideColumns);
  if (condition === undefined) return undefined;
  const { equal, condition: rest } = splitCondition(condition.on, stream.width);
  const step: JoinStep = {
    step: 'join',
    kind,
    side: sidePlan(side, relation.right),
    keys: equal,
    condition: rest,
    place: relation.place,
  };
  const stepped = withStep(stream, step);
  if (!checkIndexLevels(stepped, relation.place, context.faults)) return undefined;
  return {
    ...stepped,
    width: stream.width + joinedColumns(step).length,
    columns: condition.columns,
  };
}

type Joined = {
  readonly on: Expression | undefined;
  /** Of the result. */
  readonly columns: readonly BoundColumn[];
};

function conditionOf(join: StaticJoin, sideColumns: readonly BoundColumn[]): Joined | undefined {
  const { relation, stream, kind, context } = join;
  const isHalf = kind === 'left_semi' || kind === 'left_anti';
  const all = [...stream.columns, ...sideColumns];
  if (relation.natural || relation.using.length > 0) {
    return context.faults.attempt(() => usingCondition(join, sideColumns));
  }
  const columns = isHalf ? stream.columns : all;
  if (relation.on === undefined) return { on: undefined, columns };
  const clause = { clause: 'ON', allowsGenerator: false, hasWatermark: false };
  if (!checkRowExpression(relation.on, clause, context.faults)) return undefined;
  const bound = bindRow(relation.on, { columns: all, aliases: [] }, context);
  if (bound === undefined) return undefined;
  const on = context.faults.attempt(() => asJoinCondition(bound));
  return on === undefined ? undefined : { on, columns };
}

/** The columns that are compared come first and once; those of the side can still be named with its name. */
function usingCondition(
  { relation, stream, kind }: StaticJoin,
  sideColumns: readonly BoundColumn[],
): Joined {
  const names = relation.natural ? sharedNames(stream.columns, sideColumns) : relation.using;
  const pairs = names.map((name) => ({
    left: usingColumn(name, stream.columns, 'left'),
    right: usingColumn(name, sideColumns, 'right'),
  }));
  const parts = pairs.map(({ left, right }) =>
    comparison('=', columnNode(left), columnNode(right), relation.place),
  );
  const on = parts.length === 0 ? undefined : parts.reduce((a, b) => and(a, b, relation.place));
  const keys = pairs.map(({ left }) => left);
  const others = pairs.map(({ right }) => right);
  const rest = stream.columns.filter((column) => !keys.includes(column));
  if (kind === 'left_semi' || kind === 'left_anti') return { on, columns: [...keys, ...rest] };
  const restOfSide = sideColumns.filter((column) => !others.includes(column));
  const hidden = others.map((column) => ({ ...column, hidden: true }));
  return { on, columns: [...keys, ...rest, ...restOfSide, ...hidden] };
}

/** Rows of the side have its columns in their order, hidden ones included; what nobody reads is dropped later. */
function sidePlan(side: BoundRelation, written: Relation): StaticSidePlan {
  const columns = side.columns.map(({ name, type }) => ({ name: name ?? '', type }));
  const { branches } = withStep(side, {
    step: 'project',
    columns: side.columns.map((column) => ({ name: column.name ?? '', value: columnNode(column) })),
  });
  return {
    name: nameOf(written) ?? branches[0]?.source.name ?? '',
    columns,
    branches: branches.map((branch) => ({
      source: branch.source,
      steps: optimizeBranch(branch).steps,
    })),
  };
}

function nameOf(relation: Relation): string | undefined {
  if (!('alias' in relation)) return undefined;
  if (relation.node === 'named') return relation.name.parts.map(({ text }) => text).join('.');
  return relation.alias?.name.text;
}
