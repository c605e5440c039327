import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CliFolder, runCli } from '../../support/run-cli.ts';

let folder: CliFolder;

beforeEach(() => {
  folder = new CliFolder();
});

afterEach(() => folder.remove());

const sql = `CREATE SOURCE b (id BIGINT); CREATE STREAMING TABLE t AS SELECT id FROM STREAM(b);`;

function writeCase(name: string, target = 't'): void {
  mkdirSync(join(folder.path, dirname(name)), { recursive: true });
  folder.write(`${name}.sql`, sql);
  folder.write(`${name}.b.input.jsonl`, '{"id": 1}\n');
  folder.write(
    `${name}.expected.json`,
    JSON.stringify({ target, schema: [['id', 'BIGINT']], expected: [[1]] }),
  );
}

describe('tidemark test over a folder', () => {
  test('SX-21 cases in node_modules and hidden folders are not its own', async () => {
    for (const name of ['one', 'below/two', 'node_modules/other/three', '.cache/four']) {
      writeCase(name);
    }
    const { code, out } = await runCli(['test', folder.path]);
    expect(out).toContain('2 passed, 0 failed');
    expect(code).toBe(0);
  });

  test('SX-21 records for a topic that no source reads are told with their file and the topics that are', async () => {
    writeCase('one');
    folder.write('one.bb.input.jsonl', '{"id": 2}\n');
    const { code, out } = await runCli(['test', folder.path]);
    expect(code).toBe(5);
    expect(out).toContain(
      'no source of the pipeline reads topic "bb", whose records stand in one.bb.input.jsonl (Its sources read: b.)',
    );
  });

  test('SX-21 a target that is not there is told with the tables that are', async () => {
    writeCase('one', 'tt');
    const { out } = await runCli(['test', folder.path]);
    expect(out).toContain('the pipeline has no table "tt"; it has t');
  });
});
