import { systemClock } from '../adapters/system/system-clock.ts';
import { hasJoinedRows } from '../plan/flows/joined-rows.ts';
import { isKeyed } from '../plan/pipeline-plan.ts';
import { deployedFacts } from '../runtime/inspect/pipeline-facts.ts';
import { keyColumnsOf, keyless, parseTableKey } from '../runtime/inspect/table-key.ts';
import {
  type ExplainedRow,
  explainKey,
  hasKeys,
  type KeyHistory,
  topicNamesOf,
} from '../runtime/inspect/why-key.ts';
import { flowsOf } from '../runtime/refresh/refresh-facts.ts';
import { type Command, type ExitCode, usageError } from './command.ts';
import { countText } from './count-text.ts';
import { withDeployment } from './deployment.ts';
import { outside } from './outside.ts';
import { namedTable, pipelineFlag } from './pipeline-files.ts';
import { rowSetJson } from './row-set-json.ts';
import { tableText } from './table-text.ts';

const recordsDefault = 10_000;

export const why: Command = {
  name: 'why',
  summary: 'tell why a key has the rows that it has: its sequence, and what became of the others',
  arguments: 'TABLE KEY',
  example: `tidemark why bookings_current '{"booking_id":501}' --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092`,
  flags: {
    ...pipelineFlag,
    records: {
      type: 'string',
      value: 'N',
      doc: `Records of each source partition to look through, from its end (default ${recordsDefault}).`,
    },
  },
  usesConfig: true,
  run: async (invocation) => {
    const [name, keyText, extra] = invocation.positionals;
    if (name === undefined || keyText === undefined || extra !== undefined) {
      throw usageError('a table and a key are needed', 'Usage: tidemark why TABLE KEY');
    }
    const recordsMax = invocation.whole('records', { min: 1, max: 2 ** 40 }) ?? recordsDefault;
    return withDeployment(invocation, async (deployment): Promise<ExitCode> => {
      const { table } = namedTable(deployment.plan, name);
      const [flow, ...others] = flowsOf(deployment.plan, table);
      if (!isKeyed(flow)) throw keyless(table);
      const key = parseTableKey(keyColumnsOf(table, flow), keyText);
      const { log, catalog, pipeline, plan } = outside('why', invocation, deployment);
      const known = await Promise.all(
        [flow, ...others].map((one) => deployedFacts({ log, catalog, plan, pipeline }, one)),
      );
      const [first, ...more] = known.filter(hasKeys);
      if (first === undefined) throw keyless(table);
      const flows = [first, ...more] as const;
      const clock = systemClock;
      const history = await explainKey({ log, catalog, clock, pipeline, flows, key, recordsMax });
      const topics = topicNamesOf(flows);
      const origins = { topics, areJoined: hasJoinedRows(plan, flow) };
      const text = key.toString('utf8');
      if (invocation.json) {
        const { set, rows, records, bad } = history;
        const current = rowSetJson({ key: text, set, table: first.table, flow, origins });
        const told = JSON.stringify({ lately: rows, records, bad });
        invocation.terminal.out(`${current.slice(0, -1)},${told.slice(1)}\n`);
      } else {
        invocation.terminal.out(historyText(text, history));
      }
      return 0;
    });
  },
};

function historyText(key: string, { set, rows, records, bad }: KeyHistory): string {
  const stands =
    set === undefined
      ? 'the table has no rows of it'
      : `sequence ${set.sequence}, ${countText(set.rows.length, 'row')}: ${set.rows.map(({ json }) => json).join(' ')}`;
  const lines = [`key ${key}: ${stands}\n`];
  if (rows.length > 0) {
    lines.push(
      tableText(
        ['from', 'fate', 'sequence', 'reason', 'row'],
        rows.map((row) => [placeOf(row), row.fate, row.sequence ?? '-', row.reason, row.json]),
        Number.POSITIVE_INFINITY,
      ),
    );
  }
  lines.push(
    `${countText(rows.length, 'row')} of the key among the last ${countText(records, 'record')} of the sources\n`,
  );
  for (const { place, errorClass, message } of bad) {
    lines.push(
      `a record that gives no row, of whichever key: ${place}, ${errorClass}: ${message}\n`,
    );
  }
  return lines.join('');
}

function placeOf({ topic, partition, offset, index }: ExplainedRow): string {
  const place = `${topic}/${partition}@${offset}`;
  return index === 0 ? place : `${place}#${index}`;
}
