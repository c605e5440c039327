import { formatType } from '../data/type-text.ts';
import type { Column, DataType } from '../data/types.ts';
import type { Expression } from '../expr/expression.ts';
import type { TableDataset } from './catalog.ts';
import { type FaultList, notSupportedYet, planFault } from './faults.ts';
import { historyColumns } from './flows/cdc-plan.ts';
import { outputModeOf } from './output-mode.ts';
import type { ExpectationPlan, TablePlan } from './pipeline-plan.ts';

/** A row-set beyond this many rows stops the flow, unless the table says otherwise. */
const rowSetRowsMaxDefault = 100_000;

/** More bad records than good ones: the source has changed, and setting all of it aside helps nobody. */
const deadLetterShareDefault = 0.5;

/** What the flow of a table says about it. */
export type TableFacts = {
  readonly columns: readonly Column[];
  readonly expectations: readonly ExpectationPlan[];
  readonly isAppended: boolean;
  /** All rows of the flow have to go through one task. */
  readonly isOneTask: boolean;
  readonly sequence: Expression | undefined;
  /** SCD type 2: from which sequence to which each row held. */
  readonly hasHistory: boolean;
};

/** The columns that rows of the table have in its topic. */
export function storedColumns({
  columns,
  sequence,
  hasHistory,
}: Pick<TableFacts, 'columns' | 'sequence' | 'hasHistory'>): readonly Column[] {
  const own = columns.map(({ name, type }) => ({ name, type }));
  return hasHistory && sequence !== undefined ? [...own, ...historyColumns(sequence.type)] : own;
}

/** The plan of a table, from its options and from what its flow gives. */
export function planTable(
  table: TableDataset,
  { columns, expectations, isAppended, isOneTask, sequence, hasHistory }: TableFacts,
  faults: FaultList,
): TablePlan {
  const { options } = table;
  checkSequenceBounds(table, sequence?.type, faults);
  const retention = options.durationMicros('tombstone_retention');
  if (retention !== undefined) {
    const hint =
      "Levels of empty keys are kept for ever: write 'forever', or leave the option out.";
    faults.add(notSupportedYet('a tombstone_retention that ends', retention.place, hint));
  }
  const every = options.durationMicros('refresh_every');
  if (every !== undefined) {
    const message = `option "refresh_every" has no meaning for a table that flows stream into`;
    const hint = 'It is how often a REPLACE WHERE flow computes its rows; leave it out.';
    faults.add(planFault('OPTION_VALUE', message, every.place, { hint }));
  }
  return {
    name: table.name,
    ...(table.kind === 'sink' ? { isSink: true } : {}),
    topic: table.topic,
    columns: storedColumns({ columns, sequence, hasHistory }),
    expectations,
    output: isAppended ? 'append' : outputModeOf(table),
    partitions: isOneTask ? 1 : options.integer('partitions')?.value,
    deadLetterTopic: options.text('dead_letter_topic')?.value,
    deadLetterShareMax: Number(
      options.text('max_dead_letter_share')?.value ?? deadLetterShareDefault,
    ),
    rowSetRowsMax: options.integer('max_row_set_rows')?.value ?? rowSetRowsMaxDefault,
    sequenceAheadMaxMicros: options.durationMicros('max_sequence_ahead')?.value,
    sequenceMax: options.text('max_sequence')?.value,
    eventTimeAheadMaxMicros: options.durationMicros('max_event_time_ahead')?.value,
    tombstoneRetentionMicros: options.durationMicros('tombstone_retention')?.value,
    place: table.place,
  };
}

const integral: readonly DataType['kind'][] = ['tinyint', 'smallint', 'int', 'bigint'];
const numeric: readonly DataType['kind'][] = [...integral, 'decimal', 'float', 'double'];
const dated: readonly DataType['kind'][] = ['date', 'timestamp', 'timestamp_ntz'];

/** Bounds of the sequence must suit its type. */
function checkSequenceBounds(
  table: TableDataset,
  type: DataType | undefined,
  faults: FaultList,
): void {
  if (type === undefined) return;
  const max = table.options.text('max_sequence');
  if (max !== undefined) {
    const isWhole = !max.value.includes('.');
    if (!numeric.includes(type.kind) || (integral.includes(type.kind) && !isWhole)) {
      const message = `max_sequence ${max.value} does not bound a sequence of type ${formatType(type)}`;
      const hint = dated.includes(type.kind)
        ? "Use max_sequence_ahead = '1 day' for dates and timestamps."
        : 'It bounds numbers: a whole one where the sequence is whole.';
      faults.add(planFault('OPTION_VALUE', message, max.place, { hint }));
    }
  }
  const ahead = table.options.durationMicros('max_sequence_ahead');
  if (ahead !== undefined && !dated.includes(type.kind)) {
    const message = `max_sequence_ahead does not bound a sequence of type ${formatType(type)}`;
    const hint = 'It bounds dates and timestamps; for numbers use max_sequence.';
    faults.add(planFault('OPTION_VALUE', message, ahead.place, { hint }));
  }
}
