import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withFiles } from '../../../src/cli/with-files.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import { pipelineStarter } from '../../../src/testing/pipeline/start-pipeline.ts';
import { type Given, scenario } from '../../support/scenario.ts';

let folder = '';
let file = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-file-'));
  file = join(folder, 'countries');
});
afterEach(() => rmSync(folder, { recursive: true }));

const start = withFiles(pipelineStarter());

/** As it should be done: whoever reads sees the old content or the new one. */
function write(text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

function pipeline(
  options: string,
  columns = 'code STRING, name STRING, size DECIMAL(5,1)',
): string {
  return `CREATE SOURCE s (k INT, cc STRING, seq BIGINT) WITH (topic = 's');
    CREATE SOURCE dim (${columns}) WITH (file = '${file}', refresh_interval = '1 minute'${options});
    CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
    SELECT k, name, size, seq FROM STREAM(s) LEFT JOIN dim ON cc = code;`;
}

const row = (k: number, cc: string): Given => ({ topic: 's', value: { k, cc, seq: 1 } });

describe('OP-08 a file as the static side', () => {
  test('lines of JSON, read again when they change, the version recorded', async () => {
    write('{"code":"KR","name":"Korea","size":1.5}\n\n{"code":"US","name":"USA","size":2}');
    await scenario(pipeline(''), { start }, async (told) => {
      const names = () => told.rows().map((text) => JSON.parse(text).name);
      const version = async () => {
        const catalog = new Catalog(told.world.log.connect(), 'test.catalog');
        await catalog.read();
        const value = catalog.get('static', 't/dim')?.value as Record<string, unknown>;
        await catalog.close();
        return value;
      };
      await told.settle(row(1, 'US'));
      expect(told.rows()).toEqual(['{"k":1,"name":"USA","size":2.0,"seq":1}']);
      const first = await version();
      expect(first).toMatchObject({ topic: `file:json:${file}`, offsets: { 0: 2 } });
      // Some editors put a mark before the text.
      write('\ufeff{"code":"US","name":"States"}\r\n');
      await told.settle(row(2, 'US'));
      expect(names(), 'it is not due yet').toEqual(['USA', 'USA']);
      await told.world.clock.sleep(61_000);
      await told.settle(row(3, 'US'), row(4, 'KR'));
      expect(names()).toEqual(['USA', 'USA', 'States', null]);
      const second = await version();
      expect(second).toMatchObject({ offsets: { 0: 1 } });
      expect(second['topicId']).not.toBe(first['topicId']);
    });
  });

  test('CSV by the names of its first line: quotes, line ends within them, and nothing as NULL', async () => {
    write('\ufeffname,code,size,more\r\n"a ""b"",\nc",X,1.5,z\r\n,Y,\r\n"",Z,2\r\n');
    await scenario(pipeline(", format = 'csv'"), { start }, async (told) => {
      await told.settle(row(1, 'X'), row(2, 'Y'), row(3, 'Z'));
      expect(told.rows().map((text) => JSON.parse(text))).toEqual([
        { k: 1, name: 'a "b",\nc', size: 1.5, seq: 1 },
        { k: 2, name: null, size: null, seq: 1 },
        { k: 3, name: '', size: 2, seq: 1 },
      ]);
    });
  });

  test.each([
    ['a field that does not fit', 'name,code,size\na,X,much\n', 'BAD_ROW'],
    ['too many fields', 'name,code\na,X,1\n', 'FILE_UNREADABLE'],
    ['a quote that is not closed', 'name,code\n"a,X\n', 'FILE_UNREADABLE'],
    ['no file', undefined, 'TOPIC_MISSING'],
  ])('%s stops the flow and is named', async (_, text, code) => {
    if (text !== undefined) write(text);
    await scenario(pipeline(", format = 'csv'"), { start }, async (told) => {
      expect(await told.failure(row(1, 'X'))).toMatchObject({ code });
    });
  });
});

function faultsOf(sql: string): string[] {
  return planPipeline([{ file: 'pipeline.sql', text: sql }]).faults.map(
    ({ code, place }) => `${code} in line ${place.line}`,
  );
}

describe('OP-08 what a file cannot be', () => {
  const source = (options: string) => `CREATE SOURCE f (a INT, seq INT) WITH (${options});\n`;
  const flow = 'CREATE STREAMING TABLE t FLOW REPLACE USING (a) SEQUENCE BY seq BY NAME\n';
  const stream = `${flow}SELECT a, seq FROM STREAM(f);`;

  test.each([
    ['a stream', source("file = 'x'") + stream, ['FILE_NOT_STREAMING in line 3']],
    [
      'a stream behind a view',
      `${source("file = 'x'")}CREATE VIEW v AS SELECT * FROM STREAM(f);\n${flow}SELECT * FROM v;`,
      ['FILE_NOT_STREAMING in line 2'],
    ],
    [
      'what a materialized view reads',
      `${source("file = 'x'")}CREATE MATERIALIZED VIEW m AS SELECT a FROM f;`,
      ['FILE_NOT_STREAMING in line 2'],
    ],
    [
      'a topic as well',
      source("file = 'x', topic = 'y'") + stream,
      ['OPTION_VALUE in line 1', 'FILE_NOT_STREAMING in line 3'],
    ],
    ['an envelope', source("file = 'x', format = 'debezium-json'"), ['OPTION_VALUE in line 1']],
    ['CSV of a topic', source("format = 'csv'"), ['OPTION_VALUE in line 1']],
    ['nothing', source("file = ''"), ['OPTION_VALUE in line 1']],
    [
      'values with parts in CSV',
      "CREATE SOURCE f (a INT, b ARRAY<INT>) WITH (file = 'x', format = 'csv');",
      ['SOURCE_COLUMNS in line 1'],
    ],
  ])('%s', (_, sql, expected) => {
    expect(faultsOf(sql)).toEqual(expect.arrayContaining(expected));
  });
});
