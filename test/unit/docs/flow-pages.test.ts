import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compilePrograms } from '../../support/compile-typescript.ts';
import { CliFolder, runCli } from '../../support/run-cli.ts';

const docs = join(import.meta.dirname, '../../../docs');

type Block = { readonly head: string; readonly text: string };

/** The fenced blocks of a page. */
function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(docs, page), 'utf8');
  return [...text.matchAll(/^```(\S.*)\n([\s\S]*?)^```$/gm)].map((found) => ({
    head: found[1] ?? '',
    text: found[2] ?? '',
  }));
}

let folder: CliFolder;

beforeEach(() => {
  folder = new CliFolder();
});

afterEach(() => folder.remove());

describe('pages about flows', () => {
  test.each([
    ['flows-materialized-views.md', 'FL-17 FL-28'],
    ['flows-views-and-sinks.md', 'FL-29'],
    ['flows-replace-where.md', 'CH-03'],
    ['flows-replace-using.md', 'CH-01 RU-06'],
    ['typescript.md', 'SX-06 SX-21'],
  ])('%s: its example gives the rows that it shows (%s)', async (page) => {
    const blocks = blocksOf(page);
    const program = blocks.find(({ head }) => head === 'sql' || head === 'ts');
    const pipeline = folder.write(`example.${program?.head ?? ''}`, program?.text ?? '');
    const inputs = blocks.flatMap(({ head, text }) => {
      const topic = /^jsonl (\S+)$/.exec(head)?.[1];
      return topic === undefined
        ? []
        : ['--input', `${topic}=${folder.write(`${topic}.jsonl`, text)}`];
    });
    const { code, out, err } = await runCli(['try', pipeline, ...inputs, '--json']);
    expect(err).toBe('');
    expect(code).toBe(0);
    const { tables } = JSON.parse(out) as { tables: Record<string, unknown[]> };
    const shown = blocks.filter(({ head }) => head.startsWith('json '));
    expect(shown.length).toBeGreaterThan(1);
    for (const { head, text } of shown) {
      expect(tables[head.slice('json '.length)], head).toEqual(JSON.parse(text));
    }
  });

  test('the example of typescript.md compiles, and so does its test, which gives what it says', async () => {
    const blocks = blocksOf('typescript.md');
    const textOf = (head: string): string =>
      blocks.find((block) => block.head === head)?.text ?? '';
    const program = textOf('ts');
    const tested = textOf('ts test').replace("import p from './bookings.ts';\n", '');
    const both = `${program.replace('export default p;', '')}${tested}`
      .replace("import { pipeline, sql, stream } from 'tidemark';", '')
      .replace(
        "import { testPipeline } from 'tidemark';",
        "import { pipeline, sql, stream, testPipeline } from 'tidemark';",
      );
    const lines = both.split('\n').filter((line) => !line.startsWith('import'));
    const whole = `import { pipeline, sql, stream, testPipeline } from 'tidemark';\n${lines.join('\n')}`;
    const { lines: wrong, text } = compilePrograms(folder.path, { whole });
    expect(wrong.size, text).toBe(0);
    const own = (await import('../../../src/index.ts')) as Record<string, unknown>;
    const names = ['pipeline', 'sql', 'stream', 'testPipeline'];
    const body = `${lines.join('\n').replaceAll('export const', 'const')}\nreturn { rows, counts };`;
    const run = new (
      Object.getPrototypeOf(async () => undefined).constructor as FunctionConstructor
    )(...names, body) as (...args: readonly unknown[]) => Promise<Record<string, unknown>>;
    expect(await run(...names.map((name) => own[name]))).toEqual({
      rows: [{ booking_id: 1n, property_id: 7n, total_amount: '420.00', update_id: 2n }],
      counts: { priced: { passed: 2, failed: 0 } },
    });
  }, 120_000);

  test('FL-23 FL-25 SX-18 the flows of typescript.md compile and are valid', async () => {
    const program = blocksOf('typescript.md').find(({ head }) => head === 'ts flows')?.text ?? '';
    const { lines: wrong, text } = compilePrograms(folder.path, { flows: program });
    expect(wrong.size, text).toBe(0);
    const { code, out, err } = await runCli(['validate', folder.write('flows.ts', program)]);
    expect(err).toBe('');
    expect(out).toContain('5 flows, 0 warnings');
    expect(code).toBe(0);
  }, 120_000);

  test('CH-01 CH-02 CH-03 flows.md tells which flow when, and every page that it names is there', () => {
    const text = readFileSync(join(docs, 'flows.md'), 'utf8');
    for (const flow of ['REPLACE USING', 'AUTO CDC', 'REPLACE WHERE', 'append flow', 'once flow']) {
      expect(text).toContain(flow);
    }
    const links = [...text.matchAll(/\]\(([a-z-]+\.md)/g)].map((found) => found[1] ?? '');
    expect(links.length).toBeGreaterThan(5);
    for (const link of links) expect(() => readFileSync(join(docs, link))).not.toThrow();
  });
});
