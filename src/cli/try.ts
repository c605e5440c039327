import { canonicalValue } from '../data/canonical.ts';
import {
  type TriedTable,
  type TryResult,
  tryPipeline,
} from '../testing/pipeline/pipeline-driver.ts';
import { pipelineStarter } from '../testing/pipeline/start-pipeline.ts';
import { type Command, type Invocation, usageError } from './command.ts';
import { countText } from './count-text.ts';
import { pipelineFlag, pipelinePaths, toldPipeline } from './pipeline-files.ts';
import { readText } from './read-text.ts';
import { tableText } from './table-text.ts';
import { accountSummary } from './update-summary.ts';
import { withFiles } from './with-files.ts';

export const tryCommand: Command = {
  name: 'try',
  summary: 'run a pipeline on files, with log and state in memory, and show its tables',
  arguments: 'FILE…',
  example:
    'tidemark try examples/regions/regions.sql --input region_events=examples/regions/all.jsonl',
  flags: {
    ...pipelineFlag,
    input: {
      type: 'string',
      multiple: true,
      value: 'TOPIC=FILE',
      doc: 'Records of a topic, one JSON value a line. May be given several times.',
    },
    envelope: {
      type: 'boolean',
      doc: 'Each line is {"key":…, "value":…, "partition":…, "timestamp":…, "headers":…}.',
    },
    partitions: { type: 'string', value: 'N', doc: 'Partitions of each topic (default 1).' },
    shuffle: { type: 'string', value: 'SEED', doc: 'Records arrive in a random order.' },
  },
  usesConfig: true,
  run: async (invocation) => {
    const inputs = invocation.texts('input').map((text) => {
      const at = text.indexOf('=');
      if (at <= 0) throw usageError(`--input takes TOPIC=FILE, not "${text}"`);
      const file = text.slice(at + 1);
      return { topic: text.slice(0, at), file, text: readText(file) };
    });
    const plan = (await toldPipeline(invocation, pipelinePaths(invocation)))?.plan;
    if (plan === undefined) return 3;
    if (inputs.length === 0) {
      throw usageError('no input is given', 'Name one with --input TOPIC=FILE.jsonl.');
    }
    const result = await tryPipeline(
      plan,
      inputs,
      {
        partitions: invocation.whole('partitions', { min: 1, max: 1000 }) ?? 1,
        shuffleSeed: invocation.whole('shuffle', { min: 0, max: 2 ** 32 - 1 }),
        envelope: invocation.isSet('envelope'),
      },
      withFiles(pipelineStarter({ retriesMax: 5 })),
    );
    if (invocation.json) printMachine(invocation, result);
    else printPeople(invocation, result);
    return 0;
  },
};

function printMachine({ terminal }: Invocation, result: TryResult): void {
  const tables = [...result.tables].map(
    ([name, table]) =>
      `    ${JSON.stringify(name)}: [${sorted(table)
        .map(({ json }) => `\n      ${json}`)
        .join(',')}${table.rows.length === 0 ? '' : '\n    '}]`,
  );
  const flows = Object.fromEntries(
    [...result.flows].map(([name, account]) => [name, accountSummary(name, account)]),
  );
  // Rows are put in as they are, so that no digit is lost on the way through a JavaScript number.
  terminal.out(
    `{\n  "tables": {\n${tables.join(',\n')}\n  },\n  "flows": ${indent(flows)},\n  "deadLetters": ${indent(result.deadLetters)}\n}\n`,
  );
}

function indent(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replaceAll('\n', '\n  ');
}

function sorted(table: TriedTable): TriedTable['rows'] {
  return [...table.rows].sort((a, b) => (a.json < b.json ? -1 : a.json > b.json ? 1 : 0));
}

function printPeople({ terminal }: Invocation, result: TryResult): void {
  for (const [name, table] of result.tables) {
    terminal.out(`table ${name}: ${countText(table.rows.length, 'row')}\n`);
    const rows = sorted(table).map(({ values }) =>
      table.columns.map(({ type }, index) => {
        const value = canonicalValue(type, values[index] ?? null);
        return value === null ? 'NULL' : typeof value === 'string' ? value : JSON.stringify(value);
      }),
    );
    terminal.out(
      `${tableText(
        table.columns.map((column) => column.name),
        rows,
      )}\n`,
    );
  }
  for (const [name, account] of result.flows) {
    const { expectations, flow, ...counts } = accountSummary(name, account);
    const shown = Object.entries(counts)
      .filter(([, count]) => count !== 0)
      .map(([what, count]) =>
        what === 'records' || what === 'rows' || what === 'tombstones'
          ? countText(count, what.slice(0, -1))
          : `${count} ${what}`,
      );
    terminal.out(`flow ${flow}: ${shown.join(', ')}\n`);
    for (const [expectation, { passed, failed }] of Object.entries(expectations)) {
      terminal.out(`  expectation ${expectation}: ${passed} passed, ${failed} failed\n`);
    }
  }
  for (const letter of result.deadLetters) {
    terminal.out(`dead letter: ${JSON.stringify(letter)}\n`);
  }
}
