import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CliFolder, runCli } from '../../support/run-cli.ts';

const text = readFileSync(join(import.meta.dirname, '../../../docs/flows-append.md'), 'utf8');

/** The content of the fenced block with this head. */
function block(head: string): string {
  const found = text.split(`\`\`\`${head}\n`)[1]?.split('```')[0];
  if (found === undefined) throw new Error(`docs/flows-append.md has no block "${head}"`);
  return found;
}

let folder: CliFolder;
let pipeline: string;

beforeEach(() => {
  folder = new CliFolder();
  pipeline = folder.write('customers.sql', block('sql'));
});

afterEach(() => folder.remove());

describe('docs/flows-append.md', () => {
  test('FL-13 its example gives the rows that it shows', async () => {
    const inputs = ['customers.west', 'customers.east'].flatMap((topic) => [
      '--input',
      `${topic}=${folder.write(`${topic}.jsonl`, block(`jsonl ${topic}`))}`,
    ]);
    const { code, out } = await runCli(['try', pipeline, ...inputs, '--partitions', '2', '--json']);
    expect(code).toBe(0);
    const { tables, flows } = JSON.parse(out) as {
      tables: Record<string, unknown[]>;
      flows: Record<string, Record<string, unknown>>;
    };
    expect(tables['customers_us']).toEqual(JSON.parse(block('json customers_us')));
    expect(tables['customers_current']).toEqual(JSON.parse(block('json customers_current')));
    expect(flows['append_west']).toMatchObject({ records: 3, rows: 3, dropped: 1, new: 2 });
  });

  test('OP-04, OP-05 its example of DISTINCT and LIMIT gives the rows that it shows', async () => {
    const visits = folder.write('visits.jsonl', block('jsonl visits'));
    const sifted = folder.write('visits.sql', block('sql distinct'));
    const { code, out } = await runCli(['try', sifted, '--input', `visits=${visits}`, '--json']);
    expect(code).toBe(0);
    const { tables } = JSON.parse(out) as { tables: Record<string, unknown[]> };
    for (const table of ['visitors', 'first_visits']) {
      expect(tables[table]).toEqual(JSON.parse(block(`json ${table}`)));
    }
    const explained = await runCli(['explain', sifted]);
    expect(explained.out).toContain('flow "visitors.distinct"');
    expect(explained.out).toContain('a digest of every row that was let through, for ever');
  });

  test('explain tells that an append flow has one stage, and from which table a flow reads', async () => {
    const { code, out } = await runCli(['explain', pipeline]);
    expect(code).toBe(0);
    expect(out).toContain('flow "append_west" → streaming table "customers_us" (append)');
    expect(out).toContain('not repartitioned: rows need not meet');
    expect(out).toContain('output: one record for each row, never replaced');
    const one = await runCli(['explain', pipeline, '--flow', 'customers_current', '--json']);
    expect(JSON.parse(one.out)).toMatchObject({
      flows: [
        { kind: 'REPLACE USING', branches: [{ source: 'customers_us', topic: 'customers_us' }] },
      ],
    });
  });

  test('get says that such a table has no keys, and what to do instead', async () => {
    const { code, err } = await runCli(['get', 'customers_us', '1', '--pipeline', pipeline]);
    expect(code).toBe(2);
    expect(err).toContain('table "customers_us" has no keys: append flows write it');
    expect(err).toContain('tidemark dump customers_us');
  });

  test('test runs a case over append tables under every schedule', async () => {
    const line = {
      name: 'customers',
      sql: block('sql'),
      inputs: {
        'customers.west': block('jsonl customers.west').trim().split('\n'),
        'customers.east': block('jsonl customers.east').trim().split('\n'),
      },
      target: 'customers_us',
      schema: [
        ['id', 'INT'],
        ['name', 'STRING'],
        ['version', 'BIGINT'],
        ['region', 'STRING'],
      ],
      expected: (JSON.parse(block('json customers_us')) as Record<string, unknown>[]).map((row) =>
        Object.values(row),
      ),
      expectations: { named: { rows: 4, violations: 1 } },
    };
    const path = folder.write('cases.jsonl', `${JSON.stringify(line)}\n`);
    const { code, out } = await runCli(['test', path]);
    expect(out).toContain('1 passed, 0 failed, 0 skipped');
    expect(code).toBe(0);
  });
});
