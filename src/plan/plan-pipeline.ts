import type { Fault } from '../base/place.ts';
import type { Column } from '../data/types.ts';
import type { FlowBody, ReplaceUsing, Statement } from '../sql/ast.ts';
import { parsePipeline } from '../sql/parse.ts';
import type { BindContext } from './bind-context.ts';
import { bindQuery } from './bind-query.ts';
import { bindRelation } from './bind-relation.ts';
import {
  buildCatalog,
  type Catalog,
  type FlowDeclaration,
  type Schemas,
  type TableDataset,
} from './catalog.ts';
import { checkExpectations } from './expectations.ts';
import { FaultList, notSupportedYet } from './faults.ts';
import { fingerprintText, flowDefinition } from './fingerprint.ts';
import { checkAutoCdc, checkByName, checkTargets, flowNouns, kindOf } from './flow-rules.ts';
import { optimizeBranch } from './optimize.ts';
import type { FlowPlan, PipelinePlan, SourcePlan } from './pipeline-plan.ts';
import { type BoundReplaceFlow, bindReplaceFlow } from './replace-flow.ts';
import { checkCycles } from './table-cycles.ts';
import { planTable } from './table-plan.ts';

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
  const faults = new FaultList();
  const statements: Statement[] = [];
  for (const { file, text } of files) {
    const parsed = parsePipeline(text, file);
    faults.addAll(parsed.faults);
    statements.push(...parsed.statements);
  }
  const catalog = buildCatalog(statements, options.schemas ?? new Map(), faults);
  checkCycles(catalog, faults);
  const texts = new Map(files.map(({ file, text }) => [file, text]));
  const draft = bindFlows(catalog, texts, faults);
  const sorted = faults.sorted(files.map(({ file }) => file));
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
    const found = bindFlow(flow, table, catalog, faults);
    if (found === undefined) continue;
    bound.set(table, found);
    const plan = flowPlan(found, catalog.timeZone);
    if (plan !== undefined) flows.push(plan);
  }
  const tables = [...catalog.datasets].filter((dataset) => dataset.kind === 'table');
  return {
    sources: sourcesOf(catalog, bound.values()),
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
  const context: BindContext = {
    catalog,
    faults,
    ctes: new Map(),
    isStreamed: false,
    views: [],
    flow: body.node === 'auto_cdc' ? 'auto_cdc' : kind === 'append' ? 'append' : 'replace_using',
    bindQuery,
  };
  if (isReplaceUsing(body) && kind === 'replace_using') {
    return bindReplaceFlow(flow, body, table, context);
  }
  checkLaterFlow(body, context);
  checkByName(flow, faults);
  faults.add(notSupportedYet(flowNouns[kind], flow.place));
  return undefined;
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
    fingerprint: fingerprintText(flowDefinition(flow, sequence, timeZone)),
    place: declaration.place,
  };
}
