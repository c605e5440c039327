import { FlowError } from '../base/errors.ts';
import { rowEncoder } from '../data/json-encode.ts';
import type { Row, Value } from '../data/value.ts';
import { type AggregateNode, aggregateParts, type SortKey } from '../expr/aggregate.ts';
import { literal } from '../expr/call.ts';
import { compile } from '../expr/compile.ts';
import type { CompileContext, Evaluator, Expression, Frame } from '../expr/expression.ts';
import { ExpressionError } from '../expr/expression-error.ts';
import { groupedRows, type RowAggregate } from '../operators/batch-group.ts';
import { joinedRows } from '../operators/batch-join.ts';
import {
  distinctRows,
  limitedRows,
  type RowOrder,
  type Rows,
  setRows,
  sortedRows,
} from '../operators/batch-rows.ts';
import { sessionRows } from '../operators/batch-session.ts';
import { type RowBound, type RowWindow, windowValues } from '../operators/batch-window.ts';
import {
  type BatchJoin,
  type BatchPlan,
  type FrameBound,
  type WindowNode,
  windowParts,
} from '../plan/batch/batch-plan.ts';
import { compileJudge, rowText } from './row/judge.ts';

/** A recursion can double its rows with every round: what it gives is bounded, as in Spark, or it would take all memory. */
const recursionRowsMax = 1_000_000;

export type BatchSettings = {
  readonly timeZone: string;
  readonly nowMicros: bigint;
  /** The rows of a table. */
  readonly rowsOf: (table: string) => Iterable<Row>;
  /** Told what each row met, by the name of the expectation. */
  readonly count?: (expectation: string, isMet: boolean) => void;
};

/**
 * Runs a query over tables. Invariant: rows are made as they are asked for, so that a LIMIT ends what
 * stands below it; a subquery without values from outside runs once.
 */
export function runBatch(plan: BatchPlan, settings: BatchSettings): Iterable<Row> {
  return compileBatch(plan, settings)();
}

/** A query that can be asked again, over the rows that its tables have then; of a subquery inside it the rows stay. */
export function compileBatch(plan: BatchPlan, settings: BatchSettings): Rows {
  return new BatchRun(settings).compile(plan);
}

/** A projection below another is without the values that the other never reads, so that none of them fails. */
function withoutUnread(input: BatchPlan, readers: readonly Expression[]): BatchPlan {
  if (input.node !== 'project') return input;
  const read = new Set<number>();
  for (const reader of readers) collectColumns(reader, read);
  const values = input.values.map((value, i) =>
    read.has(i) || value.node === 'column' ? value : literal(null, value.type, value.place),
  );
  return { ...input, values };
}

function collectColumns(expression: Expression, into: Set<number>): void {
  switch (expression.node) {
    case 'column':
      into.add(expression.index);
      break;
    case 'call':
      for (const argument of expression.arguments) collectColumns(argument, into);
      break;
    case 'lambda':
      collectColumns(expression.body, into);
      break;
    default:
  }
}

class BatchRun {
  readonly #settings: BatchSettings;
  readonly #context: CompileContext;
  readonly #frame: Frame;
  readonly #compiled = new Map<BatchPlan, Rows>();
  /** Rows of subqueries that depend on nothing outside. */
  readonly #fixed = new Map<object, readonly Row[]>();

  constructor(settings: BatchSettings) {
    this.#settings = settings;
    this.#context = { timeZone: settings.timeZone };
    this.#frame = {
      parameters: [],
      nowMicros: settings.nowMicros,
      rowsOf: (query, isFixed) => this.#subquery(query as BatchPlan, isFixed),
    };
  }

  compile(plan: BatchPlan): Rows {
    const known = this.#compiled.get(plan);
    if (known !== undefined) return known;
    const rows = this.#compileNew(plan);
    this.#compiled.set(plan, rows);
    return rows;
  }

  #subquery(plan: BatchPlan, isFixed: boolean): readonly Row[] {
    const known = this.#fixed.get(plan);
    if (known !== undefined) return known;
    const rows = [...this.compile(plan)()];
    if (isFixed) this.#fixed.set(plan, rows);
    return rows;
  }

  #compileNew(plan: BatchPlan): Rows {
    const frame = this.#frame;
    switch (plan.node) {
      case 'values': {
        const rows = plan.rows.map((row) => this.#all(row));
        return () => rows.map((row) => row.map((value) => value([], frame)));
      }
      case 'table':
        return () => this.#settings.rowsOf(plan.name);
      case 'range':
        return () => rangeRows(plan.start, plan.end, plan.step);
      case 'project':
        return this.#project(plan);
      case 'filter': {
        const input = this.compile(plan.input);
        const condition = this.#one(plan.condition);
        return () => filtered(input(), condition, frame);
      }
      case 'expect':
        return this.#expect(plan);
      case 'require':
        return this.#require(plan);
      case 'generate':
        return this.#generate(plan);
      case 'sessions': {
        const input = this.compile(plan.input);
        const keys = this.#all(plan.keys);
        const keyTypes = plan.keys.map((key) => key.type);
        return () => sessionRows(input(), { keys, keyTypes, session: plan.session }, frame);
      }
      case 'join':
        return this.#join(plan);
      case 'lateral':
        return this.#lateral(plan);
      case 'aggregate':
        return this.#aggregate(plan);
      case 'window':
        return this.#window(plan);
      case 'distinct': {
        const input = this.compile(plan.input);
        return () => distinctRows(input(), plan.types);
      }
      case 'set':
        return this.#set(plan);
      case 'sort': {
        const input = this.compile(plan.input);
        const orders = this.#orders(plan.keys);
        return () => sortedRows(input(), orders, frame);
      }
      case 'limit': {
        const input = this.compile(plan.input);
        return () => limitedRows(input(), plan.limit, plan.offset);
      }
      case 'recursion':
        return this.#recursion(plan);
      case 'round':
        return () => plan.cell.rows;
      case 'shared': {
        const input = this.compile(plan.input);
        if (plan.cell.uses < 2) return input;
        return () => {
          const known = this.#fixed.get(plan);
          if (known !== undefined) return known;
          const rows = [...input()];
          this.#fixed.set(plan, rows);
          return rows;
        };
      }
    }
  }

  #recursion(plan: Extract<BatchPlan, { node: 'recursion' }>): Rows {
    const [anchor, step] = [this.compile(plan.anchor), this.compile(plan.step)];
    const { cell, levels } = plan;
    const fixed = this.#fixed;
    return function* rows() {
      let count = 0;
      const gathered = (rows: Iterable<Row>): readonly Row[] => {
        const round: Row[] = [];
        for (const row of rows) {
          count += 1;
          if (count > recursionRowsMax) {
            throw new ExpressionError(
              'RECURSION_ROW_LIMIT_EXCEEDED',
              `the recursion gives more than ${recursionRowsMax} rows`,
            );
          }
          round.push(row);
        }
        return round;
      };
      let round = gathered(anchor());
      for (let level = 0; round.length > 0; level += 1) {
        yield* round;
        if (level >= levels) {
          throw new ExpressionError(
            'RECURSION_LEVEL_LIMIT_EXCEEDED',
            `the recursion goes on after ${levels} rounds`,
          );
        }
        cell.rows = round;
        // What was computed once may have read the round before.
        fixed.clear();
        round = gathered(step());
      }
    };
  }

  #one(expression: Expression): Evaluator {
    return compile(expression, this.#context);
  }

  #all(expressions: readonly Expression[]): readonly Evaluator[] {
    return expressions.map((expression) => this.#one(expression));
  }

  #orders(keys: readonly SortKey[]): readonly RowOrder[] {
    return keys.map((key) => ({ ...key, value: this.#one(key.value), type: key.value.type }));
  }

  #project(plan: Extract<BatchPlan, { node: 'project' }>): Rows {
    const input = this.compile(withoutUnread(plan.input, plan.values));
    const values = this.#all(plan.values);
    const frame = this.#frame;
    return () => projected(input(), values, frame);
  }

  #expect(plan: Extract<BatchPlan, { node: 'expect' }>): Rows {
    const input = this.compile(plan.input);
    const encode = rowEncoder(plan.columns);
    const options = { context: this.#context, frame: this.#frame };
    const judge = compileJudge(plan.expectations, options, {
      owner: plan.owner,
      count: ({ name }, isMet) => this.#settings.count?.(plan.prefix + name, isMet),
      rowText: (row) => rowText(encode, row),
    });
    return function* rows() {
      for (const row of input()) if (judge(row)) yield row;
    };
  }

  #require(plan: Extract<BatchPlan, { node: 'require' }>): Rows {
    const { flow, table, columns, sql } = plan;
    const input = this.compile(plan.input);
    const condition = this.#one(plan.condition);
    const frame = this.#frame;
    return function* rows() {
      for (const row of input()) {
        if (condition(row, frame) !== true) {
          throw new FlowError(
            'REPLACE_WHERE_OUTSIDE',
            `flow "${flow}" gives a row that its REPLACE WHERE does not replace`,
            {
              detail: `The condition ${sql} is not true for the row ${rowText(rowEncoder(columns), row)}. The table keeps the rows that it had.`,
              logDetail: `The condition ${sql} is not true for a row. The table keeps the rows that it had.`,
              hint: `Give the query of the flow the same condition (WHERE ${sql}), or widen REPLACE WHERE; a row outside of it would be added to "${table}" again by each update.`,
            },
          );
        }
        yield row;
      }
    };
  }

  #generate(plan: Extract<BatchPlan, { node: 'generate' }>): Rows {
    const input = this.compile(plan.input);
    const args = this.#all(plan.generator.arguments);
    const frame = this.#frame;
    const make = plan.generator.prepare({ ...this.#context, place: plan.place });
    const nothing: readonly Row[] = [plan.generator.columns.map(() => null)];
    return function* rows() {
      for (const row of input()) {
        const made = make(args.map((arg) => arg(row, frame)));
        for (const one of made.length === 0 && plan.outer ? nothing : made) yield [...row, ...one];
      }
    };
  }

  #join(plan: BatchJoin): Rows {
    const [left, right] = [this.compile(plan.left), this.compile(plan.right)];
    const frame = this.#frame;
    const options = {
      kind: plan.kind,
      leftWidth: plan.leftWidth,
      rightWidth: plan.rightWidth,
      leftKeys: this.#all(plan.equal.map((pair) => pair.left)),
      rightKeys: this.#all(plan.equal.map((pair) => pair.right)),
      keyTypes: plan.equal.map((pair) => pair.left.type),
      nullSafe: plan.equal.map((pair) => pair.nullSafe),
      condition: plan.condition && this.#one(plan.condition),
    };
    return () => joinedRows(left(), right(), options, frame);
  }

  #lateral(plan: Extract<BatchPlan, { node: 'lateral' }>): Rows {
    const [left, right] = [this.compile(plan.left), this.compile(plan.right.plan)];
    const condition = plan.condition && this.#one(plan.condition);
    const captures = plan.right.captures.map(({ slot, value }) => ({
      slot,
      value: this.#one(value),
    }));
    const frame = this.#frame;
    const nothing: Row = new Array<Value>(plan.rightWidth).fill(null);
    return function* rows() {
      for (const row of left()) {
        for (const { slot, value } of captures) frame.parameters[slot] = value(row, frame);
        let isMatched = false;
        for (const other of [...right()]) {
          const both = [...row, ...other];
          if (condition !== undefined && condition(both, frame) !== true) continue;
          isMatched = true;
          yield both;
        }
        if (!isMatched && plan.kind === 'left') yield [...row, ...nothing];
      }
    };
  }

  #aggregate(plan: Extract<BatchPlan, { node: 'aggregate' }>): Rows {
    const input = this.compile(plan.input);
    const frame = this.#frame;
    const options = {
      keys: this.#all(plan.keys),
      keyTypes: plan.keys.map((key) => key.type),
      aggregates: plan.aggregates.map((node) => this.#rowAggregate(node)),
      sets: plan.sets,
    };
    return () => groupedRows(input(), options, frame);
  }

  #rowAggregate(node: AggregateNode, given?: readonly Expression[]): RowAggregate {
    const parts = aggregateParts(given === undefined ? node : { ...node, arguments: given });
    const { aggregate, distinct } = node.operation;
    return {
      arguments: this.#all(parts.arguments),
      argumentTypes: parts.arguments.map((argument) => argument.type),
      distinct,
      filter: parts.filter && this.#one(parts.filter),
      orders: this.#orders(parts.order),
      start: aggregate.prepare({ ...this.#context, place: node.place }),
    };
  }

  #window(plan: Extract<BatchPlan, { node: 'window' }>): Rows {
    const input = this.compile(plan.input);
    const windows = plan.functions.map((node) => this.#rowWindow(node));
    const frame = this.#frame;
    return () => {
      const rows = [...input()];
      const columns = windows.map((window) => windowValues(rows, window, frame));
      return rows.map((row, i) => [...row, ...columns.map((column) => column[i] ?? null)]);
    };
  }

  #rowWindow(node: WindowNode): RowWindow {
    const { function: fn, frame } = node.operation.window;
    const parts = windowParts(node);
    const limits = this.#all(parts.limits);
    const bound = (given: FrameBound): RowBound =>
      given.at === 'value' ? { at: 'value', limit: limits[given.index] ?? (() => null) } : given;
    return {
      function:
        fn.kind === 'aggregate'
          ? { kind: 'aggregate', aggregate: this.#rowAggregate(fn.aggregate, parts.arguments) }
          : fn,
      arguments: this.#all(parts.arguments),
      partitionBy: this.#all(parts.partitionBy),
      partitionTypes: parts.partitionBy.map((value) => value.type),
      orders: this.#orders(parts.orderBy),
      unit: frame.unit,
      from: bound(frame.from),
      to: bound(frame.to),
    };
  }

  #set(plan: Extract<BatchPlan, { node: 'set' }>): Rows {
    const [left, right] = [this.compile(plan.left), this.compile(plan.right)];
    const { operator, all, types } = plan;
    if (operator !== 'union') {
      return () => setRows(left(), right(), { operator, all, types });
    }
    const both = function* rows(): Iterable<Row> {
      yield* left();
      yield* right();
    };
    return all ? both : () => distinctRows(both(), types);
  }
}

function* projected(
  input: Iterable<Row>,
  values: readonly Evaluator[],
  frame: Frame,
): Iterable<Row> {
  for (const row of input) yield values.map((value) => value(row, frame));
}

function* filtered(input: Iterable<Row>, condition: Evaluator, frame: Frame): Iterable<Row> {
  for (const row of input) if (condition(row, frame) === true) yield row;
}

function* rangeRows(start: bigint, end: bigint, step: bigint): Iterable<Row> {
  for (let id = start; step > 0n ? id < end : id > end; id += step) yield [id];
}
