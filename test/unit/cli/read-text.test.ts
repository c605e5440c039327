import { writeFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { CliFolder, runCli } from '../../support/run-cli.ts';

const folder = new CliFolder();

afterAll(() => folder.remove());

const before = "CREATE SOURCE s (k BIGINT) WITH (topic = 's');\nSELECT 'ü";

test.each([
  ['a byte that begins nothing', Buffer.from([0xff])],
  ['half a character', Buffer.from([0xc3])],
])('an SQL file in another encoding is refused with its place: %s', async (_, wrong) => {
  const path = folder.write('wrong.sql', '');
  writeFileSync(path, Buffer.concat([Buffer.from(before), wrong, Buffer.from("';\n")]));
  const { code, err } = await runCli(['validate', path]);
  expect(code).toBe(2);
  expect(err).toContain(`file "${path}" is no UTF-8 at line 2, column 10 (byte 57)`);
  expect(err).toContain('hint: Save it as UTF-8');
});

test('a replacement character that somebody wrote is a character like others', async () => {
  const path = folder.write(
    'right.sql',
    "CREATE SOURCE s (k BIGINT, q BIGINT) WITH (topic = 's');\nCREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY q BY NAME SELECT k, q, '\ufffd' AS v FROM STREAM(s);\n",
  );
  expect(await runCli(['validate', path])).toMatchObject({ code: 0 });
});

test('the mark that some editors put before a text is no part of it', async () => {
  const sql = folder.write(
    'marked.sql',
    '\ufeffCREATE SOURCE s (k BIGINT, q BIGINT);\nCREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY q BY NAME SELECT k, q FROM STREAM(s);\n',
  );
  const input = folder.write('marked.jsonl', '\ufeff{"k":1,"q":2}\r\n{"k":3,"q":4}');
  const { code, out } = await runCli(['try', sql, '--input', `s=${input}`, '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(out).tables.t).toHaveLength(2);
});
