import { type Fault, FaultError, type Place } from '../base/place.ts';
import type { FlowBody, Statement } from '../sql/ast.ts';
import { callPlace } from './call-place.ts';
import { checkOptions, type OptionKinds } from './check-options.ts';
import type { Columns, Shape, ShapeOf } from './column-type.ts';
import {
  type Condition,
  type Dataset,
  MaterializedView,
  Sink,
  Source,
  Table,
  View,
} from './dataset.ts';
import {
  type OptionText,
  type SourceSettings,
  sourceOptions,
  type TableSettings,
  tableBody,
  tableOptions,
} from './options.ts';
import type { BuiltQuery, Query } from './query.ts';
import type { SqlText } from './sql-text.ts';
import {
  autoCdcTree,
  type GivenInsert,
  type GivenQuery,
  insertBody,
  queryTree,
  type Selection,
} from './statements.ts';
import { type SqlPiece, TreeBuilder } from './tree-builder.ts';

/** What a program says of a pipeline: the same statements as SQL would give. */
export type PipelineDefinition = {
  /** The texts of SQL in it, by the names by which places speak of them. */
  readonly files: readonly SqlPiece[];
  readonly statements: readonly Statement[];
  readonly faults: readonly Fault[];
};

/** A query: text of SQL, or a built one whose columns are among those that are declared. */
type QueryWithin<Declared> = string | SqlText | BuiltQuery<NameIn<Declared>>;

type NameIn<Given> = keyof Given & string;

/** REPLACE USING with its sequence, or neither. */
type Replacing<Given> =
  | {
      /** The columns whose rows replace each other. */
      readonly replaceUsing: readonly NameIn<Given>[];
      /** A column of the query, or an expression over its columns. */
      readonly sequenceBy: NameIn<Given> | Exclude<Condition<Given>, string>;
      /** Rows that say that their key has none. */
      readonly emptyWhen?: Condition<Given>;
    }
  | NotReplacing;

type NotReplacing = {
  readonly replaceUsing?: never;
  readonly sequenceBy?: never;
  readonly emptyWhen?: never;
};

type Keyed<Given> = Extract<Replacing<Given>, { readonly replaceUsing: readonly string[] }>;

/** The columns of a table: those that it declares, else those of the query that fills it. */
type KnownShape<Given extends Shape, Made extends string> = string extends keyof Given
  ? Readonly<Record<Made, unknown>>
  : Given;

type Described = { readonly name: string; readonly comment?: string };

type TableDeclaration<Declared extends Columns> = Described &
  TableSettings & { readonly columns?: Declared };

/** Expectations by their names, as the calls on a table declare them. */
type Expecting<Given> = {
  readonly expectAll?: Readonly<Record<string, Condition<Given>>>;
  readonly expectAllOrDrop?: Readonly<Record<string, Condition<Given>>>;
  readonly expectAllOrFail?: Readonly<Record<string, Condition<Given>>>;
};

export type FlowOptions = {
  /** Also the name of its checkpoint; default: the name of the target. */
  readonly name?: string;
  readonly comment?: string;
};

type ReplaceFlowOptions<Given extends Shape> = FlowOptions & {
  readonly target: Table<Given>;
  readonly once?: boolean;
};

export type AutoCdcOptions<
  Changes extends Shape,
  Hidden extends Shape = Record<never, never>,
> = FlowOptions & {
  readonly target: { readonly kind: 'table'; readonly name: string };
  /** What it reads, as a stream. */
  readonly source: Dataset<Changes, Hidden>;
  readonly keys: readonly NameIn<Changes>[];
  readonly sequenceBy: NameIn<Changes & Hidden> | Exclude<Condition<Changes & Hidden>, string>;
  readonly once?: boolean;
  readonly ignoreNullUpdates?: boolean | Selection<NameIn<Changes>>;
  readonly applyAsDeletes?: Condition<Changes & Hidden>;
  readonly applyAsTruncates?: Condition<Changes & Hidden>;
  readonly columns?: Selection<NameIn<Changes>>;
  /** Also as a text, as Python has it. */
  readonly storedAsScdType?: 1 | 2 | '1' | '2';
  readonly trackHistory?: Selection<NameIn<Changes>>;
};

type Draft = {
  readonly what: string;
  readonly place: Place;
  /** The options of the call, and what they have to be. */
  readonly given: unknown;
  readonly kinds: OptionKinds | undefined;
  readonly make: (builder: TreeBuilder) => Statement;
};

const flowOptions = { name: 'name?', comment: 'text?', target: 'dataset' } as const;
const replaceOptions = {
  // Each has a fault of its own where it is of no use, or there without the others.
  replaceUsing: 'any?',
  sequenceBy: 'any?',
  emptyWhen: 'expression?',
} as const;
const expectOptions = {
  expectAll: 'conditions?',
  expectAllOrDrop: 'conditions?',
  expectAllOrFail: 'conditions?',
} as const;
const viewOptions = { ...tableOptions, name: 'name', query: 'query' } as const;
const declaredOptions = { ...tableOptions, name: 'name', columns: 'columns?' } as const;
const queryOptions = { query: 'query', once: 'flag?' } as const;
const cdcOptions = {
  ...flowOptions,
  source: 'dataset',
  keys: 'names',
  sequenceBy: 'expression',
  once: 'flag?',
  ignoreNullUpdates: 'nulls?',
  applyAsDeletes: 'expression?',
  applyAsTruncates: 'expression?',
  columns: 'selection?',
  storedAsScdType: 'scdType?',
  trackHistory: 'selection?',
} as const;

/** The statements of a pipeline in TypeScript. */
export class Pipeline {
  readonly #drafts: Draft[] = [];
  readonly #given: unknown;
  readonly #place = callPlace();

  constructor(options: { readonly timezone?: string } = {}) {
    this.#given = options;
    const zone = (options as typeof options | null)?.timezone;
    if (typeof zone === 'string') this.set('timezone', zone);
  }

  /** A setting of the pipeline, as SET has it. */
  set(key: string, value: OptionText): this {
    this.#draft(`setting "${key}"`, ({ place }) => ({ node: 'set', key, value, place }));
    return this;
  }

  /** A topic that producers write, with its columns. */
  source<const Declared extends Columns>(
    name: string,
    options: SourceSettings & { readonly columns: Declared; readonly comment?: string },
  ): Source<ShapeOf<Declared>> {
    const make = (builder: TreeBuilder): Statement => ({
      node: 'create_source',
      name: builder.name(name),
      orReplace: false,
      ifNotExists: false,
      body: tableBody(options, [], builder),
      place: builder.place,
    });
    this.#draft(`source "${name}"`, make, options, { ...sourceOptions, columns: 'columns?' });
    return new Source(name, (options as SourceSettings | undefined)?.topic ?? name);
  }

  /** A table and its default flow, which has the table's name: REPLACE USING, or append without it. */
  table(
    options: Described & TableSettings & { readonly query: string | SqlText } & Replacing<Shape>,
  ): Table<Shape>;
  table<const Declared extends Columns>(
    options: TableDeclaration<Declared> & { readonly columns: Declared } & {
      readonly query: QueryWithin<Declared>;
    } & Replacing<ShapeOf<Declared>>,
  ): Table<ShapeOf<Declared>>;
  table<Given extends Shape, Hidden extends Shape>(
    options: Described & TableSettings & { readonly query: Query<Given, Hidden> } & NotReplacing,
  ): Table<Given>;
  // The compiler tells of the last one what is wrong: it names a sequence that is missing, as a union would not.
  table<Given extends Shape, Hidden extends Shape>(
    options: Described & TableSettings & { readonly query: Query<Given, Hidden> } & Keyed<Given>,
  ): Table<Given>;
  table(
    options: TableDeclaration<Columns> & {
      readonly query: QueryWithin<Shape>;
    } & Replacing<Shape>,
  ): Table<Shape> {
    const table = new Table<Shape>(nameOf(options));
    const make = (builder: TreeBuilder): Statement => ({
      ...created(options.name, builder),
      node: 'create_streaming_table',
      body: tableBody(options, table.constraints(builder), builder),
      flow: insertBody(insertOf(options), builder),
    });
    this.#draft(`table "${nameOf(options)}"`, make, options, {
      ...declaredOptions,
      query: 'query',
      ...replaceOptions,
    });
    return table;
  }

  /** A table without a flow of its own: flows name it as their target. */
  createStreamingTable<const Declared extends Columns>(
    options: TableDeclaration<Declared> & { readonly columns: Declared } & Expecting<
        ShapeOf<Declared>
      >,
  ): Table<ShapeOf<Declared>>;
  createStreamingTable(options: Described & TableSettings & Expecting<Shape>): Table<Shape>;
  createStreamingTable(options: TableDeclaration<Columns> & Expecting<Shape>): Table<Shape> {
    const table = new Table<Shape>(nameOf(options))
      .expectAll(conditionsOf(options, 'expectAll'))
      .expectAllOrDrop(conditionsOf(options, 'expectAllOrDrop'))
      .expectAllOrFail(conditionsOf(options, 'expectAllOrFail'));
    const make = (builder: TreeBuilder): Statement => ({
      ...created(options.name, builder),
      node: 'create_streaming_table',
      body: tableBody(options, table.constraints(builder), builder),
      flow: undefined,
    });
    this.#draft(`table "${nameOf(options)}"`, make, options, {
      ...declaredOptions,
      ...expectOptions,
    });
    return table;
  }

  /** The same under its short name. */
  streamingTable: Pipeline['createStreamingTable'] = this.createStreamingTable.bind(
    this,
  ) as Pipeline['createStreamingTable'];

  /** A REPLACE USING flow into a table; `once`: a batch query that runs one time. */
  replaceFlow<Given extends Shape>(
    options: ReplaceFlowOptions<Given> & { readonly query: string | SqlText } & Keyed<Given>,
  ): void;
  replaceFlow<Given extends Shape, Made extends NameIn<Given>>(
    options: ReplaceFlowOptions<Given> & { readonly query: BuiltQuery<Made> } & Keyed<
        KnownShape<Given, Made>
      >,
  ): void;
  replaceFlow(
    options: ReplaceFlowOptions<Shape> & { readonly query: GivenQuery } & Keyed<Shape>,
  ): void {
    const kinds = { ...flowOptions, ...queryOptions, ...replaceOptions };
    this.#flow(options, kinds, (builder) => insertBody(insertOf(options), builder));
  }

  /** A flow that appends the rows of a query to a table or sink; `once`: a batch query that runs one time. */
  appendFlow<Given extends Shape>(
    options: FlowOptions & {
      readonly target: Table<Given> | Sink;
      readonly query: QueryWithin<Given>;
      readonly once?: boolean;
    },
  ): void {
    this.#flow(options, { ...flowOptions, ...queryOptions }, (builder) =>
      insertBody({ query: options.query, once: options.once === true }, builder),
    );
  }

  /**
   * A batch flow: the rows of the target for which a condition holds are replaced by those of the query; `once`: one time.
   */
  replaceWhereFlow<Given extends Shape>(
    options: FlowOptions & {
      readonly target: Table<Given>;
      readonly replaceWhere: Condition<Given>;
      readonly query: QueryWithin<Given>;
      readonly once?: boolean;
    },
  ): void {
    const kinds = { ...flowOptions, ...queryOptions, replaceWhere: 'expression' } as const;
    this.#flow(options, kinds, (builder) => {
      const { query, replaceWhere, once } = options;
      const where = replaceWhere as Condition<never>;
      return insertBody({ query, replaceWhere: where, once: once === true }, builder);
    });
  }

  /** A flow that applies a feed of changes to a table. */
  autoCdcFlow<Changes extends Shape, Hidden extends Shape>(
    options: AutoCdcOptions<Changes, Hidden>,
  ): void {
    this.#flow(options, cdcOptions, (builder) => ({
      node: 'auto_cdc',
      cdc: autoCdcTree(options, builder),
      place: builder.place,
    }));
  }

  /** The result of a batch query, kept up to date by each update. */
  materializedView(
    options: Described & TableSettings & { readonly query: string | SqlText },
  ): MaterializedView<Shape>;
  materializedView<Given extends Shape, Hidden extends Shape>(
    options: Described & TableSettings & { readonly query: Query<Given, Hidden> },
  ): MaterializedView<Given>;
  materializedView(
    options: Described & TableSettings & { readonly query: GivenQuery },
  ): MaterializedView<Shape> {
    const view = new MaterializedView<Shape>(nameOf(options));
    const make = (builder: TreeBuilder): Statement => ({
      ...created(options.name, builder),
      node: 'create_materialized_view',
      columns: [],
      body: tableBody(options, view.constraints(builder), builder),
      query: queryTree(options.query, builder),
      place: builder.place,
    });
    this.#draft(`materialized view "${nameOf(options)}"`, make, options, viewOptions);
    return view;
  }

  /** A query under a name; nothing is stored. */
  view(options: Described & { readonly query: string | SqlText }): View<Shape>;
  view<Given extends Shape, Hidden extends Shape>(
    options: Described & { readonly query: Query<Given, Hidden> },
  ): View<Given>;
  view(options: Described & { readonly query: GivenQuery }): View<Shape> {
    const view = new View<Shape>(nameOf(options));
    const make = (builder: TreeBuilder): Statement => ({
      node: 'create_view',
      columns: [],
      name: builder.name(options.name),
      orReplace: false,
      ifNotExists: false,
      temporary: true,
      body: tableBody(options, view.constraints(builder), builder),
      query: queryTree(options.query, builder),
      place: builder.place,
    });
    this.#draft(`view "${nameOf(options)}"`, make, options, viewOptions);
    return view;
  }

  /** A topic outside of the pipeline, which append flows write. */
  sink(name: string, options: Omit<TableSettings, 'output' | 'maxRowSetRows'> = {}): Sink {
    const make = (builder: TreeBuilder): Statement => ({
      node: 'create_sink',
      name: builder.name(name),
      ifNotExists: false,
      body: tableBody(options, [], builder),
      place: builder.place,
    });
    this.#draft(`sink "${name}"`, make, options, tableOptions);
    return new Sink(name);
  }

  /** All statements, in their order, as the planner takes them. */
  definition(): PipelineDefinition {
    const files: SqlPiece[] = [];
    const own = new TreeBuilder(this.#place, 'pipeline');
    checkOptions('pipeline', this.#given, pipelineOptions, own);
    const faults: Fault[] = [...own.faults];
    const statements = this.#drafts.flatMap(({ what, place, given, kinds, make }) => {
      const builder = new TreeBuilder(place, what);
      const isFine = kinds === undefined || checkOptions(what, given, kinds, builder);
      const made = isFine ? madeBy(make, builder) : [];
      files.push(...builder.pieces);
      faults.push(...builder.faults);
      return made;
    });
    return { files, statements, faults: onceEach(faults) };
  }

  #flow(
    options: FlowOptions & { readonly target: { readonly name: string } },
    kinds: OptionKinds,
    body: (builder: TreeBuilder) => FlowBody,
  ): void {
    // What was not asked of the compiler may be missing here.
    const target = (options as Partial<typeof options> | undefined)?.target?.name;
    const name = (options as FlowOptions | undefined)?.name ?? target;
    const make = (builder: TreeBuilder): Statement => ({
      node: 'create_flow',
      name: builder.name(name ?? ''),
      comment: options.comment,
      target: builder.name(target ?? ''),
      body: body(builder),
      place: builder.place,
    });
    this.#draft(name === undefined ? 'flow' : `flow "${name}"`, make, options, kinds);
  }

  #draft(
    what: string,
    make: (builder: TreeBuilder) => Statement,
    given?: unknown,
    kinds?: OptionKinds,
  ): void {
    this.#drafts.push({ what, place: callPlace(), given, kinds, make });
  }
}

/** A pipeline to be filled; `timezone` is that of its expressions, UTC without it. */
export function pipeline(options: { readonly timezone?: string } = {}): Pipeline {
  return new Pipeline(options);
}

const pipelineOptions = { timezone: 'text?' } as const;

/** What was not asked of the compiler may be missing here; the check of the options tells it. */
function nameOf(options: Partial<Described> | null | undefined): string {
  return options?.name ?? '';
}

function conditionsOf(
  options: Expecting<Shape> | undefined,
  name: keyof Expecting<Shape>,
): Readonly<Record<string, Condition<Shape>>> {
  const given = options?.[name];
  // Of another kind, it is a fault of the option.
  return typeof given === 'object' ? given : {};
}

function madeBy(make: Draft['make'], builder: TreeBuilder): readonly Statement[] {
  try {
    return [make(builder)];
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    builder.faults.push(error.fault);
    return [];
  }
}

/** A query that two statements read has its faults once. */
function onceEach(faults: readonly Fault[]): readonly Fault[] {
  const texts = faults.map((fault) => JSON.stringify(fault));
  return faults.filter((_, index) => texts.indexOf(texts[index] ?? '') === index);
}

function created(name: string, builder: TreeBuilder) {
  return {
    name: builder.name(name),
    orRefresh: false,
    ifNotExists: false,
    private: false,
    place: builder.place,
  };
}

function insertOf(options: {
  readonly query: GivenQuery;
  readonly once?: boolean;
  readonly replaceUsing?: readonly string[];
  readonly sequenceBy?: unknown;
  readonly emptyWhen?: unknown;
}): GivenInsert {
  const { query, once, replaceUsing, sequenceBy, emptyWhen } = options;
  return {
    query,
    once: once === true,
    replaceUsing,
    sequenceBy: sequenceBy as Condition<never> | undefined,
    emptyWhen: emptyWhen as Condition<never> | undefined,
  };
}
