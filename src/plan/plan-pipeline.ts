import type { Fault } from '../base/place.ts';
import type { Column } from '../data/types.ts';
import type { FlowBody, ReplaceUsing, Statement } from '../sql/ast.ts';
import { parsePipeline } from '../sql/parse.ts';
import { type BindContext, emptyMemo } from './bind-context.ts';
import { bindQuery } from './bind-query.ts';
import { bindRelation } from './bind-relation.ts';
import { buildCatalog } from './build-catalog.ts';
import type { Catalog, FlowDeclaration, Schemas, TableDataset } from './catalog.ts';
import { checkExpectations } from './expectations.ts';
import { FaultList, notSupportedYet } from './faults.ts';
import { fingerprintText, flowDefinition } from './fingerprint.ts';
import { checkAutoCdc, checkByName, checkTargets, flowNouns, kindOf } from './flow-rules.ts';
import { nameText } from './names.ts';
import { optimizeBranch } from './optimize.ts';
import { noOptions } from './options.ts';
import type { FlowPlan, PipelinePlan, SourcePlan } from './pipeline-plan.ts';
import { type BoundReplaceFlow, bindReplaceFlow } from './replace-flow.ts';
import { isStreamingQuery } from './stream-kind.ts';
import { checkCycles, type DatasetReads, readsOf } from './table-cycles.ts';
import { planTable } from './table-plan.ts';
import { checkTopics } from './topic-rules.ts';

export type PipelineFile = { readonly file: string; readonly text: string };

export type PlanOptions = {
  /** Columns of topics that the files do not declare; each is then a source by the topic's name. */
  readonly schemas?: Schemas;
};

export type PlannedPipeline = {
  /** Only when no fault is an error. */
  readonly plan: PipelinePlan | undefined;
  /** Errors and warnings of all files, in their order. */
  readonly faults: readonly Fault[];
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

/** The plan of statements, whoever wrote them. */
export function planStatements(parsed: ParsedPipeline, options: PlanOptions = {}): PlannedPipeline {
  const faults = new FaultList();
  faults.addAll(parsed.faults);
  const catalog = buildCatalog(parsed.statements, options.schemas ?? new Map(), faults);
  const reads = readsOf(catalog);
  checkCycles(reads, faults);
  const texts = new Map(parsed.files.map(({ file, text }) => [file, text]));
  const draft = bindFlows(catalog, texts, faults);
  checkUnreadViews(catalog, reads, faults);
  const sorted = faults.sorted(parsed.files.map(({ file }) => file));
  if (faults.hasErrors) return { plan: undefined, faults: sorted };
  const warnings = sorted.filter((fault) => fault.severity === 'warning');
  return { plan: { ...draft, timeZone: catalog.timeZone, warnings }, faults: sorted };
}

function bindFlows(
  catalog: Catalog,
  texts: ReadonlyMap<string, string>,
  faults: FaultList,
): Pick<PipelinePlan, 'sources' | 'tables' | 'flows'> {
  const bound = new Map<TableDataset, BoundReplaceFlow>();
  const flows: FlowPlan[] = [];
  for (const { flow, table } of checkTargets(catalog, faults)) {
    const found = bindFlow(flow, table ?? nowhere(flow), catalog, faults);
    if (found === undefined || table === undefined) continue;
    bound.set(table, found);
    const plan = flowPlan(found, catalog.timeZone);
    if (plan !== undefined) flows.push(plan);
  }
  const sources = sourcesOf(catalog, bound.values());
  checkTopics(catalog, sources, faults);
  const tables = [...catalog.datasets].filter((dataset) => dataset.kind === 'table');
  return {
    sources,
    tables: tables.map((table) => {
      const flow = bound.get(table);
      const columns = flow?.columns ?? declaredColumns(table);
      const expectations = checkExpectations(table, columns, { catalog, texts, faults });
      return planTable(
        table,
        { columns: columns ?? [], expectations, sequence: flow?.sequence },
        faults,
      );
    }),
    flows,
  };
}

/** A flow without a target is bound as if its table were there, for the faults of its own. */
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

/** The declared sources, then those that queries brought along. */
function sourcesOf(catalog: Catalog, flows: Iterable<BoundReplaceFlow>): readonly SourcePlan[] {
  const sources = new Map<string, SourcePlan>();
  for (const dataset of catalog.datasets) {
    if (dataset.kind === 'source') sources.set(dataset.name, dataset.plan);
  }
  for (const { relation } of flows) {
    for (const { source } of relation.branches) {
      if (!sources.has(source.name)) sources.set(source.name, source);
    }
  }
  return [...sources.values()];
}

function bindFlow(
  flow: FlowDeclaration,
  table: TableDataset,
  catalog: Catalog,
  faults: FaultList,
): BoundReplaceFlow | undefined {
  const { body } = flow;
  const kind = kindOf(flow);
  const role =
    body.node === 'auto_cdc' ? 'auto_cdc' : kind === 'append' ? 'append' : 'replace_using';
  const context = newContext(catalog, role, faults);
  if (isReplaceUsing(body) && kind === 'replace_using') {
    return bindReplaceFlow(flow, body, table, context);
  }
  checkLaterFlow(body, context);
  checkByName(flow, faults);
  faults.add(notSupportedYet(flowNouns[kind], flow.place));
  return undefined;
}

function newContext(catalog: Catalog, flow: BindContext['flow'], faults: FaultList): BindContext {
  return {
    catalog,
    faults,
    ctes: new Map(),
    isStreamed: false,
    views: [],
    memo: emptyMemo(),
    flow,
    bindQuery,
  };
}

/** A view over streams that nobody reads has its faults too. */
function checkUnreadViews(catalog: Catalog, reads: DatasetReads, faults: FaultList): void {
  const read = new Set([...reads.values()].flatMap((datasets) => [...datasets]));
  for (const dataset of [...catalog.datasets]) {
    if (dataset.kind !== 'view' || read.has(dataset)) continue;
    const context = newContext(catalog, 'replace_using', faults);
    if (isStreamingQuery(dataset.query, context)) bindQuery(dataset.query, context);
  }
}

function isReplaceUsing(
  body: FlowBody,
): body is Extract<FlowBody, { node: 'insert' }> & { readonly replaceUsing: ReplaceUsing } {
  return body.node === 'insert' && body.replaceUsing !== undefined;
}

/** Flows that cannot run yet are bound as far as they are streams, so that their faults are told now. */
function checkLaterFlow(body: FlowBody, context: BindContext): void {
  if (body.node === 'auto_cdc') {
    checkAutoCdc(body.cdc, context.faults);
    bindRelation(body.cdc.source, context);
  } else if (!body.once && body.replaceWhere === undefined) {
    bindQuery(body.query, context);
  }
}

function flowPlan(flow: BoundReplaceFlow, timeZone: string): FlowPlan | undefined {
  const { declaration, table, relation, keys, sequence, emptyWhen } = flow;
  if (sequence === undefined) return undefined;
  const definition = flowDefinition(flow, sequence, timeZone);
  return {
    kind: 'replace_using',
    name: declaration.name,
    target: table.name,
    branches: relation.branches.map(optimizeBranch),
    distinct: relation.distinct !== undefined,
    keys,
    sequence,
    sequenceType: sequence.type,
    emptyWhen,
    fingerprint: fingerprintText(definition),
    definition,
    place: declaration.place,
  };
}
