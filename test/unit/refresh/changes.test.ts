import { describe, expect, test } from 'vitest';
import { alternatives, type OtherForm } from '../../../src/refresh/alternatives.ts';
import { flowChanges, needsRefresh } from '../../../src/refresh/changes.ts';
import { readDeployedFlow } from '../../../src/refresh/deployed-flow.ts';
import { shownExpression } from '../../../src/refresh/shown-expression.ts';
import { type Definition, deployed } from '../../support/deployed-definition.ts';

type Case = readonly [
  title: string,
  before: Definition,
  after: Definition,
  changes: readonly string[],
];

const fresh = 'SELECT k, seq, n, v FROM STREAM(s)';

const asText = 'SELECT k, seq, CAST(n AS STRING) AS n, v FROM STREAM(s)';
const sourceColumns =
  'k STRING, k2 STRING, seq BIGINT, n INT, big BIGINT, v STRING, list ARRAY<INT>';

const cases: readonly Case[] = [
  ['nothing', {}, {}, []],
  [
    'spelling, comments, a subquery',
    {},
    { query: 'SELECT K, /* x */ seq, n, v FROM (SELECT * FROM STREAM s) AS q' },
    [],
  ],
  ['the order of columns', {}, { query: 'SELECT v, n, seq, k FROM STREAM(s)' }, []],
  ['a comment', {}, { options: "COMMENT 'more'" }, []],
  [
    'further columns of the source',
    {},
    {
      columns: `x INT, k STRING, k2 STRING, seq BIGINT, n INT, big BIGINT, v STRING, list ARRAY<INT>`,
    },
    [],
  ],
  ['the name of the source', {}, { query: fresh }, []],

  [
    'an added column',
    {},
    { query: 'SELECT k, seq, n, v, big FROM STREAM(s)' },
    ['FR-18 compatible'],
  ],
  ['a dropped column', {}, { query: 'SELECT k, seq, n FROM STREAM(s)' }, ['FR-16 refresh']],
  ['a renamed column', {}, { query: 'SELECT k, seq, n, v AS w FROM STREAM(s)' }, ['FR-12 refresh']],
  [
    'two renamed columns',
    {},
    { query: 'SELECT k, seq, n AS n2, v AS w FROM STREAM(s)' },
    ['FR-12 refresh', 'FR-12 refresh'],
  ],
  [
    'another case of a name',
    {},
    { query: 'SELECT k, seq, n, v AS V FROM STREAM(s)' },
    ['FR-12 refresh'],
  ],
  [
    'FR-12 a dropped and an added column that are computed otherwise',
    {},
    { query: "SELECT k, seq, n, v || 'x' AS w FROM STREAM(s)" },
    ['FR-16 refresh', 'FR-18 compatible'],
  ],
  [
    'a wider type',
    {},
    { query: 'SELECT k, seq, CAST(n AS BIGINT) AS n, v FROM STREAM(s)' },
    ['FR-14 compatible'],
  ],
  [
    'a narrower type',
    { query: 'SELECT k, seq, big AS n, v FROM STREAM(s)' },
    { query: 'SELECT k, seq, CAST(big AS INT) AS n, v FROM STREAM(s)' },
    ['FR-14 refresh'],
  ],
  [
    'another type',
    {},
    { query: 'SELECT k, seq, CAST(n AS STRING) AS n, v FROM STREAM(s)' },
    ['FR-15 refresh'],
  ],
  [
    'another expression',
    {},
    { query: 'SELECT k, seq, n * 2 AS n, v FROM STREAM(s)' },
    ['FR-11 compatible'],
  ],

  [
    'FR-14 a source column that is read by a wider type, and stored as before',
    { query: asText },
    { query: asText, columns: sourceColumns.replace('n INT', 'n BIGINT') },
    ['FR-14 compatible', 'FR-11 compatible'],
  ],
  [
    'FR-14 a source column that is read by a narrower type, and stored as before',
    { query: 'SELECT k, seq, CAST(big AS STRING) AS n, v FROM STREAM(s)' },
    {
      query: 'SELECT k, seq, CAST(big AS STRING) AS n, v FROM STREAM(s)',
      columns: sourceColumns.replace('big BIGINT', 'big INT'),
    },
    ['FR-14 refresh', 'FR-11 compatible'],
  ],
  [
    'FR-15 a source column that is read by another type, and stored as before',
    { query: asText },
    { query: asText, columns: sourceColumns.replace('n INT', 'n STRING') },
    ['FR-15 refresh', 'FR-11 compatible'],
  ],
  [
    'FR-15 a source column that only a filter reads by another type',
    { query: `${fresh} WHERE k2 <> ''` },
    {
      query: `${fresh} WHERE k2 <> ''`,
      columns: sourceColumns.replace('k2 STRING', 'k2 INT'),
    },
    ['FR-15 refresh', 'FR-11 compatible'],
  ],
  [
    'the type of a source column that the flow does not read',
    {},
    { columns: sourceColumns.replace('k2 STRING', 'k2 INT') },
    [],
  ],

  ['P107 another key', {}, { using: 'v' }, ['FR-13 refresh']],
  ['P107 a further key', {}, { using: 'k, v' }, ['FR-13 refresh']],
  ['the order of keys', { using: 'k, v' }, { using: 'v, k' }, ['FR-13 refresh']],
  [
    'the type of a key',
    { using: 'n' },
    { using: 'n', query: 'SELECT k, seq, CAST(n AS BIGINT) AS n, v FROM STREAM(s)' },
    ['FR-13 refresh'],
  ],
  [
    'the expression of a key',
    {},
    { query: 'SELECT upper(k) AS k, seq, n, v FROM STREAM(s)' },
    ['FR-13 refresh'],
  ],
  [
    'the source column of a key',
    {},
    { query: 'SELECT k2 AS k, seq, n, v FROM STREAM(s)' },
    ['FR-13 refresh'],
  ],

  ['P107 another sequence', {}, { sequence: 'n' }, ['FR-28 refresh']],
  ['an expression as sequence', {}, { sequence: 'struct(seq, n)' }, ['FR-28 refresh']],
  [
    'the expression below the sequence',
    {},
    { query: 'SELECT k, -seq AS seq, n, v FROM STREAM(s)' },
    ['FR-28 refresh'],
  ],
  [
    'the expression below one part of the sequence',
    { sequence: 'struct(seq, n)' },
    { sequence: 'struct(seq, n)', query: 'SELECT k, seq, n + 1 AS n, v FROM STREAM(s)' },
    ['FR-28 refresh'],
  ],
  ['DISTINCT', {}, { query: 'SELECT DISTINCT k, seq, n, v FROM STREAM(s)' }, ['FR-28 refresh']],

  ['another source', {}, { query: 'SELECT k, seq, n, v FROM STREAM(r)' }, ['FR-20 refresh']],
  [
    'a further source',
    {},
    { query: `${fresh} UNION ALL ${fresh.replace('(s)', '(r)')}` },
    ['FR-20 refresh'],
  ],
  [
    'the order of sources',
    { query: `${fresh} UNION ALL ${fresh.replace('(s)', '(r)')}` },
    { query: `${fresh.replace('(s)', '(r)')} UNION ALL ${fresh}` },
    ['FR-20 refresh'],
  ],
  [
    'FR-27 an added join',
    {},
    { query: 'SELECT s.k, s.seq, s.n, s.v FROM STREAM(s) LEFT SEMI JOIN r ON s.k = r.k' },
    ['FR-27 refresh'],
  ],
  [
    'FR-27 a join that is gone',
    { query: 'SELECT s.k, s.seq, s.n, s.v FROM STREAM(s) LEFT SEMI JOIN r ON s.k = r.k' },
    {},
    ['FR-27 refresh'],
  ],
  [
    'FR-26 another key of a join',
    { query: 'SELECT s.k, s.seq, s.n, s.v FROM STREAM(s) LEFT SEMI JOIN r ON s.k = r.k' },
    { query: 'SELECT s.k, s.seq, s.n, s.v FROM STREAM(s) LEFT SEMI JOIN r ON s.k = r.k2' },
    ['FR-26 refresh'],
  ],
  [
    'FR-26 another kind of join',
    { query: 'SELECT s.k, s.seq, s.n, s.v FROM STREAM(s) LEFT SEMI JOIN r ON s.k = r.k' },
    { query: 'SELECT s.k, s.seq, s.n, s.v FROM STREAM(s) LEFT ANTI JOIN r ON s.k = r.k' },
    ['FR-26 refresh'],
  ],
  ['the topic of the source', {}, { source: "topic = 'other'" }, ['FR-22 refresh']],
  [
    'the format of the source',
    {
      columns: 'value STRING',
      source: "topic = 'st', format = 'string'",
      query: 'SELECT value AS k, _offset AS seq FROM STREAM(s)',
    },
    { columns: 'value STRING', query: 'SELECT value AS k, _offset AS seq FROM STREAM(s)' },
    ['FR-21 refresh'],
  ],
  ['tombstones', {}, { source: "topic = 'st', tombstones = 'bad'" }, ['FR-11 compatible']],

  ['a filter', {}, { query: `${fresh} WHERE n > 0` }, ['FR-11 compatible']],
  [
    'a changed filter',
    { query: `${fresh} WHERE n > 0` },
    { query: `${fresh} WHERE n > 1` },
    ['FR-11 compatible'],
  ],
  [
    'EXPLODE',
    { query: 'SELECT k, seq, element_at(list, 1) AS n, v FROM STREAM(s)' },
    { query: 'SELECT k, seq, explode(list) AS n, v FROM STREAM(s)' },
    ['FR-11 refresh', 'FR-11 compatible'],
  ],
  ['the time zone', {}, { settings: "SET timezone = 'Europe/Warsaw';" }, ['FR-11 refresh']],
  [
    'empty snapshots',
    {},
    { sequence: 'seq APPLY AS EMPTY WHEN (n IS NULL)' },
    ['FR-11 compatible'],
  ],

  ['the output mode', {}, { options: "WITH (output = 'rows')" }, ['FR-19 refresh']],
  ['the output topic', {}, { options: "WITH (topic = 'x')" }, ['FR-19 refresh']],
  [
    'the name of the table over the same topic',
    { options: "WITH (topic = 'x')" },
    { table: 'u', options: "WITH (topic = 'x')" },
    ['FR-11 compatible'],
  ],

  ['an added expectation', {}, { options: '(CONSTRAINT c EXPECT (n > 0))' }, ['FR-11 compatible']],
  [
    'a changed expectation',
    { options: '(CONSTRAINT c EXPECT (n > 0))' },
    { options: '(CONSTRAINT c EXPECT (n > 0) ON VIOLATION DROP ROW)' },
    ['FR-11 compatible'],
  ],
  [
    'a topic of dead letters that is new',
    {},
    { options: "WITH (dead_letter_topic = 'dlq')" },
    ['FR-11 compatible'],
  ],
  [
    'a topic of dead letters that is gone',
    { options: "WITH (dead_letter_topic = 'dlq')" },
    {},
    ['FR-11 compatible'],
  ],
  ['a removed expectation', { options: '(CONSTRAINT c EXPECT (n > 0))' }, {}, ['FR-11 compatible']],
];

/** Each by the rules that it is told by. */
const named = cases.map(([title, before, after, changes]): Case => {
  const ids = new Set(changes.map((change) => change.split(' ')[0] ?? ''));
  const missing = [...ids].filter((id) => !title.includes(id));
  return [[...missing, title].join(' '), before, after, changes];
});

describe('each change is classified', () => {
  test.each(named)('%s', (_, before, after, expected) => {
    const changes = flowChanges(deployed(before), deployed(after));
    expect(changes.map(({ id, effect }) => `${id} ${effect}`)).toEqual(expected);
    expect(needsRefresh(changes)).toBe(expected.some((change) => change.endsWith('refresh')));
    for (const { text } of changes) expect(text).toMatch(/^[A-Z].*\.$/s);
  });

  test('a compatible change back is as compatible, and a refusal stays one in both directions', () => {
    for (const [, before, after, expected] of cases) {
      const isRefused = expected.some((change) => change.endsWith('refresh'));
      if (!isRefused) continue;
      // Only what is lost in one direction alone is compatible in the other.
      const back = flowChanges(deployed(after), deployed(before));
      const isOneWay = expected.every((change) => /FR-1[46]|FR-11/.test(change));
      if (!isOneWay) expect(needsRefresh(back)).toBe(true);
    }
  });
});

describe('the alternatives', () => {
  const names = { flow: 'f', table: 't' };
  test('a new flow name is offered only where both definitions can write one topic', () => {
    const renamed = flowChanges(
      deployed({}),
      deployed({ query: 'SELECT k, seq, n FROM STREAM(s)' }),
    );
    expect(alternatives(renamed, names).join(' ')).toMatch(/new name/);
    const rekeyed = flowChanges(deployed({}), deployed({ using: 'v' }));
    expect(alternatives(rekeyed, names).join(' ')).not.toMatch(/new name/);
  });

  test('FR-17 a column that is gone is better kept', () => {
    const dropped = flowChanges(
      deployed({}),
      deployed({ query: 'SELECT k, seq, n FROM STREAM(s)' }),
    );
    expect(alternatives(dropped, names).join(' ')).toMatch(
      /keep the column as it was, add a new one beside it, and unite both in a view/,
    );
    const narrowed = flowChanges(
      deployed({ query: 'SELECT k, seq, big AS n, v FROM STREAM(s)' }),
      deployed({}),
    );
    expect(alternatives(narrowed, names).join(' ')).toMatch(/keep the column/);
    const filtered = flowChanges(deployed({}), deployed({ using: 'v' }));
    expect(alternatives(filtered, names).join(' ')).not.toMatch(/keep the column/);
  });

  test('FR-19 what no refresh can bring into the topic is offered another one, by the way that works', () => {
    const changes = [{ id: 'FR-19', effect: 'refresh', text: 'It changed.' }] as const;
    const of = (otherForm: OtherForm): string =>
      alternatives(changes, { ...names, otherForm }).join('; ');
    expect(of('mode')).toContain('give the table another topic');
    expect(of('mode')).toContain('tidemark refresh t --in-place');
    // What the flow keeps has the former number of partitions, so a flow of another name begins.
    expect(of('partitions')).toContain('its flow a new name');
    expect(of('partitions')).not.toContain('tidemark refresh');
  });

  test('FL-29 of a sink nothing is refreshed: a flow of a new name reads on', () => {
    const changes = [{ id: 'FR-15', effect: 'refresh', text: 'It changed.' }] as const;
    const text = alternatives(changes, { flow: 'alerts', table: 'out', isSink: true }).join('; ');
    expect(text).not.toMatch(/tidemark refresh|unite/);
    expect(text).toContain('tidemark checkpoint reset NEW_NAME --to latest --allow-loss');
    expect(text).toContain('tidemark checkpoint show alerts');
  });

  test('a flow that works for another one is refreshed with what reads it', () => {
    const changes = [{ id: 'FR-26', effect: 'refresh', text: 'It changed.' }] as const;
    const of = (kind: string): string =>
      alternatives(changes, { flow: 't.x', table: 't.x', kind }).join(' ');
    expect(of('join')).toContain('(tidemark refresh t.x --cascade --in-place;');
    expect(of('sift')).toContain('(tidemark refresh t.x --cascade;');
    expect(of('replace_using')).toContain('(tidemark refresh t.x;');
    expect(of('join')).not.toMatch(/new name/);
  });
});

test.each([
  [undefined],
  [{}],
  [{ fingerprint: 'x', columns: [] }],
  [{ fingerprint: 1, columns: [], definition: {} }],
])('a catalog entry of another form is no definition: %j', (value) => {
  expect(readDeployedFlow(value)).toBeUndefined();
});

describe('P107 another sequence is told as SQL', () => {
  test.each([
    ['n', 'SEQUENCE BY was seq and is n.'],
    ['struct(seq, n)', 'SEQUENCE BY was seq and is struct(seq, n).'],
    ['seq + 1', 'SEQUENCE BY was seq and is seq + 1.'],
    [
      'coalesce(CAST(v AS BIGINT), 0) - seq',
      'SEQUENCE BY was seq and is coalesce(CAST(v AS BIGINT), 0) - seq.',
    ],
    [
      'CASE WHEN n > 3 AND NOT v IS NULL THEN seq ELSE -1 END',
      'SEQUENCE BY was seq and is CASE WHEN (n > 3) AND (NOT (v IS NULL)) THEN seq ELSE -1 END.',
    ],
    ["CONCAT(v, 'it''s')", "SEQUENCE BY was seq and is concat(v, 'it''s')."],
    ['DATE "2024-01-01"', "SEQUENCE BY was seq and is DATE '2024-01-01'."],
    ['named_struct("v", seq).v', 'SEQUENCE BY was seq and is struct(seq).v.'],
    ['list[0]', 'SEQUENCE BY was seq and is list[0].'],
    ['n IN (1, 2)', 'SEQUENCE BY was seq and is n IN (1, 2).'],
    ['filter(list, x -> x > n)', 'SEQUENCE BY was seq and is filter(list, x0 -> x0 > n).'],
  ])('%s', (sequence, text) => {
    const query = 'SELECT k, seq, n, v, list FROM STREAM(s)';
    const changes = flowChanges(deployed({ query }), deployed({ query, sequence }));
    expect(changes.map((change) => change.text)).toEqual([text]);
  });

  test('the same expression of another type', () => {
    const [change] = flowChanges(
      deployed({}),
      deployed({
        columns: 'k STRING, k2 STRING, seq INT, n INT, big BIGINT, v STRING, list ARRAY<INT>',
      }),
    );
    expect(change?.text).toBe('SEQUENCE BY seq was of type BIGINT and is of type INT.');
  });

  test('what cannot be read stands as it is', () => {
    for (const text of [
      '',
      'never',
      'add(',
      '"a":bigint]',
      'f["a":int',
      '{"a":1}:variant',
      '(λ0 -> 1',
    ]) {
      expect(shownExpression(text, ['a'])).toBe(text);
    }
  });
});
