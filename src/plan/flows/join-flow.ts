import { formatType } from '../../data/type-text.ts';
import type { Column } from '../../data/types.ts';
import { columnsOf } from '../../expr/columns.ts';
import type { Expression } from '../../expr/expression.ts';
import { isNull } from '../../expr/operators/logic.ts';
import { expressionText } from '../../expr/print.ts';
import { branchDefinition, columnText, fingerprintText, withoutKey } from '../fingerprint.ts';
import { optimizeBranch, sourceColumnsOf } from '../optimize.ts';
import type {
  BranchPlan,
  JoinFlowPlan,
  JoinKey,
  ProjectedColumn,
  StreamJoinKind,
  StreamSidePlan,
  TablePlan,
} from '../pipeline-plan.ts';
import { type BoundRelation, withStep } from '../relation.ts';
import type { ListedJoin } from '../stage-list.ts';
import { columnNode, moveColumns } from './move-columns.ts';

export type PlannedJoin = { readonly flow: JoinFlowPlan; readonly table: TablePlan };

type Target = Pick<
  TablePlan,
  | 'partitions'
  | 'deadLetterTopic'
  | 'deadLetterShareMax'
  | 'rowSetRowsMax'
  | 'eventTimeAheadMaxMicros'
>;

/**
 * The flows that make the rows of a flow's joins, each with the table of its rows, the inner ones first. Invariant: a
 * value is kept exactly where something reads it.
 */
export function planJoins(
  joins: readonly ListedJoin[],
  readers: readonly BranchPlan[],
  { target, timeZone }: { readonly target: Target; readonly timeZone: string },
): readonly PlannedJoin[] {
  const branches = [...readers];
  const planned: PlannedJoin[] = [];
  // What reads a join stands behind it.
  for (const join of [...joins].reverse()) {
    const used = new Set(
      branches
        .filter(({ source }) => source === join.name)
        .flatMap(({ steps }) => [...sourceColumnsOf(steps)]),
    );
    const found = planJoin(join, used, target, timeZone);
    branches.push(...found.flow.branches);
    planned.unshift(found);
  }
  return planned;
}

function planJoin(
  join: ListedJoin,
  given: ReadonlySet<number>,
  target: Target,
  timeZone: string,
): PlannedJoin {
  const { name, source, condition, place, kind } = join;
  const names = join.keys.map(keyName);
  const leftCount = join.left.columns.length;
  const count = leftCount + join.right.columns.length;
  const compared = condition === undefined ? new Set<number>() : columnsOf(condition);
  const isBounded =
    join.times !== undefined &&
    (join.times.lowMicros !== undefined || join.times.highMicros !== undefined);
  const isKept = (position: number): boolean => given.has(position) || compared.has(position);
  const positions = Array.from({ length: count }, (_, position) => position).filter(isKept);
  const side = (which: 'left' | 'right'): Side => {
    const base = which === 'left' ? 0 : leftCount;
    const own = positions.filter((position) => position < leftCount === (which === 'left'));
    const relation = join[which];
    const keys = join.keys.map((key) => key[which]);
    const columns: ProjectedColumn[] = [
      ...keys.map((value, at) => ({ name: names[at] ?? '', value })),
      ...own.flatMap((position) => {
        const column = relation.columns[position - base];
        const stored = source.columns[position];
        if (column === undefined || stored === undefined) return [];
        return [{ name: stored.name, value: columnNode(column) }];
      }),
    ];
    return {
      positions: own,
      relation: withKeys(isBounded ? leavingOut(relation) : relation, {
        keys: isPreserved(kind, which) ? [] : join.keys,
        values: keys,
        columns,
      }),
      plan: {
        columns: columns.map(({ name: column, value }) => ({ name: column, type: value.type })),
        given: own.flatMap((position, at) => (given.has(position) ? [keys.length + at] : [])),
        keys: join.keys.map(({ nullSafe }) => ({ isNullSafe: nullSafe })),
      },
    };
  };
  const left = side('left');
  const right = side('right');
  const placeOf = (position: number): number =>
    position < leftCount
      ? names.length + left.positions.indexOf(position)
      : left.plan.columns.length + names.length + right.positions.indexOf(position);
  const moved = condition === undefined ? undefined : moveColumns(condition, placeOf);
  const columns = [...givenColumns(left.plan), ...givenColumns(right.plan)];
  const times =
    join.times === undefined
      ? undefined
      : {
          ...join.times,
          left: placeOf(join.times.left),
          right: placeOf(join.times.right) - left.plan.columns.length,
        };
  const plan = {
    kind,
    times: isBounded ? times : undefined,
    left: left.plan,
    right: right.plan,
    condition: moved,
  };
  const definition = definitionOf(join, { left, right, columns, condition: moved, timeZone });
  const relations = [left.relation, right.relation];
  return {
    flow: {
      kind: 'join',
      name,
      target: name,
      branches: relations.flatMap(({ branches }) => branches.map(optimizeBranch)),
      leftBranches: left.relation.branches.length,
      join: plan,
      fingerprint: fingerprintText(definition),
      definition,
      place,
    },
    table: {
      partitions: target.partitions,
      deadLetterTopic: target.deadLetterTopic,
      deadLetterShareMax: target.deadLetterShareMax,
      rowSetRowsMax: target.rowSetRowsMax,
      name,
      topic: source.topic,
      columns,
      expectations: [],
      output: 'append',
      sequenceAheadMaxMicros: undefined,
      sequenceMax: undefined,
      eventTimeAheadMaxMicros: target.eventTimeAheadMaxMicros,
      place,
    },
  };
}

type Side = {
  /** Of the joined row's columns. */
  readonly positions: readonly number[];
  readonly relation: BoundRelation;
  readonly plan: StreamSidePlan;
};

function givenColumns({ columns, given }: StreamSidePlan): readonly Column[] {
  return given.flatMap((position) => columns[position] ?? []);
}

/** Whether rows of a side are given out that have no partner. */
function isPreserved(kind: StreamJoinKind, side: 'left' | 'right'): boolean {
  return kind === side || kind === 'full';
}

/** A join that forgets rows has nothing to say of one that comes late. */
function leavingOut(relation: BoundRelation): BoundRelation {
  const branches = relation.branches.map((branch) => ({
    ...branch,
    steps: branch.steps.map((step) =>
      step.step === 'watermark' ? { ...step, leavesOut: true as const } : step,
    ),
  }));
  return { ...relation, branches };
}

/** Rows whose value is NULL where `=` compares it have no partner. */
function withKeys(
  relation: BoundRelation,
  {
    keys,
    values,
    columns,
  }: {
    readonly keys: readonly JoinKey[];
    readonly values: readonly Expression[];
    readonly columns: readonly ProjectedColumn[];
  },
): BoundRelation {
  let steps = relation;
  for (const [at, { nullSafe }] of keys.entries()) {
    const value = values[at];
    if (nullSafe || value === undefined) continue;
    steps = withStep(steps, { step: 'filter', condition: isNull(value, true, value.place) });
  }
  return withStep(steps, { step: 'project', columns });
}

/** A name that says what is compared, where it is a column, and that no other value has. */
function keyName({ left }: JoinKey, at: number, keys: readonly JoinKey[]): string {
  const nameOf = (value: Expression): string => (value.node === 'column' ? value.name : '');
  const name = nameOf(left);
  const isTaken = keys.some((key, other) => other < at && nameOf(key.left) === name);
  return name === '' || isTaken || name.includes('.') ? `key.${at + 1}` : name;
}

type DefinitionParts = {
  readonly left: Side;
  readonly right: Side;
  readonly columns: readonly Column[];
  readonly condition: Expression | undefined;
  readonly timeZone: string;
};

function definitionOf(join: ListedJoin, parts: DefinitionParts): JoinFlowPlan['definition'] {
  const { left, right, columns, condition, timeZone } = parts;
  const ofLeft = left.relation.branches.map(branchDefinition);
  const ofRight = right.relation.branches.map(branchDefinition);
  const keysOf = (branches: typeof ofLeft): readonly (readonly string[])[] =>
    branches.map(({ values }) => values.slice(0, join.keys.length));
  const nothingOf = ({ plan }: Side): readonly string[] => plan.given.map(() => '');
  const given = ({ plan }: Side, values: readonly string[]): readonly string[] =>
    plan.given.map((position) => values[position] ?? '');
  const text = {
    kind: join.kind,
    keys: [keysOf(ofLeft), keysOf(ofRight), join.keys.map(({ nullSafe }) => nullSafe)],
    condition:
      condition === undefined
        ? ''
        : expressionText(
            condition,
            ({ name, type }) => `${JSON.stringify(name)}:${formatType(type)}`,
          ),
  };
  return {
    kind: 'join',
    ...withoutKey(timeZone),
    join: JSON.stringify(text),
    columns: columns.map(columnText),
    // What a side does not give is the other one's: values stand where the columns do.
    branches: [
      ...ofLeft.map((branch) => ({
        ...branch,
        values: [...given(left, branch.values), ...nothingOf(right)],
      })),
      ...ofRight.map((branch) => ({
        ...branch,
        values: [...nothingOf(left), ...given(right, branch.values)],
      })),
    ],
  };
}
