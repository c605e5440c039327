import type { TableBody } from '../sql/ast.ts';
import type { OptionKinds } from './check-options.ts';
import type { Columns } from './column-type.ts';
import type { TreeBuilder } from './tree-builder.ts';

export type OptionText = string | number | boolean;

/** WITH (…) of a source. */
export type SourceSettings = {
  /** Default: the name of the source. */
  readonly topic?: string;
  readonly format?: string;
  readonly tombstones?: 'skip' | 'bad';
  /** Further options by the names that SQL has for them. */
  readonly with?: Readonly<Record<string, OptionText>>;
};

/** WITH (…) of a table. */
export type TableSettings = {
  /** Default: the name of the table. */
  readonly topic?: string;
  readonly partitions?: number;
  readonly output?: 'row_set' | 'rows';
  readonly deadLetterTopic?: string;
  readonly maxRowSetRows?: number;
  /** As text where it does not fit a number. */
  readonly maxSequence?: string | number;
  readonly maxSequenceAhead?: string;
  readonly maxEventTimeAhead?: string;
  readonly tombstoneRetention?: string;
  /** How long a batch rests after it was computed: a materialized view, or the table of a REPLACE WHERE flow. */
  readonly refreshEvery?: string;
  /** Further options by the names that SQL has for them. */
  readonly with?: Readonly<Record<string, OptionText>>;
};

/** Options of ours; the others of an object say something else. */
const settingNames: Readonly<Record<string, string>> = {
  topic: 'topic',
  format: 'format',
  tombstones: 'tombstones',
  partitions: 'partitions',
  output: 'output',
  deadLetterTopic: 'dead_letter_topic',
  maxRowSetRows: 'max_row_set_rows',
  maxSequence: 'max_sequence',
  maxSequenceAhead: 'max_sequence_ahead',
  maxEventTimeAhead: 'max_event_time_ahead',
  tombstoneRetention: 'tombstone_retention',
  refreshEvery: 'refresh_every',
};

const otherOptions = { with: 'settings?', comment: 'text?' } as const;

const kindsOf = (names: readonly string[]): OptionKinds => ({
  ...Object.fromEntries(names.map((name) => [name, 'setting?' as const])),
  ...otherOptions,
});

/** What a source may say beside its columns; which settings there are for each is judged where SQL's are. */
export const sourceOptions = kindsOf(['topic', 'format', 'tombstones']);

/** What a table, view or sink may say beside its own. */
export const tableOptions = kindsOf(
  Object.keys(settingNames).filter((name) => name !== 'format' && name !== 'tombstones'),
);

type BodyOptions = {
  readonly columns?: Columns;
  readonly comment?: string;
  readonly with?: Readonly<Record<string, OptionText>>;
};

/** What stands between the name of a dataset and its query. */
export function tableBody(
  options: BodyOptions,
  constraints: TableBody['constraints'],
  builder: TreeBuilder,
): TableBody {
  const named = Object.entries(options).flatMap(([name, value]) => {
    const key = Object.hasOwn(settingNames, name) ? settingNames[name] : undefined;
    return key === undefined || value === undefined ? [] : [[key, value as OptionText] as const];
  });
  return {
    columns: builder.columns(options.columns ?? {}),
    constraints,
    comment: options.comment,
    options: [...named, ...Object.entries(options.with ?? {})].map(([key, value]) => ({
      key,
      value,
      clause: 'with',
      place: builder.place,
    })),
    clauses: [],
  };
}
