import { FlowError } from '../../base/errors.ts';
import { catalogTopicOf, sourcesOf } from '../../plan/topology.ts';
import { isUntouched } from '../../refresh/refresh-states.ts';
import type { BuiltGeneration } from './refresh-built.ts';
import { flowsOf, type RefreshFacts } from './refresh-facts.ts';
import type { RefreshRecord } from './refresh-record.ts';
import type { RefreshRun, RefreshRunOptions } from './refresh-run.ts';

/** The result of a batch query stands in one topic, which the live table still needs. */
export function refuseComputed({ plan, table }: Pick<RefreshRunOptions, 'plan' | 'table'>): void {
  const flow = flowsOf(plan, table).find((one) =>
    sourcesOf(plan, one).some(({ batch }) => batch !== undefined),
  );
  if (flow === undefined) return;
  throw new FlowError('USAGE', `table "${table.name}" is refreshed in place only`, {
    detail: `Flow "${flow.name}" runs once and needs all of its rows at once: its query is computed when the flow starts.`,
    hint: `Empty the table and let the next run compute it: tidemark refresh ${table.name} --in-place`,
  });
}

/** From its swap on a refresh can only be finished. */
export function refuseTouched(
  { table }: Pick<RefreshRunOptions, 'table'>,
  { state, mode }: RefreshRecord,
): void {
  if (isUntouched(state)) return;
  throw new FlowError(
    'TABLE_LOCKED',
    `the refresh of table "${table.name}" can not be cancelled any more`,
    {
      detail: `It stands at "${state}": records of the table are being replaced.`,
      hint: `Start the same command once more to finish it: tidemark refresh ${table.name}${mode === 'in_place' ? ' --in-place' : ''}`,
    },
  );
}

/** Refuses where there is nothing that a new generation could take the place of. */
export async function refuseNothing(
  { options, before }: RefreshRun,
  { output, sources }: RefreshFacts,
): Promise<void> {
  if (output !== undefined && before !== undefined) return;
  const { table, pipeline, catalog, flow } = options;
  await catalog.read();
  if (output !== undefined && catalog.get('flow', flow.name) !== undefined) {
    throw new FlowError(
      'TABLE_LOCKED',
      `table "${table.name}" is being written for the first time`,
      {
        detail: 'Its flow began after this command did.',
        hint: 'Start the same command once more.',
      },
    );
  }
  const isBegun = sources.some(({ committed = 0 }) => committed > 0);
  if (output === undefined && (isBegun || catalog.get('topic', table.topic) !== undefined)) {
    throw new FlowError(
      'TOPIC_MISSING',
      `the topic "${table.topic}" of table "${table.name}" is gone`,
      {
        detail: 'A new generation is swapped in by its differences from what the table holds.',
        hint: `Restore the topic from a copy, or let the next run fill it anew: tidemark refresh ${table.name} --in-place; --plan tells first what that would lose.`,
      },
    );
  }
  if (output?.partitions.some(({ start, stable }) => stable > start) === true && isBegun) {
    throw new FlowError(
      'DEFINITION_MISSING',
      `the catalog of the pipeline does not know what table "${table.name}" was written with`,
      {
        detail: `Topic "${table.topic}" holds its records, and topic "${catalogTopicOf(pipeline)}" has no definition of it: its records were deleted, or the topic was created anew.`,
        hint: `With the definition that it was written with, the table can be emptied and filled by the next run; what can not be read again is kept with: tidemark refresh ${table.name} --in-place --keep-unrecoverable`,
      },
    );
  }
  throw new FlowError('USAGE', `table "${table.name}" was never written`, {
    hint: 'Run the pipeline: it reads its sources from the beginning anyway.',
  });
}

/**
 * A definition that can't read what the one before could would empty keys whose records are all still there: what it sets
 * aside of the records that the table was computed from is a loss. Gives how many dead letters there are.
 */
export async function refuseUnreadable(
  { options, progress }: RefreshRun,
  built: BuiltGeneration,
): Promise<number> {
  const { table } = options;
  const deadLetters = await built.deadLetters();
  const { allowLoss, isShadow = false } = progress.record;
  if (deadLetters === 0 || allowLoss || isShadow) return deadLetters;
  const { count, first } = await built.newLetters();
  if (count === 0) return deadLetters;
  throw new FlowError(
    'DATA_LOSS_REFUSED',
    `the new generation of table "${table.name}" cannot read ${count} records that the present one has read`,
    {
      detail: `They would be dead letters: ${first.join('; ')}${count > first.length ? '; …' : ''}. The table is as it was.`,
      hint: `All of them are in topic "${built.letters}" until the refresh is given up. Correct the definition and start the same command again, or accept that their rows are gone: --allow-loss`,
    },
  );
}
