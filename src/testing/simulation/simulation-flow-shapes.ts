import {
  append,
  appendedRow,
  appendTable,
  type BranchResult,
  byAll,
  byK,
  type DecodedRecord,
  flat,
  hasSequence,
  newestByK,
  newestByKSql,
  type SimulationShape,
  source,
  table,
} from './shape-parts.ts';

const isSmall = ({ seq }: DecodedRecord): boolean => seq !== null && seq < 6;
const isOdd = ({ g }: DecodedRecord): boolean => g !== 1;
const isPositive = ({ g }: DecodedRecord): boolean => g > 0;

/** Expectations of a view and of the table behind it: a row that the view drops never comes to the table. */
const viewed: SimulationShape = {
  name: 'viewed',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      branches: [
        {
          topic: 'src',
          rows: (record) => {
            if (record.g > 2) return flat('k', byAll, () => 'filtered')(record);
            const ofView = { 'clean.small': isSmall, 'clean.odd': isOdd };
            return isSmall(record)
              ? flat('k', byAll, undefined, { ...ofView, positive: isPositive })(record)
              : flat('k', byAll, () => 'dropped', ofView)(record);
          },
        },
      ],
    },
  ],
  sql: (options) =>
    `${source('src')}CREATE TEMPORARY VIEW clean (
CONSTRAINT small EXPECT (seq < 6) ON VIOLATION DROP ROW, CONSTRAINT odd EXPECT (g <> 1)
) AS SELECT k, g, seq, v FROM STREAM(src) WHERE g <= 2;\n` +
    table(
      't',
      'k',
      options,
      'SELECT k, g, seq, v FROM clean',
      ' (CONSTRAINT positive EXPECT (g > 0))',
    ),
};

/** A topic of somebody else, with rows of two flows among those of others. */
const sunk: SimulationShape = {
  name: 'sunk',
  topics: ['src'],
  sinks: ['a'],
  flows: [
    {
      name: 'low',
      table: 'a',
      branches: [{ topic: 'src', rows: appendedRow((one) => hasSequence(one) && one.g < 2) }],
    },
    {
      name: 'high',
      table: 'a',
      branches: [{ topic: 'src', rows: appendedRow((one) => hasSequence(one) && one.g > 0) }],
    },
  ],
  sql: () => {
    const flow = (name: string, where: string): string =>
      `CREATE FLOW ${name} AS INSERT INTO a BY NAME SELECT k, g, seq, v FROM STREAM(src) WHERE seq IS NOT NULL AND ${where};\n`;
    const sink = "CREATE SINK a WITH (topic = 'a', dead_letter_topic = 'a.dlq');\n";
    return source('src') + sink + flow('low', 'g < 2') + flow('high', 'g > 0');
  },
};

/** What was there when it started first comes once, whatever is produced and whoever starts later. */
const backfilled: SimulationShape = {
  name: 'backfilled',
  topics: ['src', 'other'],
  flows: [
    { name: 'fa', table: 'a', branches: [{ topic: 'src', rows: appendedRow(hasSequence) }] },
    {
      name: 'fo',
      table: 'a',
      isOnce: true,
      branches: [{ topic: 'other', rows: appendedRow(hasSequence) }],
    },
  ],
  sql: () =>
    source('src') +
    source('other') +
    appendTable +
    append('fa', 'src') +
    'CREATE FLOW fo AS INSERT INTO ONCE a BY NAME SELECT k, g, seq, v FROM other WHERE seq IS NOT NULL;\n',
};

const replacedOnce: SimulationShape = {
  name: 'replaced_once',
  topics: ['src'],
  flows: [{ ...newestByK, name: 'h', isOnce: true }],
  sql: (options) =>
    `${source('src')}CREATE STREAMING TABLE t WITH (topic = 't', dead_letter_topic = 't.dlq'${options});
CREATE FLOW h AS INSERT INTO ONCE t BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, v FROM src;\n`,
};

/** What a change makes of a row: the columns of its table, a delete, or the end of everything before it. */
function changed(text: (record: DecodedRecord) => string, truncates: boolean) {
  return (record: DecodedRecord): BranchResult | undefined => {
    const { k, g, seq } = record;
    if (k === null || seq === null) return undefined;
    const isTruncate = truncates && g === 2 && k === 0;
    const row = g === 3 || isTruncate ? undefined : text(record);
    const change = { index: 0, key: `{"k":${k}}`, sequence: seq, row };
    return {
      rows: [isTruncate ? { ...change, isTruncate } : change],
      generated: 1,
      filtered: 0,
      dropped: 0,
    };
  };
}

function feed(flow: string, from: string, clauses: string): string {
  const kind = flow === 'h' ? 'AUTO CDC ONCE' : 'AUTO CDC';
  return `CREATE FLOW ${flow} AS ${kind} INTO t FROM STREAM(${from}) KEYS (k) APPLY AS DELETE WHEN g = 3 ${clauses};\n`;
}

const changeTable = "CREATE STREAMING TABLE t WITH (topic = 't', dead_letter_topic = 't.dlq');\n";

/** Deletes outlive their rows, and truncates reach every key. */
const upserted: SimulationShape = {
  name: 'upserted',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      changes: 'current',
      branches: [{ topic: 'src', rows: changed(byK, true) }],
    },
  ],
  sql: () =>
    source('src') +
    changeTable +
    feed(
      't',
      'src',
      'APPLY AS TRUNCATE WHEN (g = 2 AND k = 0) SEQUENCE BY seq COLUMNS (k, seq, v) STORED AS SCD TYPE 1',
    ),
};

const byKG = ({ k, g }: DecodedRecord): string => `{"k":${k},"g":${g}}`;

/** Every change stands in the history of its key, wherever in it it comes. */
const historical: SimulationShape = {
  name: 'historical',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      changes: 'history',
      branches: [{ topic: 'src', rows: changed(byKG, false) }],
    },
  ],
  sql: () =>
    source('src') +
    changeTable +
    feed('t', 'src', 'SEQUENCE BY seq COLUMNS (k, g) STORED AS SCD TYPE 2'),
};

/** An archive that is read once, and a feed that goes on, into one stage. */
const fed: SimulationShape = {
  name: 'fed',
  topics: ['src', 'other'],
  flows: [
    {
      name: 't',
      table: 't',
      changes: 'current',
      branches: [{ topic: 'src', rows: changed(byK, false) }],
    },
    {
      name: 'h',
      table: 't',
      changes: 'current',
      isOnce: true,
      branches: [{ topic: 'other', rows: changed(byK, false) }],
    },
  ],
  sql: () => {
    const clauses = 'SEQUENCE BY seq COLUMNS (k, seq, v) STORED AS SCD TYPE 1';
    return (
      source('src') +
      source('other') +
      changeTable +
      feed('t', 'src', clauses) +
      feed('h', 'other', clauses)
    );
  },
};

/** Groups of a table's rows: they come, change and go with them. */
const summed: SimulationShape = {
  name: 'summed',
  topics: ['src'],
  flows: [newestByK],
  views: [
    {
      name: 'm',
      input: 't',
      rows: (rows) => {
        const counts = new Map<number, number>();
        for (const row of rows) {
          const { seq } = JSON.parse(row) as { readonly seq: number };
          counts.set(seq, (counts.get(seq) ?? 0) + 1);
        }
        return new Map(
          [...counts].map(([seq, n]) => [`{"seq":${seq}}`, `{"seq":${seq},"n":${n}}`] as const),
        );
      },
    },
  ],
  sql: (options) =>
    source('src') +
    newestByKSql(options) +
    'CREATE MATERIALIZED VIEW m AS SELECT seq, count(*) AS n FROM t GROUP BY seq;\n',
};

/** Every kind of flow beside those that replace rows by their sequence. */
export const flowShapes: readonly SimulationShape[] = [
  viewed,
  sunk,
  backfilled,
  replacedOnce,
  upserted,
  historical,
  fed,
  summed,
];
