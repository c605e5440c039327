import type { Place } from '../base/place.ts';
import type { Constraint } from '../sql/ast.ts';
import { callPlace } from './call-place.ts';
import type { HiddenColumns, Shape } from './column-type.ts';
import type { AnyExpression } from './expression.ts';
import { givenTree, type RowOf, rowOf } from './given-expression.ts';
import type { TreeBuilder } from './tree-builder.ts';

/** Over the columns of the rows that it judges: text of SQL, or an expression. */
export type Condition<Columns> = string | AnyExpression | ((row: RowOf<Columns>) => AnyExpression);

/** A dataset of a pipeline, as its other parts speak of it. */
export abstract class Dataset<Columns extends Shape, Hidden extends Shape = Record<never, never>> {
  declare readonly shape: Columns | undefined;
  declare readonly hidden: Hidden | undefined;
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A topic that producers write. */
export class Source<Columns extends Shape> extends Dataset<Columns, HiddenColumns> {
  readonly kind = 'source';
  readonly topic: string;

  constructor(name: string, topic: string) {
    super(name);
    this.topic = topic;
  }
}

type Expectation<Columns> = {
  readonly name: string;
  readonly condition: Condition<Columns>;
  readonly action: Constraint['action'];
  readonly place: Place;
};

/**
 * A dataset whose rows are judged. Invariant: each expectation stands in the statement of the dataset, in the order in
 * which they were added.
 */
export abstract class Expecting<Columns extends Shape> extends Dataset<Columns> {
  readonly #expectations: Expectation<Columns>[] = [];
  /** Calls whose expectations can't be told apart. */
  readonly #unread: Place[] = [];

  /** Counts rows for which the condition is not true, and keeps them. */
  expect(name: string, condition: Condition<Columns>): this {
    return this.#add({ [name]: condition }, 'warn');
  }

  /** Drops rows for which the condition is not true. */
  expectOrDrop(name: string, condition: Condition<Columns>): this {
    return this.#add({ [name]: condition }, 'drop');
  }

  /** Stops before the first row for which the condition is not true. */
  expectOrFail(name: string, condition: Condition<Columns>): this {
    return this.#add({ [name]: condition }, 'fail');
  }

  expectAll(conditions: Readonly<Record<string, Condition<Columns>>>): this {
    return this.#add(conditions, 'warn');
  }

  expectAllOrDrop(conditions: Readonly<Record<string, Condition<Columns>>>): this {
    return this.#add(conditions, 'drop');
  }

  expectAllOrFail(conditions: Readonly<Record<string, Condition<Columns>>>): this {
    return this.#add(conditions, 'fail');
  }

  constraints(builder: TreeBuilder): readonly Constraint[] {
    for (const place of this.#unread) {
      builder.refuse(
        'OPTION_VALUE',
        'expectations are given without their names',
        "Give an object: expectAll({ name: 'a > 1' }).",
        place,
      );
    }
    return this.#expectations.map(({ name, condition, action, place }) => ({
      name: { ...builder.identifier(name), place },
      condition: givenTree(
        condition,
        { part: `expectation "${name}"`, place, rows: [rowOf()] },
        builder,
      ),
      action,
      place,
    }));
  }

  #add(
    conditions: Readonly<Record<string, Condition<Columns>>>,
    action: Constraint['action'],
  ): this {
    const place = callPlace();
    if (typeof conditions !== 'object' || conditions === null || Array.isArray(conditions)) {
      this.#unread.push(place);
      return this;
    }
    for (const [name, condition] of Object.entries(conditions)) {
      this.#expectations.push({ name, condition, action, place });
    }
    return this;
  }
}

export class Table<Columns extends Shape> extends Expecting<Columns> {
  readonly kind = 'table';
}

export class View<Columns extends Shape> extends Expecting<Columns> {
  readonly kind = 'view';
}

export class MaterializedView<Columns extends Shape> extends Expecting<Columns> {
  readonly kind = 'materialized view';
}

/** A topic outside the pipeline. */
export class Sink {
  readonly kind = 'sink';
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}
