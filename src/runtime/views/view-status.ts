import { type BatchKind, batchKind } from '../../plan/flows/batch-kind.ts';
import type { PipelinePlan } from '../../plan/pipeline-plan.ts';
import { catalogTopicOf, groupOf, viewInputs } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { generationOf } from '../takeover/generation.ts';
import type { KnownCatalog } from '../topics/catalog.ts';
import { TimelyAnswers } from '../worker/answer-within.ts';
import { pausesOf } from '../worker/pauses.ts';
import { readViewState, type ViewRun, type ViewState } from './view-runner.ts';

export type ViewStatus = {
  readonly view: string;
  readonly kind: BatchKind;
  readonly table: string;
  readonly topic: string;
  readonly group: string;
  /**
   * `current`: nothing has come into its inputs since it was computed. `held`: nobody can say, for a transaction is open that
   * may move its checkpoint, perhaps of an instance that is gone.
   */
  readonly state: ViewState | 'held';
  /** undefined: it was never computed, or nobody can say. */
  readonly last: ViewRun | undefined;
  /** undefined: it does not stand still. */
  readonly pausedSinceMs: number | undefined;
};

const heldState = { state: 'held', last: undefined } as const;

export type ViewStatusOptions = {
  readonly log: Log;
  /** By which an open transaction holds the answer up no longer than a bound; absent: whoever asks has a bound of its own. */
  readonly clock?: Clock;
  readonly plan: PipelinePlan;
  readonly pipeline: string;
  readonly catalog?: KnownCatalog | undefined;
};

/** How the materialized views of a pipeline stand, from the log alone. Invariant: nothing is created, written or joined. */
export async function readViewStatus({
  log,
  clock,
  plan,
  pipeline,
  catalog,
}: ViewStatusOptions): Promise<readonly ViewStatus[]> {
  const answers = clock === undefined ? undefined : new TimelyAnswers(clock);
  const views: ViewStatus[] = [];
  const pauses = catalog === undefined ? [] : pausesOf(catalog);
  for (const view of plan.materializedViews) {
    const table = plan.tables.find(({ name }) => name === view.table);
    if (table === undefined) continue;
    const read = viewInputs(plan, table).map(({ source, table: upstream }) => ({
      kind: source === undefined ? ('table' as const) : ('source' as const),
      topic: source?.topic ?? upstream?.topic ?? '',
    }));
    const described = await log.describeTopics([
      ...new Set([table.topic, ...read.map(({ topic }) => topic)]),
    ]);
    const inputs = read.map((input) => ({
      ...input,
      partitions: described.get(input.topic)?.partitions ?? 0,
    }));
    const group = groupOf(pipeline, view.name);
    const catalogTopic = catalogTopicOf(pipeline);
    const output = { topicId: described.get(table.topic)?.topicId };
    const generation = view.replaceWhere === undefined ? 0 : generationOf(catalog, view.name);
    const place = { view, group, inputs, catalogTopic, output, generation };
    const asking = readViewState(log, place);
    const found = (await (answers === undefined ? asking : answers.of(asking))) ?? heldState;
    views.push({
      view: view.name,
      kind: batchKind(view),
      table: table.name,
      topic: table.topic,
      group,
      ...found,
      pausedSinceMs: pauses.find(({ flow }) => flow === view.name)?.sinceMs,
    });
  }
  return views;
}
