import { formatType } from '../../data/type-text.ts';
import type { Column } from '../../data/types.ts';
import { stepExpressions } from '../bind/step-expressions.ts';
import { incrementalView, wholeReason } from '../flows/incremental-view.ts';
import type {
  BranchPlan,
  FlowPlan,
  JoinFlowPlan,
  JoinStep,
  MaterializedViewPlan,
  PipelinePlan,
  ReplaceUsingFlowPlan,
  RowStep,
  SiftFlowPlan,
  SourcePlan,
  TablePlan,
} from '../pipeline-plan.ts';
import { isKeyed, joinedColumns } from '../pipeline-plan.ts';
import {
  catalogTopicOf,
  groupOf,
  hasLevels,
  hasStage,
  levelsTopicOf,
  partitionsOf,
  repartitionTopicOf,
  sourcePartitions,
  sourcesOf,
  tableOf,
  tablePartitions,
} from '../topology.ts';
import { chanceIn, operationName } from './chance.ts';
import { explainText } from './explain-text.ts';
import type {
  ExplainedBranch,
  ExplainedColumn,
  ExplainedFlow,
  ExplainedPipeline,
  ExplainedStage,
  ExplainedStep,
  ExplainedView,
} from './explained.ts';
import { sketch } from './sketch.ts';

export type ExplainOptions = {
  /** Name of the pipeline; topics and groups begin with it. */
  readonly pipeline?: string;
  /** Only this flow. */
  readonly flow?: string;
  /** Partitions of source topics, as far as they are known. */
  readonly partitionCounts?: ReadonlyMap<string, number>;
};

export type Explained = { readonly json: ExplainedPipeline; readonly text: string };

/** Says how a plan runs: its logical steps with types, its tasks, topics and state, and why. */
export function explainPipeline(plan: PipelinePlan, options: ExplainOptions = {}): Explained {
  const pipeline = options.pipeline ?? '<pipeline>';
  const counts = options.partitionCounts ?? new Map<string, number>();
  const wanted = options.flow?.toLowerCase();
  const flows = plan.flows.filter(
    ({ name }) => wanted === undefined || name.toLowerCase() === wanted,
  );
  const targets = new Set([
    ...plan.flows.map(({ target }) => target),
    ...plan.materializedViews.map(({ table }) => table),
  ]);
  const views = plan.materializedViews.filter(
    ({ name }) => wanted === undefined || name.toLowerCase() === wanted,
  );
  const json: ExplainedPipeline = {
    pipeline,
    timeZone: plan.timeZone,
    catalogTopic: catalogTopicOf(pipeline),
    flows: flows.map((flow) => explainFlow(plan, flow, { pipeline, counts })),
    materializedViews: views.map((view) => explainView(plan, view, { pipeline, counts })),
    idleTables: plan.tables.filter(({ name }) => !targets.has(name)).map(({ name }) => name),
  };
  return { json, text: explainText(json) };
}

function explainView(
  plan: PipelinePlan,
  view: MaterializedViewPlan,
  { pipeline, counts }: Deployment,
): ExplainedView {
  const table = plan.tables.find(({ name }) => name === view.table);
  const columns = table?.columns ?? [];
  const micros = view.refreshMicros;
  return {
    view: view.name,
    table: view.table,
    replaceWhere: view.replaceWhere,
    inputs: view.inputs.map(({ kind, name }) => `${kind} ${name}`),
    columns: columns.map(explainColumn),
    keys: view.keys?.flatMap((position) => columns[position] ?? []).map(explainColumn),
    topic: table?.topic ?? view.name,
    partitions: table === undefined ? undefined : tablePartitions(plan, table, counts),
    group: groupOf(pipeline, view.name),
    refreshEverySeconds: micros === undefined ? undefined : Number(micros) / 1_000_000,
    isVolatile: view.isVolatile,
    ...changingOf(plan, view),
  };
}

function changingOf(
  plan: PipelinePlan,
  view: MaterializedViewPlan,
): Pick<ExplainedView, 'changing' | 'wholeReason'> {
  const divided = incrementalView(view);
  if (divided === undefined) return { changing: 'whole', wholeReason: wholeReason(view) };
  const input = plan.tables.find(({ name }) => name === view.inputs[0]?.name);
  if (input?.output === 'rows') {
    const reason = `table "${input.name}" has output = 'rows', so that no record tells all rows of its key`;
    return { changing: 'whole', wholeReason: reason };
  }
  const changing = divided.groups === undefined ? 'records' : 'groups';
  return { changing, wholeReason: undefined };
}

type Deployment = {
  readonly pipeline: string;
  readonly counts: ReadonlyMap<string, number>;
};

function explainFlow(plan: PipelinePlan, flow: FlowPlan, deployment: Deployment): ExplainedFlow {
  const table = tableOf(plan, flow);
  const names = table.columns.map(({ name }) => name);
  const { pipeline, counts } = deployment;
  const replacing = flow.kind === 'replace_using' ? flow : undefined;
  const keyed = isKeyed(flow) ? flow : undefined;
  const keys = (keyed?.keys ?? []).flatMap((position) => table.columns[position] ?? []);
  const emptyWhen = replacing?.emptyWhen;
  return {
    flow: flow.name,
    kind: kindText(flow),
    target: table.name,
    targetKind: table.isSink === true ? 'sink' : 'streaming table',
    branches: flow.branches.map((branch) => explainBranch(plan, branch)),
    distinct: replacing?.distinct === true,
    expectations: table.expectations.map(({ name, action, sql }) => ({
      name,
      action,
      condition: sql,
    })),
    columns: table.columns.map(explainColumn),
    keys: keys.map(explainColumn),
    sequence: sequenceOf(flow, names),
    changes: flow.kind === 'auto_cdc' ? flow.definition.changes : undefined,
    emptyWhen: emptyWhen === undefined ? undefined : sketch(emptyWhen, names),
    output: table.output,
    group: groupOf(pipeline, flow.name),
    stages: stagesOf(plan, flow, deployment),
    join: flow.kind === 'join' ? joinText(flow) : undefined,
    repartition:
      flow.kind === 'append'
        ? undefined
        : {
            topic: repartitionTopicOf(pipeline, stageFlowOf(flow)),
            reason: repartitionReason(
              plan,
              flow,
              keys.map(({ name }) => name),
            ),
          },
    topics: topicsOf(table, flow, { pipeline, partitions: partitionsOf(plan, flow, counts) }),
    state: stateText(flow, table),
    nondeterministic: chancesOf(flow),
  };
}

function kindText(flow: FlowPlan): string {
  switch (flow.kind) {
    case 'append':
      return flow.once === true ? 'append, once' : 'append';
    case 'replace_using':
      return flow.once === true ? 'REPLACE USING, once' : 'REPLACE USING';
    case 'auto_cdc':
      if (flow.branches.length === 0) return 'table stage of AUTO CDC';
      return `AUTO CDC${flow.once ? ' ONCE' : ''}, SCD type ${flow.tracked === undefined ? 1 : 2}`;
    case 'join':
      return 'join of two streams';
    case 'sift':
      return flow.distinct ? 'DISTINCT before an append flow' : 'LIMIT before an append flow';
  }
}

function sequenceOf(flow: FlowPlan, names: readonly string[]): ExplainedFlow['sequence'] {
  switch (flow.kind) {
    case 'append':
    case 'join':
    case 'sift':
      return undefined;
    case 'replace_using':
      return { value: sketch(flow.sequence, names), type: formatType(flow.sequenceType) };
    case 'auto_cdc':
      return { value: '__sequence', type: formatType(flow.sequenceType) };
  }
}

/** The flow whose name the topic between the stages has. */
function stageFlowOf(flow: FlowPlan): string {
  return flow.kind === 'auto_cdc' ? flow.target : flow.name;
}

function explainColumn({ name, type }: Column): ExplainedColumn {
  return { name, type: formatType(type) };
}

function explainBranch(plan: PipelinePlan, branch: BranchPlan): ExplainedBranch {
  const source = plan.sources.find(({ name }) => name === branch.source);
  let names = source?.columns.map(({ name }) => name) ?? [];
  const steps: ExplainedStep[] = [];
  for (const step of branch.steps) {
    steps.push(explainStep(step, names));
    if (step.step === 'project') names = step.columns.map(({ name }) => name);
    else if (step.step === 'explode') names = [...names, ...step.columns.map(({ name }) => name)];
    else if (step.step === 'join')
      names = [...names, ...joinedColumns(step).map(({ name }) => name)];
  }
  return {
    source: branch.source,
    topic: source?.topic ?? '',
    format:
      source?.batch !== undefined
        ? `the rows of a batch query over ${source.batch.inputs.map(({ name }) => name).join(', ')}, computed when the flow starts first`
        : source?.firstVersions !== undefined
          ? 'of each key its first version; later ones are skipped'
          : source?.replaced === undefined
            ? (source?.format ?? '')
            : 'a record is a version of its key; one of which no row is left empties the key',
    steps,
  };
}

function explainStep(step: RowStep, names: readonly string[]): ExplainedStep {
  switch (step.step) {
    case 'filter':
      return { step: 'filter', text: [sketch(step.condition, names)], types: [] };
    case 'expect':
      return {
        step: 'expect',
        text: step.expectations.map(({ name, action, sql }) => `${name} (${action}): ${sql}`),
        types: [],
      };
    case 'explode': {
      const form = step.outer ? `${step.form}_outer` : step.form;
      const columns = step.columns.map(({ name }) => name).join(', ');
      return {
        step: 'explode',
        text: [`${form}(${sketch(step.value, names)}) as (${columns})`],
        types: step.columns.map(({ type }) => formatType(type)),
      };
    }
    case 'watermark':
      return {
        step: 'watermark',
        text: [`${sketch(step.time, names)}, late after ${step.delayMicros / 1000n} ms`],
        types: [],
      };
    case 'join':
      return explainJoin(step, names);
    case 'project':
      return {
        step: 'project',
        text: step.columns.map(({ name, value }) => `${name} = ${sketch(value, names)}`),
        types: step.columns.map(({ value }) => formatType(value.type)),
      };
  }
}

function explainJoin(step: JoinStep, names: readonly string[]): ExplainedStep {
  const { kind, side, keys, condition } = step;
  const sideNames = side.columns.map(({ name }) => `${side.name}.${name}`);
  const parts = keys.map(
    ({ left, right, nullSafe }) =>
      `${sketch(left, names)} ${nullSafe ? '<=>' : '='} ${sketch(right, sideNames)}`,
  );
  if (condition !== undefined) parts.push(sketch(condition, [...names, ...sideNames]));
  const sources = [...new Set(side.branches.map(({ source }) => source.name))].join(', ');
  const on = parts.length === 0 ? '' : ` on ${parts.join(' and ')}`;
  return {
    step: 'join',
    text: [`${kind.replace('_', ' ')} with the latest rows of ${sources}${on}`],
    types: joinedColumns(step).map(({ type }) => formatType(type)),
  };
}

function stagesOf(
  plan: PipelinePlan,
  flow: FlowPlan,
  { pipeline, counts }: Deployment,
): readonly ExplainedStage[] {
  const topics = [...new Set(sourcesOf(plan, flow).map(({ topic }) => topic))];
  const known = sourcesOf(plan, flow)
    .filter(({ topic }, index, all) => all.findIndex((one) => one.topic === topic) === index)
    .map((source) => sourcePartitions(plan, source, counts));
  const tasks = known.reduce<number | undefined>(
    (sum, count) => (sum === undefined || count === undefined ? undefined : sum + count),
    0,
  );
  if (flow.kind === 'append') {
    const does = 'decodes records, computes rows, checks expectations, writes the output topic';
    return [{ stage: 'flow', does, over: topics, tasks }];
  }
  const flowStage: ExplainedStage = {
    stage: 'flow',
    does: 'decodes records, computes rows, checks expectations, sends each row to the partition of its key',
    over: topics,
    tasks,
  };
  const tableStage: ExplainedStage = {
    stage: 'table',
    does: tableStageTexts[flow.kind],
    over: [repartitionTopicOf(pipeline, flow.name)],
    tasks: partitionsOf(plan, flow, counts),
  };
  return [
    ...(flow.branches.length === 0 ? [] : [flowStage]),
    ...(hasStage(flow) ? [tableStage] : []),
  ];
}

const tableStageTexts: Readonly<Record<Exclude<FlowPlan['kind'], 'append'>, string>> = {
  replace_using: 'keeps the rows of the highest sequence of each key and writes the output topic',
  auto_cdc:
    'merges the changes of each key, whichever flow they come from, and writes the output topic',
  join: 'keeps the rows of both sides and writes each pair that belongs together to the output topic',
  sift: 'writes the rows that DISTINCT and LIMIT let through to the output topic',
};

/** What a join compares, over the columns that it keeps of its sides. */
function joinText({ join }: JoinFlowPlan): string {
  const { left, right, condition } = join;
  const keys = left.keys.map(({ isNullSafe }, at) => {
    const name = left.columns[at]?.name ?? '';
    return `${name} of both sides${isNullSafe ? ', NULL too' : ''}`;
  });
  const names = [...left.columns, ...right.columns].map(({ name }) => name);
  return [...keys, ...(condition === undefined ? [] : [sketch(condition, names)])].join(' and ');
}

/** Why rows take the way over a topic of their own before they are merged. */
function repartitionReason(
  plan: PipelinePlan,
  flow: Exclude<FlowPlan, { kind: 'append' }>,
  keys: readonly string[],
): string {
  if (flow.kind === 'join')
    return 'rows with the same values of what is compared have to meet in one task';
  if (flow.kind === 'sift') {
    return flow.distinct
      ? 'equal rows have to meet in one task'
      : 'rows have to be counted in one task';
  }
  if (flow.kind === 'auto_cdc') {
    return `changes of one key (${keys.join(', ')}) come from all flows into the table and have to meet in one task`;
  }
  const sources = sourcesOf(plan, flow);
  const keyText = keys.join(', ');
  if (sources.length > 1) {
    return `rows of one key (${keyText}) come from ${sources.length} topics and have to meet in one task`;
  }
  if (flow.branches.every(({ versionKeys }) => versionKeys !== undefined)) {
    return `the key (${keyText}) is that of table "${sources[0]?.table}", whose topic may have another number of partitions`;
  }
  if (!usesRecordKey(flow, sources)) {
    return `the key (${keyText}) is read from the record's value, so rows of one key may stand in any partition`;
  }
  return `the key (${keyText}) is made of the record key, but nothing proves yet how its producers choose partitions`;
}

function usesRecordKey(flow: ReplaceUsingFlowPlan, sources: readonly SourcePlan[]): boolean {
  const [source] = sources;
  const keyIndex = source?.columns.findIndex(({ name }) => name === '_key') ?? -1;
  return flow.branches.every(({ steps }) => {
    const [only] = steps.filter(({ step }) => step === 'project');
    if (only?.step !== 'project') return false;
    return flow.keys.every((position) => {
      const value = only.columns[position]?.value;
      return value?.node === 'column' && value.index === keyIndex;
    });
  });
}

function topicsOf(
  table: TablePlan,
  flow: FlowPlan,
  { pipeline, partitions }: { pipeline: string; partitions: number | undefined },
): ExplainedFlow['topics'] {
  const topics =
    flow.kind === 'append'
      ? [{ topic: table.topic, role: 'output, kept whole', partitions }]
      : [
          {
            topic: repartitionTopicOf(pipeline, stageFlowOf(flow)),
            role: 'repartition',
            partitions,
          },
          {
            topic: table.topic,
            role:
              flow.kind === 'join'
                ? 'joined rows, kept whole'
                : flow.kind === 'sift'
                  ? 'rows that were let through, kept whole; also the changelog of the state'
                  : 'output, compacted; also the changelog of the state',
            partitions,
          },
        ];
  if (hasLevels(flow)) {
    topics.push({
      topic: levelsTopicOf(pipeline, flow.name),
      role: flow.kind === 'join' ? 'changelog of the kept rows' : 'levels of empty keys',
      partitions,
    });
  }
  if (table.deadLetterTopic !== undefined) {
    topics.push({ topic: table.deadLetterTopic, role: 'dead letters', partitions });
  }
  return topics;
}

function stateText(flow: FlowPlan, table: TablePlan): string {
  if (!hasStage(flow)) return 'none beyond the checkpoint';
  if (flow.kind === 'auto_cdc') {
    return flow.tracked === undefined
      ? 'per key: the changes that give the columns of its row, and the last delete; the last truncate'
      : 'per key: all its changes';
  }
  if (flow.kind === 'append') return 'none beyond the checkpoint';
  if (flow.kind === 'join') return keptText(flow);
  if (flow.kind === 'sift') return siftText(flow);
  const parts = ['per key: the highest sequence and the rows that carry it'];
  if (flow.distinct) parts.push('DISTINCT needs nothing beyond these rows');
  if (flow.limit !== undefined) parts.push(`one task lets ${flow.limit} rows through`);
  if (hasLevels(flow)) {
    const micros = table.tombstoneRetentionMicros;
    const time = micros === undefined ? 'for ever' : `${micros / 1_000_000n} seconds`;
    parts.push(`the level of an empty key is kept ${time}`);
  }
  return parts.join('; ');
}

function siftText({ distinct, limit }: SiftFlowPlan): string {
  const rows = distinct ? 'a digest of every row that was let through, for ever' : 'none';
  return limit === undefined
    ? rows
    : `${rows}; the account says how many of ${limit} rows are left`;
}

function keptText({ join: { times } }: JoinFlowPlan): string {
  if (times === undefined) return 'every row of both sides, for ever';
  const textOf = (side: string, isBound: boolean): string =>
    `every row of the ${side} side${isBound ? ' until no partner can come any more' : ', for ever'}`;
  const left = textOf('left', times.highMicros !== undefined);
  return `${left}; ${textOf('right', times.lowMicros !== undefined)}`;
}

function chancesOf(flow: FlowPlan): readonly string[] {
  const steps = flow.branches.flatMap((branch) => branch.steps);
  const calls = steps.flatMap(stepExpressions).flatMap((expression) => chanceIn(expression) ?? []);
  return [...new Set(calls.map(operationName))].sort();
}
