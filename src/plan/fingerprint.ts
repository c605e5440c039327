import { formatType } from '../data/type-text.ts';
import type { Column, DataType } from '../data/types.ts';
import { columnsOf } from '../expr/columns.ts';
import type { Expression } from '../expr/expression.ts';
import { expressionText } from '../expr/print.ts';
import { dissolveProjections } from './dissolve.ts';
import { derivation } from './explain/derivation.ts';
import type { BoundAppendFlow } from './flows/append-flow.ts';
import type { BoundCdcFlow } from './flows/cdc-flow.ts';
import type { BranchDefinition, FlowDefinition } from './flows/flow-definition.ts';
import { moveColumns } from './flows/move-columns.ts';
import type { BoundReplaceFlow } from './flows/replace-flow.ts';
import { sourceColumnsOf } from './optimize.ts';
import type { ExpectStep, JoinStep, RowStep } from './pipeline-plan.ts';
import { pruneSides } from './prune-sides.ts';
import type { BoundBranch } from './relation.ts';

export function flowDefinition(
  flow: BoundReplaceFlow,
  sequence: Expression,
  timeZone: string,
): FlowDefinition {
  const { columns, keys, emptyWhen, relation } = flow;
  return {
    kind: 'replace_using',
    ...onceOf(flow),
    timeZone,
    keys: keys.map((position) => columns[position]?.name.toLowerCase() ?? ''),
    sequence: expressionText(sequence),
    sequenceValue: expressionText(sequence, nameText),
    sequenceColumns: [...columnsOf(sequence)].map(
      (position) => columns[position]?.name.toLowerCase() ?? '',
    ),
    sequenceType: formatType(sequence.type),
    emptyWhen: emptyWhen === undefined ? undefined : expressionText(emptyWhen),
    emptyWhenValue: emptyWhen === undefined ? undefined : expressionText(emptyWhen, nameText),
    distinct: relation.distinct !== undefined,
    ...(relation.limit === undefined ? {} : { limit: relation.limit.rows }),
    columns: columns.map(columnText),
    branches: relation.branches.map(branchDefinition),
  };
}

/** What the definition of a flow has where its rows have neither key nor sequence. */
export function withoutKey(timeZone: string) {
  return {
    timeZone,
    keys: [],
    sequence: '',
    sequenceValue: '',
    sequenceColumns: [],
    sequenceType: '',
    emptyWhen: undefined,
    emptyWhenValue: undefined,
    distinct: false,
  };
}

export function appendDefinition(flow: BoundAppendFlow, timeZone: string): FlowDefinition {
  const { columns, relation } = flow;
  return {
    kind: 'append',
    ...onceOf(flow),
    ...withoutKey(timeZone),
    columns: columns.map(columnText),
    branches: relation.branches.map(branchDefinition),
  };
}

export function cdcDefinition(
  flow: BoundCdcFlow,
  sequence: Expression,
  timeZone: string,
): FlowDefinition {
  const { columns, keys, ignoreNull, tracked, relation, deleteWhen, truncateWhen } = flow;
  const branches = relation.branches.map(branchDefinition);
  const name = (position: number): string => columns[position]?.name.toLowerCase() ?? '';
  /** Over the source's columns by name: the column that carries it has no name of its own. */
  const carried = (value: Expression | undefined): string =>
    value?.node === 'column'
      ? branches.map(({ values }) => values[value.index]).join(' | ')
      : 'never';
  return {
    kind: 'auto_cdc',
    ...onceOf(flow),
    timeZone,
    keys: keys.map(name),
    sequence: carried(sequence),
    sequenceValue: carried(sequence),
    sequenceColumns: [],
    sequenceType: formatType(sequence.type),
    emptyWhen: undefined,
    emptyWhenValue: undefined,
    distinct: false,
    changes: {
      scdType: tracked === undefined ? 1 : 2,
      tracked: (tracked ?? []).map(name),
      ignoreNull: ignoreNull.map(name),
      deleteWhen: carried(deleteWhen),
      truncateWhen: carried(truncateWhen),
    },
    columns: columns.map(columnText),
    branches,
  };
}

function onceOf({ once }: { readonly once: boolean }): Pick<FlowDefinition, 'once'> {
  return once ? { once: true } : {};
}

/** The definition as one text: two flows are the same exactly when their texts are. */
export function fingerprintText(definition: FlowDefinition): string {
  const lines = [
    `flow ${definition.kind}${definition.once === true ? ' once' : ''}`,
    `time zone ${JSON.stringify(definition.timeZone)}`,
  ];
  if (definition.kind === 'replace_using') {
    lines.push(
      `keys ${JSON.stringify(definition.keys)}`,
      `sequence ${definition.sequence} as ${definition.sequenceType}`,
      `empty when ${definition.emptyWhen ?? 'never'}`,
      `distinct ${definition.distinct}`,
    );
    if (definition.limit !== undefined) lines.push(`limit ${definition.limit}`);
  }
  if (definition.kind === 'sift') {
    lines.push(`distinct ${definition.distinct}`, `limit ${definition.limit ?? 'none'}`);
  }
  const { changes } = definition;
  if (changes !== undefined) {
    lines.push(
      `keys ${JSON.stringify(definition.keys)}`,
      `sequence ${definition.sequence} as ${definition.sequenceType}`,
      `history ${JSON.stringify([changes.scdType, changes.tracked])}`,
      `ignore null ${JSON.stringify(changes.ignoreNull)}`,
      `delete when ${changes.deleteWhen}`,
      `truncate when ${changes.truncateWhen}`,
    );
  }
  if (definition.join !== undefined) lines.push(`join ${definition.join}`);
  lines.push(`columns ${JSON.stringify(definition.columns)}`);
  for (const branch of definition.branches) {
    lines.push(
      `from ${JSON.stringify([branch.topic, branch.format, branch.tombstones])}`,
      `reads ${JSON.stringify(branch.reads)}`,
      ...branch.steps,
    );
  }
  return lines.join('\n');
}

function nameText({ name, type }: { readonly name: string; readonly type: DataType }): string {
  return `${JSON.stringify(name.toLowerCase())}:${formatType(type)}`;
}

export function columnText(column: { readonly name: string; readonly type: DataType }): string {
  return `${column.name} ${formatType(column.type)}`;
}

/** What becomes of the records of one source. */
export function branchDefinition(branch: BoundBranch): BranchDefinition {
  const { source } = branch;
  const width = source.columns.length;
  // Expectations come and go without a new definition, on views as on tables.
  const unjudged = branch.steps.filter(({ step }) => step !== 'expect');
  const steps = pruneSides(dissolveProjections(unjudged, width), width);
  const read = readColumns(steps, source.columns);
  const places = new Map(read.map(({ index }, place) => [index, place]));
  const placeOf = (index: number): number =>
    index < width ? (places.get(index) ?? index) : read.length + index - width;
  const made = derivation({ source, steps: pruneSides(branch.steps, width) });
  const batch = source.batch === undefined ? [] : [`batch ${source.batch.digest}`];
  return {
    topic: source.topic,
    format: source.firstVersions === undefined ? source.format : 'first versions of keys',
    tombstones: source.tombstones,
    reads: read.map(({ column }) => columnText(column)),
    steps: [...batch, ...stepTexts(steps, placeOf)],
    ...made,
    filters: [...batch, ...made.filters],
  };
}

/** By name, so that a source may get further columns, or another order, without another flow. */
function readColumns(steps: readonly RowStep[], columns: readonly Column[]) {
  return [...sourceColumnsOf(steps)]
    .flatMap((index) => {
      const column = columns[index];
      return column === undefined ? [] : [{ index, column }];
    })
    .sort((a, b) =>
      a.column.name < b.column.name ? -1 : a.column.name > b.column.name ? 1 : a.index - b.index,
    );
}

function stepTexts(
  steps: readonly RowStep[],
  placeOf: (index: number) => number,
): readonly string[] {
  let place = placeOf;
  return steps.flatMap((step) => {
    if (step.step === 'expect') return [];
    const text = stepText(step, place);
    if (step.step === 'project') place = (index) => index;
    return text;
  });
}

function stepText(step: Exclude<RowStep, ExpectStep>, place: (index: number) => number): string {
  switch (step.step) {
    case 'filter':
      return `filter ${expressionText(moveColumns(step.condition, place))}`;
    case 'explode': {
      const outer = step.outer ? ' outer' : '';
      return `${step.form}${outer} ${expressionText(moveColumns(step.value, place))}`;
    }
    case 'watermark':
      return `watermark ${expressionText(moveColumns(step.time, place))} ${step.delayMicros}`;
    case 'join':
      return joinText(step, place);
    case 'project':
      return `project ${step.columns.map(({ value }) => expressionText(moveColumns(value, place))).join(', ')}`;
  }
}

function joinText(
  { kind, side, keys, condition }: JoinStep,
  place: (index: number) => number,
): string {
  const parts = keys.map(
    ({ left, right, nullSafe }) =>
      `${expressionText(moveColumns(left, place))} ${nullSafe ? '<=>' : '='} ${expressionText(right)}`,
  );
  if (condition !== undefined) parts.push(expressionText(moveColumns(condition, place)));
  const branches = side.branches.map((branch) => {
    const { topic, format, reads, steps } = branchDefinition(branch);
    return JSON.stringify([topic, format, reads, steps]);
  });
  return `${kind} join ${branches.join(' union ')} on ${parts.join(' and ')}`;
}
