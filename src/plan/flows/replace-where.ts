import { formatType } from '../../data/type-text.ts';
import type { Column } from '../../data/types.ts';
import type { Expression as BoundExpression } from '../../expr/expression.ts';
import type { Expression, FlowBody } from '../../sql/ast.ts';
import type { BatchPlan } from '../batch/batch-plan.ts';
import { asCondition } from '../bind/as-condition.ts';
import { bindRow } from '../bind/bind-row.ts';
import type { FlowDeclaration, TableDataset } from '../catalog.ts';
import { checkExpectations, scopeOf, textOf } from '../expectations.ts';
import { chancesIn, isClock, operationName } from '../explain/chance.ts';
import { sketch } from '../explain/sketch.ts';
import { type FaultList, planFault } from '../faults.ts';
import { matchTarget } from '../target-columns.ts';
import { checkByName } from './flow-rules.ts';
import {
  type BatchAround,
  type BoundMaterializedView,
  batchFingerprint,
  bindPipelineBatch,
  judgements,
  meaningOf,
} from './materialized-view.ts';
import { checkRowExpression } from './row-rules.ts';

export type ReplaceWhereBody = Extract<FlowBody, { node: 'insert' }> & {
  readonly replaceWhere: Expression;
};

/**
 * Plans a REPLACE WHERE flow as the batch query that gives its whole table: the rows that the table has and for which the
 * condition is not true, then those of the flow's own query; undefined: it has a fault. Invariant: no row for which the
 * condition is not true depends on the query, and no other one on what the table had before.
 */
export function bindReplaceWhere(
  flow: FlowDeclaration,
  body: ReplaceWhereBody,
  table: TableDataset,
  around: BatchAround,
): BoundMaterializedView | undefined {
  const { faults } = around;
  checkByName(flow, faults);
  checkTableOptions(table, faults);
  const bound = bindPipelineBatch(body.query, around);
  if (bound === undefined) return undefined;
  const given = bound.columns.map((column, index) => ({ ...column, index }));
  const target = matchTarget(table, { columns: given, distinct: undefined }, faults);
  const scope = scopeOf(table, target.columns);
  const condition = bindCondition(body.replaceWhere, scope, around);
  const stays = condition && bindRow(notTrue(body.replaceWhere), scope, around);
  const expectations = checkExpectations(table, target.columns, around);
  const isWhole = expectations.length === table.constraints.length;
  const isBroken = target.columns.some(({ broken }) => broken);
  if (condition === undefined || stays === undefined || isBroken || !isWhole) return undefined;
  const columns = target.columns.map(({ name, type }) => ({ name, type }));
  const names = columns.map(({ name }) => name);
  const sql = textOf({ condition: body.replaceWhere }, around.texts) ?? sketch(condition, names);
  const required: BatchPlan = {
    node: 'require',
    input: judged(
      { node: 'project', input: bound.plan, values: target.projection.map(({ value }) => value) },
      { table, columns, expectations },
    ),
    flow: flow.name,
    table: table.name,
    columns,
    condition,
    sql,
  };
  const query = meaningOf(body.query);
  const kept: BatchPlan = {
    node: 'filter',
    input: { node: 'table', name: table.name },
    condition: stays,
  };
  return {
    plan: {
      name: flow.name,
      table: table.name,
      replaceWhere: { sql, stays: kept, once: body.once },
      query: {
        node: 'set',
        operator: 'union',
        all: true,
        left: kept,
        right: required,
        types: columns.map(({ type }) => type),
      },
      inputs: bound.inputs,
      keys: undefined,
      isVolatile: query.isVolatile || bound.isVolatile || chancesIn(condition).length > 0,
      refreshMicros: table.options.durationMicros('refresh_every')?.value,
      fingerprint: batchFingerprint(
        'replace where',
        { columns, views: bound.views, timeZone: around.catalog.timeZone },
        [
          body.once ? 'once' : 'each update',
          meaningOf(body.replaceWhere).text,
          query.text,
          ...judgements(table.constraints),
        ],
      ),
      place: flow.place,
    },
    table: {
      name: table.name,
      topic: table.topic,
      columns,
      expectations: [],
      output: 'row_set',
      partitions: table.options.integer('partitions')?.value,
      deadLetterTopic: undefined,
      deadLetterShareMax: 1,
      rowSetRowsMax: Number.POSITIVE_INFINITY,
      sequenceAheadMaxMicros: undefined,
      sequenceMax: undefined,
      place: table.place,
    },
  };
}

function judged(
  input: BatchPlan,
  {
    table,
    columns,
    expectations,
  }: {
    readonly table: TableDataset;
    readonly columns: readonly Column[];
    readonly expectations: ReturnType<typeof checkExpectations>;
  },
): BatchPlan {
  if (expectations.length === 0) return input;
  const owner = `streaming table "${table.name}"`;
  return { node: 'expect', input, owner, prefix: '', columns, expectations };
}

function notTrue(value: Expression): Expression {
  return { node: 'is', value, test: 'true', negated: true, place: value.place };
}

function bindCondition(
  condition: Expression,
  scope: ReturnType<typeof scopeOf>,
  around: BatchAround,
): BoundExpression | undefined {
  const { faults } = around;
  const clause = { clause: 'REPLACE WHERE', allowsGenerator: false, hasWatermark: false };
  if (!checkRowExpression(condition, clause, faults)) return undefined;
  const bound = bindRow(condition, scope, around);
  if (bound === undefined) return undefined;
  if (bound.type.kind !== 'boolean' && bound.type.kind !== 'void') {
    const message = `REPLACE WHERE needs a boolean, not ${formatType(bound.type)}`;
    const hint = 'Compare a column of the table with something.';
    faults.add(planFault('REPLACE_WHERE_CONDITION', message, condition.place, { hint }));
    return undefined;
  }
  const chance = chancesIn(bound).find((call) => !isClock(call));
  if (chance !== undefined) {
    const message = `REPLACE WHERE depends on ${operationName(chance)}`;
    const detail = 'Which rows are replaced would be left to chance.';
    const hint = 'Compare columns of the table with constants or with the time.';
    faults.add(planFault('REPLACE_WHERE_CONDITION', message, chance.place, { detail, hint }));
    return undefined;
  }
  return asCondition(bound, 'REPLACE WHERE');
}

/** What says how records of a source or rows of a key are kept says nothing of a batch. */
function checkTableOptions({ options }: TableDataset, faults: FaultList): void {
  const given = {
    output: options.text('output'),
    dead_letter_topic: options.text('dead_letter_topic'),
    max_dead_letter_share: options.text('max_dead_letter_share'),
    max_row_set_rows: options.integer('max_row_set_rows'),
    max_sequence: options.text('max_sequence'),
    max_sequence_ahead: options.durationMicros('max_sequence_ahead'),
    max_event_time_ahead: options.durationMicros('max_event_time_ahead'),
    tombstone_retention: options.durationMicros('tombstone_retention'),
  };
  for (const [name, option] of Object.entries(given)) {
    if (option === undefined) continue;
    const message = `option "${name}" has no meaning for a table that a REPLACE WHERE flow writes`;
    const hint =
      'Such a flow computes its rows as a batch, without key and sequence; leave it out.';
    faults.add(planFault('OPTION_VALUE', message, option.place, { hint }));
  }
}
