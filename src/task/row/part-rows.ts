import { assert } from '../../base/assert.ts';
import type { Row, Value } from '../../data/value.ts';
import { compile } from '../../expr/compile.ts';
import type { Evaluator, Frame } from '../../expr/expression.ts';
import { type Rows, rowKey } from '../../operators/batch-rows.ts';
import type { IncrementalView } from '../../plan/flows/incremental-view.ts';
import { compileBatch } from '../batch-run.ts';
import { type ViewLayout, type ViewRecord, viewRecords } from '../view-records.ts';

export type PartRowsOptions = {
  readonly view: IncrementalView;
  readonly layout: ViewLayout;
  readonly timeZone: string;
  /** Of a query that depends on no clock it does not matter. */
  readonly nowMicros: bigint;
};

export type Tally = { passed: number; failed: number };

/** What one record of the table gives. */
type Unit = {
  /** Rows of a part come in the order in which their records came. */
  readonly order: number;
  readonly partition: number;
  /** By part. */
  readonly rows: ReadonlyMap<Value, readonly Row[]>;
  readonly tallies: ReadonlyMap<string, Tally>;
};

type Part = {
  readonly units: Set<Unit>;
  /** Rows of the view: record key and text. */
  out: readonly { readonly key: string; readonly text: string }[];
  tallies: ReadonlyMap<string, Tally>;
};

const noTallies: ReadonlyMap<string, Tally> = new Map();

/**
 * The rows of a view, kept between its computations: only the parts that changed records of its table belong to are computed
 * again. Invariant: after `refresh` the records are those that the whole query gives over all the records that were told,
 * in the order in which they came.
 */
export class PartRows {
  /** Rows that the view has now. */
  count = 0;
  /** By the name of the expectation, over all that is there now. */
  readonly tallies = new Map<string, Tally>();
  readonly #layout: ViewLayout;
  readonly #lower: Rows;
  readonly #upper: Rows | undefined;
  readonly #groupOf: ((row: Row) => Value) | undefined;
  readonly #units = new Map<string, Unit>();
  readonly #parts = new Map<Value, Part>();
  readonly #dirty = new Set<Value>();
  /** The texts of a record's rows. */
  readonly #records = new Map<string, string[]>();
  #given: readonly Row[] = [];
  #counted = new Map<string, Tally>();
  #order = 0;

  constructor({ view, layout, timeZone, nowMicros }: PartRowsOptions) {
    const settings = {
      timeZone,
      nowMicros,
      rowsOf: () => this.#given,
      count: (name: string, isMet: boolean) => addTo(this.#counted, name, isMet),
    };
    this.#layout = layout;
    this.#lower = compileBatch(view.lower, settings);
    this.#upper = view.upper && compileBatch(view.upper, settings);
    if (view.groups !== undefined) {
      const { types, values } = view.groups;
      const evaluators = values?.map((value) => compile(value, { timeZone }));
      this.#groupOf = groupKey(rowKey(types), evaluators);
      // A total is there without any row, too.
      if (types.length === 0) this.#dirty.add(totalKey);
    }
  }

  /** The rows that a record of the table has now; undefined: it is gone. */
  set(partition: number, key: string, given: readonly Row[] | undefined): void {
    const name = `${partition}/${key}`;
    const before = this.#units.get(name);
    if (before !== undefined) this.#forget(before);
    if (given === undefined) {
      this.#units.delete(name);
      return;
    }
    const rows = new Map<Value, Row[]>();
    const tallies = this.#run(given, this.#lower, (row) => {
      const part = this.#groupOf === undefined ? name : this.#groupOf(row);
      const known = rows.get(part);
      if (known === undefined) rows.set(part, [row]);
      else known.push(row);
    });
    this.#order += 1;
    const unit: Unit = { order: before?.order ?? this.#order, partition, rows, tallies };
    this.#units.set(name, unit);
    for (const part of rows.keys()) {
      this.#partOf(part).units.add(unit);
      this.#dirty.add(part);
    }
    this.#addTallies(tallies, 1);
  }

  #forget(unit: Unit): void {
    for (const part of unit.rows.keys()) {
      this.#parts.get(part)?.units.delete(unit);
      this.#dirty.add(part);
    }
    this.#addTallies(unit.tallies, -1);
  }

  #partOf(key: Value): Part {
    let part = this.#parts.get(key);
    if (part === undefined) {
      part = { units: new Set(), out: [], tallies: noTallies };
      this.#parts.set(key, part);
    }
    return part;
  }

  /** Computes what has changed, and gives the records that may have; undefined: the record is gone. */
  refresh(): ReadonlyMap<string, ViewRecord | undefined> {
    const touched = new Set<string>();
    for (const key of this.#dirty) {
      const part = this.#partOf(key);
      for (const { key: record, text } of part.out) this.#take(record, text, touched);
      this.#addTallies(part.tallies, -1);
      this.#compute(key, part);
      for (const { key: record, text } of part.out) this.#put(record, text, touched);
      this.#addTallies(part.tallies, 1);
      if (part.units.size === 0 && part.out.length === 0) this.#parts.delete(key);
    }
    this.#dirty.clear();
    return new Map([...touched].map((record) => [record, this.#record(record)]));
  }

  #compute(key: Value, part: Part): void {
    const units = [...part.units].sort((a, b) => a.partition - b.partition || a.order - b.order);
    const given = units.flatMap((unit) => unit.rows.get(key) ?? []);
    let rows: Row[] = [];
    const isLeft = given.length > 0 || key === totalKey;
    if (this.#upper === undefined) rows = given;
    else if (isLeft) part.tallies = this.#run(given, this.#upper, (row) => rows.push(row));
    else part.tallies = noTallies;
    part.out = rows.flatMap((row) =>
      [...viewRecords([row], this.#layout)].map(([record, { value }]) => ({
        key: record,
        text: value.slice(1, -1),
      })),
    );
  }

  #run(given: readonly Row[], query: Rows, take: (row: Row) => void): ReadonlyMap<string, Tally> {
    this.#given = given;
    this.#counted = new Map();
    for (const row of query()) take(row);
    this.#given = [];
    return this.#counted;
  }

  #take(record: string, text: string, touched: Set<string>): void {
    const texts = this.#records.get(record);
    const at = texts?.indexOf(text) ?? -1;
    assert(texts !== undefined && at >= 0, 'a row that is taken away was there');
    texts.splice(at, 1);
    if (texts.length === 0) this.#records.delete(record);
    this.count -= 1;
    touched.add(record);
  }

  #put(record: string, text: string, touched: Set<string>): void {
    const texts = this.#records.get(record);
    if (texts === undefined) this.#records.set(record, [text]);
    else texts.push(text);
    this.count += 1;
    touched.add(record);
  }

  /** As `viewRecords` writes it. */
  #record(record: string): ViewRecord | undefined {
    const texts = this.#records.get(record);
    if (texts === undefined) return undefined;
    return { value: `[${texts.sort().join(',')}]`, rows: texts.length };
  }

  #addTallies(tallies: ReadonlyMap<string, Tally>, sign: 1 | -1): void {
    for (const [name, { passed, failed }] of tallies) {
      const total = this.tallies.get(name) ?? { passed: 0, failed: 0 };
      total.passed += sign * passed;
      total.failed += sign * failed;
      this.tallies.set(name, total);
    }
  }
}

/** The one part of a query that groups by nothing. */
const totalKey = '';

function groupKey(
  keyOf: (values: Row) => Value,
  evaluators: readonly Evaluator[] | undefined,
): (row: Row) => Value {
  if (evaluators === undefined) return keyOf;
  if (evaluators.length === 0) return () => totalKey;
  const frame: Frame = { parameters: [], nowMicros: 0n };
  return (row) => keyOf(evaluators.map((value) => value(row, frame)));
}

function addTo(tallies: Map<string, Tally>, name: string, isMet: boolean): void {
  const tally = tallies.get(name) ?? { passed: 0, failed: 0 };
  if (isMet) tally.passed += 1;
  else tally.failed += 1;
  tallies.set(name, tally);
}
