import { requireOptions } from '../config/load-config.ts';
import { readTable } from '../runtime/inspect/read-table.ts';
import { readAppendedRows } from '../runtime/views/read-appended-rows.ts';
import type { ReadProgress } from '../runtime/worker/read-partition.ts';
import { readAt } from '../task/table-records.ts';
import { type Command, type ExitCode, type Invocation, usageError } from './command.ts';
import { countText } from './count-text.ts';
import { csvLine } from './csv-line.ts';
import { deployedNote } from './definition-note.ts';
import { namedPipeline, namedRows, pipelineFlag, withLog } from './pipeline-files.ts';
import { cellReader } from './row-cells.ts';

const progressIntervalMs = 500;

export const dump: Command = {
  name: 'dump',
  summary: 'write every committed row of a table to standard output',
  arguments: 'TABLE',
  example:
    'tidemark dump bookings_current --pipeline bookings.sql --kafka.brokers localhost:9092 --format csv',
  flags: {
    ...pipelineFlag,
    format: {
      type: 'string',
      value: 'jsonl|csv',
      doc: 'One JSON object a line (default), or CSV with a header line, NULL as an empty field.',
    },
  },
  usesConfig: true,
  run: async (invocation) => {
    const [name, extra] = invocation.positionals;
    if (name === undefined || extra !== undefined)
      throw usageError('one table is needed', 'Usage: tidemark dump TABLE [--format jsonl|csv]');
    const format = formatOf(invocation);
    const config = invocation.config();
    const plan = await namedPipeline(invocation, config);
    if (plan === undefined) return 3;
    const { table, flow } = namedRows(plan, name);
    requireOptions(config, ['kafka.brokers']);
    const columns = table.columns.map((column) => column.name);
    const cellsOf = cellReader(columns);
    const lineOf =
      format === 'csv' ? (json: string) => csvLine(cellsOf(json)) : (json: string) => `${json}\n`;
    const { terminal } = invocation;
    return withLog<ExitCode>(invocation, config, async (log) => {
      // Refuses what it could not read; how the files differ otherwise is no part of the rows.
      await deployedNote(log, { plan, table, pipeline: config['pipeline.name'] });
      const progress = new DumpProgress(invocation);
      if (format === 'csv') terminal.out(csvLine(columns));
      const options = { log, table, onProgress: (one: ReadProgress) => progress.show(one) };
      const groups =
        table.output === 'append' ? readAppendedRows(options) : readTable({ ...options, flow });
      for await (const { partition, rows } of groups) {
        const place = { topic: table.topic, partition };
        const lines = rows.map(({ json, offset = 0 }) => readAt(place, offset, () => lineOf(json)));
        terminal.out(lines.join(''));
        progress.rows += rows.length;
        await terminal.drained?.();
      }
      progress.end();
      return 0;
    });
  },
};

function formatOf(invocation: Invocation): 'jsonl' | 'csv' {
  const format = invocation.text('format') ?? 'jsonl';
  if (format !== 'jsonl' && format !== 'csv') {
    throw usageError(`--format takes jsonl or csv, not "${format}"`);
  }
  if (format === 'csv' && invocation.json) {
    throw usageError('--json and --format csv exclude each other');
  }
  return format;
}

/** One line on a terminal that is written over; nothing elsewhere. */
class DumpProgress {
  rows = 0;
  readonly #invocation: Invocation;
  #nextMs = 0;

  constructor(invocation: Invocation) {
    this.#invocation = invocation;
  }

  show({ partition, partitions, position, end }: ReadProgress): void {
    const { terminal } = this.#invocation;
    if (!terminal.isTerminal || Date.now() < this.#nextMs) return;
    this.#nextMs = Date.now() + progressIntervalMs;
    terminal.err(
      `\r\u001b[Kpartition ${partition + 1} of ${partitions}: offset ${position} of ${end}, ${countText(this.rows, 'row')} written`,
    );
  }

  end(): void {
    const { terminal } = this.#invocation;
    if (terminal.isTerminal) terminal.err(`\r\u001b[K${countText(this.rows, 'row')}\n`);
  }
}
