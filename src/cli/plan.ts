import { missingSdk } from '../adapters/otel/tracing-sdk.ts';
import { systemClock } from '../adapters/system/system-clock.ts';
import { flowMaturity, type Maturity } from '../plan/explain/maturity.ts';
import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import type { WrittenNames } from '../plan/plan-pipeline.ts';
import { gapText } from '../refresh/continuity.ts';
import {
  type DeploymentPlan,
  deploymentPlan,
  type FlowVerdict,
  type ViewVerdict,
} from '../refresh/deployment-plan.ts';
import type { RefreshReport } from '../refresh/refresh-report.ts';
import { type GatheredDeployment, gatherDeployment } from '../runtime/inspect/plan-facts.ts';
import { gatherFacts } from '../runtime/refresh/refresh-facts.ts';
import { previewRefresh } from '../runtime/refresh/refresh-preview.ts';
import { hasOtherForm } from '../runtime/refresh/refresh-refusals.ts';
import { noCatalog } from '../runtime/topics/catalog.ts';
import type { Command } from './command.ts';
import { countText } from './count-text.ts';
import { type Deployment, openDeployment } from './deployment.ts';
import { errorText, exitCodeOf } from './exit-code.ts';
import { namedTable, pipelineFlag, pipelinePaths, toldPipeline } from './pipeline-files.ts';
import { topicsText, verdictText } from './plan-text.ts';
import { trialLines } from './refresh-text.ts';
import { trialOf } from './refresh-trial.ts';
import { errorFields } from './run-log.ts';

export const plan: Command = {
  name: 'plan',
  summary: 'tell what run would change against what is deployed, and what it would refuse',
  arguments: 'FILE…',
  example:
    'tidemark plan bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092 --effect',
  flags: {
    ...pipelineFlag,
    effect: {
      type: 'boolean',
      doc: 'For flows that need a full refresh: what it would read, and exactly what it would lose; exit code 4 when it would lose anything.',
    },
  },
  usesConfig: true,
  run: async (invocation) => {
    const config = invocation.config();
    const paths = pipelinePaths(invocation);
    const loaded = await toldPipeline(invocation, paths);
    if (loaded === undefined) return 3;
    return openDeployment(invocation, config, loaded.plan, async (deployment) => {
      const facts = await gatherDeployment({ ...deployment, nowMs: systemClock.now() });
      const untraced = config['traces.enabled'] ? missingSdk() : undefined;
      const refusals = untraced === undefined ? facts.refusals : [untraced, ...facts.refusals];
      const gathered = { ...facts, refusals };
      const decided = deploymentPlan(gathered);
      const isAsked = invocation.isSet('effect');
      const effects = isAsked ? await effectsOf(deployment, decided) : [];
      const found = { ...gathered, ...decided, effects };
      if (invocation.json) invocation.printJson(reportJson(deployment, found));
      else invocation.terminal.out(reportText(deployment, found, loaded.written));
      const [refusal] = gathered.refusals;
      if (!effects.every(({ lossless }) => lossless)) return 4;
      return refusal === undefined ? 0 : exitCodeOf(refusal);
    });
  },
};

async function effectsOf(
  deployment: Deployment,
  { flows }: DeploymentPlan,
): Promise<readonly RefreshReport[]> {
  const { log, catalog, pipeline, plan: pipelinePlan } = deployment;
  const due = flows.filter(
    ({ status, gaps }) => status !== 'gone' && (status === 'refresh' || gaps.length > 0),
  );
  const reports: RefreshReport[] = [];
  // Several change feeds may write one table.
  for (const name of new Set(due.map(({ table }) => table))) {
    const { table } = namedTable(pipelinePlan, name);
    const facts = await gatherFacts({ log, catalog, pipeline, plan: pipelinePlan, table });
    // It has no refresh whose effect could be told; what to do instead stands with its flow.
    if (hasOtherForm({ catalog: catalog ?? noCatalog, plan: pipelinePlan, table }, facts)) continue;
    const trial = trialOf(deployment, facts);
    reports.push((await previewRefresh({ log, plan: pipelinePlan, facts, trial })).report);
  }
  return reports;
}

type FoundPlan = DeploymentPlan &
  Pick<GatheredDeployment, 'refusals' | 'stops'> & {
    readonly effects: readonly RefreshReport[];
  };

function reportJson(
  { pipeline, plan: pipelinePlan }: Deployment,
  { flows, topics, views, refusals, stops, effects }: FoundPlan,
): unknown {
  return {
    pipeline,
    flows: flows.map(({ renamedFrom, ...verdict }) => ({
      ...verdict,
      maturity: maturityOf(pipelinePlan, verdict.flow) ?? null,
      renamedFrom: renamedFrom?.flow ?? null,
      carry: renamedFrom?.carry === true ? carryCommand(renamedFrom.flow, verdict.flow) : null,
    })),
    materializedViews: views,
    topics,
    refusals: refusals.map(errorFields),
    stopped: stops.map(({ flow, code, message, atMs }) => ({
      flow,
      code,
      error: message,
      since: new Date(atMs).toISOString(),
    })),
    ...(effects.length === 0 ? {} : { effects }),
  };
}

function carryCommand(before: string, after: string): string {
  return `tidemark checkpoint carry ${before} ${after}`;
}

const viewTexts: Readonly<Record<ViewVerdict['status'], string>> = {
  new: 'new: the next update computes it',
  unchanged: 'unchanged',
  recomputed: 'changed: the next update computes it anew, and writes what differs',
  refused: 'changed: run refuses it, since rows that it keeps are of another definition',
  gone: 'gone: its topic and its rows stay as they are',
};

function reportText(
  { pipeline, plan: pipelinePlan }: Deployment,
  { flows, topics, views, refusals, stops, effects }: FoundPlan,
  written: WrittenNames,
): string {
  const lines = [`pipeline ${pipeline}`];
  for (const verdict of flows) {
    lines.push(...flowLines(verdict, pipelinePlan));
  }
  for (const view of written.views) {
    lines.push(`view ${view}: part of the queries that read it; nothing is deployed of it`);
  }
  for (const { view, status, changes } of views) {
    const isFlow = pipelinePlan.materializedViews.some(
      ({ name, replaceWhere }) => name === view && replaceWhere !== undefined,
    );
    lines.push(
      `${isFlow ? 'REPLACE WHERE flow' : 'materialized view'} ${view}: ${viewTexts[status]}`,
    );
    for (const change of changes) {
      const effect = 'effect' in change ? change.effect : 'compatible';
      lines.push(`  ${change.id} ${effect}: ${change.text}`);
    }
  }
  for (const { topic, role, action, partitions, existing } of topics) {
    if (action === 'create') {
      lines.push(
        `topic ${topic} (${role}): to be created with ${countText(partitions, 'partition')}`,
      );
    } else if (action === 'conflict') {
      lines.push(
        `topic ${topic} (${role}): has ${countText(existing ?? 0, 'partition')}, ${partitions} ${partitions === 1 ? 'is' : 'are'} declared`,
      );
    }
  }
  lines.push(topicsText(topics));
  for (const { table, lost, pending, untold, records, estimateSeconds, trial } of effects) {
    const isGone = lost.keys > 0 || pending.lost > 0;
    const loss = isGone
      ? `it loses keys: ${lost.keys}, rows: ${lost.rows}`
      : untold !== null
        ? 'what it loses can not be told'
        : 'every row that the table has can be read again';
    lines.push(
      `a refresh of table ${table} goes through ${countText(records, 'offset')} (about ${estimateSeconds} s): ${loss}`,
      ...trialLines(trial).map((line) => `  ${line}`),
    );
  }
  for (const { flow, code, message, atMs } of stops) {
    lines.push(
      `${flow} stands since ${new Date(atMs).toISOString()}: ${code}: ${message}; tidemark status tells more`,
    );
  }
  for (const refusal of refusals) {
    lines.push(
      'run refuses:',
      ...errorText(refusal)
        .trimEnd()
        .split('\n')
        .map((line) => `  ${line}`),
    );
  }
  return `${lines.join('\n')}\n`;
}

/** RQ-10; undefined for a flow that is gone. */
function maturityOf({ flows }: PipelinePlan, flow: string): Maturity | undefined {
  const found = flows.find(({ name }) => name === flow);
  return found === undefined ? undefined : flowMaturity[found.kind];
}

function flowLines(verdict: FlowVerdict, plan: PipelinePlan): string[] {
  const { flow, table, changes, gaps, renamedFrom } = verdict;
  const maturity = maturityOf(plan, flow);
  const isSink = plan.tables.find(({ name }) => name === table)?.isSink === true;
  const label = maturity === undefined ? '' : ` (${maturity})`;
  const lines = [
    `flow ${flow}${label}, ${isSink ? 'sink' : 'table'} ${table}: ${verdictText(verdict)}`,
  ];
  for (const { id, effect, text } of changes) lines.push(`  ${id} ${effect}: ${text}`);
  for (const gap of gaps) lines.push(`  ${gap.reason} stops it: ${gapText(gap)}`);
  if (renamedFrom !== undefined) {
    lines.push(
      renamedFrom.carry
        ? `  Flow "${renamedFrom.flow}" is gone and has the same query: renamed? Its checkpoint can be carried over: ${carryCommand(renamedFrom.flow, flow)}`
        : `  Flow "${renamedFrom.flow}" is gone and has the same query, but wrote another topic: nothing is carried over.`,
    );
  }
  if (verdict.alternatives.length > 0) lines.push(`  ${verdict.alternatives.join('; ')}.`);
  return lines;
}
