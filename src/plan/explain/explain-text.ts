import type { ChangeDefinition } from '../flows/flow-definition.ts';
import type {
  ExplainedBranch,
  ExplainedFlow,
  ExplainedPipeline,
  ExplainedStage,
  ExplainedStep,
  ExplainedView,
} from './explained.ts';

/** An explained pipeline as text for people: one block a flow, from its sources to its state. */
export function explainText(pipeline: ExplainedPipeline): string {
  const lines = [`pipeline "${pipeline.pipeline}", time zone ${pipeline.timeZone}`];
  for (const flow of pipeline.flows) lines.push('', ...flowLines(flow));
  for (const view of pipeline.materializedViews) lines.push('', ...viewLines(view));
  for (const table of pipeline.idleTables) {
    lines.push('', `streaming table "${table}": no flow writes it`);
  }
  lines.push('', `catalog: topic ${pipeline.catalogTopic}, 1 partition, compacted`);
  return `${lines.join('\n')}\n`;
}

function viewLines(view: ExplainedView): readonly string[] {
  const keys = view.keys?.map(({ name, type }) => `${name} ${type}`).join(', ');
  const seconds = view.refreshEverySeconds;
  const replaced = view.replaceWhere;
  const when =
    replaced?.once === true
      ? 'one time, and again after a full refresh'
      : `as a whole by each update, and ${seconds === undefined ? 'every views.intervalMs' : `every ${seconds} s`} by the service`;
  return [
    ...(replaced === undefined
      ? [`materialized view "${view.view}"`]
      : [
          `flow "${view.view}" → streaming table "${view.table}" (REPLACE WHERE)`,
          `  replaces: rows for which ${replaced.sql}; the others stay as they are`,
        ]),
    `  reads: ${view.inputs.length === 0 ? 'nothing' : view.inputs.join(', ')}`,
    '  columns:',
    ...view.columns.map(({ name, type }) => `    ${name}: ${type}`),
    keys === undefined
      ? '  key: a digest of the row, as it has no groups'
      : `  key: its groups, ${keys === '' ? 'of which there is one' : keys}`,
    `  computed: ${when}; only differences are written`,
    `  topic: ${view.topic}, output, compacted, ${counted(view.partitions, 'partition')}`,
    `  checkpoint: consumer group ${view.group}`,
    ...(view.changing === 'whole'
      ? [`  between two computations by one process: all of it, as ${view.wholeReason ?? ''}`]
      : [
          `  between two computations by one process: only the ${view.changing} that something came to`,
        ]),
    ...(view.isVolatile ? ['  depends on when it runs, so it is computed each time'] : []),
  ];
}

function flowLines(flow: ExplainedFlow): readonly string[] {
  const keys = flow.keys.map(({ name, type }) => `${name} ${type}`).join(', ');
  const lines = [`flow "${flow.flow}" → ${flow.targetKind} "${flow.target}" (${flow.kind})`];
  for (const [i, branch] of flow.branches.entries()) {
    lines.push(...branchLines(branch, flow.branches.length > 1 ? `${i + 1}. ` : ''));
  }
  if (flow.distinct) lines.push('  distinct: equal rows of a row-set are kept once');
  for (const { name, action, condition } of flow.expectations) {
    lines.push(`  expectation ${name} (${action}): ${condition}`);
  }
  if (flow.sequence !== undefined) {
    lines.push(`  key: ${keys}`, `  sequence: ${flow.sequence.value} ${flow.sequence.type}`);
  }
  if (flow.join !== undefined) lines.push(`  joins by: ${flow.join}`);
  if (flow.changes !== undefined) lines.push(...changeLines(flow.changes));
  if (flow.emptyWhen !== undefined) lines.push(`  empty when: ${flow.emptyWhen}`);
  lines.push('  tasks:', ...flow.stages.map(stageLine));
  if (flow.repartition === undefined) lines.push('  not repartitioned: rows need not meet');
  else lines.push(`  repartitioned: ${flow.repartition.reason}`);
  lines.push('  topics:');
  for (const { topic, role, partitions } of flow.topics) {
    lines.push(`    ${topic}: ${role}, ${counted(partitions, 'partition')}`);
  }
  lines.push(`  output: ${outputText(flow.output)}`, `  state: ${flow.state}`);
  lines.push(`  checkpoint: consumer group ${flow.group}`);
  if (flow.nondeterministic.length > 0) {
    lines.push(`  depends on when it runs: ${flow.nondeterministic.join(', ')}`);
  }
  return lines;
}

function changeLines(changes: ChangeDefinition): readonly string[] {
  const lines: string[] = [];
  // What is a delete or a truncate stands among the columns, as __delete and __truncate.
  const { ignoreNull, scdType, tracked } = changes;
  if (ignoreNull.length > 0) lines.push(`  NULL leaves what was there: ${ignoreNull.join(', ')}`);
  if (scdType === 2)
    lines.push(`  a new row of the history for each change of: ${tracked.join(', ')}`);
  return lines;
}

function branchLines(branch: ExplainedBranch, number: string): readonly string[] {
  const lines = [`  ${number}source ${branch.source}: topic ${branch.topic}, ${branch.format}`];
  for (const step of branch.steps) lines.push(...stepLines(step));
  return lines;
}

function stepLines(step: ExplainedStep): readonly string[] {
  if (step.step !== 'project') {
    const types = step.types.length === 0 ? '' : `: ${step.types.join(', ')}`;
    return [`    ${step.step} ${step.text.join(', ')}${types}`];
  }
  return ['    project', ...step.text.map((text, i) => `      ${text}: ${step.types[i] ?? ''}`)];
}

function stageLine({ stage, does, over, tasks }: ExplainedStage): string {
  const number = tasks === undefined ? 'one' : `${tasks}`;
  return `    ${stage} stage: ${number} for the partitions of ${over.join(', ')}; ${does}`;
}

function counted(count: number | undefined, noun: string): string {
  if (count === undefined) return `as many ${noun}s as the source with the most`;
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function outputText(output: string): string {
  if (output === 'append') return 'one record for each row, never replaced';
  return output === 'rows'
    ? 'one record for each row of a key'
    : 'one record for each key, its value the whole row-set';
}
