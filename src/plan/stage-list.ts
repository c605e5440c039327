import type { Place } from '../base/place.ts';
import type { Column } from '../data/types.ts';
import type { Expression } from '../expr/expression.ts';
import { nameKey } from './bind/names.ts';
import { sourcePlan } from './catalog.ts';
import { columnNode } from './flows/move-columns.ts';
import type { JoinKey, SourcePlan, StreamJoinKind, StreamTimes } from './pipeline-plan.ts';
import { type BoundRelation, withStep } from './relation.ts';

/**
 * A join of two streams whose rules were checked. Its rows have the columns of the left side, then those of the
 * right side, as `StageList` numbers them.
 */
export type BoundStreamJoin = {
  readonly kind: StreamJoinKind;
  /** Over the columns of a joined row. */
  readonly times: StreamTimes | undefined;
  readonly left: BoundRelation;
  readonly right: BoundRelation;
  /** Each over the row of its own side. */
  readonly keys: readonly JoinKey[];
  /** The rest, over the columns of a joined row. */
  readonly condition: Expression | undefined;
  readonly place: Place;
};

export type ListedJoin = BoundStreamJoin & {
  /** Of its flow and of the table of its rows. */
  readonly name: string;
  /** The table of its rows, as the flow reads it: the columns of the left side, then those of the right side. */
  readonly source: SourcePlan;
};

/** DISTINCT or LIMIT of a flow whose target knows nothing of the rows that it has. */
export type ListedSift = {
  /** Of its flow and of the table of its rows. */
  readonly name: string;
  /** The table of its rows, as the flow reads it. */
  readonly source: SourcePlan;
  /** What is let through: its branches end in the columns of the source. */
  readonly relation: BoundRelation;
  readonly place: Place;
};

/**
 * What stands before one flow because its query needs rows to meet: the joins of two streams, the inner ones first, and
 * DISTINCT or LIMIT behind them. Invariant: names and topics depend on the flow, its target and their order alone, so
 * that a flow finds them again.
 */
export class StageList {
  readonly #flow: string;
  readonly #topic: string;
  readonly #joins: ListedJoin[] = [];
  #sift: ListedSift | undefined;

  /** `table` is the target of the flow. */
  constructor(flow: string, table: { readonly name: string; readonly topic: string }) {
    this.#flow = flow;
    this.#topic = nameKey(flow) === nameKey(table.name) ? table.topic : `${table.topic}.${flow}`;
  }

  get joins(): readonly ListedJoin[] {
    return this.#joins;
  }

  get sift(): ListedSift | undefined {
    return this.#sift;
  }

  /** What is read instead of a query with DISTINCT or LIMIT. */
  addSift(query: BoundRelation, place: Place): BoundRelation {
    const label = query.distinct === undefined ? 'limit' : 'distinct';
    const name = `${this.#flow}.${label}`;
    const columns = namedApart(query.columns, '');
    const source: SourcePlan = {
      ...sourcePlan(name, `${this.#topic}.${label}`, 'json', columns),
      table: name,
    };
    const projection = query.columns.map((column, at) => ({
      name: columns[at]?.name ?? '',
      value: columnNode(column),
    }));
    const relation = withStep(query, { step: 'project', columns: projection });
    this.#sift = { name, source, relation, place };
    return {
      branches: [{ source, steps: [] }],
      columns: query.columns.map((column, index) => ({ ...column, index })),
      width: source.columns.length,
      distinct: undefined,
    };
  }

  addJoin(join: BoundStreamJoin): SourcePlan {
    const number = this.#joins.length === 0 ? '' : `${this.#joins.length + 1}`;
    const name = `${this.#flow}.join${number}`;
    const columns = [
      ...namedApart(join.left.columns, 'left.'),
      ...namedApart(join.right.columns, 'right.'),
    ];
    const source: SourcePlan = {
      ...sourcePlan(name, `${this.#topic}.join${number}`, 'json', columns),
      table: name,
    };
    this.#joins.push({ ...join, name, source });
    return source;
  }
}

function namedApart(columns: BoundRelation['columns'], prefix: string): readonly Column[] {
  const taken = new Set<string>();
  return columns.map(({ name, type }) => {
    const wanted = `${prefix}${name ?? ''}`;
    let free = wanted;
    for (let number = 2; taken.has(nameKey(free)); number += 1) free = `${wanted}#${number}`;
    taken.add(nameKey(free));
    return { name: free, type };
  });
}
