import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import { CliFolder, runCli } from '../../support/run-cli.ts';

let folder: CliFolder;

beforeEach(() => {
  folder = new CliFolder();
});

afterEach(() => folder.remove());

describe.each([[[]], [['--bronze']]])('init %j', (flags) => {
  test('FR-37 writes what runs at once, and never writes over a file', async () => {
    const directory = join(folder.path, 'orders');
    const { code, out } = await runCli(['init', directory, ...flags]);
    expect(code).toBe(0);
    for (const name of ['pipeline.sql', 'tidemark.yaml', 'orders.jsonl']) {
      expect(out).toContain(join(directory, name));
    }
    const config = loadConfig({
      file: join(directory, 'tidemark.yaml'),
      environment: {},
      flags: new Map(),
    });
    expect(config['pipeline.name']).toBe('orders');
    const file = join(directory, 'pipeline.sql');
    expect((await runCli(['validate', file])).code).toBe(0);
    const input = `orders=${join(directory, 'orders.jsonl')}`;
    const tried = await runCli(['try', file, '--input', input, '--json']);
    const { tables } = JSON.parse(tried.out) as { tables: Record<string, object[]> };
    expect(tables['orders_current']).toMatchObject([
      { order_id: 1, status: 'PAID', amount: 42.5, update_id: 3 },
      { order_id: 2, status: 'CREATED', amount: 7, update_id: 2 },
    ]);
    expect(tables['orders_raw']?.length).toBe(flags.length === 0 ? undefined : 5);
    const before = readFileSync(file, 'utf8');
    const again = await runCli(['init', directory]);
    expect([again.code, again.err.includes('is there already')]).toEqual([2, true]);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });
});

test('FR-37 what a bronze pipeline cannot read is set aside, and what has no key replaces nothing', async () => {
  const directory = join(folder.path, 'orders');
  await runCli(['init', directory, '--bronze']);
  const file = join(directory, 'pipeline.sql');
  const bad = folder.write(
    'bad.jsonl',
    [
      '{"order_id":"abc","customer":"X","status":"S","amount":1,"update_id":9}',
      '{"order_id":7,"customer":"X","status":"S","amount":"abc","update_id":11}',
      'not json at all',
      '{"order_id":8,"customer":"trunc',
      '{"customer":"NoId","status":"S","amount":1,"update_id":10}',
      '{"order_id":9,"customer":"Y","status":"S","amount":1,"update_id":12}',
    ].join('\n'),
  );
  const spoilt = await runCli(['try', file, '--input', `orders=${bad}`, '--json']);
  const { tables: left } = JSON.parse(spoilt.out) as { tables: Record<string, object[]> };
  const ids = left['orders_current']?.map((row) => (row as { order_id: number }).order_id);
  expect(ids).toEqual([9]);
  const { deadLetters } = JSON.parse(spoilt.out) as { deadLetters?: readonly unknown[] };
  expect(deadLetters).toHaveLength(4);
});

test('init takes one directory, and says what it cannot write', async () => {
  expect((await runCli(['init', 'a', 'b'])).code).toBe(2);
  const file = folder.write('file', '');
  const { code, err } = await runCli(['init', join(file, 'below')]);
  expect([code, err.includes('cannot be written (ENOTDIR)')]).toEqual([2, true]);
  expect(existsSync(join(file, 'below'))).toBe(false);
});
