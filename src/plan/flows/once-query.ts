import type { Place } from '../../base/place.ts';
import { sha2 } from '../../expr/digest/sha2.ts';
import type { Query } from '../../sql/ast.ts';
import type { BindContext } from '../bind/bind-context.ts';
import { bindQuery } from '../bind/bind-query.ts';
import { sourcePlan, type TableDataset } from '../catalog.ts';
import { FaultList } from '../faults.ts';
import { type BoundRelation, tableRelation } from '../relation.ts';
import { type BatchAround, type BoundBatchQuery, bindPipelineBatch } from './materialized-view.ts';

export type OnceQuery = {
  readonly query: Query;
  readonly flow: string;
  readonly table: TableDataset;
  readonly place: Place;
  /** What a batch query is bound in. */
  readonly around: BatchAround;
};

/**
 * Binds the query of a flow that runs once: row by row where it can be, since that needs no memory, else as a batch
 * over all that its sources hold, as over a table of the pipeline, whose rows come and go. Undefined: it has a fault.
 */
export function bindOnceQuery(once: OnceQuery, context: BindContext): BoundRelation | undefined {
  const streamed = new FaultList();
  const relation = bindQuery(once.query, { ...context, faults: streamed });
  // A stage that keeps rows by their key does DISTINCT and LIMIT itself.
  const isKeyed = context.flow === 'replace_using';
  const isWhole =
    relation !== undefined &&
    (isKeyed || (relation.distinct ?? relation.limit) === undefined) &&
    relation.branches.every(({ source }) => source.table === undefined);
  if (isWhole && !streamed.hasErrors) {
    context.faults.addAll(streamed.sorted([]));
    return relation;
  }
  const faults = new FaultList();
  const bound = bindPipelineBatch(once.query, { ...once.around, faults });
  if (bound !== undefined && !faults.hasErrors) return batchRelation(once, bound, context);
  // What is wrong either way is told in the words of a stream, unless a stream could not do it at all.
  const told = streamed.sorted([]);
  const isBatch = isWhole || told.some(({ code }) => code.endsWith('_REFUSED'));
  context.faults.addAll(isBatch || told.length === 0 ? faults.sorted([]) : told);
  return undefined;
}

function batchRelation(
  { query, flow, table }: OnceQuery,
  bound: BoundBatchQuery,
  { catalog }: BindContext,
): BoundRelation {
  const columns = bound.columns.map(({ name, type }, at) => ({ name: name ?? `_c${at}`, type }));
  const text = [catalog.timeZone, ...bound.views, bound.meaning].join('\n');
  const source = {
    ...sourcePlan(`${flow} (result)`, `${table.topic}.${flow}.result`, 'json', columns),
    batch: {
      query: bound.plan,
      inputs: bound.inputs,
      digest: sha2(Buffer.from(text, 'utf8'), 256) ?? '',
    },
  };
  const relation = tableRelation(source, [], query.place);
  return {
    ...relation,
    columns: relation.columns.map((column, at) => ({ ...column, ...bound.columns[at], index: at })),
  };
}
