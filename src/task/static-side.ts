import { FlowError } from '../base/errors.ts';
import { splitJsonArray } from '../data/json-split.ts';
import { sameType } from '../data/type-text.ts';
import type { Row, Value } from '../data/value.ts';
import { compile } from '../expr/compile.ts';
import type { CompileContext, Evaluator, Frame } from '../expr/expression.ts';
import { ExpressionError } from '../expr/expression-error.ts';
import { rowKey } from '../operators/batch-rows.ts';
import { sourceColumnsOf } from '../plan/optimize.ts';
import type { JoinStep, OutputMode, SourcePlan, StaticBranch } from '../plan/pipeline-plan.ts';
import type { RecordCursor } from '../ports/log.ts';
import { compileSteps, noPartners, type RowStepRunner } from './row/row-steps.ts';
import { type RecordPlace, SourceReader } from './row/source-reader.ts';

export type StaticSideOptions = {
  readonly flow: string;
  readonly join: JoinStep;
  readonly timeZone: string;
  /** How the table of the pipeline that a source is writes its records; undefined of any other source. */
  readonly outputOf: (source: SourcePlan) => OutputMode | undefined;
};

/** One row of the side, and where it stands among the others. */
type Entry = {
  readonly row: Row;
  /** Branch, partition, offset, place within the record. */
  readonly order: readonly number[];
  /** Its record was replaced or deleted. */
  isGone: boolean;
};

type Bucket = { entries: Entry[]; rows: readonly Row[] | undefined };

const noRows: readonly Row[] = [];

/**
 * The static side of one join: the rows of the latest record of each key, ready to be looked up by the values
 * that the join compares. Invariant: what it gives depends on the records that it took and on nothing else, and
 * rows with equal values come in the order of their records.
 */
export class StaticSide {
  readonly join: JoinStep;
  readonly #frame: Frame = { parameters: [], nowMicros: 0n };
  readonly #branches: readonly SideBranch[];
  readonly #keyOf: (values: Row) => Value;
  readonly #leftKeys: readonly Evaluator[];
  readonly #rightKeys: readonly Evaluator[];
  readonly #buckets = new Map<Value, Bucket>();
  /** Source → record → its rows, with the buckets that hold them. */
  readonly #held = new Map<string, Map<string, (readonly [Bucket, Entry])[]>>();
  readonly #options: StaticSideOptions;

  constructor(options: StaticSideOptions) {
    const { join, timeZone } = options;
    this.#options = options;
    this.join = join;
    const context: CompileContext = { timeZone };
    this.#branches = join.side.branches.map(
      (branch) => new SideBranch(branch, { context, frame: this.#frame, timeZone }),
    );
    this.#keyOf = rowKey(join.keys.map(({ left }) => left.type));
    this.#leftKeys = join.keys.map(({ left }) => compile(left, context));
    this.#rightKeys = join.keys.map(({ left, right }) => {
      if (!sameType(left.type, right.type)) throw new TypeError('join keys differ in their types');
      return compile(right, context);
    });
  }

  /** The source loses all that it had: its topic was created anew. */
  clear(source: string): void {
    for (const record of this.#held.get(source)?.keys() ?? []) this.#remove(source, record);
    this.#held.delete(source);
  }

  /** Takes the next record of a source. Throws BAD_ROW where it cannot be read: a missing row would show nowhere. */
  take(source: SourcePlan, records: RecordCursor, place: RecordPlace, nowMs: number): void {
    this.#frame.nowMicros = BigInt(Math.floor(nowMs)) * 1000n;
    const output = this.#options.outputOf(source);
    const record = recordName(records, place, output === 'append');
    this.#remove(source.name, record);
    if (records.valueEnd < 0) return;
    const held: (readonly [Bucket, Entry])[] = [];
    for (const cursor of output === 'row_set' ? elementsOf(records) : [records]) {
      for (const [at, branch] of this.#branches.entries()) {
        if (branch.source.name !== source.name) continue;
        branch.run(
          cursor,
          place,
          (row) => {
            const order = [at, place.partition, records.offset, held.length];
            const bucket = this.#bucketOf(row);
            if (bucket === undefined) return;
            const entry = { row, order, isGone: false };
            bucket.entries.push(entry);
            bucket.rows = undefined;
            held.push([bucket, entry]);
          },
          (bad) => this.#bad(source, records, place, bad),
        );
      }
    }
    if (held.length === 0) return;
    const known = this.#held.get(source.name);
    if (known === undefined) this.#held.set(source.name, new Map([[record, held]]));
    else known.set(record, held);
  }

  /** The rows that equal a row of the stream in what the join compares. */
  partners(row: Row, frame: Frame): readonly Row[] {
    const key = this.#key(this.#leftKeys, row, frame);
    const bucket = key === undefined ? undefined : this.#buckets.get(key);
    if (bucket === undefined) return noRows;
    if (bucket.rows === undefined) {
      bucket.entries = bucket.entries.filter(({ isGone }) => !isGone).sort(inOrder);
      bucket.rows = bucket.entries.map((entry) => entry.row);
    }
    return bucket.rows;
  }

  #bucketOf(row: Row): Bucket | undefined {
    const key = this.#key(this.#rightKeys, row, this.#frame);
    if (key === undefined) return undefined;
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    const bucket: Bucket = { entries: [], rows: undefined };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  /** Undefined: a NULL keeps it from being equal to any. */
  #key(keys: readonly Evaluator[], row: Row, frame: Frame): Value | undefined {
    if (keys.length === 0) return '';
    const values = keys.map((key) => key(row, frame));
    const isNever = values.some((value, i) => value === null && !this.#isNullSafe(i));
    return isNever ? undefined : this.#keyOf(values);
  }

  #isNullSafe(position: number): boolean {
    return this.join.keys[position]?.nullSafe === true;
  }

  #remove(source: string, record: string): void {
    const records = this.#held.get(source);
    for (const [bucket, entry] of records?.get(record) ?? []) {
      entry.isGone = true;
      bucket.rows = undefined;
    }
    records?.delete(record);
  }

  #bad(
    source: SourcePlan,
    { offset }: RecordCursor,
    { topic, partition }: RecordPlace,
    bad: BadRow,
  ) {
    const { flow, join } = this.#options;
    return new FlowError(
      'BAD_ROW',
      `flow "${flow}" cannot read its static side "${join.side.name}"`,
      {
        logDetail: `${bad.errorClass}. It is the record of source "${source.name}" at topic "${topic}", partition ${partition}, offset ${offset}.`,
        detail: `${bad.errorClass}: ${bad.message}. It is the record of source "${source.name}" at topic "${topic}", partition ${partition}, offset ${offset}.`,
        hint: 'Correct the record at its producer with a newer one of the same key, and start again; compaction takes the old one away.',
      },
    );
  }
}

type BadRow = { readonly errorClass: string; readonly message: string };

/** One side of a union that a static side reads. */
class SideBranch {
  readonly source: SourcePlan;
  readonly #reader: SourceReader;
  readonly #first: RowStepRunner;
  #emit: (row: Row) => void = () => undefined;

  constructor(
    { source, steps }: StaticBranch,
    { context, frame, timeZone }: { context: CompileContext; frame: Frame; timeZone: string },
  ) {
    this.source = source;
    const used = new Set(
      [...sourceColumnsOf(steps)].filter((index) => index < source.columns.length),
    );
    this.#reader = new SourceReader({ source, used, located: new Set(), timeZone });
    const counters = { rows: 0, filtered: 0, dropped: 0, late: 0, eventTimeMs: 0 };
    this.#first = compileSteps(steps, {
      context,
      frame,
      counters: () => counters,
      unread: new Set(),
      partners: noPartners,
      reached: () => undefined,
      finish: (row) => this.#emit(row),
    });
  }

  run(
    records: RecordCursor,
    place: RecordPlace,
    emit: (row: Row) => void,
    failed: (bad: BadRow) => FlowError,
  ): void {
    this.#emit = emit;
    const bad = this.#reader.read(records, place);
    if (bad === 'tombstone') return;
    if (bad !== undefined) throw failed(bad);
    try {
      this.#first(this.#reader.row, 0);
    } catch (error) {
      throw error instanceof ExpressionError ? failed(error) : error;
    }
  }
}

function inOrder(a: Entry, b: Entry): number {
  for (const [i, number] of a.order.entries()) {
    const difference = number - (b.order[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** A record without a key replaces nothing, and so do the records of a table whose rows are appended. */
function recordName(
  { bytes, keyStart, keyEnd, offset }: RecordCursor,
  { partition }: RecordPlace,
  isAppended: boolean,
): string {
  if (keyEnd < 0 || isAppended) return `${partition}@${offset}`;
  return `${partition}/${bytes.toString('latin1', keyStart, keyEnd)}`;
}

/** A record of a table holds the row-set of its key as one array. */
function elementsOf(records: RecordCursor): readonly RecordCursor[] {
  const { bytes, valueStart, valueEnd } = records;
  const { offset, timestampMs, keyStart, keyEnd, headersStart, headersEnd } = records;
  const spans = splitJsonArray(bytes, valueStart, valueEnd) ?? [];
  return spans.map((span) => ({
    next: () => false,
    offset,
    timestampMs,
    bytes,
    keyStart,
    keyEnd,
    headersStart,
    headersEnd,
    valueStart: span.start,
    valueEnd: span.end,
  }));
}
