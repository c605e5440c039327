import type { ByteWriter } from '../../data/byte-writer.ts';
import { type Int64, readInt64Words } from '../../data/int64.ts';
import { type rowEncoder, sparseRowEncoder } from '../../data/json-encode.ts';
import { kindInteger } from '../../data/json-lex.ts';
import { deleteFlag, emptyFlag, truncateFlag } from '../../data/row-envelope.ts';
import { sequenceCodec, writeInt64Sequence } from '../../data/sequence.ts';
import type { Column } from '../../data/types.ts';
import type { Row, Value } from '../../data/value.ts';
import { compile } from '../../expr/compile.ts';
import type { CompileContext, Evaluator, Expression, Frame } from '../../expr/expression.ts';
import { ExpressionError } from '../../expr/expression-error.ts';
import { indexLevels } from '../../plan/batch/index-levels.ts';
import { countedExpectations, viewExpectationName } from '../../plan/counted-expectations.ts';
import {
  type BranchPlan,
  type ExpectationPlan,
  type FlowPlan,
  isKeyed,
  type SourcePlan,
  type TablePlan,
} from '../../plan/pipeline-plan.ts';
import type { RecordCursor } from '../../ports/log.ts';
import { rightSide } from '../join-task.ts';
import { FirstVersionReader } from '../key/first-version.ts';
import { type KeyVersion, KeyVersionReader } from '../key/key-version.ts';
import { EmptiedKey } from '../output/emptied-key.ts';
import type { FlowCounters } from '../row-account.ts';
import type { BadRow } from './bad-row.ts';
import { ChainedSource, chainedBranches } from './chained-source.ts';
import { compileJudge, type Judged, rowText } from './judge.ts';
import { rowLayoutOf } from './row-layout.ts';
import { compileSteps, type FindPartners, noPartners, type RowStepRunner } from './row-steps.ts';
import { sequenceBound } from './sequence-bound.ts';
import { type RecordPlace, SourceReader } from './source-reader.ts';
import { SplicedRowWriter } from './spliced-row.ts';

export type RowProgramOptions = {
  readonly flow: FlowPlan;
  readonly branch: number;
  /** Another side of the query's union reads a table of the pipeline, or this one does. */
  readonly isChained?: boolean;
  /** AUTO CDC flows of the same table that read the same records and come before this one. */
  readonly twinsBefore?: number;
  readonly source: SourcePlan;
  readonly table: TablePlan;
  readonly timeZone: string;
  /** Whether values that only pass through are copied as bytes; the result is the same. */
  readonly isSpliced: boolean;
  /** Finds the rows of static sides; absent: the plan has none. */
  readonly partners?: FindPartners;
};

const int64: Int64 = { high: 0, low: 0 };

/** Day 2932896 is 9999-12-31: a sequence beyond it is the sign of a wrong unit, and would win for ever. */
const daysMax = 2_932_896;
const microsMax = 253_402_300_799_999_999n;

/**
 * One branch of a flow's query, compiled: the columns of a record in, the rows of the target out, with
 * their key, sequence and JSON. Invariant: it holds no state from one record to the next.
 */
export class RowProgram {
  /** As provenance has it: where rows of tables come in, their own branches need room beside it. */
  readonly provenanceBranch: number;
  /** Reads the versions of a key; undefined where a record is one row. */
  readonly versions: KeyVersionReader | undefined;
  /** Reads the first version of a key, and none besides; undefined where all that is read counts. */
  readonly firsts: FirstVersionReader | undefined;
  readonly #emptiedKey: EmptiedKey | undefined;
  /** The sequence of a version that gives no row, while that is what is written. */
  #emptied: Buffer | undefined;
  /** Where the rows of a table of the pipeline came from; undefined where the source is a topic of somebody else. */
  readonly chained: ChainedSource | undefined;
  readonly expectationNames: readonly string[];
  readonly #reader: SourceReader;
  readonly #frame: Frame = { parameters: [], nowMicros: 0n };
  readonly #first: RowStepRunner;
  readonly #keys: readonly number[];
  readonly #keyWriter: SplicedRowWriter;
  readonly #writer: SplicedRowWriter;
  readonly #rowText: ReturnType<typeof rowEncoder>;
  readonly #sequence: Evaluator;
  /** The source column that is the sequence, where it is a BIGINT that nothing else looks at; else -1. */
  readonly #sequenceSource: number;
  readonly #emptyWhen: Evaluator | undefined;
  readonly #deleteWhen: Evaluator | undefined;
  readonly #truncateWhen: Evaluator | undefined;
  /** A key that is NULL is no key of a change feed. */
  readonly #isKeyNeeded: boolean;
  /** Of a row on its way to a join; one that is only let through is of the one side that there is. */
  readonly #side: number | undefined;
  readonly #sparse: ReturnType<typeof sparseRowEncoder> | undefined;
  readonly #sequenceKind: string;
  readonly #isAboveMax: ((sequence: Value) => boolean) | undefined;
  readonly #encodeSequence: ReturnType<typeof sequenceCodec>['encode'];
  readonly #options: RowProgramOptions;
  #emit: RowStepRunner = () => undefined;
  #counters: FlowCounters | undefined;
  #reached: bigint | undefined;
  #reachedAlone: bigint | undefined;
  /** Of the record at hand. A fraction at first, so that the engine stores it unboxed. */
  #recordMs = -0.5;

  constructor(options: RowProgramOptions) {
    const { flow, branch, source, table, timeZone } = options;
    this.#options = options;
    const changing = flow.kind === 'auto_cdc' ? flow : undefined;
    const joining = flow.kind === 'join' ? flow : undefined;
    const layout = rowLayoutOf(options);
    const { columns, omitted, unread } = layout;
    const plan = flow.branches[branch] as BranchPlan;
    const keyed = isKeyed(flow) ? flow : undefined;
    const isUnion = flow.branches.length > 1;
    // The changes of two flows of one table are two, also where they come from one record.
    const side = changing === undefined ? 0 : (options.twinsBefore ?? 0);
    const scale = isUnion && options.isChained === true ? chainedBranches : 1;
    this.provenanceBranch = (branch * scale + side * chainedBranches) % 256;
    this.chained =
      source.table === undefined
        ? undefined
        : new ChainedSource({
            branch: (isUnion ? branch : 0) + side,
            generators: indexLevels(plan.steps),
          });
    this.versions =
      source.table === undefined || source.replaced === undefined
        ? undefined
        : new KeyVersionReader(source.replaced);
    this.firsts =
      source.firstVersions === undefined ? undefined : new FirstVersionReader(source.firstVersions);
    this.#emptiedKey =
      plan.versionKeys === undefined
        ? undefined
        : new EmptiedKey(
            { source, timeZone, positions: plan.versionKeys },
            (keyed?.keys ?? []).map((position) => table.columns[position] as Column),
          );
    this.expectationNames = countedExpectations(flow, table);
    const context: CompileContext = { timeZone };
    this.#sequenceSource = layout.sequenceSource;
    this.#reader = new SourceReader({ ...layout.read, timeZone });
    const optional = (condition: Expression | undefined): Evaluator | undefined =>
      condition === undefined ? undefined : compile(condition, context);
    this.#emptyWhen = optional(flow.kind === 'replace_using' ? flow.emptyWhen : undefined);
    this.#deleteWhen = optional(changing?.deleteWhen);
    this.#truncateWhen = optional(changing?.truncateWhen);
    this.#isKeyNeeded = changing !== undefined;
    if (joining !== undefined) this.#side = branch < joining.leftBranches ? 0 : rightSide;
    if (flow.kind === 'sift') this.#side = 0;
    this.#sparse = omitted.size === 0 ? undefined : sparseRowEncoder(columns, omitted);
    this.#first = compileSteps(plan.steps, {
      context,
      frame: this.#frame,
      counters: () => this.#counters as FlowCounters,
      unread,
      partners: options.partners ?? noPartners,
      count: (view) => this.#counter(({ name }) => viewExpectationName(view, name)),
      reusesRows: true,
      reached: () => this.#reached,
      reachedAlone: () => this.#reachedAlone,
      checkTime: (micros) => this.#checkTime(micros),
      finish: this.#finish(context),
    });
    this.#keys = layout.key.positions;
    this.#keyWriter = new SplicedRowWriter(this.#reader, layout.key);
    this.#rowText = layout.rowText;
    this.#writer = new SplicedRowWriter(this.#reader, layout.row);
    this.#sequence = keyed === undefined ? () => null : compile(keyed.sequence, context);
    const sequenceType = keyed?.sequenceType ?? { kind: 'int' as const };
    this.#sequenceKind = sequenceType.kind;
    this.#isAboveMax =
      table.sequenceMax === undefined ? undefined : sequenceBound(sequenceType, table.sequenceMax);
    this.#encodeSequence = sequenceCodec(sequenceType).encode;
  }

  /** `reached`: the time that every partition of the flow has come to, for the watermark. */
  startBatch(nowMs: number, reached?: bigint): void {
    this.#reached = reached;
    this.#frame.nowMicros = BigInt(Math.floor(nowMs)) * 1000n;
  }

  /** How far the partition of the next record has come; 0: nobody knows. */
  startRecord(eventTimeMs: number): void {
    this.#reachedAlone = eventTimeMs === 0 ? undefined : BigInt(eventTimeMs) * 1000n;
  }

  /** Decodes the columns that the query uses. Undefined: the record is ready to `run`. */
  read(records: RecordCursor, place: RecordPlace): BadRow | 'tombstone' | undefined {
    this.#recordMs = records.timestampMs;
    return this.#reader.read(records, place);
  }

  /** Gives the rows of the record that was read. Throws ExpressionError when one of them is bad. */
  run(counters: FlowCounters, emit: RowStepRunner): void {
    this.#counters = counters;
    this.#emit = emit;
    counters.rows += 1;
    const skipped = counters.filtered + counters.dropped;
    this.#first(this.#reader.row, 0);
    // A value that does not fit makes its record bad, also where no row of it is written.
    if (counters.filtered + counters.dropped > skipped) this.#writer.check();
  }

  /**
   * Hands on that the key of a record has no rows at its version: `emit` is called once, as with a row. What it asks for then
   * are the key and the sequence of that version.
   */
  empty(records: RecordCursor, place: RecordPlace, { sequence }: KeyVersion): Row {
    const key = this.#emptiedKey as EmptiedKey;
    this.#emptied = sequence;
    return key.read(records, place);
  }

  /** What is written from here on are rows again. */
  endEmpty(): void {
    this.#emptied = undefined;
  }

  encodeKey(row: Row, out: ByteWriter): void {
    if (this.#emptied !== undefined) {
      (this.#emptiedKey as EmptiedKey).write(row, out);
      return;
    }
    if (this.#isKeyNeeded) this.#checkKey(row);
    this.#keyWriter.write(row, out);
  }

  #checkKey(row: Row): void {
    for (const position of this.#keys) {
      if ((row[position] ?? null) !== null) continue;
      const name = this.#options.table.columns[position]?.name;
      throw new ExpressionError('NULL_KEY', `key column "${name}" of the row is NULL`);
    }
  }

  /** The flags of the row's envelope. */
  flagsOf(row: Row): number {
    if (this.#side !== undefined) return 0;
    return this.#emptied === undefined ? this.#flags(row) : emptyFlag;
  }

  /** Gives the flags of the row's envelope. */
  encodeSequence(row: Row, out: ByteWriter, timestampMs: number): number {
    if (this.#side !== undefined) {
      out.byte(this.#side);
      return 0;
    }
    if (this.#emptied !== undefined) {
      out.bytes(this.#emptied);
      return emptyFlag;
    }
    if (this.#sequenceSource >= 0) {
      this.#copySequence(out);
      return this.#flags(row);
    }
    const sequence = this.#sequence(row, this.#frame);
    if (sequence === null) {
      throw new ExpressionError('NULL_SEQUENCE', 'the sequence of the row is NULL');
    }
    this.#checkSequence(sequence, timestampMs);
    this.#encodeSequence(sequence, out);
    return this.#flags(row);
  }

  /** Whether the row empties the whole table, whatever its key. */
  isTruncate(row: Row): boolean {
    if (this.#truncateWhen === undefined) return false;
    return this.#truncateWhen(row, this.#frame) === true;
  }

  #flags(row: Row): number {
    if (this.isTruncate(row)) return truncateFlag;
    if (this.#deleteWhen?.(row, this.#frame) === true) return deleteFlag;
    return this.#isEmpty(row) ? emptyFlag : 0;
  }

  /** From the digits as they lie to the bytes, without a value in between. */
  #copySequence(out: ByteWriter): void {
    const source = this.#sequenceSource;
    const { start, end, kind } = this.#reader.locate(source);
    const { bytes, view } = this.#reader.found;
    if (kind === kindInteger && readInt64Words(bytes, view, start, end, int64)) {
      writeInt64Sequence(out, int64.high, int64.low);
      return;
    }
    const sequence = this.#reader.decodeLocated(source);
    if (sequence === null) {
      throw new ExpressionError('NULL_SEQUENCE', 'the sequence of the row is NULL');
    }
    this.#encodeSequence(sequence, out);
  }

  /** Whether the row is no row but says that its key has none (APPLY AS EMPTY WHEN). */
  #isEmpty(row: Row): boolean {
    return this.#emptyWhen?.(row, this.#frame) === true;
  }

  #checkSequence(sequence: Value, timestampMs: number): void {
    const { sequenceAheadMaxMicros, sequenceMax } = this.#options.table;
    if (this.#isAboveMax?.(sequence) === true) {
      throw new ExpressionError(
        'SEQUENCE_ABOVE_MAX',
        `the sequence is above max_sequence ${sequenceMax}`,
      );
    }
    if (this.#sequenceKind === 'date') {
      const days = sequence as number;
      if (days > daysMax) throw beyondCalendar();
      this.#checkAhead(BigInt(days) * 86_400_000_000n, timestampMs, sequenceAheadMaxMicros);
    } else if (this.#sequenceKind === 'timestamp' || this.#sequenceKind === 'timestamp_ntz') {
      const micros = sequence as bigint;
      if (micros > microsMax) throw beyondCalendar();
      this.#checkAhead(micros, timestampMs, sequenceAheadMaxMicros);
    }
  }

  #checkAhead(micros: bigint, timestampMs: number, aheadMax: bigint | undefined): void {
    if (!isAhead(micros, timestampMs, aheadMax)) return;
    throw new ExpressionError(
      'SEQUENCE_TOO_FAR_AHEAD',
      "the sequence is further ahead of the record's timestamp than max_sequence_ahead",
    );
  }

  /** One absurd time would move the watermark past everything that is still to come. */
  #checkTime(micros: bigint): void {
    if (micros > microsMax) {
      throw new ExpressionError(
        'EVENT_TIME_OUT_OF_RANGE',
        'the time of the watermark lies beyond the year 9999: is its unit right?',
      );
    }
    if (!isAhead(micros, this.#recordMs, this.#options.table.eventTimeAheadMaxMicros)) return;
    throw new ExpressionError(
      'EVENT_TIME_TOO_FAR_AHEAD',
      "the time of the watermark is further ahead of the record's timestamp than max_event_time_ahead",
    );
  }

  encodeRow(row: Row, out: ByteWriter): void {
    if (this.#emptied !== undefined) return;
    if (this.#sparse === undefined) this.#writer.write(row, out);
    else this.#sparse(row, out);
  }

  /** A row that says that its key is empty skips the expectations of the table. */
  #finish(context: CompileContext): RowStepRunner {
    const { table } = this.#options;
    const options = { context, frame: this.#frame };
    const judge = compileJudge(table.expectations, options, {
      owner: `table "${table.name}"`,
      count: this.#counter(({ name }) => name),
      rowText: (row) => rowText(this.#rowText, row),
    });
    return (row, index) => {
      // What is no row but says that rows are gone is judged by nothing.
      if (this.#flags(row) !== 0 || judge(row)) this.#emit(row, index);
      else (this.#counters as FlowCounters).dropped += 1;
    };
  }

  #counter(nameOf: (expectation: ExpectationPlan) => string): Judged['count'] {
    const positions = new Map<ExpectationPlan, number>();
    return (expectation, isMet) => {
      let position = positions.get(expectation);
      if (position === undefined) {
        position = this.expectationNames.indexOf(nameOf(expectation));
        positions.set(expectation, position);
      }
      const counter = this.#counters?.expectations[position];
      if (counter === undefined) return;
      if (isMet) counter.passed += 1;
      else counter.failed += 1;
    };
  }
}

function isAhead(micros: bigint, timestampMs: number, aheadMax: bigint | undefined): boolean {
  return aheadMax !== undefined && micros > BigInt(Math.floor(timestampMs)) * 1000n + aheadMax;
}

function beyondCalendar(): ExpressionError {
  return new ExpressionError(
    'SEQUENCE_OUT_OF_RANGE',
    'the sequence lies beyond the year 9999: is its unit right?',
  );
}
