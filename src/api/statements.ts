import type {
  AutoCdc,
  ColumnSelection,
  Expression,
  FlowBody,
  Query as QueryTree,
  ReplaceUsing,
} from '../sql/ast.ts';
import type { Condition } from './dataset.ts';
import { givenTree, rowOf } from './given-expression.ts';
import type { BuiltQuery } from './query.ts';
import { SqlText } from './sql-text.ts';
import type { TreeBuilder } from './tree-builder.ts';

export type GivenQuery = string | SqlText | BuiltQuery<string>;

/** Columns by name, or all but some. */
export type Selection<Name extends string = string> =
  | readonly Name[]
  | { readonly except: readonly Name[] };

export type GivenInsert = {
  readonly query: GivenQuery;
  readonly once?: boolean;
  readonly replaceUsing?: readonly string[] | undefined;
  readonly sequenceBy?: Condition<never> | undefined;
  readonly emptyWhen?: Condition<never> | undefined;
  readonly replaceWhere?: Condition<never>;
};

export type GivenAutoCdc = {
  readonly source: { readonly name: string };
  readonly keys: readonly string[];
  readonly sequenceBy: Condition<never>;
  readonly once?: boolean;
  readonly ignoreNullUpdates?: boolean | Selection;
  readonly applyAsDeletes?: Condition<never>;
  readonly applyAsTruncates?: Condition<never>;
  readonly columns?: Selection;
  readonly storedAsScdType?: 1 | 2 | '1' | '2';
  readonly trackHistory?: Selection;
};

export function queryTree(query: GivenQuery, builder: TreeBuilder): QueryTree {
  if (typeof query === 'string') return builder.query(query, 'query');
  return query instanceof SqlText ? query.query(builder) : query.build(builder);
}

/** What a flow inserts, and whether it replaces. */
export function insertBody(given: GivenInsert, builder: TreeBuilder): FlowBody {
  return {
    node: 'insert',
    once: given.once === true,
    byName: true,
    replaceUsing: replaceUsing(given, builder),
    replaceWhere:
      given.replaceWhere === undefined
        ? undefined
        : conditionTree(given.replaceWhere, 'replaceWhere', builder),
    query: queryTree(given.query, builder),
    place: builder.place,
  };
}

function replaceUsing(given: GivenInsert, builder: TreeBuilder): ReplaceUsing | undefined {
  const { replaceUsing: keys, sequenceBy, emptyWhen } = given;
  if (keys === undefined) {
    if (sequenceBy === undefined && emptyWhen === undefined) return undefined;
    const hint =
      'Add replaceUsing with the columns whose rows replace each other, or leave sequenceBy out.';
    builder.refuse('REPLACE_USING_KEY_MISSING', 'sequenceBy is given without replaceUsing', hint);
    return undefined;
  }
  if (!Array.isArray(keys)) {
    const hint = "Write replaceUsing: ['…'], with one name or more.";
    builder.refuse('REPLACE_USING_KEY_MISSING', 'replaceUsing is no list of columns', hint);
    return undefined;
  }
  return {
    keys: builder.identifiers(keys),
    sequence: sequenceBy === undefined ? undefined : [sequenceTree(sequenceBy, builder)],
    emptyWhen: emptyWhen === undefined ? undefined : conditionTree(emptyWhen, 'emptyWhen', builder),
    place: builder.place,
  };
}

/** A text is the name of a column here, never SQL. */
function sequenceTree(given: Condition<never>, builder: TreeBuilder): Expression {
  return typeof given === 'string'
    ? builder.column(given)
    : conditionTree(given, 'sequenceBy', builder);
}

export function conditionTree(
  given: Condition<never>,
  part: string,
  builder: TreeBuilder,
): Expression {
  return givenTree(given, { part, place: builder.place, rows: [rowOf()] }, builder);
}

/** Python has them as texts too. */
const scdTypes: Readonly<Record<string, 1 | 2>> = { 1: 1, 2: 2 };

export function autoCdcTree(given: GivenAutoCdc, builder: TreeBuilder): AutoCdc {
  const { place } = builder;
  const { ignoreNullUpdates, applyAsDeletes, applyAsTruncates, columns, trackHistory } = given;
  return {
    once: given.once === true,
    source: {
      node: 'named',
      name: builder.name(given.source.name),
      stream: true,
      options: [],
      watermark: undefined,
      alias: undefined,
      place,
    },
    keys: given.keys.map((key) => builder.column(key)),
    ignoreNullUpdates: ignoreNullUpdates !== undefined && ignoreNullUpdates !== false,
    ignoreNullColumns:
      typeof ignoreNullUpdates === 'object' ? selection(ignoreNullUpdates, builder) : undefined,
    deleteWhen:
      applyAsDeletes === undefined
        ? undefined
        : conditionTree(applyAsDeletes, 'applyAsDeletes', builder),
    truncateWhen:
      applyAsTruncates === undefined
        ? undefined
        : conditionTree(applyAsTruncates, 'applyAsTruncates', builder),
    sequence: [sequenceTree(given.sequenceBy, builder)],
    columns: columns === undefined ? undefined : selection(columns, builder),
    scdType: scdTypes[given.storedAsScdType ?? ''],
    trackHistory: trackHistory === undefined ? undefined : selection(trackHistory, builder),
    place,
  };
}

function selection(given: Selection, builder: TreeBuilder): ColumnSelection {
  const names = 'except' in given ? given.except : given;
  return {
    except: 'except' in given,
    columns: names.map((name) => ({ parts: [builder.identifier(name)], place: builder.place })),
    place: builder.place,
  };
}
