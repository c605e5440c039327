import { describe, test } from 'vitest';
import { Random } from '../../../src/testing/random.ts';
import { expectCaseToPass } from '../../support/random-case.ts';

/** Pipelines of AUTO CDC with clauses and changes at random, beside a definition that shares nothing with the product. */

type Value = string | number | null;
type Row = Readonly<Record<string, Value>>;

type Change = { readonly op: string | null; readonly seq: number; readonly row: Row };

type Feed = {
  readonly keys: readonly string[];
  readonly stored: readonly string[];
  readonly ignored: readonly string[];
  /** undefined: SCD type 1. */
  readonly tracked: readonly string[] | undefined;
  readonly hasDeletes: boolean;
  readonly hasTruncates: boolean;
  readonly dropsNoNumber: boolean;
};

const names = ['id', 'region', 'name', 'n'] as const;

/** How a sequence stands in a record, in the table, and its type. */
const sequences = {
  INT: (n: number) => [String(n), n],
  BIGINT: (n: number) => {
    const value = String(9_007_199_254_740_993n + BigInt(n));
    return [value, value];
  },
  'DECIMAL(10,2)': (n: number) => [`${n}.50`, `${n}.50`],
  STRING: (n: number) => {
    const text = `v${String(n).padStart(2, '0')}`;
    return [JSON.stringify(text), text];
  },
  DATE: (n: number) => {
    const day = `2024-01-${String(n + 1).padStart(2, '0')}`;
    return [JSON.stringify(day), day];
  },
  TIMESTAMP: (n: number) => {
    const second = String(n).padStart(2, '0');
    return [`"2024-01-01T00:00:${second}Z"`, `2024-01-01T00:00:${second}.000000Z`];
  },
  TIMESTAMP_NTZ: (n: number) => {
    const second = String(n).padStart(2, '0');
    return [`"2024-01-01T00:00:${second}.5"`, `2024-01-01T00:00:${second}.500000`];
  },
  DOUBLE: (n: number) => [`${n}.25`, n + 0.25],
  'STRUCT<a: INT, b: DECIMAL(4,1)>': (n: number) => {
    const [a, b] = [Math.floor(n / 4), `${n % 4}.5`];
    return [`{"b":${b},"a":${a}}`, { a, b }];
  },
} as const satisfies Record<string, (n: number) => readonly [string, Value | object]>;

/** How a key stands in a record and in the table, by its type. */
const keyTypes = {
  INT: (n: number) => [String(n), n],
  BIGINT: (n: number) => [
    String(9_007_199_254_740_993n + BigInt(n)),
    String(9_007_199_254_740_993n + BigInt(n)),
  ],
  // The same number in two forms is one key.
  'DECIMAL(6,2)': (n: number) => [n === 1 ? '1' : `${n}.00`, `${n}.00`],
  STRING: (n: number) => {
    const text = ['', 'NULL', 'ä'][n] ?? 'x';
    return [JSON.stringify(text), text];
  },
  BOOLEAN: (n: number) => [String(n > 0), n > 0],
  'STRUCT<x: INT, y: STRING>': (n: number) => [
    n === 2 ? '{"x":2}' : `{"y":"k","x":${n}}`,
    { x: n, y: n === 2 ? null : 'k' },
  ],
} as const satisfies Record<string, (n: number) => readonly [string, unknown]>;

function drawFeed(random: Random): Feed {
  const hasHistory = random.chance(450);
  const keys = random.chance(300) ? ['id', 'region'] : ['id'];
  const rest = names.filter((name) => !keys.includes(name));
  const stored = random.chance(300) ? [...keys, ...rest.filter(() => random.chance(600))] : names;
  const values = stored.filter((name) => !keys.includes(name));
  const some = (): string[] => values.filter(() => random.chance(500));
  const ignored = random.chance(500) ? (random.chance(500) ? [...values] : some()) : [];
  const tracked = random.chance(400) ? some() : [...stored];
  return {
    keys,
    stored: names.filter((name) => stored.includes(name)),
    ignored,
    tracked: hasHistory ? (tracked.length === 0 ? [...stored] : tracked) : undefined,
    hasDeletes: random.chance(800),
    hasTruncates: !hasHistory && random.chance(400),
    dropsNoNumber: stored.includes('n') && random.chance(300),
  };
}

function drawChanges(random: Random, feed: Feed): Change[] {
  const changes = Array.from({ length: 4 + random.below(22) }, (): Change => {
    const op = random.pick([null, 'I', 'U', 'U', ...(feed.hasDeletes ? ['D'] : [])]) ?? null;
    return {
      op: feed.hasTruncates && random.chance(50) ? 'T' : op,
      seq: random.below(20),
      row: {
        id: random.below(3),
        region: random.pick(['eu', 'us']) ?? null,
        name: random.pick(['a', 'b', null]) ?? null,
        n: random.pick([1, 2, null]) ?? null,
      },
    };
  });
  // Some are sent again, as they are.
  return [...changes, ...changes.filter(() => random.chance(100))];
}

function clauses(feed: Feed): string {
  const { keys, stored, ignored, tracked } = feed;
  const values = stored.filter((name) => !keys.includes(name));
  const ignoring =
    ignored.length === values.length
      ? 'IGNORE NULL UPDATES'
      : `IGNORE NULL UPDATES ON (${ignored.join(', ')})`;
  const left = stored.filter((name) => tracked?.includes(name) === false);
  const tracking =
    left.length % 2 === 1
      ? `TRACK HISTORY ON * EXCEPT (${left.join(', ')})`
      : `TRACK HISTORY ON (${tracked?.join(', ') ?? ''})`;
  return [
    `KEYS (${keys.join(', ')})`,
    ignored.length === 0 ? '' : ignoring,
    feed.hasDeletes ? "APPLY AS DELETE WHEN op = 'D'" : '',
    feed.hasTruncates ? "APPLY AS TRUNCATE WHEN op = 'T'" : '',
    'SEQUENCE BY seq',
    stored.length === names.length
      ? 'COLUMNS * EXCEPT (op, seq)'
      : `COLUMNS (${stored.join(', ')})`,
    tracked === undefined ? '' : 'STORED AS SCD TYPE 2',
    tracked === undefined || left.length === 0 ? '' : tracking,
  ]
    .filter((text) => text !== '')
    .join('\n');
}

type Period = { readonly row: Row; readonly start: number; readonly end: number | null };

const isDelete = (feed: Feed, { op }: Change): boolean => feed.hasDeletes && op === 'D';
const isTruncate = (feed: Feed, { op }: Change): boolean => feed.hasTruncates && op === 'T';

/** What a change says of the columns of the table: a NULL that is ignored says nothing. */
function given({ stored, ignored }: Feed, { row }: Change): [string, Value][] {
  return stored
    .map((name): [string, Value] => [name, row[name] ?? null])
    .filter(([name, value]) => value !== null || !ignored.includes(name));
}

const textOf = (feed: Feed, change: Change): string =>
  JSON.stringify(Object.fromEntries(given(feed, change)));

/** The rows of the definition: of each key its changes in order, with nothing kept and nothing left out. */
function definition(feed: Feed, changes: readonly Change[]): readonly Period[] {
  const truncates = changes.filter((change) => isTruncate(feed, change));
  const floor = Math.max(-1, ...truncates.map(({ seq }) => seq));
  const byKey = new Map<string, Change[]>();
  for (const change of changes) {
    if (isTruncate(feed, change) || change.seq <= floor) continue;
    if (feed.dropsNoNumber && !isDelete(feed, change) && change.row['n'] === null) continue;
    const key = feed.keys.map((name) => String(change.row[name])).join('/');
    byKey.set(key, [...(byKey.get(key) ?? []), change]);
  }
  const periods = [...byKey.values()].flatMap((ofKey) => periodsOf(feed, ofKey));
  return feed.tracked === undefined ? periods.filter(({ end }) => end === null) : periods;
}

/** From which sequence to which each row of a key held. */
function periodsOf(feed: Feed, changes: readonly Change[]): readonly Period[] {
  const periods: Period[] = [];
  const nothing = Object.fromEntries(feed.stored.map((name) => [name, null]));
  let open: { readonly row: Row; readonly start: number } | undefined;
  for (const seq of [...new Set(changes.map((one) => one.seq))].sort((a, b) => a - b)) {
    const group = changes.filter((one) => one.seq === seq);
    const inOrder = group.toSorted((a, b) => (textOf(feed, a) < textOf(feed, b) ? -1 : 1));
    const said = Object.fromEntries(inOrder.flatMap((change) => given(feed, change)));
    const row: Row = { ...(open?.row ?? nothing), ...said };
    const isGone = group.some((change) => isDelete(feed, change));
    const before = open?.row;
    const isSame = !isGone && feed.tracked?.every((name) => before?.[name] === row[name]);
    if (open !== undefined && isSame === true) {
      open = { ...open, row };
      continue;
    }
    if (open !== undefined) periods.push({ ...open, end: seq });
    open = isGone ? undefined : { row, start: seq };
  }
  return open === undefined ? periods : [...periods, { ...open, end: null }];
}

const plainly = (text: string): string => text;

/** The same clauses over the columns that stand around the rows of Debezium. */
function overEnvelopes(text: string): string {
  return text
    .replace("op = 'D'", "__op = 'd'")
    .replace("op = 'T'", "__op = 't'")
    .replace('SEQUENCE BY seq', 'SEQUENCE BY __source_lsn')
    .replace('EXCEPT (op, seq)', 'EXCEPT (__op, __source_lsn)');
}

/** A change as Debezium tells it, with the schema beside it or without. */
function envelope({ op, row }: Change, lsn: string, random: Random): string {
  const image = JSON.stringify(row);
  const [told, before, after] = {
    I: ['c', 'null', image],
    U: ['u', random.chance(500) ? 'null' : image, image],
    D: ['d', image, 'null'],
    T: ['t', 'null', 'null'],
  }[op ?? ''] ?? ['r', 'null', image];
  const text = `{"before":${before},"after":${after},"source":{"lsn":${lsn}},"op":"${told}","ts_ms":1}`;
  return random.chance(300) ? `{"schema":{"type":"struct"},"payload":${text}}` : text;
}

function caseOf(seed: number, isEnvelope = false): string {
  const random = new Random(seed);
  const feed = drawFeed(random);
  const drawn = random.pick(Object.keys(sequences) as (keyof typeof sequences)[]) ?? 'INT';
  const type = isEnvelope ? 'BIGINT' : drawn;
  const sequence = sequences[type];
  const keyDrawn = random.pick(Object.keys(keyTypes) as (keyof typeof keyTypes)[]) ?? 'INT';
  const keyType = isEnvelope ? 'INT' : keyDrawn;
  const keyOf = (id: Value | undefined) => keyTypes[keyType](Number(id));
  // As many keys as the type has values for.
  const changes = drawChanges(random, feed).map((change) => {
    const { id } = change.row;
    return {
      ...change,
      row: { ...change.row, id: keyType === 'BOOLEAN' ? Math.min(1, Number(id)) : (id ?? null) },
    };
  });
  const sources = random.chance(300) ? ['src', 'other'] : ['src'];
  const inputs: Record<string, string[]> = Object.fromEntries(sources.map((one) => [one, []]));
  for (const change of changes) {
    const { op, seq, row } = change;
    const number = sequence(seq)[0];
    const members = Object.entries({ ...row, op }).map(
      ([name, value]) =>
        `${JSON.stringify(name)}:${name === 'id' ? keyOf(value)[0] : JSON.stringify(value)}`,
    );
    const record = isEnvelope
      ? envelope(change, number, random)
      : `{${members.join(',')},"seq":${number}}`;
    inputs[random.pick(sources) ?? 'src']?.push(record);
  }
  const spelled = isEnvelope ? overEnvelopes : plainly;
  const declared = sources.map(
    (one) =>
      `CREATE SOURCE ${one} (id INT, region STRING, name STRING, n INT, __op STRING, __source_lsn BIGINT) WITH (format = 'debezium-json');`,
  );
  const flows = sources.map(
    (one) =>
      `CREATE FLOW f_${one} AS AUTO CDC INTO t FROM STREAM(${one})\n${spelled(clauses(feed))};`,
  );
  const expectation = feed.dropsNoNumber
    ? ' (CONSTRAINT numbered EXPECT (n > 0) ON VIOLATION DROP ROW)'
    : '';
  const columns = `id ${keyType}, region STRING, name STRING, n INT, op STRING`;
  const start = type.toLowerCase();
  const types: Readonly<Record<string, string>> = { id: keyType, n: 'int' };
  return JSON.stringify({
    name: `seed ${seed}`,
    sql: [
      ...(isEnvelope ? declared : []),
      `CREATE STREAMING TABLE t${expectation};`,
      ...flows,
    ].join('\n'),
    sources: isEnvelope
      ? {}
      : Object.fromEntries(sources.map((one) => [one, `${columns}, seq ${type}`])),
    inputs,
    target: 't',
    schema: [
      ...feed.stored.map((name) => [name, types[name] ?? 'string']),
      ...(feed.tracked === undefined
        ? []
        : [
            ['__START_AT', start],
            ['__END_AT', start],
          ]),
    ],
    expected: definition(feed, changes).map(({ row, start: from, end }) => [
      ...feed.stored.map((name) => (name === 'id' ? keyOf(row['id'])[1] : (row[name] ?? null))),
      ...(feed.tracked === undefined
        ? []
        : [sequence(from)[1], end === null ? null : sequence(end)[1]]),
    ]),
  });
}

test('IGNORE NULL UPDATES takes a STRUCT as one value, whatever comes first', async () => {
  const inputs = ['{"x":1,"y":"k"}', '{"x":2}', 'null'].map(
    (struct, at) => `{"id":1,"s":${struct},"seq":${at}}`,
  );
  await expectCaseToPass(
    JSON.stringify({
      name: 'struct',
      sql: `CREATE STREAMING TABLE t;
CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(src) KEYS (id) IGNORE NULL UPDATES SEQUENCE BY seq COLUMNS * EXCEPT (seq);`,
      sources: { src: 'id INT, s STRUCT<x: INT, y: STRING>, seq INT' },
      inputs: { src: inputs },
      target: 't',
      schema: [
        ['id', 'INT'],
        ['s', 'STRUCT<x: INT, y: STRING>'],
      ],
      expected: [[1, { x: 2, y: null }]],
    }),
  );
});

describe('FL-25 AUTO CDC with any clauses gives the rows of the definition, under every schedule', () => {
  test.each(Array.from({ length: 20 }, (_, at) => at + 1))('seed %i', async (seed) => {
    await expectCaseToPass(caseOf(seed));
  });
});

describe('FL-25 P033 the same changes in envelopes of Debezium give the same rows, under every schedule', () => {
  test.each(Array.from({ length: 12 }, (_, at) => at + 101))('seed %i', async (seed) => {
    await expectCaseToPass(caseOf(seed, true));
  });
});
