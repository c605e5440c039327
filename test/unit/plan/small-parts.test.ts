import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseTypeText } from '../../../src/data/type-text.ts';
import { listed, nameHint } from '../../../src/plan/bind/name-hint.ts';
import { topicNameFault } from '../../../src/plan/bind/names.ts';
import { parseDurationMicros } from '../../../src/plan/duration.ts';
import { planFaults } from '../../../src/plan/faults.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { keepsDistinct } from '../../../src/plan/target-columns.ts';

describe('parseDurationMicros', () => {
  test.each([
    ['1 day', 86_400_000_000n],
    ['90s', 90_000_000n],
    ['INTERVAL 1 HOUR 30 MINUTES', 5_400_000_000n],
    ["interval '2' days", 172_800_000_000n],
    ['250 ms', 250_000n],
    ['1 week ', 604_800_000_000n],
  ])('%s', (text, micros) => {
    expect(parseDurationMicros(text)).toBe(micros);
  });

  test.each(['', ' ', 'day', '1', '1 month', '1 year', '-1 day', '1.5 hours', '1 day and'])(
    '%j is none',
    (text) => {
      expect(parseDurationMicros(text)).toBeUndefined();
    },
  );
});

describe('keepsDistinct', () => {
  test.each([
    ['int', 'bigint'],
    ['bigint', 'int'],
    ['decimal(10,2)', 'decimal(12,2)'],
    ['decimal(10,2)', 'decimal(8,3)'],
    ['bigint', 'decimal(19,0)'],
    ['float', 'double'],
    ['int', 'double'],
    ['date', 'timestamp'],
    ['int', 'string'],
    ['array<int>', 'array<int>'],
  ])('%s stored as %s', (from, to) => {
    expect(keepsDistinct(parseTypeText(from), parseTypeText(to))).toBe(true);
  });

  test.each([
    ['decimal(10,2)', 'decimal(10,1)'],
    ['double', 'float'],
    ['double', 'string'],
    ['double', 'int'],
    ['bigint', 'double'],
    ['timestamp', 'date'],
    ['bigint', 'decimal(10,0)'],
  ])('not %s stored as %s', (from, to) => {
    expect(keepsDistinct(parseTypeText(from), parseTypeText(to))).toBe(false);
  });
});

test('hints name the nearest names, else all of them', () => {
  expect(nameHint('regoin', ['region', 'item'], 'columns')).toBe('Did you mean "region"?');
  expect(nameHint('zzz', ['region', 'item', 'item'], 'columns')).toBe(
    'The columns are "region" and "item".',
  );
  expect(nameHint('zzz', [], 'columns')).toBeUndefined();
  const many = Array.from({ length: 14 }, (_, i) => `column_${i}`);
  expect(nameHint('zzz', many, 'columns')).toMatch(/ and 2 more\.$/u);
  expect(listed(['a', 'b', 'c'], 'or')).toBe('"a", "b" or "c"');
});

test('topic names are those that Kafka takes', () => {
  expect(['a', 'A.b-c_1', 'x'.repeat(249)].map(topicNameFault)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  for (const name of ['', '.', '..', 'a b', 'ä', 'a/b', 'x'.repeat(250)]) {
    expect(topicNameFault(name)).toBeTypeOf('string');
  }
});

/** No text of SQL has them: test/unit/api/program-faults.test.ts shows them. */
const ofPrograms: readonly string[] = ['EXPRESSION_OPERATOR', 'EXPRESSION_DROPPED'];

test('every code is shown by a golden file', () => {
  const shown = ['faults', 'accepted'].flatMap((folder) => {
    const path = join(import.meta.dirname, folder);
    return readdirSync(path).map((file) => readFileSync(join(path, file), 'utf8'));
  });
  const missing = Object.keys(planFaults).filter(
    (code) =>
      !ofPrograms.includes(code) &&
      !shown.some((text) => new RegExp(`^--.* ${code}$`, 'mu').test(text)),
  );
  expect(missing).toEqual([]);
});

describe('SX-01 types as other databases call them', () => {
  test.each([
    ['DATETIME', 'TIMESTAMP'],
    ['TEXT', 'STRING'],
    ['VARCHAR2(20)', 'STRING'],
    ['JSON', 'VARIANT'],
    ['NUMBER(10, 2)', 'DECIMAL(p, s)'],
    ['INT64', 'BIGINT'],
    ['FLOAT64', 'DOUBLE'],
    ['BYTEA', 'BINARY'],
    ['TIMESTAMPTZ', 'TIMESTAMP'],
  ])('%s: write %s', (type, written) => {
    const text = `CREATE SOURCE s (a ${type}) WITH (topic = 's');`;
    const [fault] = planPipeline([{ file: 'p.sql', text }]).faults;
    expect(fault).toMatchObject({ code: 'UNSUPPORTED_DATATYPE' });
    expect(fault?.hint).toMatch(`Write ${written}`);
  });
});

test('RQ-04 SEQUENCE BY _offset has to select it', () => {
  const text = `CREATE SOURCE s (k INT) WITH (topic = 's');
    CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY _offset BY NAME SELECT k FROM STREAM(s);`;
  const [fault] = planPipeline([{ file: 'p.sql', text }]).faults;
  expect(fault).toMatchObject({ code: 'SEQUENCE_UNKNOWN' });
  expect(fault?.hint).toContain('SELECT …, _offset AS record_offset');
});

test.each([
  [
    'CREATE FLOW f AS INSERT INTO t SELECT k FROM STREAM(s);',
    /^Write INSERT INTO t BY NAME SELECT ….$/,
  ],
  ['CREATE FLOW f AS INSERT INTO t BY NAME SELECT k WHERE k > 1 FROM STREAM(s);', /in this order/],
  [
    'CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (k) WHERE k > 1 SEQUENCE BY k;',
    /FROM \(SELECT … FROM STREAM\(source\) WHERE …\)/,
  ],
])('SX-04 %s', (flow, hint) => {
  const text = `CREATE SOURCE s (k INT) WITH (topic = 's'); CREATE STREAMING TABLE t; ${flow}`;
  const [fault] = planPipeline([{ file: 'p.sql', text }]).faults;
  expect(fault?.hint).toMatch(hint);
});
