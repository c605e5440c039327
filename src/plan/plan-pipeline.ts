import type { Fault } from '../base/place.ts';
import type { Column } from '../data/types.ts';
import type { FlowBody, ReplaceUsing, Statement } from '../sql/ast.ts';
import { parsePipeline } from '../sql/parse.ts';
import { type BindContext, emptyMemo } from './bind/bind-context.ts';
import { bindQuery } from './bind/bind-query.ts';
import { bindViewRows } from './bind/bind-relation.ts';
import { nameText } from './bind/names.ts';
import { buildCatalog } from './build-catalog.ts';
import {
  type Catalog,
  type Dataset,
  type FlowDeclaration,
  isTarget,
  type MaterializedViewDataset,
  type Schemas,
  type TableDataset,
  type ViewDataset,
} from './catalog.ts';
import { checkExpectations } from './expectations.ts';
import { checkLineage } from './explain/lineage.ts';
import { FaultList } from './faults.ts';
import { appendDefinition, fingerprintText, flowDefinition } from './fingerprint.ts';
import {
  type AppendDeclaration,
  type BoundAppendFlow,
  bindAppendFlows,
} from './flows/append-flow.ts';
import { type BoundCdcFlow, bindCdcFlows, type CdcDeclaration } from './flows/cdc-flow.ts';
import { cdcPlan, withTableStages } from './flows/cdc-plan.ts';
import { kindOf } from './flows/flow-kind.ts';
import { checkTargets, warnOfIdleTables } from './flows/flow-rules.ts';
import { planJoins } from './flows/join-flow.ts';
import {
  type BatchAround,
  type BoundMaterializedView,
  bindMaterializedView,
  checkBatchView,
} from './flows/materialized-view.ts';
import { onceFaults } from './flows/once-flow.ts';
import { bindOnceQuery, type OnceQuery } from './flows/once-query.ts';
import { type BoundReplaceFlow, bindReplaceFlow } from './flows/replace-flow.ts';
import { bindReplaceWhere, type ReplaceWhereBody } from './flows/replace-where.ts';
import { replacedSource } from './flows/replaced-rows.ts';
import { planSift } from './flows/sift-flow.ts';
import { isStreamingQuery } from './flows/stream-kind.ts';
import { optimizeBranch } from './optimize.ts';
import { noOptions } from './options.ts';
import {
  type FlowPlan,
  isOutside,
  type PipelinePlan,
  type ReplacedSource,
  type SourcePlan,
  staticSources,
} from './pipeline-plan.ts';
import type { BoundRelation } from './relation.ts';
import { StageList } from './stage-list.ts';
import { checkStageNames, checkTableStages } from './stage-names.ts';
import { checkCycles, type DatasetReads, readsOf } from './table-cycles.ts';
import { planTable, storedColumns } from './table-plan.ts';
import { checkTopics } from './topic-rules.ts';
import { checkPipelineTopics } from './topology.ts';

export type PipelineFile = { readonly file: string; readonly text: string };

export type PlanOptions = {
  /** Columns of topics that the files do not declare; each is then a source by the topic's name. */
  readonly schemas?: Schemas;
  /** Name of the pipeline where it is known: the topics that it keeps under that name are nobody else's. */
  readonly pipeline?: string | undefined;
};

export type PlannedPipeline = {
  /** Only when no fault is an error. */
  readonly plan: PipelinePlan | undefined;
  /** Errors and warnings of all files, in their order. */
  readonly faults: readonly Fault[];
  readonly written: WrittenNames;
};

/** The names of what the files themselves define, without anything that the plan needs beside it. */
export type WrittenNames = {
  readonly sources: readonly string[];
  readonly tables: readonly string[];
  readonly materializedViews: readonly string[];
  readonly views: readonly string[];
  readonly sinks: readonly string[];
  readonly flows: readonly string[];
};

/**
 * From the text of a pipeline to its plan: parse, name, bind, check every rule. Nothing is read from
 * anywhere, and all faults are told at once. Invariant: there is a plan exactly when no fault is an
 * error, and then every flow of it can run.
 */
export function planPipeline(
  files: readonly PipelineFile[],
  options: PlanOptions = {},
): PlannedPipeline {
  const faults: Fault[] = [];
  const statements: Statement[] = [];
  for (const { file, text } of files) {
    const parsed = parsePipeline(text, file);
    faults.push(...parsed.faults);
    statements.push(...parsed.statements);
  }
  return planStatements({ files, statements, faults }, options);
}

/** Statements that are parsed already, or built without text; `files` has the texts that their places speak of. */
export type ParsedPipeline = {
  readonly files: readonly PipelineFile[];
  readonly statements: readonly Statement[];
  readonly faults: readonly Fault[];
};

/** What everything is bound in. */
type Around = {
  readonly catalog: Catalog;
  /** By file. */
  readonly texts: ReadonlyMap<string, string>;
  readonly faults: FaultList;
  /** Every statement could be read: what is not there was not written. */
  readonly isWhole: boolean;
};

/** The plan of statements, whoever wrote them. */
export function planStatements(parsed: ParsedPipeline, options: PlanOptions = {}): PlannedPipeline {
  const faults = new FaultList();
  faults.addAll(parsed.faults);
  const catalog = buildCatalog(parsed.statements, options.schemas ?? new Map(), faults);
  const reads = readsOf(catalog);
  checkCycles(reads, faults);
  const texts = new Map(parsed.files.map(({ file, text }) => [file, text]));
  const isWhole = parsed.faults.every(({ severity }) => severity !== 'error');
  const around = { catalog, texts, faults, isWhole };
  const draft = bindFlows(around, reads);
  if (options.pipeline !== undefined && !faults.hasErrors) {
    checkPipelineTopics(draft, options.pipeline, faults);
  }
  if (!faults.hasErrors) warnOfIdleTables(catalog, faults);
  const sorted = faults.sorted(parsed.files.map(({ file }) => file));
  const written = writtenNames(catalog);
  if (faults.hasErrors) return { plan: undefined, faults: sorted, written };
  const warnings = sorted.filter((fault) => fault.severity === 'warning');
  return { plan: { ...draft, timeZone: catalog.timeZone, warnings }, faults: sorted, written };
}

function writtenNames(catalog: Catalog): WrittenNames {
  const datasets = [...catalog.datasets];
  const namesOf = (kind: Dataset['kind']): readonly string[] =>
    datasets.filter((dataset) => dataset.kind === kind).map(({ name }) => name);
  return {
    sources: namesOf('source'),
    tables: namesOf('table'),
    materializedViews: namesOf('materialized view'),
    views: namesOf('view'),
    sinks: namesOf('sink'),
    flows: catalog.flows.map(({ name }) => name),
  };
}

function bindFlows(
  around: Around,
  reads: DatasetReads,
): Pick<PipelinePlan, 'sources' | 'tables' | 'flows' | 'materializedViews'> {
  const { catalog, faults } = around;
  const binder = new FlowBinder(around);
  const targeted = checkTargets(catalog, faults);
  for (const { flow, table } of targeted) {
    if (table === undefined) binder.bindWithoutTarget(flow);
    else binder.bindTable(table);
  }
  for (const dataset of catalog.datasets) {
    if (dataset.kind === 'materialized view') binder.bindView(dataset);
  }
  for (const view of unreadViews(catalog, reads)) binder.checkView(view);
  const batches = binder.boundBatches;
  const computed = new Set(batches.map(({ table }) => table.name));
  const bound = targeted.flatMap(({ flow }) => binder.bound.get(flow) ?? []);
  const own = withTableStages(bound.flatMap((flow) => flowPlan(flow, catalog.timeZone) ?? []));
  const listed = new Map(targeted.map(({ flow }) => [flow.name, binder.stagesOf(flow)]));
  const sources = sourcesOf(catalog, [
    ...[...listed.values()].flatMap((list) => [
      ...(list?.joins ?? []).flatMap(({ left, right }) => [left, right]),
      ...(list?.sift === undefined ? [] : [list.sift.relation]),
    ]),
    ...bound.map(({ relation }) => relation),
  ]);
  const stageRows = bound.flatMap((flow) =>
    stageSources(flow, listed.get(flow.declaration.name)).map((source) => ({
      flow: flow.declaration,
      source,
    })),
  );
  checkStageNames(catalog, stageRows, faults);
  checkTableStages(catalog, bound, faults);
  checkTopics(catalog, { sources: sources.filter(isOutside), stageRows }, faults);
  const written = new Set(targeted.map(({ table }) => table));
  // Nothing writes a sink without flows, so there is nothing to create.
  const tables = [...catalog.datasets]
    .filter(isTarget)
    .filter((table) => table.kind === 'table' || written.has(table))
    .filter(({ name }) => !computed.has(name))
    .map((table) => {
      const flow = bound.find((one) => one.table === table);
      const columns = flow?.columns ?? declaredColumns(table);
      const expectations = checkExpectations(table, columns, around);
      return planTable(
        table,
        {
          columns: columns ?? [],
          expectations,
          isAppended: flow?.kind === 'append',
          isOneTask: flow?.kind === 'replace_using' && flow.relation.limit !== undefined,
          sequence: flow === undefined || flow.kind === 'append' ? undefined : flow.sequence,
          hasHistory: flow?.kind === 'auto_cdc' && flow.tracked !== undefined,
        },
        faults,
      );
    });
  const stages = own.flatMap((flow) => {
    const target = tables.find(({ name }) => name === flow.target);
    const list = listed.get(flow.name);
    if (target === undefined || list === undefined) return [];
    const around = { target, timeZone: catalog.timeZone };
    const sift = list.sift === undefined ? [] : [planSift(list.sift, around)];
    const readers = [...sift.flatMap((one) => one.flow.branches), ...flow.branches];
    return [...planJoins(list.joins, readers, around), ...sift];
  });
  const flows = [...stages.map(({ flow }) => flow), ...own];
  checkLineage(sources, flows, faults);
  const marking = new Set(
    sources.flatMap(({ table, firstVersions }) => (firstVersions === undefined ? [] : [table])),
  );
  return {
    sources,
    tables: [
      ...tables.map((one) => (marking.has(one.name) ? { ...one, marksFirst: true } : one)),
      ...batches.map(({ table }) => table),
      ...stages.map(({ table }) => table),
    ],
    materializedViews: batches.map(({ plan }) => plan),
    flows,
  };
}

/** What a flow reads that the pipeline itself writes for it alone. */
function stageSources(flow: BoundFlow, stages: StageList | undefined): readonly SourcePlan[] {
  const computed = flow.relation.branches.find(({ source }) => source.batch !== undefined);
  return [
    ...(stages?.joins ?? []).map(({ source }) => source),
    ...(stages?.sift === undefined ? [] : [stages.sift.source]),
    ...(computed === undefined ? [] : [computed.source]),
  ];
}

type BoundFlow = BoundReplaceFlow | BoundAppendFlow | BoundCdcFlow;

/**
 * Binds flows table by table, those of a table before whatever reads it. Invariant: each flow is bound once,
 * whoever asks for the columns of its table.
 */
class FlowBinder {
  readonly bound = new Map<FlowDeclaration, BoundFlow>();
  readonly #around: Around;
  readonly #catalog: Catalog;
  readonly #faults: FaultList;
  readonly #tables = new Map<TableDataset, 'binding' | 'bound'>();
  readonly #views = new Map<MaterializedViewDataset, readonly Column[] | undefined>();
  /** Batch queries: each after those that it reads. */
  readonly #ordered: BoundMaterializedView[] = [];
  /** Tables of REPLACE WHERE flows. */
  readonly #computed = new Map<TableDataset, BoundMaterializedView>();
  readonly #stages = new Map<FlowDeclaration, StageList>();

  constructor(around: Around) {
    this.#around = around;
    this.#catalog = around.catalog;
    this.#faults = around.faults;
  }

  bindTable(table: TableDataset): void {
    if (this.#tables.has(table)) return;
    this.#tables.set(table, 'binding');
    const appending: AppendDeclaration[] = [];
    const changing: CdcDeclaration[] = [];
    for (const flow of this.#flowsOf(table)) {
      const { body } = flow;
      const kind = kindOf(flow);
      if (body.node === 'insert' && (kind === 'append' || kind === 'once')) {
        appending.push(this.#appendDeclaration(flow, table, body));
      } else if (body.node === 'auto_cdc') {
        changing.push({ declaration: flow, body, context: this.#context('auto_cdc') });
      } else {
        this.#bind(flow, table);
      }
    }
    for (const flow of bindCdcFlows(table, changing)) this.bound.set(flow.declaration, flow);
    this.#bindAppending(table, appending);
    this.#tables.set(table, 'bound');
  }

  #appendDeclaration(
    flow: FlowDeclaration,
    table: TableDataset,
    body: InsertBody,
  ): AppendDeclaration {
    return { declaration: flow, body, context: this.#contextOf(flow, table, body, 'append') };
  }

  #bindAppending(table: TableDataset, appending: readonly AppendDeclaration[]): void {
    for (const flow of bindAppendFlows(table, appending)) this.#keep(flow);
    for (const { body, context } of appending) this.#tellOnce(body, context);
  }

  /** Materialized views and REPLACE WHERE flows, each after those that it reads. */
  get boundBatches(): readonly BoundMaterializedView[] {
    return this.#ordered;
  }

  bindView(view: MaterializedViewDataset): readonly Column[] | undefined {
    // A circle has its own fault; here it only must not go on for ever.
    if (this.#views.has(view)) return this.#views.get(view);
    this.#views.set(view, undefined);
    const found = bindMaterializedView(view, this.#batchAround());
    if (found === undefined) return undefined;
    this.#ordered.push(found);
    this.#views.set(view, found.table.columns);
    return found.table.columns;
  }

  /** A view that nobody reads has its faults too. One without a STREAM of its own may be read either way: one has to do. */
  checkView(view: ViewDataset): void {
    const bare = this.#context('replace_using');
    const stages = new StageList(view.name, { name: view.name, topic: view.name });
    if (isStreamingQuery(view.query, { ...bare, stages })) {
      bindViewRows(view, { ...bare, stages });
      return;
    }
    const batch = new FaultList();
    checkBatchView(view, { ...this.#batchAround(), faults: batch });
    const streamed = new FaultList();
    if (batch.hasErrors) {
      bindViewRows(view, { ...bare, stages, isStreamed: true, faults: streamed });
    }
    const isStream = batch.hasErrors && !streamed.hasErrors;
    this.#faults.addAll((isStream ? streamed : batch).sorted([]));
  }

  #batchAround(): BatchAround {
    return {
      ...this.#around,
      columnsOf: (dataset) =>
        dataset.kind === 'materialized view'
          ? this.bindView(dataset)
          : (this.#storedColumns(dataset) ?? this.#idleColumns(dataset)),
    };
  }

  /** As they stand in the topic of the table, history included. */
  #storedColumns(table: TableDataset): readonly Column[] | undefined {
    const columns = this.#columnsOf(table);
    const computed = this.#computed.get(table);
    if (computed !== undefined) return computed.table.columns;
    const flow = this.#flowsOf(table).find((one) => this.bound.has(one));
    const found = flow === undefined ? undefined : this.bound.get(flow);
    if (columns === undefined || found === undefined) return undefined;
    return storedColumns({
      columns,
      sequence: found.kind === 'append' ? undefined : found.sequence,
      hasHistory: found.kind === 'auto_cdc' && found.tracked !== undefined,
    });
  }

  /** A table that no flow writes yet has the columns that it declares. */
  #idleColumns(table: TableDataset): readonly Column[] | undefined {
    return this.#flowsOf(table).length > 0 ? undefined : declaredColumns(table);
  }

  /** It is bound as if its table were there, for the faults of its own. */
  bindWithoutTarget(flow: FlowDeclaration): void {
    this.#bind(flow, nowhere(flow));
    this.bound.delete(flow);
  }

  #bind(flow: FlowDeclaration, table: TableDataset): void {
    const { body } = flow;
    if (isReplaceUsing(body)) {
      const context = this.#contextOf(flow, table, body, 'replace_using');
      const found = bindReplaceFlow(flow, body, table, context);
      if (found !== undefined) this.#keep(found);
      this.#tellOnce(body, context);
      return;
    }
    if (body.node === 'auto_cdc') {
      bindCdcFlows(table, [{ declaration: flow, body, context: this.#context('auto_cdc') }]);
      return;
    }
    if (isReplaceWhere(body)) {
      const found = bindReplaceWhere(flow, body, table, this.#batchAround());
      if (found === undefined) return;
      this.#computed.set(table, found);
      this.#ordered.push(found);
      return;
    }
    this.#bindAppending(table, [this.#appendDeclaration(flow, table, body)]);
  }

  #keep(flow: BoundReplaceFlow | BoundAppendFlow): void {
    this.bound.set(flow.declaration, flow);
  }

  /** A once flow reads batches: its sources need no STREAM, and what it cannot do yet is told in its own words. */
  #contextOf(
    flow: FlowDeclaration,
    table: TableDataset,
    body: InsertBody,
    role: BindContext['flow'],
  ): BindContext {
    const context = this.#context(role);
    if (body.once) {
      const around = this.#batchAround();
      const once = { query: body.query, flow: flow.name, table, place: flow.place, around };
      return {
        ...context,
        isStreamed: true,
        isOnce: true,
        faults: new FaultList(),
        bindQuery: onceBinder(once),
      };
    }
    const stages = new StageList(flow.name, table);
    this.#stages.set(flow, stages);
    return { ...context, stages };
  }

  /** What stands before a flow. */
  stagesOf(flow: FlowDeclaration): StageList | undefined {
    return this.#stages.get(flow);
  }

  #tellOnce(body: InsertBody, { faults }: BindContext): void {
    if (body.once) this.#faults.addAll(onceFaults(faults, body.query.place));
  }

  #context(role: BindContext['flow']): BindContext {
    return newContext(this.#around, role, {
      columnsOf: (table) => this.#columnsOf(table),
      replacedBy: (table) => this.#replacedBy(table),
    });
  }

  #flowsOf(table: TableDataset): readonly FlowDeclaration[] {
    return this.#catalog.flows.filter(({ target }) => this.#catalog.find(target) === table);
  }

  #replacedBy(table: TableDataset): ReplacedSource | undefined {
    const found = this.#flowsOf(table).flatMap((flow) => this.bound.get(flow) ?? []);
    const replacing = found.find((flow) => flow.kind === 'replace_using');
    return replacing === undefined ? undefined : replacedSource(replacing);
  }

  #columnsOf(table: TableDataset): readonly Column[] | undefined {
    // A circle of tables has its own fault; here it only must not go on for ever.
    if (this.#tables.get(table) === 'binding') return undefined;
    this.bindTable(table);
    const flow = this.#flowsOf(table).find((one) => this.bound.has(one));
    const columns = flow === undefined ? undefined : this.bound.get(flow)?.columns;
    return columns?.some(({ broken }) => broken) === true ? undefined : columns;
  }
}

/** Binds the outermost query as one that runs once; what is inside of it as ever. */
function onceBinder(once: OnceQuery): BindContext['bindQuery'] {
  return (query, context) =>
    query === once.query
      ? bindOnceQuery(once, { ...context, bindQuery })
      : bindQuery(query, context);
}

function nowhere(flow: FlowDeclaration): TableDataset {
  const name = nameText(flow.target);
  return {
    kind: 'table',
    name,
    place: flow.target.place,
    topic: name,
    columns: undefined,
    constraints: [],
    options: noOptions,
  };
}

function declaredColumns(table: TableDataset): readonly Column[] | undefined {
  return table.columns === 'broken' ? undefined : table.columns;
}

/** The declared sources, then those that queries brought along, tables of the pipeline among them. */
function sourcesOf(catalog: Catalog, relations: Iterable<BoundRelation>): readonly SourcePlan[] {
  const sources = new Map<string, SourcePlan>();
  for (const dataset of catalog.datasets) {
    if (dataset.kind === 'source') sources.set(dataset.name, dataset.plan);
  }
  for (const relation of relations) {
    for (const branch of relation.branches) {
      for (const source of [branch.source, ...staticSources(branch.steps)]) {
        if (!sources.has(source.name)) sources.set(source.name, source);
      }
    }
  }
  return [...sources.values()];
}

function newContext(
  { catalog, faults, texts }: Around,
  flow: BindContext['flow'],
  tables: Pick<BindContext, 'columnsOf' | 'replacedBy'>,
): BindContext {
  return {
    catalog,
    faults,
    texts,
    ctes: new Map(),
    isStreamed: false,
    isStatic: false,
    views: [],
    memo: emptyMemo(),
    flow,
    stages: undefined,
    ...tables,
    bindQuery,
  };
}

function unreadViews(catalog: Catalog, reads: DatasetReads): readonly ViewDataset[] {
  const read = new Set([...reads.values()].flatMap((datasets) => [...datasets]));
  return [...catalog.datasets].flatMap((dataset) =>
    dataset.kind === 'view' && !read.has(dataset) ? [dataset] : [],
  );
}

type InsertBody = Extract<FlowBody, { node: 'insert' }>;

function isReplaceWhere(body: InsertBody): body is InsertBody & ReplaceWhereBody {
  return body.replaceWhere !== undefined;
}

function isReplaceUsing(
  body: FlowBody,
): body is InsertBody & { readonly replaceUsing: ReplaceUsing } {
  return body.node === 'insert' && body.replaceUsing !== undefined;
}

function flowPlan(flow: BoundFlow, timeZone: string): FlowPlan | undefined {
  const { declaration, table, relation } = flow;
  const shared = {
    name: declaration.name,
    target: table.name,
    branches: relation.branches.map(optimizeBranch),
    place: declaration.place,
  };
  if (flow.kind === 'append') {
    const definition = appendDefinition(flow, timeZone);
    return {
      kind: 'append',
      ...shared,
      once: flow.once,
      fingerprint: fingerprintText(definition),
      definition,
    };
  }
  if (flow.kind === 'auto_cdc') return cdcPlan(flow, shared, timeZone);
  const { keys, sequence, emptyWhen, versionKeys } = flow;
  if (sequence === undefined) return undefined;
  const definition = flowDefinition(flow, sequence, timeZone);
  return {
    kind: 'replace_using',
    ...shared,
    branches: shared.branches.map((branch, position) => {
      const found = versionKeys[position];
      return found === undefined ? branch : { ...branch, versionKeys: found };
    }),
    once: flow.once,
    distinct: relation.distinct !== undefined,
    limit: relation.limit?.rows,
    keys,
    sequence,
    sequenceType: sequence.type,
    emptyWhen,
    fingerprint: fingerprintText(definition),
    definition,
  };
}
