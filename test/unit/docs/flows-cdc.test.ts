import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CliFolder, runCli } from '../../support/run-cli.ts';

function page(name: string) {
  const text = readFileSync(join(import.meta.dirname, '../../../docs', name), 'utf8');
  return {
    text,
    /** The content of the fenced block with this head. */
    block: (head: string): string => {
      const found = text.split(`\`\`\`${head}\n`)[1]?.split('```')[0];
      if (found === undefined) throw new Error(`docs/${name} has no block "${head}"`);
      return found;
    },
  };
}

let folder: CliFolder;

beforeEach(() => {
  folder = new CliFolder();
});

afterEach(() => folder.remove());

async function tried(
  name: string,
  topics: readonly string[],
  program = 'sql',
): Promise<Record<string, unknown>> {
  const { block } = page(name);
  const inputs = topics.flatMap((topic) => [
    '--input',
    `${topic}=${folder.write(`${topic}.jsonl`, block(`jsonl ${topic}`))}`,
  ]);
  const pipeline = folder.write('pipeline.sql', block(program));
  const { code, out } = await runCli(['try', pipeline, ...inputs, '--partitions', '2', '--json']);
  expect(code).toBe(0);
  return (JSON.parse(out) as { tables: Record<string, unknown> }).tables;
}

describe('pages of the flow types', () => {
  test('FL-25 the example of docs/flows-auto-cdc.md gives the rows that it shows', async () => {
    const { block } = page('flows-auto-cdc.md');
    const tables = await tried('flows-auto-cdc.md', ['people.feed']);
    expect(tables['people']).toEqual(JSON.parse(block('json people')));
    // `try` sorts rows by their text; a page shows them as they went.
    const history = JSON.parse(block('json people_history')) as unknown[];
    expect(tables['people_history']).toHaveLength(history.length);
    expect(tables['people_history']).toEqual(expect.arrayContaining(history));
  });

  test('FL-16 the example of docs/flows-once.md gives the rows that it shows', async () => {
    const { block } = page('flows-once.md');
    const tables = await tried('flows-once.md', ['orders.archive', 'orders']);
    expect(tables['all_orders']).toEqual(JSON.parse(block('json all_orders')));
  });

  test('FL-16 FL-27 its example of a once flow over a table gives the rows that it shows', async () => {
    const { block } = page('flows-once.md');
    const tables = await tried('flows-once.md', ['visits'], 'sql opening');
    expect(tables['opening']).toEqual(JSON.parse(block('json opening')));
  });

  test('CH-01 CH-02 CH-03 a table says which flow when', () => {
    const { text } = page('flows.md');
    for (const row of ['CH-01', 'CH-02', 'CH-03']) expect(text).toContain(row);
  });

  test('explain tells what an AUTO CDC flow does with a change, and where changes meet', async () => {
    const pipeline = folder.write('people.sql', page('flows-auto-cdc.md').block('sql'));
    const { code, out } = await runCli(['explain', pipeline]);
    expect(code).toBe(0);
    expect(out).toContain('flow "people_cdc" → streaming table "people" (AUTO CDC, SCD type 1)');
    expect(out).toContain('flow "people" → streaming table "people" (table stage of AUTO CDC)');
    expect(out).toContain("__delete = (op = 'd'): boolean");
  });
});
