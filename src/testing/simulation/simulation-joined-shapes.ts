import {
  byAll,
  byK,
  type DecodedRecord,
  emptiedByGSql,
  type PlacedRecord,
  reads,
  type ShapeFlow,
  type SimulationShape,
  source,
  table,
  timeOf,
  type WholeTable,
} from './shape-parts.ts';

function recordsOf(records: readonly PlacedRecord[], topic: string): readonly DecodedRecord[] {
  return records.filter((one) => one.topic === topic).map(({ record }) => record);
}

/** The rows of the highest sequence of each key, and whether a key is empty at it. */
function newest(records: readonly DecodedRecord[]): readonly DecodedRecord[] {
  const levels = new Map<number | null, number>();
  for (const { k, seq } of records) {
    if (seq !== null) levels.set(k, Math.max(seq, levels.get(k) ?? 0));
  }
  return records.filter(({ k, seq }) => seq !== null && levels.get(k) === seq);
}

/** A table over one whose rows are replaced: it sees some versions of a key, and must be as if it had seen the last alone. */
const followed: SimulationShape = {
  name: 'followed',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      branches: [reads('src')],
      isBad: ({ seq }) => seq === null,
      whole: (records) => ({
        must: newest(recordsOf(records, 'src'))
          .filter(({ g }) => g !== 2)
          .map(byAll),
        may: [],
      }),
    },
    {
      name: 'd',
      table: 'd',
      branches: [reads('src', 't')],
      whole: (records) => ({
        must: newest(recordsOf(records, 'src'))
          .filter(({ g }) => g !== 2 && g !== 1)
          .map(byK),
        may: [],
      }),
    },
  ],
  sql: (options) =>
    source('src') +
    emptiedByGSql(options) +
    table('d', 'k', options, 'SELECT k, seq, v FROM STREAM(t) WHERE g <> 1'),
};

type Pair = readonly [left: DecodedRecord, right: DecodedRecord];

function pairsOf(records: readonly PlacedRecord[]): readonly Pair[] {
  const others = recordsOf(records, 'other');
  return recordsOf(records, 'src').flatMap((left) =>
    others.filter(({ k }) => k !== null && k === left.k).map((right) => [left, right] as const),
  );
}

function pairText([{ k, seq, v }, right]: Pair): string {
  return `{"k":${k},"seq":${seq},"lv":"${v}","rv":"${right.v}"}`;
}

/** As the join itself names the columns. */
function keptText([{ k, seq, v }, right]: Pair): string {
  return `{"left.k":${k},"left.seq":${seq},"left.v":"${v}","right.v":"${right.v}"}`;
}

/** Of all records that can be decoded. */
type Whole = NonNullable<ShapeFlow['whole']>;

/** A join of both topics: what the join itself keeps (`kept`), and the table over it (`made`). */
function joined(
  name: string,
  { kept, made }: { readonly kept: Whole; readonly made: Whole },
  sql: (options: string) => string,
): SimulationShape {
  return {
    name,
    topics: ['src', 'other'],
    flows: [
      {
        name: 'j.join',
        table: 'j.join',
        branches: [reads('src'), reads('other')],
        whole: kept,
      },
      {
        name: 'j',
        table: 'j',
        branches: [reads('src', 'j.join'), reads('other', 'j.join')],
        whole: made,
      },
    ],
    sql: (options) => source('src') + source('other') + sql(options),
  };
}

/** A table to which the rows of a query are appended. */
function appending(query: string): () => string {
  const options = "topic = 'j', dead_letter_topic = 'j.dlq'";
  return () => `CREATE STREAMING TABLE j WITH (${options}) AS\n${query};\n`;
}

/** Whatever comes first, and however often it is read: each pair, once. */
const paired = joined(
  'paired',
  {
    kept: (records) => ({ must: pairsOf(records).map(keptText), may: [] }),
    made: (records) => ({ must: pairsOf(records).map(pairText), may: [] }),
  },
  appending(
    'SELECT l.k, l.seq, l.v AS lv, r.v AS rv FROM STREAM(src) l JOIN STREAM(other) r ON l.k = r.k',
  ),
);

/** Pairs whose rows replace each other. */
const matched = joined(
  'matched',
  {
    kept: (records) => ({ must: sequenced(records).map(keptText), may: [] }),
    made: (records) => {
      const pairs = sequenced(records);
      const lefts = new Set(newest(pairs.map(([left]) => left)));
      return { must: pairs.filter(([left]) => lefts.has(left)).map(pairText), may: [] };
    },
  },
  (options) =>
    table(
      'j',
      'k',
      options,
      `SELECT l.k, l.seq, l.v AS lv, r.v AS rv
FROM (SELECT k, seq, v FROM STREAM(src) WHERE seq IS NOT NULL) l JOIN STREAM(other) r ON l.k = r.k`,
    ),
);

function sequenced(records: readonly PlacedRecord[]): readonly Pair[] {
  return pairsOf(records).filter(([{ seq }]) => seq !== null);
}

const delay = 4;
const reach = 3;

/** Where the watermark of a side stands once all is read, and which of its rows were not late. */
function timely(records: readonly PlacedRecord[], topic: string) {
  const latest = new Map<number, number>();
  const rows: DecodedRecord[] = [];
  for (const { topic: from, partition, record } of records) {
    if (from !== topic) continue;
    const time = timeOf(record);
    const before = latest.get(partition) ?? Number.NEGATIVE_INFINITY;
    if (time === null || time >= before - delay) rows.push(record);
    if (time !== null) latest.set(partition, Math.max(time, before));
  }
  // Of a side without times nobody knows what is still to come.
  const least = latest.size === 0 ? Number.NEGATIVE_INFINITY : Math.min(...latest.values());
  return { rows, watermark: least - delay };
}

/** Rows of the left side come with all their partners, or once without any. */
function outerRows(
  records: readonly PlacedRecord[],
  [k, lv, rv]: readonly [string, string, string],
): WholeTable {
  const left = timely(records, 'src');
  const right = timely(records, 'other');
  const must: string[] = [];
  const may: string[] = [];
  for (const row of left.rows) {
    const time = timeOf(row);
    const partners = right.rows.filter((other) => {
      const otherTime = timeOf(other);
      if (row.k === null || other.k !== row.k || time === null || otherTime === null) return false;
      return otherTime >= time && otherTime <= time + reach;
    });
    for (const { v } of partners) must.push(`{"${k}":${row.k},"${lv}":"${row.v}","${rv}":"${v}"}`);
    if (partners.length > 0) continue;
    const isOver = row.k === null || time === null || right.watermark > time + reach;
    (isOver ? must : may).push(`{"${k}":${row.k},"${lv}":"${row.v}","${rv}":null}`);
  }
  return { must, may };
}

/** Rows are let go by their times, and those without a partner are told then. */
const outer: SimulationShape = {
  ...joined(
    'outer',
    {
      kept: (records) => outerRows(records, ['left.k', 'left.v', 'right.v']),
      made: (records) => outerRows(records, ['k', 'lv', 'rv']),
    },
    appending(`SELECT l.k, l.v AS lv, r.v AS rv
FROM STREAM(src) WATERMARK ts DELAY OF INTERVAL ${delay} SECONDS AS l
LEFT JOIN STREAM(other) WATERMARK ts DELAY OF INTERVAL ${delay} SECONDS AS r
ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL ${reach} SECONDS`),
  ),
  isTimed: true,
};

/** Pipelines whose tables follow from all their records together: joins of streams, and a table over a table. */
export const joinedShapes: readonly SimulationShape[] = [followed, paired, matched, outer];

/** The pairs of a view over both streams, among the records of somebody else. */
const sunkPairs: SimulationShape = {
  name: 'sunk_pairs',
  topics: ['src', 'other'],
  sinks: ['j'],
  flows: [
    {
      name: 'f.join',
      table: 'f.join',
      branches: [reads('src'), reads('other')],
      whole: (records) => ({
        must: pairsOf(records).map((pair) =>
          keptText(pair).replace('"left.seq"', `"left.g":${pair[0].g},"left.seq"`),
        ),
        may: [],
      }),
    },
    {
      name: 'f',
      table: 'j',
      branches: [reads('src', 'j.f.join'), reads('other', 'j.f.join')],
      whole: (records) => ({
        must: pairsOf(records)
          .filter(([{ g }]) => g < 3)
          .map(pairText),
        may: [],
      }),
    },
  ],
  sql: () => `${source('src')}${source('other')}CREATE TEMPORARY VIEW pairs AS
SELECT l.k, l.seq, l.v AS lv, r.v AS rv, l.g FROM STREAM(src) l JOIN STREAM(other) r ON l.k = r.k;
CREATE SINK j WITH (topic = 'j', dead_letter_topic = 'j.dlq');
CREATE FLOW f AS INSERT INTO j BY NAME SELECT k, seq, lv, rv FROM pairs WHERE g < 3;\n`,
};

/** Joins whose rows go to somebody else. */
export const sunkShapes: readonly SimulationShape[] = [sunkPairs];
