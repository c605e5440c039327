import type { FlowBody } from '../../sql/ast.ts';
import type { BindContext } from '../bind/bind-context.ts';
import type { FlowDeclaration, TableDataset } from '../catalog.ts';
import { warnOfRowChance } from '../explain/row-chance.ts';
import { planFault } from '../faults.ts';
import { type BoundRelation, withStep } from '../relation.ts';
import { matchTarget, type TargetColumn, unitedColumns } from '../target-columns.ts';
import { warnOfEnvelope } from './cdc-hint.ts';
import { checkByName } from './flow-rules.ts';
import { warnOfLimit } from './limit.ts';

/** An append flow whose rules were checked; what it gives is whole only if no fault was found. */
export type BoundAppendFlow = {
  readonly kind: 'append';
  readonly once: boolean;
  readonly declaration: FlowDeclaration;
  readonly table: TableDataset;
  readonly columns: readonly TargetColumn[];
  /** Its branches end in rows of the target. */
  readonly relation: BoundRelation;
};

type InsertBody = Extract<FlowBody, { node: 'insert' }>;

export type AppendDeclaration = {
  readonly declaration: FlowDeclaration;
  readonly body: InsertBody;
  readonly context: BindContext;
};

/**
 * Binds all append flows of one table. Invariant: they agree on its columns, which are the declared ones, else
 * those of all their queries in the order in which they first appear; a column that a query lacks is NULL in its rows.
 */
export function bindAppendFlows(
  table: TableDataset,
  flows: readonly AppendDeclaration[],
): readonly BoundAppendFlow[] {
  const queries: { readonly flow: AppendDeclaration; readonly query: BoundRelation }[] = [];
  for (const flow of flows) {
    const { declaration, body, context } = flow;
    checkByName(declaration, context.faults);
    const query = context.bindQuery(body.query, context);
    if (query !== undefined) queries.push({ flow, query: sifted(query, context) });
  }
  const [first] = queries;
  if (first === undefined) return [];
  checkOptions(table, first.flow.context);
  const isOpen = table.columns === undefined && queries.length > 1;
  const target = isOpen
    ? { ...table, columns: unitedColumns(queries.map(({ query }) => query)) }
    : table;
  return queries.map(({ flow: { declaration, context, body }, query }) => {
    const { columns, projection } = matchTarget(target, query, context.faults);
    const relation = withStep(query, { step: 'project', columns: projection });
    warnOfRowChance(relation, context.faults);
    warnOfEnvelope(relation, declaration.place, context.faults);
    return { kind: 'append', once: body.once, declaration, table, columns, relation };
  });
}

/** A target that only takes rows knows nothing of those that it has: what lets rows through stands before the flow. */
function sifted(query: BoundRelation, { faults, stages }: BindContext): BoundRelation {
  const place = query.distinct ?? query.limit?.place;
  if (place === undefined || stages === undefined) return query;
  if (query.limit !== undefined) warnOfLimit(query.limit, faults);
  warnOfRowChance(query, faults);
  return stages.addSift(query, place);
}

/** What says how rows of one key are kept says nothing where rows are only appended. */
function checkOptions(table: TableDataset, { faults }: BindContext): void {
  const { options } = table;
  const given = {
    output: options.text('output'),
    max_row_set_rows: options.integer('max_row_set_rows'),
    max_sequence: options.text('max_sequence'),
    max_sequence_ahead: options.durationMicros('max_sequence_ahead'),
  };
  for (const [name, option] of Object.entries(given)) {
    if (option === undefined) continue;
    const message = `option "${name}" has no meaning for a table that append flows write`;
    const hint = 'It is about the rows of one key, which REPLACE USING flows keep; leave it out.';
    faults.add(planFault('OPTION_VALUE', message, option.place, { hint }));
  }
}
