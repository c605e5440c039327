import { FaultError } from '../../base/place.ts';
import { formatType } from '../../data/type-text.ts';
import type { Column } from '../../data/types.ts';
import { fault } from '../../expr/faults.ts';
import type { Constraint, Expression, Name, Query, SelectItem } from '../../sql/ast.ts';
import type { BatchCommonTable, BatchTable } from '../batch/batch-context.ts';
import type { BatchInput, BatchPlan, BoundBatch } from '../batch/batch-plan.ts';
import { bindBatchQuery } from '../batch/batch-query.ts';
import { fileStreamed } from '../bind/bind-relation.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { nameKey } from '../bind/names.ts';
import type { Catalog, MaterializedViewDataset, TableDataset, ViewDataset } from '../catalog.ts';
import { batchExpectations } from '../expectations.ts';
import { AlreadyReported, type FaultList, planFault } from '../faults.ts';
import { hiddenColumns, type MaterializedViewPlan, type TablePlan } from '../pipeline-plan.ts';
import { idleTableHint, isIdleTable } from './idle-table.ts';

/** What a batch query of the pipeline is bound in. */
export type BatchAround = {
  readonly catalog: Catalog;
  readonly texts: ReadonlyMap<string, string>;
  readonly faults: FaultList;
  /** Every statement of the pipeline could be read. */
  readonly isWhole: boolean;
  /** The columns of a table or materialized view; undefined: their faults are told. */
  readonly columnsOf: (
    dataset: TableDataset | MaterializedViewDataset,
  ) => readonly Column[] | undefined;
};

export type BoundBatchQuery = {
  readonly plan: BatchPlan;
  readonly columns: readonly BoundColumn[];
  /** Each once, in the order in which the query names them first. */
  readonly inputs: readonly BatchInput[];
  /** What the views mean that the query reads. */
  readonly views: readonly string[];
  /** A view depends on the clock or on chance. */
  readonly isVolatile: boolean;
  /** Equal text, equal query, but for what its views mean. */
  readonly meaning: string;
};

/**
 * Binds a query over the datasets of the pipeline as they stand: sources with all their records, tables and materialized
 * views with their rows, views by their queries. undefined: it has a fault.
 */
export function bindPipelineBatch(query: Query, around: BatchAround): BoundBatchQuery | undefined {
  const found: Found = { inputs: new Map(), views: new Set() };
  return around.faults.attempt(() => {
    const bound = bindBatchQuery(query, {
      timeZone: around.catalog.timeZone,
      ...lookUp(around, found, []),
    });
    const views = [...found.views].map(({ name, query: inner }) => ({
      name,
      ...meaningOf(inner),
    }));
    return {
      ...bound,
      inputs: [...found.inputs.values()],
      views: views.map(({ name, text }) => `${JSON.stringify(name)} is ${text}`),
      isVolatile: views.some(({ isVolatile }) => isVolatile),
      meaning: meaningOf(query).text,
    };
  });
}

/** Tells what is wrong with a view whose rows are read as they stand, its expectations included. */
export function checkBatchView(view: ViewDataset, around: BatchAround): void {
  const bound = bindPipelineBatch(view.query, around);
  if (bound !== undefined) batchExpectations(view, bound, around);
}

type Found = {
  readonly inputs: Map<string, BatchInput>;
  readonly views: Set<ViewDataset>;
};

type LookUp = {
  readonly findTable: (name: Name) => BatchTable | undefined;
  readonly findView: (name: Name) => BatchCommonTable | undefined;
};

function lookUp(around: BatchAround, found: Found, within: readonly ViewDataset[]): LookUp {
  const known = new Map<ViewDataset, BatchCommonTable>();
  return {
    findTable: (name) => findTable(name, around, found),
    findView: (name) => {
      const view = around.catalog.find(name);
      if (view?.kind !== 'view') return undefined;
      // A circle of views has its own fault; here it only must not go on for ever.
      if (within.includes(view)) throw new AlreadyReported(name.place);
      const table = known.get(view) ?? viewTable(view, around, found, within);
      known.set(view, table);
      found.views.add(view);
      return table;
    },
  };
}

/** A view is bound once, and its rows are made once, however often the query reads it. */
function viewTable(
  view: ViewDataset,
  around: BatchAround,
  found: Found,
  within: readonly ViewDataset[],
): BatchCommonTable {
  const cell = { uses: -1 };
  let known: BoundBatch | undefined;
  return {
    bind: () => {
      if (known === undefined) {
        const bound = bindBatchQuery(view.query, {
          timeZone: around.catalog.timeZone,
          ...lookUp(around, found, [...within, view]),
        });
        const judged = batchExpectations(view, bound, around);
        if (judged === undefined) throw new AlreadyReported(view.place);
        known = { ...bound, plan: { node: 'shared', input: judged, cell } };
      }
      cell.uses += 1;
      return known;
    },
  };
}

function findTable(name: Name, around: BatchAround, found: Found): BatchTable | undefined {
  const dataset = around.catalog.find(name);
  switch (dataset?.kind) {
    case undefined:
    case 'view':
      return undefined;
    case 'sink':
      throw fault('SOURCE_NOT_STREAMING', 'a sink is written and never read', name.place);
    case 'source': {
      if (dataset.broken) throw new AlreadyReported(name.place);
      const { plan } = dataset;
      if (plan.file !== undefined) throw new FaultError(fileStreamed(dataset, name.place));
      found.inputs.set(dataset.name, { kind: 'source', name: dataset.name });
      const declared = plan.columns.length - hiddenColumns.length;
      return {
        name: dataset.name,
        columns: plan.columns.slice(0, declared),
        broken: dataset.brokenColumns,
      };
    }
    case 'table':
    case 'materialized view': {
      const columns = around.columnsOf(dataset);
      if (around.isWhole && dataset.kind === 'table' && isIdleTable(dataset, around.catalog)) {
        const message = `no flow writes table "${dataset.name}", and it has no columns`;
        throw fault('TABLE_WITHOUT_FLOW', message, name.place, idleTableHint(dataset));
      }
      if (columns === undefined) throw new AlreadyReported(name.place);
      found.inputs.set(dataset.name, { kind: 'table', name: dataset.name });
      return { name: dataset.name, columns };
    }
  }
}

export type BoundMaterializedView = {
  readonly plan: MaterializedViewPlan;
  readonly table: TablePlan;
};

/** Plans a materialized view; undefined: it has a fault. */
export function bindMaterializedView(
  view: MaterializedViewDataset,
  around: BatchAround,
): BoundMaterializedView | undefined {
  const bound = bindPipelineBatch(view.query, around);
  if (bound === undefined) return undefined;
  const columns = resultColumns(bound.columns, view, around.faults);
  const query = batchExpectations(view, bound, around);
  if (columns === undefined || query === undefined) return undefined;
  const { options, name, topic, place } = view;
  const keys = groupColumns(bound.plan);
  const tree = meaningOf(view.query);
  return {
    plan: {
      name,
      table: name,
      replaceWhere: undefined,
      query,
      inputs: bound.inputs,
      keys,
      isVolatile: tree.isVolatile || bound.isVolatile,
      refreshMicros: options.durationMicros('refresh_every')?.value,
      fingerprint: batchFingerprint(
        'materialized view',
        { columns, keys, views: bound.views, timeZone: around.catalog.timeZone },
        [tree.text, ...judgements(view.constraints)],
      ),
      place,
    },
    table: {
      name,
      topic,
      columns,
      expectations: [],
      output: 'row_set',
      partitions: options.integer('partitions')?.value,
      deadLetterTopic: undefined,
      deadLetterShareMax: 1,
      rowSetRowsMax: Number.POSITIVE_INFINITY,
      sequenceAheadMaxMicros: undefined,
      sequenceMax: undefined,
      place,
    },
  };
}

/** Expectations as a part of what is computed: a result that was judged otherwise is another one. */
export function judgements(constraints: readonly Constraint[]): readonly string[] {
  return constraints.map(
    ({ name, action, condition }) =>
      `expects ${JSON.stringify([name.text, action])} ${meaningOf(condition).text}`,
  );
}

/** Equal text, equal result over equal inputs. */
export function batchFingerprint(
  kind: string,
  result: {
    readonly columns: readonly Column[];
    readonly keys?: readonly number[] | undefined;
    readonly views: readonly string[];
    readonly timeZone: string;
  },
  meanings: readonly string[],
): string {
  const { columns, keys, views, timeZone } = result;
  return [
    kind,
    `time zone ${JSON.stringify(timeZone)}`,
    `columns ${JSON.stringify(columns.map((one) => `${one.name} ${formatType(one.type)}`))}`,
    `keys ${JSON.stringify(keys ?? 'hash')}`,
    ...views,
    ...meanings,
  ].join('\n');
}

function resultColumns(
  columns: readonly BoundColumn[],
  { name, place }: MaterializedViewDataset,
  faults: FaultList,
): readonly Column[] | undefined {
  const seen = new Set<string>();
  const result: Column[] = [];
  for (const column of columns) {
    const at = column.place ?? place;
    if (column.name === undefined || column.name === '') {
      const message = `a column of materialized view "${name}" has no name`;
      faults.add(planFault('OUTPUT_COLUMN_UNNAMED', message, at, { hint: 'Write AS name.' }));
      return undefined;
    }
    if (column.type.kind === 'void') {
      const message = `column "${column.name}" is NULL without a type`;
      const hint = 'Cast it: CAST(NULL AS type).';
      faults.add(planFault('OUTPUT_COLUMN_UNTYPED', message, at, { hint }));
      return undefined;
    }
    if (seen.has(nameKey(column.name))) {
      const message = `two columns of materialized view "${name}" are called "${column.name}"`;
      const hint = 'Rename one of them with AS.';
      faults.add(planFault('OUTPUT_COLUMN_DUPLICATE', message, at, { hint }));
      return undefined;
    }
    seen.add(nameKey(column.name));
    result.push({ name: column.name, type: column.type });
  }
  return result;
}

/** Positions of the result's columns that are the groups of its aggregation, each once; undefined: rows have no such key. */
export function groupColumns(plan: BatchPlan): readonly number[] | undefined {
  const found = groupsOf(plan);
  if (found === undefined) return undefined;
  const positions = Array.from({ length: found.count }, (_, key) => found.places.indexOf(key));
  return positions.includes(-1) ? undefined : positions;
}

/** Which group each column of a step is, by its number. */
type Groups = { readonly count: number; readonly places: readonly (number | undefined)[] };

function groupsOf(plan: BatchPlan): Groups | undefined {
  switch (plan.node) {
    case 'aggregate':
      if (plan.sets !== undefined) return undefined;
      return { count: plan.keys.length, places: plan.keys.map((_, key) => key) };
    case 'project': {
      const groups = groupsOf(plan.input);
      return groups === undefined
        ? undefined
        : {
            count: groups.count,
            places: plan.values.map((value) =>
              value.node === 'column' ? groups.places[value.index] : undefined,
            ),
          };
    }
    case 'filter':
    case 'expect':
    case 'require':
    case 'limit':
    case 'shared':
    case 'sort':
    case 'window':
      return groupsOf(plan.input);
    default:
      return undefined;
  }
}

/** Functions whose value depends on when a query runs, or on chance. */
const volatileFunctions: ReadonlySet<string> = new Set([
  ...['now', 'curdate', 'current_date', 'current_time', 'current_timestamp', 'localtimestamp'],
  ...['unix_timestamp', 'rand', 'random', 'randn', 'randstr', 'shuffle', 'uniform', 'uuid'],
]);

const withoutMeaning: ReadonlySet<string> = new Set([
  ...['place', 'orderPlace', 'bareAliasPlace', 'quoted'],
]);

/** The tree of a query or expression without places and quotes: equal text, equal meaning. */
export function meaningOf(query: Query | Expression): {
  readonly text: string;
  readonly isVolatile: boolean;
} {
  let isVolatile = false;
  const text = JSON.stringify(query, (key, value: unknown) => {
    if (withoutMeaning.has(key)) return undefined;
    if (key === 'name' && isName(value)) {
      const last = value.parts.at(-1)?.text.toLowerCase() ?? '';
      isVolatile ||= volatileFunctions.has(last);
    }
    // `a AS a` is `a`.
    return isSelectItem(value) && saysItsName(value) ? { ...value, aliases: [] } : value;
  });
  return { text, isVolatile };
}

function saysItsName({ value, aliases }: SelectItem): boolean {
  if (value.node !== 'column' || aliases.length !== 1) return false;
  return aliases[0]?.text === value.name.parts.at(-1)?.text;
}

function isSelectItem(value: unknown): value is SelectItem {
  return typeof value === 'object' && value !== null && 'aliases' in value && 'value' in value;
}

function isName(value: unknown): value is Name {
  return typeof value === 'object' && value !== null && 'parts' in value;
}
