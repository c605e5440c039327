import { systemClock } from '../adapters/system/system-clock.ts';
import { viewDefinition } from '../plan/flows/view-definition.ts';
import type { FlowPlan, MaterializedViewPlan, PipelinePlan } from '../plan/pipeline-plan.ts';
import { sourcesOf, tableOf } from '../plan/topology.ts';
import { flowChanges, needsRefresh } from '../refresh/changes.ts';
import { deployedFlow, readDeployedFlow } from '../refresh/deployed-flow.ts';
import { type TableConsumers, tableConsumers } from '../refresh/table-consumers.ts';
import { readViewDefinition } from '../refresh/view-changes.ts';
import { tableOfView } from '../runtime/inspect/pipeline-facts.ts';
import { type FlowStatus, StatusReader } from '../runtime/inspect/pipeline-status.ts';
import type { Catalog } from '../runtime/topics/catalog.ts';
import { readViewStatus, type ViewStatus } from '../runtime/views/view-status.ts';
import { stopOf } from '../runtime/worker/stops.ts';
import { type Command, type ExitCode, usageError } from './command.ts';
import { withDeployment } from './deployment.ts';
import { pipelineFlag } from './pipeline-files.ts';
import { tableText } from './table-text.ts';

export const flows: Command = {
  name: 'flows',
  summary:
    'list the flows: what each reads and writes, how far it is, and whether it is deployed so',
  arguments: '',
  example:
    'tidemark flows --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092',
  flags: {
    ...pipelineFlag,
    consumers: {
      type: 'boolean',
      doc: 'Also who reads each table: flows and views of the pipeline, and the consumer groups of others on its topic.',
    },
  },
  usesConfig: true,
  run: async (invocation) => {
    if (invocation.positionals.length > 0) {
      throw usageError('flows takes no arguments', 'Name the pipeline with --pipeline FILE.');
    }
    return withDeployment(
      invocation,
      async ({ plan, pipeline, log, catalog }): Promise<ExitCode> => {
        const reader = new StatusReader(plan, pipeline, log, systemClock);
        try {
          const known = await reader.read();
          const rows = plan.flows.flatMap((flow): FlowRow[] => {
            const status = known.find((one) => one.flow === flow.name);
            return status === undefined ? [] : [flowRow(plan, flow, status, catalog)];
          });
          const computed = (
            await readViewStatus({ log, clock: systemClock, plan, pipeline, catalog })
          ).flatMap((status) => {
            const view = plan.materializedViews.find(({ name }) => name === status.view);
            return view?.replaceWhere === undefined
              ? []
              : [replaceWhereRow(plan, view, status, catalog)];
          });
          rows.push(...computed);
          const gone = (catalog?.all('flow') ?? [])
            .map(({ name }) => name)
            .filter((name) => !plan.flows.some((flow) => flow.name === name));
          const consumers = invocation.isSet('consumers')
            ? tableConsumers(
                plan,
                pipeline,
                await log.groupsOn(plan.tables.map(({ topic }) => topic)),
              )
            : undefined;
          if (invocation.json) {
            const more = consumers === undefined ? {} : { consumers };
            invocation.printJson({ pipeline, flows: rows, gone, ...more });
          } else {
            invocation.terminal.out(flowsText(rows, gone));
            if (consumers !== undefined) invocation.terminal.out(consumersText(consumers));
          }
          return 0;
        } finally {
          await reader.close();
        }
      },
    );
  },
};

type FlowRow = {
  readonly flow: string;
  readonly kind: FlowPlan['kind'] | 'replace_where';
  readonly table: string;
  readonly sources: readonly string[];
  readonly group: string;
  /** In records, of both stages; null: it is computed anew where its inputs have changed, so nothing of it lags, or nobody can say. */
  readonly lag: number | null;
  /** `held`: nobody can say where its checkpoints stand, since a transaction is open that may move them. */
  readonly state: 'new' | 'stopped' | 'paused' | 'held' | 'caught up' | 'behind';
  /** Against the definition that its checkpoint is of. */
  readonly definition: 'not deployed' | 'as deployed' | 'changed' | 'needs a refresh';
};

function flowRow(
  plan: PipelinePlan,
  flow: FlowPlan,
  { group, topics, pausedSinceMs, stop }: FlowStatus,
  catalog: Catalog | undefined,
): FlowRow {
  const partitions = topics.flatMap((topic) => topic.partitions);
  const isHeld = topics.some((topic) => topic.isHeld);
  const lag = partitions.reduce((sum, one) => sum + one.lag, 0);
  const isNew = partitions.every(({ committed }) => committed === undefined);
  const isPaused = pausedSinceMs !== undefined;
  return {
    flow: flow.name,
    kind: flow.kind,
    table: flow.target,
    sources: sourcesOf(plan, flow).map(({ name }) => name),
    group,
    lag: isHeld ? null : lag,
    state: stateOf({ isStopped: stop !== undefined, isPaused, isHeld, isNew, lag }),
    definition: definitionOf(plan, flow, catalog),
  };
}

/** A REPLACE WHERE flow: it is computed as a view is, into a table. */
export function replaceWhereRow(
  plan: PipelinePlan,
  view: MaterializedViewPlan,
  { group, table, state, last, pausedSinceMs }: ViewStatus,
  catalog: Catalog | undefined,
): FlowRow {
  const isStopped = stopOf(catalog, view.name) !== undefined;
  return {
    flow: view.name,
    kind: 'replace_where',
    table,
    sources: view.inputs.map(({ name }) => name),
    group,
    lag: null,
    state: stateOf({
      isStopped,
      isPaused: pausedSinceMs !== undefined,
      isHeld: state === 'held',
      isNew: last === undefined,
      lag: state === 'current' ? 0 : 1,
    }),
    definition: computedDefinition(plan, view, catalog),
  };
}

/** Whether a change keeps it from being computed is told by `tidemark plan`. */
function computedDefinition(
  plan: PipelinePlan,
  view: MaterializedViewPlan,
  catalog: Catalog | undefined,
): FlowRow['definition'] {
  const before = readViewDefinition(catalog?.get('view', view.name)?.value);
  if (before === undefined) return 'not deployed';
  const after = viewDefinition(view, tableOfView(plan, view));
  return before.fingerprint === after.fingerprint ? 'as deployed' : 'changed';
}

function stateOf(facts: {
  readonly isStopped: boolean;
  readonly isPaused: boolean;
  readonly isHeld: boolean;
  readonly isNew: boolean;
  readonly lag: number;
}): FlowRow['state'] {
  if (facts.isStopped) return 'stopped';
  if (facts.isPaused) return 'paused';
  if (facts.isHeld) return 'held';
  if (facts.isNew) return 'new';
  return facts.lag === 0 ? 'caught up' : 'behind';
}

function definitionOf(
  plan: PipelinePlan,
  flow: FlowPlan,
  catalog: Catalog | undefined,
): FlowRow['definition'] {
  const before = readDeployedFlow(catalog?.get('flow', flow.name)?.value);
  if (before === undefined) return 'not deployed';
  const after = deployedFlow(flow, tableOf(plan, flow));
  const changes = flowChanges(before, after);
  if (needsRefresh(changes)) return 'needs a refresh';
  const isSame = before.fingerprint === after.fingerprint && changes.length === 0;
  return isSame ? 'as deployed' : 'changed';
}

function flowsText(rows: readonly FlowRow[], gone: readonly string[]): string {
  const text = tableText(
    ['flow', 'kind', 'table', 'sources', 'state', 'lag', 'definition'],
    rows.map(({ flow, kind, table, sources, state, lag, definition }) => [
      flow,
      kind,
      table,
      sources.join(', '),
      state,
      lag === null ? '-' : String(lag),
      definition,
    ]),
  );
  const left =
    gone.length === 0
      ? ''
      : `deployed, and no longer in the pipeline: ${gone.join(', ')}; a new name takes the checkpoint over with tidemark checkpoint carry\n`;
  return `${text}${left}`;
}

function consumersText(consumers: readonly TableConsumers[]): string {
  const list = (names: readonly string[]): string => (names.length === 0 ? '-' : names.join(', '));
  return tableText(
    ['table', 'topic', 'flows', 'views', 'groups of others'],
    consumers.map(({ table, topic, flows: readers, views, groups }) => [
      table,
      topic,
      list(readers),
      list(views),
      list(groups),
    ]),
  );
}
