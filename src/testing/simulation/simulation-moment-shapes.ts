import { minus } from '../check/check-result.ts';
import { findMoment, groupedBy } from '../check/find-moment.ts';
import { referenceChanges } from '../check/reference-changes.ts';
import {
  byAll,
  byK,
  type DecodedRecord,
  emptiedByGSql,
  newestByK,
  newestByKSql,
  type PlacedRecord,
  reads,
  type ShapeFlow,
  type SimulationShape,
  source,
  table,
  type WholeRows,
} from './shape-parts.ts';
import { changed } from './simulation-change-shapes.ts';

/** Rows that follow from records, in any order. */
type Query = (records: readonly DecodedRecord[]) => readonly string[];

type PartQuery = {
  /** What a part of the result is known by, in a record and in a row. */
  readonly keyOf: (record: DecodedRecord) => number | null;
  readonly rowKeyOf: (row: RowParts) => number | null;
  readonly rows: Query;
  /** Whether some of the rows can be there once a record was seen; absent: always. */
  readonly isPossible?: (record: DecodedRecord, rows: readonly RowParts[]) => boolean;
  /** How many records of a part were seen at least; absent: none need be. */
  readonly seenMin?: number;
  /**
   * Whether records of one source partition may be merged in any order: what waits between the stages is passed by what goes
   * from one to the other in memory, once both are in one process. What was not there at first is then seen where rows name it.
   */
  readonly isUnordered?: boolean;
};

/** Of a row of any shape here, as far as it has them. */
type RowParts = {
  readonly k: number | null;
  readonly g: number;
  readonly seq: number;
  readonly v?: string;
  readonly vs?: readonly string[];
};

function partsOf(rows: readonly string[]): readonly RowParts[] {
  return rows.map((row) => JSON.parse(row) as RowParts);
}

function namesIn(rows: readonly RowParts[]): ReadonlySet<string> {
  return new Set(rows.flatMap(({ v, vs }) => (vs === undefined ? [v ?? ''] : vs)));
}

function isSame(rows: readonly string[], others: readonly string[], isExact: boolean): boolean {
  const [a, b] = isExact ? [rows, others] : [[...new Set(rows)], [...new Set(others)]];
  return a.length === b.length && minus(a, b).length === 0;
}

/**
 * Whether rows are what a query gave at some moment. Returns them where they are, and otherwise the rows of the first
 * moment at which it could have been asked: what differs from those is told.
 */
function atOneMoment(
  { rows, isExact, isOld }: WholeRows,
  records: readonly PlacedRecord[],
  { rows: query, isPossible = () => true, seenMin = 0, isUnordered = false }: PartQuery,
): readonly string[] {
  const parts = partsOf(rows);
  const names = namesIn(parts);
  const lanes = records.map((one, position) => ({
    lane: isUnordered ? String(position) : `${one.topic}/${one.partition}`,
    isOld: isOld(one),
    record: one.record,
  }));
  // Where there are no rows, what gives none by itself may have been seen.
  const isSeen = (record: DecodedRecord): boolean =>
    names.has(record.v) || (names.size === 0 && query([record]).length === 0);
  const counts = new Map<string, number>();
  for (const { record } of lanes) counts.set(record.v, (counts.get(record.v) ?? 0) + 1);
  const found = findMoment({
    records: lanes,
    isPossible: ({ record, isOld: isThere }) =>
      isPossible(record, parts) && (!isUnordered || isThere || isSeen(record)),
    // Of records that are equal it cannot be told which one it was.
    isNeeded: ({ record }) => names.has(record.v) && counts.get(record.v) === 1,
    isResult: (seen) =>
      seen.length >= seenMin && isSame(query(seen.map(({ record }) => record)), rows, isExact),
  });
  if (found !== undefined) return rows;
  return query(lanes.filter(({ isOld: isThere }) => isThere).map(({ record }) => record));
}

/** The same of each part by itself: the parts may have been looked at one after another. */
function partByPart(query: PartQuery): NonNullable<ShapeFlow['whole']> {
  return (records, seen) => {
    const ofKey = groupedBy(records, ({ record }) => query.keyOf(record));
    const rowsOf = groupedBy(seen.rows, (row) => {
      const [parts] = partsOf([row]);
      return parts === undefined ? null : query.rowKeyOf(parts);
    });
    const must = [...new Set([...ofKey.keys(), ...rowsOf.keys()])].flatMap((key) => {
      const rows = rowsOf.get(key) ?? [];
      return atOneMoment({ ...seen, rows }, ofKey.get(key) ?? [], query);
    });
    return { must, may: [] };
  };
}

function quoted(names: readonly string[]): string {
  return [...names]
    .sort()
    .map((name) => `"${name}"`)
    .join();
}

const groupedSql = (from: string): string =>
  `SELECT g, count(*) AS n, array_sort(collect_list(v)) AS vs FROM ${from} GROUP BY g`;

/** Each row says which records it was made of. */
const grouped: Query = (records) =>
  [...groupedBy(records, ({ g }) => g)].map(([g, ofGroup]) => {
    return `{"g":${g},"n":${ofGroup.length},"vs":[${quoted(ofGroup.map(({ v }) => v))}]}`;
  });

const groupedAtOnce: NonNullable<ShapeFlow['whole']> = (records, seen) => ({
  must: atOneMoment(seen, records, {
    keyOf: () => null,
    rowKeyOf: () => null,
    rows: grouped,
    isPossible: ({ v }, parts) => namesIn(parts).has(v),
  }),
  may: [],
});

/** What a once flow reads: the result of its query, in a topic of its own. */
function resultOf(topic: string, tableName: string, flow: string) {
  return reads(topic, `${tableName}.${flow}.result`);
}

const kept = (name: string): string => `topic = '${name}', dead_letter_topic = '${name}.dlq'`;

/** Queries that need all rows at once, of what was there at one moment of the first start, computed one time. */
const computedOnce: SimulationShape = {
  name: 'computed_once',
  topics: ['src'],
  isClean: true,
  flows: [
    {
      name: 'h',
      table: 'a',
      isOnce: true,
      branches: [resultOf('src', 'a', 'h')],
      whole: groupedAtOnce,
    },
    {
      name: 'r',
      table: 't',
      isOnce: true,
      branches: [resultOf('src', 't', 'r')],
      whole: groupedAtOnce,
    },
  ],
  sql: (options) => `${source('src')}CREATE STREAMING TABLE a WITH (${kept('a')});
CREATE FLOW h AS INSERT INTO ONCE a BY NAME ${groupedSql('src')};
CREATE STREAMING TABLE t WITH (${kept('t')}${options});
CREATE FLOW r AS INSERT INTO ONCE t BY NAME REPLACE USING (g) SEQUENCE BY n ${groupedSql('src')};\n`,
};

function newest(records: readonly DecodedRecord[]): readonly DecodedRecord[] {
  const sequenced = records.filter(({ seq }) => seq !== null);
  const level = Math.max(...sequenced.map(({ seq }) => seq ?? 0));
  return sequenced.filter(({ seq }) => seq === level);
}

/** No record of a higher sequence can have been merged into rows. */
const isMerged: NonNullable<PartQuery['isPossible']> = ({ seq }, [row]) =>
  row === undefined || seq === null || seq <= row.seq;

const ofK = {
  keyOf: ({ k }: DecodedRecord) => k,
  rowKeyOf: ({ k }: RowParts) => k,
};

const keysAtOnce = partByPart({
  ...ofK,
  isUnordered: true,
  isPossible: isMerged,
  rows: (records) => {
    const rows = newest(records);
    const [first] = rows;
    if (first === undefined) return [];
    const names = quoted(rows.map(({ v }) => v));
    return [`{"k":${first.k},"n":${rows.length},"seq":${first.seq},"vs":[${names}]}`];
  },
});

const rowsAtOnce = partByPart({
  ...ofK,
  isUnordered: true,
  isPossible: isMerged,
  rows: (records) => newest(records).map(byK),
});

/** The same over a table of the pipeline: it has to be as all that was there at the first start made it, or newer. */
const overTable: SimulationShape = {
  name: 'over_table_once',
  topics: ['src'],
  flows: [
    newestByK,
    {
      name: 'h',
      table: 'a',
      isOnce: true,
      branches: [resultOf('src', 'a', 'h')],
      whole: keysAtOnce,
    },
    {
      name: 'r',
      table: 'b',
      isOnce: true,
      branches: [resultOf('src', 'b', 'r')],
      whole: rowsAtOnce,
    },
  ],
  sql: (options) => `${source('src')}CREATE STREAMING TABLE a WITH (${kept('a')});
CREATE FLOW h AS INSERT INTO ONCE a BY NAME
SELECT k, count(*) AS n, max(seq) AS seq, array_sort(collect_list(v)) AS vs FROM t GROUP BY k;
CREATE STREAMING TABLE b WITH (${kept('b')}${options});
CREATE FLOW r AS INSERT INTO ONCE b BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, v FROM t;
${newestByKSql(options)}`,
};

const slicedAtOnce = partByPart({
  ...ofK,
  isUnordered: true,
  isPossible: isMerged,
  rows: (records) =>
    newest(records)
      .filter(({ seq }) => seq !== null && seq > 3)
      .map(byK),
});

/** A part of a table that is computed one time, and stays. */
const slicedOnce: SimulationShape = {
  name: 'sliced_once',
  topics: ['src'],
  flows: [newestByK],
  views: [{ name: 'w', input: 't', isOnce: true, whole: slicedAtOnce }],
  sql: (options) =>
    `${source('src')}${newestByKSql(options)}CREATE STREAMING TABLE w (k INT, seq BIGINT, v STRING);
CREATE FLOW w AS INSERT INTO ONCE w BY NAME REPLACE WHERE seq > 3 SELECT k, seq, v FROM t WHERE seq > 3;\n`,
};

const skipping = 'STREAM(t) WITH (skipChangeCommits = true)';

/** Of each key the rows as one of its commits left them first. */
function firstVersions(rows: Query, isPossible?: PartQuery['isPossible']) {
  const ofOneKey = partByPart({
    ...ofK,
    rows,
    seenMin: 1,
    isUnordered: true,
    ...(isPossible && { isPossible }),
  });
  // Whatever was there before: it is the commits of the table that count.
  const whole: NonNullable<ShapeFlow['whole']> = (records, seen) =>
    ofOneKey(records, { ...seen, isOld: () => false });
  return whole;
}

const firstRows = (text: (record: DecodedRecord) => string): Query => {
  return (records) =>
    newest(records)
      .filter(({ g }) => g !== 2)
      .map(text);
};

/** Only rows that a key had first: whatever comes later, and whoever starts anew, none is read of it again. */
const firstOnly: SimulationShape = {
  name: 'first_versions',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      branches: [reads('src')],
      isBad: ({ seq }) => seq === null,
      whole: (records) => ({
        must: [...groupedBy(records, ({ record }) => record.k).values()].flatMap((ofKey) =>
          firstRows(byAll)(ofKey.map(({ record }) => record)),
        ),
        may: [],
      }),
    },
    {
      name: 'f',
      table: 'a',
      branches: [reads('src', 't')],
      whole: firstVersions(firstRows(byAll), isMerged),
    },
    {
      name: 'd',
      table: 'd',
      branches: [reads('src', 't')],
      whole: firstVersions(firstRows(byK), isMerged),
    },
  ],
  sql: (options) =>
    `${source('src')}${emptiedByGSql(options)}CREATE STREAMING TABLE a WITH (${kept('a')});
CREATE FLOW f AS INSERT INTO a BY NAME SELECT k, g, seq, v FROM ${skipping};
${table('d', 'k', options, `SELECT k, seq, v FROM ${skipping}`)}`,
};

/** What the feed makes of one key; its deletes are of g 3. */
const current: Query = (records) => {
  const changes = records.flatMap((record) => {
    const { k, g, seq } = record;
    if (k === null || seq === null) return [];
    return [{ key: `${k}`, sequence: seq, row: g === 3 ? undefined : byK(record) }];
  });
  return [...referenceChanges(changes, 'current').values()].flat();
};

/** The same of a table that a change feed writes: a key that came with a delete has no first row. */
const firstChanges: SimulationShape = {
  name: 'first_changes',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      changes: 'current',
      branches: [{ topic: 'src', rows: changed(byK, false) }],
    },
    { name: 'f', table: 'a', branches: [reads('src', 't')], whole: firstVersions(current) },
  ],
  sql: () => `${source('src')}CREATE STREAMING TABLE t WITH (${kept('t')});
CREATE FLOW t AS AUTO CDC INTO t FROM STREAM(src) KEYS (k) APPLY AS DELETE WHEN g = 3
SEQUENCE BY seq COLUMNS (k, seq, v) STORED AS SCD TYPE 1;
CREATE STREAMING TABLE a WITH (${kept('a')});
CREATE FLOW f AS INSERT INTO a BY NAME SELECT k, seq, v FROM ${skipping};\n`,
};

/** Results of one moment, and rows of the first one of each key. */
export const momentShapes: readonly SimulationShape[] = [
  computedOnce,
  overTable,
  slicedOnce,
  firstOnly,
  firstChanges,
];
