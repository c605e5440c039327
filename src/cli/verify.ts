import { systemClock } from '../adapters/system/system-clock.ts';
import type { TablePlan } from '../plan/pipeline-plan.ts';
import { isReplacing } from '../runtime/inspect/flow-facts.ts';
import { deployedFacts } from '../runtime/inspect/pipeline-facts.ts';
import { verifyAppended } from '../runtime/inspect/verify-appended.ts';
import {
  type KeyDifference,
  refuseUnverifiable,
  type VerifyReport,
} from '../runtime/inspect/verify-parts.ts';
import { verifyTable } from '../runtime/inspect/verify-table.ts';
import { flowsOf } from '../runtime/refresh/refresh-facts.ts';
import { skippedOf } from '../runtime/takeover/skips.ts';
import { type Command, type ExitCode, usageError } from './command.ts';
import { countText } from './count-text.ts';
import { definitionNote } from './definition-note.ts';
import { withDeployment } from './deployment.ts';
import { outside } from './outside.ts';
import { namedTable, pipelineFlag } from './pipeline-files.ts';
import { skippedText } from './skipped-text.ts';

const shownMax = 20;

const kindTexts: Readonly<Record<KeyDifference['kind'], string>> = {
  missing: 'missing',
  extra: 'extra',
  sequence: 'sequence',
  rows: 'rows',
  provenance: 'provenance: the rows are the same, and came from other records',
};

export const verify: Command = {
  name: 'verify',
  summary: 'compute a table anew from its sources and compare it with its output, key by key',
  arguments: 'TABLE',
  example:
    'tidemark verify bookings_current --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092',
  flags: {
    ...pipelineFlag,
    limit: { type: 'string', value: 'N', doc: 'Differences to show (default 20).' },
  },
  usesConfig: true,
  run: async (invocation) => {
    const [name, extra] = invocation.positionals;
    if (name === undefined || extra !== undefined) {
      throw usageError('one table is needed', 'Usage: tidemark verify TABLE');
    }
    const limit = invocation.whole('limit', { min: 0, max: 1_000_000 }) ?? shownMax;
    return withDeployment(invocation, async (deployment): Promise<ExitCode> => {
      const { table } = namedTable(deployment.plan, name);
      const flows = flowsOf(deployment.plan, table);
      for (const flow of flows) refuseUnverifiable(flow, table.name);
      const { log, catalog, pipeline, plan } = outside('verify', invocation, deployment);
      const known = await Promise.all(
        flows.map((flow) => deployedFacts({ log, catalog, plan, pipeline }, flow)),
      );
      const note = definitionNote(catalog, plan, table);
      const shown: KeyDifference[] = [];
      const onDifference = (difference: KeyDifference): void => {
        if (shown.length < limit) shown.push(difference);
      };
      const options = { log, catalog, pipeline, clock: systemClock, onDifference };
      const facts = known.find(isReplacing);
      const report =
        facts === undefined
          ? await verifyAppended({ ...options, table, flows: known })
          : await verifyTable({ ...options, facts });
      const skipped = known.flatMap(({ flow, sources }) => skippedOf(catalog, flow.name, sources));
      const isRight = report.differences === 0;
      const { terminal } = invocation;
      if (invocation.json) {
        const noted = note === undefined ? {} : { note };
        const places = skipped.map(({ flow, topic, partition, offset }) => ({
          ...{ flow, topic, partition, offset },
        }));
        const found = { right: isRight, ...report, skipped: places, shown };
        invocation.printJson({ ...noted, table: table.name, ...found });
      } else {
        if (note !== undefined) {
          terminal.out(`note: ${note}\n  the table is compared with what the files say\n`);
        }
        for (const { key, kind, expected, found } of shown) {
          terminal.out(`${key}: ${kindTexts[kind]}\n  expected ${expected}\n  found    ${found}\n`);
        }
        terminal.out(reportText(table, report));
        terminal.out(skippedText(skipped));
      }
      return isRight ? 0 : 1;
    });
  },
};

/** What a person reads of it. */
export function reportText(
  table: Pick<TablePlan, 'name' | 'deadLetterTopic' | 'output'>,
  report: VerifyReport,
): string {
  const { keys, rows, differences, unreadableKeys, unknownKeys, movedKeys, badRecords } = report;
  const isAppended = table.output === 'append';
  // Of a table that append flows write each row is what is compared.
  const one = isAppended ? 'row' : 'key';
  const lines = [
    `table ${table.name}: ${isAppended ? '' : `${countText(keys, 'key')} with `}${countText(rows, 'row')} compared, ${differences} differ`,
    ...(unreadableKeys > 0
      ? [
          `  of ${countText(unreadableKeys, one)} some records are gone from their source: their rows were taken as they are`,
        ]
      : []),
    ...(unknownKeys > 0
      ? [
          `  of ${countText(unknownKeys, one)} the rows came through ${report.partTables.join(', ')}, whose topic lacks its beginning: which of them it still gives is not known, so they were taken as they are`,
        ]
      : []),
    ...(movedKeys > 0
      ? [
          `  left out, since rows of them came meanwhile or wait to be merged: ${countText(movedKeys, one)}`,
        ]
      : []),
    ...(badRecords > 0
      ? [`  bad, so that they give no row: ${countText(badRecords, 'record')} of the sources`]
      : []),
    ...(differences > 0 && table.deadLetterTopic !== undefined
      ? [
          '  dead letters that the present definition can read are not in the table until they are replayed: tidemark dlq replay',
        ]
      : []),
  ];
  return `${lines.join('\n')}\n`;
}
