import type { Place } from '../../base/place.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import { castTo, commonType } from '../../expr/coerce.ts';
import type { Query, QueryBody } from '../../sql/ast.ts';
import { type FaultList, planFault } from '../faults.ts';
import { limitRows, refuseLimit } from '../flows/limit.ts';
import { columnNode } from '../flows/move-columns.ts';
import { isStreamingBody, isStreamingQuery, withCommonTables } from '../flows/stream-kind.ts';
import type { BoundRelation } from '../relation.ts';
import { withStep } from '../relation.ts';
import { type BindContext, bindNamedQuery } from './bind-context.ts';
import { bindInline, bindRelation } from './bind-relation.ts';
import { bindSelect } from './bind-select.ts';
import type { BoundColumn } from './bound-column.ts';
import { nameKey } from './names.ts';

/**
 * Binds a query of a streaming flow: WITH, SELECT, UNION ALL. Gives undefined where the query cannot
 * be bound to its end; the reason is in the fault list then.
 */
export function bindQuery(query: Query, context: BindContext): BoundRelation | undefined {
  const { faults } = context;
  refuseOrder(query, faults);
  if (query.recursive !== undefined) {
    const message = 'a streaming query can not be recursive';
    const hint = 'Compute it in a materialized view, or unroll the levels into joins.';
    faults.add(planFault('RELATION_REFUSED', message, query.recursive, { hint }));
    return undefined;
  }
  const inner = withCommonTables(query, context);
  const bound = bindBody(query.body, inner);
  bindUnread(query, inner);
  if (query.offset !== undefined) {
    faults.add(
      planFault('OFFSET_REFUSED', 'a streaming flow cannot have OFFSET', query.offset.place, {
        detail: 'Rows of a stream have no order in which some could be skipped.',
        hint: 'Say in WHERE which rows are meant, or compute the query in a materialized view.',
      }),
    );
  }
  if (query.limit !== undefined) {
    const { limit } = query;
    const rows = faults.attempt(() => limitRows(limit, context));
    if (bound === undefined) return undefined;
    refuseLimit(bound, faults);
    return rows === undefined
      ? { ...bound, limit: undefined }
      : { ...bound, limit: { rows, place: limit.place } };
  }
  return bound;
}

/** A WITH name that nobody reads has its faults too; two of one name are a fault of their own. */
function bindUnread(query: Query, context: BindContext): void {
  const seen = new Set<string>();
  for (const { name } of query.ctes) {
    const key = nameKey(name.text);
    const common = context.ctes.get(key);
    if (seen.has(key)) {
      const message = `WITH gives the name "${name.text}" twice`;
      const hint = 'Rename one of them.';
      context.faults.add(planFault('NAME_TAKEN', message, name.place, { hint }));
    }
    seen.add(key);
    if (common === undefined) continue;
    const within = { ...context, ctes: common.ctes };
    if (isStreamingQuery(common.query, within)) bindNamedQuery(common.query, within);
  }
}

function refuseOrder(query: Query, faults: FaultList): void {
  const [first] = query.orderBy;
  if (first !== undefined) {
    faults.add(
      planFault(
        'ORDER_BY_REFUSED',
        'a streaming flow cannot have ORDER BY',
        query.orderPlace ?? first.value.place,
        {
          detail:
            'A stream never ends, so its rows cannot be sorted; the result does not depend on their order.',
          hint: 'Drop it, and sort where the table is read.',
        },
      ),
    );
  }
  if (query.otherOrder !== undefined) {
    const clause = query.otherOrder.clause.toUpperCase();
    faults.add(
      planFault(
        'SORT_BY_REFUSED',
        `a streaming flow cannot have ${clause}`,
        query.otherOrder.place,
        {
          hint: 'Drop it: rows are distributed by the key columns.',
        },
      ),
    );
  }
}

function bindBody(body: QueryBody, context: BindContext): BoundRelation | undefined {
  switch (body.node) {
    case 'select':
      return bindSelect(body, context);
    case 'set':
      return bindSet(body, context);
    case 'parenthesized':
      return bindQuery(body.query, context);
    case 'values':
      return bindInline(body.place, context);
    case 'table':
      return bindRelation(
        {
          node: 'named',
          name: body.name,
          stream: false,
          options: [],
          watermark: undefined,
          alias: undefined,
          place: body.place,
        },
        context,
      );
  }
}

// ---------------------------------------------------------------- set operations

/** The number of the branch is one byte of the provenance of a row. */
const branchesMax = 256;

type SetBody = Extract<QueryBody, { node: 'set' }>;

function bindSet(body: SetBody, context: BindContext): BoundRelation | undefined {
  refuseSetOperator(body, context.faults);
  const isLeft = isStreamingBody(body.left, context);
  const isRight = isStreamingBody(body.right, context);
  if (isLeft !== isRight) {
    const side = isLeft ? body.right : body.left;
    context.faults.add(
      planFault('UNION_MIX', 'one side of the union is no stream', side.place, {
        detail:
          'Its rows would have no offset, so nothing would say whether they were read before.',
        hint: 'Read both sides with STREAM(name), or load the other rows with a flow of their own.',
      }),
    );
    bindBody(isLeft ? body.left : body.right, context);
    return undefined;
  }
  const left = bindBody(body.left, context);
  const right = bindBody(body.right, context);
  if (left === undefined || right === undefined) return undefined;
  refuseLimit(left, context.faults);
  refuseLimit(right, context.faults);
  return unite(body, visible(left), visible(right), context.faults);
}

function refuseSetOperator(body: SetBody, faults: FaultList): void {
  if (body.operator === 'union') {
    if (body.all) return;
    faults.add(
      planFault(
        'UNION_DISTINCT_REFUSED',
        'a streaming flow cannot have UNION without ALL',
        body.place,
        {
          hint: 'Write UNION ALL; for distinct rows write SELECT DISTINCT * FROM (… UNION ALL …).',
        },
      ),
    );
    return;
  }
  const isIntersect = body.operator === 'intersect';
  faults.add(
    planFault(
      isIntersect ? 'INTERSECT_REFUSED' : 'EXCEPT_REFUSED',
      `a streaming flow cannot have ${body.operator.toUpperCase()}`,
      body.place,
      {
        detail: 'Whether a row has a partner on the other side can change with every record.',
        hint: 'Filter with WHERE, or compute it in a materialized view over the tables.',
      },
    ),
  );
}

/** Hidden columns end at a union: `TABLE a UNION ALL TABLE b` gives what `*` gives. */
function visible(relation: BoundRelation): BoundRelation {
  if (relation.columns.every((column, i) => !column.hidden && column.index === i)) return relation;
  const shown = relation.columns.filter((column) => !column.hidden);
  return {
    ...projectColumns(relation, shown),
    distinct: relation.distinct,
  };
}

function projectColumns(relation: BoundRelation, columns: readonly BoundColumn[]): BoundRelation {
  const stepped = withStep(relation, {
    step: 'project',
    columns: columns.map((column) => ({ name: column.name ?? '', value: columnNode(column) })),
  });
  return {
    ...stepped,
    width: columns.length,
    columns: columns.map((column, index) => ({ ...column, index })),
  };
}

function unite(
  body: SetBody,
  left: BoundRelation,
  right: BoundRelation,
  faults: FaultList,
): BoundRelation | undefined {
  const inner = left.distinct ?? right.distinct;
  if (inner !== undefined) {
    faults.add(
      planFault('DISTINCT_NESTED', 'DISTINCT stands in one side of a union', inner, {
        detail: 'Equal rows of the result are dropped whichever side they came from.',
        hint: 'Write SELECT DISTINCT * FROM (… UNION ALL …).',
      }),
    );
  }
  const ordered = body.byName ? orderedByName(body, left, right, faults) : right;
  if (ordered === undefined) return undefined;
  if (left.columns.length !== ordered.columns.length) {
    faults.add(
      planFault(
        'UNION_COLUMNS',
        `the sides of the union have ${left.columns.length} and ${ordered.columns.length} columns`,
        body.right.place,
        { hint: 'Give both sides the same columns in the same order.' },
      ),
    );
    return undefined;
  }
  if (left.branches.length + ordered.branches.length > branchesMax) {
    const message = `a flow can unite ${branchesMax} streams at most`;
    const hint = 'Let the producers share a topic, or split the table.';
    faults.add(planFault('UNION_SIDES', message, body.place, { hint }));
    return undefined;
  }
  const columns = left.columns.map((column, i) => unitedColumn(column, ordered.columns[i], faults));
  return {
    branches: [...cast(left, columns).branches, ...cast(ordered, columns).branches],
    columns: columns.map((column) => ({ ...column, qualifier: [] })),
    width: columns.length,
    distinct: undefined,
  };
}

function unitedColumn(
  left: BoundColumn,
  right: BoundColumn | undefined,
  faults: FaultList,
): BoundColumn {
  if (right === undefined || left.broken || right.broken) return { ...left, broken: true };
  const type = commonType(left.type, right.type);
  if (type !== undefined) return { ...left, type };
  faults.add(
    planFault(
      'UNION_TYPE',
      `column "${left.name ?? ''}" is ${formatType(left.type)} on one side of the union and ${formatType(right.type)} on the other`,
      right.place,
      { hint: 'Cast one of them.' },
    ),
  );
  return { ...left, broken: true };
}

/** Brings every column to its type; rows that have the types already pass unchanged. */
function cast(relation: BoundRelation, to: readonly BoundColumn[]): BoundRelation {
  const isSame = relation.columns.every((column, i) => isType(column.type, to[i]));
  if (isSame) return relation;
  return withStep(relation, {
    step: 'project',
    columns: relation.columns.map((column, i) => {
      const target = to[i];
      const value = columnNode(column);
      const isCast = target !== undefined && !target.broken;
      return { name: target?.name ?? '', value: isCast ? castTo(value, target.type) : value };
    }),
  });
}

function isType(type: DataType, column: BoundColumn | undefined): boolean {
  return column === undefined || column.broken || formatType(type) === formatType(column.type);
}

function orderedByName(
  body: SetBody,
  left: BoundRelation,
  right: BoundRelation,
  faults: FaultList,
): BoundRelation | undefined {
  const columns: BoundColumn[] = [];
  for (const { name } of left.columns) {
    const found = right.columns.find(
      (column) => name !== undefined && nameKey(column.name ?? '') === nameKey(name),
    );
    if (found === undefined) return missingSide(`"${name ?? ''}"`, body.right.place, faults);
    columns.push(found);
  }
  const extra = right.columns.find((column) => !columns.includes(column));
  if (extra !== undefined) return missingSide(`"${extra.name ?? ''}"`, body.left.place, faults);
  return projectColumns(right, columns);
}

function missingSide(column: string, place: Place, faults: FaultList): undefined {
  faults.add(
    planFault('UNION_COLUMNS', `one side of the union lacks column ${column}`, place, {
      hint: 'BY NAME needs the same column names on both sides; give NULL for one that is missing.',
    }),
  );
  return undefined;
}
