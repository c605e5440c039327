import type { Place } from '../base/place.ts';
import type { Column } from '../data/types.ts';
import type { Expression } from '../expr/expression.ts';
import { sourcePlan } from './catalog.ts';
import { nameKey } from './names.ts';
import type { JoinKey, SourcePlan, StreamJoinKind, StreamTimes } from './pipeline-plan.ts';
import type { BoundRelation } from './relation.ts';

/**
 * A join of two streams whose rules were checked. Its rows have the columns of the left side, then those of the
 * right side, as `JoinList` numbers them.
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

/**
 * The joins of two streams in the query of one flow, the inner ones first. Invariant: their names and topics depend on
 * the flow, its target and their order alone, so that a flow finds its joins again.
 */
export class JoinList {
  readonly #flow: string;
  readonly #topic: string;
  readonly #joins: ListedJoin[] = [];

  /** `table` is the target of the flow. */
  constructor(flow: string, table: { readonly name: string; readonly topic: string }) {
    this.#flow = flow;
    this.#topic = nameKey(flow) === nameKey(table.name) ? table.topic : `${table.topic}.${flow}`;
  }

  get all(): readonly ListedJoin[] {
    return this.#joins;
  }

  add(join: BoundStreamJoin): SourcePlan {
    const number = this.#joins.length === 0 ? '' : `${this.#joins.length + 1}`;
    const name = `${this.#flow}.join${number}`;
    const columns = [...columnsOf(join.left, 'left'), ...columnsOf(join.right, 'right')];
    const source: SourcePlan = {
      ...sourcePlan(name, `${this.#topic}.join${number}`, 'json', columns),
      table: name,
    };
    this.#joins.push({ ...join, name, source });
    return source;
  }
}

function columnsOf({ columns }: BoundRelation, side: 'left' | 'right'): readonly Column[] {
  const taken = new Set<string>();
  return columns.map(({ name, type }) => {
    const wanted = `${side}.${name ?? ''}`;
    let free = wanted;
    for (let number = 2; taken.has(nameKey(free)); number += 1) free = `${wanted}#${number}`;
    taken.add(nameKey(free));
    return { name: free, type };
  });
}
