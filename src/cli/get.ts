import { requireOptions } from '../config/load-config.ts';
import { hasJoinedRows } from '../plan/flows/joined-rows.ts';
import { isKeyed, type TablePlan } from '../plan/pipeline-plan.ts';
import { type CommittedSet, readTableKeys } from '../runtime/inspect/read-table.ts';
import { keyColumnsOf, keyless, parseTableKey } from '../runtime/inspect/table-key.ts';
import { readAt } from '../task/table-records.ts';
import { type Command, type ExitCode, type Invocation, usageError } from './command.ts';
import { deployedNote } from './definition-note.ts';
import { namedPipeline, namedTable, pipelineFlag, withLog } from './pipeline-files.ts';
import { cellReader } from './row-cells.ts';
import { rowSetJson, sourceTopicsById } from './row-set-json.ts';
import { type RowOrigins, rowSourceText } from './row-source.ts';
import { tableText } from './table-text.ts';

export const get: Command = {
  name: 'get',
  summary:
    'show the committed rows of a key, and where each came from; exit code 1 where a key has none',
  arguments: 'TABLE KEY…',
  example: `tidemark get bookings_current '{"booking_id":501}' --pipeline bookings.sql --kafka.brokers localhost:9092`,
  flags: pipelineFlag,
  usesConfig: true,
  run: async (invocation) => {
    const [name, ...texts] = invocation.positionals;
    if (name === undefined || texts.length === 0) {
      throw usageError('a table and at least one key are needed', `Usage: tidemark get TABLE KEY…`);
    }
    const config = invocation.config();
    const plan = await namedPipeline(invocation, config);
    if (plan === undefined) return 3;
    const { table, flow } = namedTable(plan, name);
    if (!isKeyed(flow)) throw keyless(table);
    const keys = texts.map((text) => parseTableKey(keyColumnsOf(table, flow), text));
    requireOptions(config, ['kafka.brokers']);
    return withLog<ExitCode>(invocation, config, async (log) => {
      const note = await deployedNote(log, { plan, table, pipeline: config['pipeline.name'] });
      const sets = await readTableKeys({ log, table, flow }, keys);
      const topics = await sourceTopicsById(plan, log);
      const origins = { topics, areJoined: hasJoinedRows(plan, flow) };
      if (note !== undefined) invocation.terminal.err(`note: ${note}\n`);
      let exitCode: ExitCode = 0;
      for (const [index, key] of keys.entries()) {
        const set = sets[index];
        const text = key.toString('utf8');
        if (set === undefined) {
          exitCode = 1;
          invocation.terminal.err(`table "${table.name}" has no rows for key ${text}\n`);
        }
        if (invocation.json)
          invocation.terminal.out(`${rowSetJson({ key: text, set, table, flow, origins })}\n`);
        else if (set !== undefined) printPeople(invocation, table, set, origins);
      }
      return exitCode;
    });
  },
};

function printPeople(
  { terminal }: Invocation,
  table: TablePlan,
  set: CommittedSet,
  origins: RowOrigins,
): void {
  const { key, sequence, partition, rows } = set;
  terminal.out(`key ${key}, sequence ${sequence}, partition ${partition}, rows: ${rows.length}\n`);
  const columns = table.columns.map((column) => column.name);
  const cellsOf = cellReader(columns);
  const place = { topic: table.topic, partition };
  const lines = rows.map(({ json, sources, offset = 0 }) => [
    ...readAt(place, offset, () => cellsOf(json)).map((cell) => cell ?? 'NULL'),
    sources.map((source) => rowSourceText(source, origins)).join(' and '),
  ]);
  terminal.out(`${tableText([...columns, '(from)'], lines)}\n`);
}
