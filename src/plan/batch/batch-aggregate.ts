import type { Place } from '../../base/place.ts';
import { type AggregateNode, isAggregateNode } from '../../expr/aggregate.ts';
import { strictCall } from '../../expr/call.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault, mismatch } from '../../expr/faults.ts';
import { types } from '../../expr/types.ts';
import { sameExpression } from '../bind/same-expression.ts';
import type { BatchPlan, GroupingSet } from './batch-plan.ts';

/** `grouping(…)` and `grouping_id(…)` until the grouping is known; the arguments are the keys asked for. */
export function groupingMarker(
  name: 'grouping' | 'grouping_id',
  args: readonly Expression[],
  place: Place,
): Expression {
  return {
    node: 'call',
    type: name === 'grouping' ? types.tinyint : types.bigint,
    arguments: args,
    place,
    operation: {
      name: `${name}?`,
      deterministic: true,
      compile: () => {
        throw new TypeError(`${name} has no value before the grouping`);
      },
    },
  };
}

export function isGroupingMarker(expression: Expression): boolean {
  return expression.node === 'call' && /^grouping(?:_id)?\?$/.test(expression.operation.name);
}

/**
 * Collects the aggregates of a query and turns its expressions over the input into expressions over the
 * groups. Invariant: a column that is neither a key nor inside an aggregate is refused.
 */
export class Grouping {
  readonly #keys: readonly Expression[];
  readonly #sets: readonly GroupingSet[] | undefined;
  readonly #aggregates: AggregateNode[] = [];
  readonly #isGlobal: boolean;

  /** `isGlobal`: there is no GROUP BY. */
  constructor(
    keys: readonly Expression[],
    sets: readonly GroupingSet[] | undefined,
    isGlobal: boolean,
  ) {
    this.#keys = keys;
    this.#sets = sets;
    this.#isGlobal = isGlobal;
  }

  /** The expression over a row of keys and aggregates. */
  over(expression: Expression): Expression {
    const key = this.#keys.findIndex(
      (candidate) => expression.node !== 'literal' && sameExpression(candidate, expression),
    );
    if (key >= 0) return this.#column(key, expression);
    if (isAggregateNode(expression)) return this.#aggregate(expression);
    switch (expression.node) {
      case 'column':
        throw fault(
          this.#isGlobal ? 'MISSING_GROUP_BY' : 'MISSING_AGGREGATION',
          `the column ${expression.name} is neither grouped by nor aggregated`,
          expression.place,
          'Add it to GROUP BY, or take any_value of it.',
        );
      case 'lambda':
        return { ...expression, body: this.over(expression.body) };
      case 'call':
        if (isGroupingMarker(expression)) return this.#grouping(expression);
        return { ...expression, arguments: expression.arguments.map((one) => this.over(one)) };
      default:
        return expression;
    }
  }

  /** The plan, once all expressions were turned. */
  plan(input: BatchPlan): BatchPlan {
    return {
      node: 'aggregate',
      input,
      keys: this.#keys,
      aggregates: this.#aggregates,
      sets: this.#sets,
    };
  }

  #column(index: number, { type, place }: Expression, name = ''): Expression {
    return { node: 'column', index, name, type, place };
  }

  #aggregate(node: AggregateNode): Expression {
    let index = this.#aggregates.findIndex((known) => sameExpression(known, node));
    if (index < 0) index = this.#aggregates.push(node) - 1;
    return this.#column(this.#keys.length + index, node, node.operation.aggregate.name);
  }

  /** The number of the grouping stands behind all aggregates, so it is asked for by a position of its own. */
  #grouping(marker: Extract<Expression, { node: 'call' }>): Expression {
    const { place } = marker;
    const isId = marker.operation.name === 'grouping_id?';
    if (this.#sets === undefined) {
      throw fault(
        'UNSUPPORTED_GROUPING_EXPRESSION',
        'grouping is there with GROUPING SETS, CUBE and ROLLUP only',
        place,
      );
    }
    const positions = marker.arguments.map((argument) => {
      const found = this.#keys.findIndex((key) => sameExpression(key, argument));
      if (found >= 0) return found;
      throw fault(
        isId ? 'GROUPING_ID_COLUMN_MISMATCH' : 'GROUPING_COLUMN_MISMATCH',
        'what is asked for is not grouped by',
        argument.place,
      );
    });
    const id: Expression = {
      node: 'column',
      index: groupingIdColumn,
      name: 'grouping__id',
      type: types.bigint,
      place,
    };
    if (isId && positions.length === 0) return id;
    if (isId && positions.some((position, i) => position !== i)) {
      throw fault('GROUPING_ID_COLUMN_MISMATCH', 'grouping_id takes all keys in order', place);
    }
    if (isId) return id;
    const [position = 0] = positions;
    const shift = BigInt(this.#keys.length - 1 - position);
    return strictCall({
      name: `grouping(${position})`,
      type: types.tinyint,
      arguments: [id],
      place,
      prepare: () => (value: bigint) => Number((value >> shift) & 1n),
    });
  }

  /** Where the number of the grouping stands in the row. */
  get idPosition(): number {
    return this.#keys.length + this.#aggregates.length;
  }
}

/** Stands for the position of the grouping's number until all aggregates are known. */
export const groupingIdColumn = 1_000_000_000;

/** Keys, and the sets of keys of GROUPING SETS, ROLLUP and CUBE; several of them are multiplied. */
export type GroupingShape = {
  readonly keys: readonly Expression[];
  readonly sets: readonly GroupingSet[] | undefined;
};

export class GroupingShapeBuilder {
  readonly #keys: Expression[] = [];
  #sets: readonly (readonly number[])[] = [[]];
  #hasSets = false;

  /** A key, which stands in each set. */
  addKey(key: Expression): void {
    const position = this.#position(key);
    this.#sets = this.#sets.map((set) => [...set, position]);
  }

  /** Keys that only the sets choose from: they come first, and in this order. */
  declare(keys: readonly Expression[]): void {
    for (const key of keys) this.#position(key);
  }

  /** Alternatives, each a list of keys. */
  addSets(sets: readonly (readonly Expression[])[]): void {
    this.#hasSets = true;
    const positions = sets.map((set) => set.map((key) => this.#position(key)));
    if (this.#sets.length * positions.length > 4_096) {
      throw mismatch('GROUPING_SIZE_LIMIT_EXCEEDED', 'too many groupings', this.#place());
    }
    this.#sets = this.#sets.flatMap((before) => positions.map((set) => [...before, ...set]));
  }

  build(): GroupingShape {
    const keys = this.#keys;
    if (!this.#hasSets) return { keys, sets: undefined };
    if (keys.length > 64) {
      throw fault('GROUPING_SIZE_LIMIT_EXCEEDED', 'a grouping has at most 64 keys', this.#place());
    }
    return {
      keys,
      sets: this.#sets.map((set) => ({
        keys: [...new Set(set)],
        id: keys.reduce((id, _, i) => (id << 1n) | (set.includes(i) ? 0n : 1n), 0n),
      })),
    };
  }

  #position(key: Expression): number {
    const known = this.#keys.findIndex((candidate) => sameExpression(candidate, key));
    return known >= 0 ? known : this.#keys.push(key) - 1;
  }

  #place(): Place {
    return this.#keys[0]?.place ?? { file: '', start: 0, end: 0, line: 1, column: 1 };
  }
}
