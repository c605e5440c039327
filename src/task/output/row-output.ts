import type { Row } from '../../data/value.ts';
import type { RecordCursor, RecordSink } from '../../ports/log.ts';
import type { RowProgram } from '../row/row-program.ts';

/**
 * Where the rows of a source partition go. Contract: between `begin` and `send` the rows of one record are
 * collected; nothing of them reaches the sink before `send`, so that a record that turns out bad gives none.
 */
export interface RowOutput {
  begin(): void;
  /** Throws ExpressionError where the row is bad. `provenance` is copied. */
  add(program: RowProgram, row: Row, provenance: Buffer, records: RecordCursor): void;
  /** Gives the number of rows. */
  send(records: RecordCursor, sink: RecordSink, nowMs: number): number;
  /** Tells every partition behind it how far the one that a provenance names has come; absent: nobody asks. */
  tellTime?(provenance: Buffer, timeMs: number, sink: RecordSink, nowMs: number): void;
}
