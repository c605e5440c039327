import { ByteWriter } from '../../src/data/byte-writer.ts';
import { ExpressionError } from '../../src/expr/expression-error.ts';
import type { PipelinePlan } from '../../src/plan/pipeline-plan.ts';
import type { RecordCursor } from '../../src/ports/log.ts';
import { RowProgram } from '../../src/task/row/row-program.ts';
import { emptyFlowCounters } from '../../src/task/row-account.ts';

/** A record as a cursor shows it; it has no key and no headers. */
export function recordOf(value: Buffer, offset = 0): RecordCursor {
  return {
    next: () => false,
    offset,
    timestampMs: 1_700_000_000_000,
    bytes: value,
    keyStart: 0,
    keyEnd: -1,
    valueStart: 0,
    valueEnd: value.length,
    headersStart: 0,
    headersEnd: 0,
  };
}

export type RunRows = (value: Buffer) => string[];

/**
 * Runs the branches of a plan's first flow over records, without tasks and topics: each row as the texts of its
 * key, sequence and value, `bad` where the record is none, then what was counted.
 */
export function rowRunner(plan: PipelinePlan, isSpliced: boolean): RunRows {
  const [flow] = plan.flows;
  const table = plan.tables.find(({ name }) => name === flow?.target);
  if (flow === undefined || table === undefined) throw new Error('the plan has no flow');
  const programs = flow.branches.map(({ source: name }, branch) => {
    const source = plan.sources.find((one) => one.name === name);
    if (source === undefined) throw new Error(`the plan has no source ${name}`);
    return new RowProgram({ flow, branch, source, table, timeZone: plan.timeZone, isSpliced });
  });
  for (const program of programs) program.startBatch(0);
  return (value) => programs.flatMap((program) => runProgram(program, value));
}

function runProgram(program: RowProgram, value: Buffer): string[] {
  const record = recordOf(value);
  const counters = emptyFlowCounters(program.expectationNames);
  const rows: string[] = [];
  const bytes = (write: (out: ByteWriter) => void): string => {
    const out = new ByteWriter(256);
    write(out);
    return out.copy().toString('latin1');
  };
  if (program.read(record, { topic: 'topic', partition: 0 }) !== undefined) return ['bad'];
  try {
    program.run(counters, (row, index) => {
      let flags = 0;
      rows.push(
        `${index} ${bytes((out) => program.encodeKey(row, out))}`,
        bytes((out) => {
          flags = program.encodeSequence(row, out, record.timestampMs);
        }),
        `${flags} ${bytes((out) => program.encodeRow(row, out))}`,
      );
    });
  } catch (error) {
    // What failed first may differ from way to way; that it is bad may not.
    if (error instanceof ExpressionError) return ['bad'];
    throw error;
  }
  return [...rows, JSON.stringify(counters)];
}
