import { emptyMemo } from '../../../src/plan/bind/bind-context.ts';
import { bindQuery } from '../../../src/plan/bind/bind-query.ts';
import { buildCatalog } from '../../../src/plan/build-catalog.ts';
import { FaultList } from '../../../src/plan/faults.ts';
import type { PipelinePlan, ReplaceUsingFlowPlan } from '../../../src/plan/pipeline-plan.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import type { BoundRelation } from '../../../src/plan/relation.ts';
import { parsePipeline } from '../../../src/sql/parse.ts';

/** Sources that the tests of this folder read. */
export const sourcesSql = `
CREATE SOURCE s (k STRING, seq BIGINT, n INT, m INT, v STRING, tags ARRAY<STRING>,
  items ARRAY<STRUCT<sku: STRING, qty: INT>>, p STRUCT<a: INT, b: STRING>, attrs MAP<STRING, INT>);
CREATE SOURCE r (k STRING, seq BIGINT, n BIGINT, v STRING);
`;

/** The plan of a pipeline without errors. */
export function planOf(sql: string): PipelinePlan {
  const { plan, faults } = planPipeline([
    { file: 'sources.sql', text: sourcesSql },
    { file: 'test.sql', text: sql },
  ]);
  if (plan !== undefined) return plan;
  throw new Error(faults.map(({ code, message }) => `${code}: ${message}`).join('\n'));
}

/** The only flow of a pipeline. */
export function flowOf(sql: string): ReplaceUsingFlowPlan {
  const [flow, ...others] = planOf(sql).flows;
  if (flow?.kind !== 'replace_using' || others.length > 0) throw new Error('not one flow');
  return flow;
}

/** A pipeline of one table and one query. */
export function replaceSql(query: string, keys = 'k', sequence = 'seq'): string {
  return `CREATE STREAMING TABLE t FLOW REPLACE USING (${keys}) SEQUENCE BY ${sequence} BY NAME ${query};`;
}

/** A streaming query bound, and not yet optimized. */
export function boundOf(query: string): BoundRelation {
  const faults = new FaultList();
  const { statements } = parsePipeline(`${sourcesSql} ${query};`, 'test.sql');
  const last = statements.at(-1);
  if (last?.node !== 'query') throw new Error('no query');
  const catalog = buildCatalog(statements.slice(0, -1), new Map(), faults);
  const bound = bindQuery(last.query, {
    catalog,
    faults,
    ctes: new Map(),
    isStreamed: false,
    isStatic: false,
    views: [],
    texts: new Map(),
    memo: emptyMemo(),
    flow: 'replace_using',
    stages: undefined,
    columnsOf: () => undefined,
    replacedBy: () => undefined,
    bindQuery,
  });
  if (bound !== undefined && !faults.hasErrors) return bound;
  throw new Error(
    faults
      .sorted([])
      .map(({ code, message }) => `${code}: ${message}`)
      .join('\n'),
  );
}
