import type { Relation } from '../../sql/ast.ts';
import type { BindContext } from '../bind/bind-context.ts';
import { checkIndexLevels } from '../bind/generator.ts';
import { planFault } from '../faults.ts';
import { optimizeBranch } from '../optimize.ts';
import {
  type JoinStep,
  joinedColumns,
  type StaticJoinKind,
  type StaticSidePlan,
} from '../pipeline-plan.ts';
import { type BoundRelation, withStep } from '../relation.ts';
import { joinCondition } from './join-condition.ts';
import { shifted, splitCondition } from './join-parts.ts';
import { refuseLimit } from './limit.ts';
import { columnNode } from './move-columns.ts';

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
  const condition = joinCondition({
    relation,
    left: stream.columns,
    right: sideColumns,
    isHalf: kind === 'left_semi' || kind === 'left_anti',
    context,
  });
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
