import {
  append,
  appendedRow,
  appendTable,
  byAll,
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
  summed,
];
