import { sha2 } from '../../expr/digest/sha2.ts';
import { groupedBy } from '../check/find-moment.ts';
import {
  byG,
  flat,
  newestByK,
  newestByKSql,
  type SimulationShape,
  source,
  table,
} from './shape-parts.ts';

/** A part of a table that each computation makes anew: it comes, changes and goes with the rows below it. */
const sliced: SimulationShape = {
  name: 'sliced',
  topics: ['src'],
  flows: [newestByK],
  views: [
    {
      name: 'w',
      input: 't',
      rows: (rows) => {
        const counts = new Map<number, number>();
        for (const row of rows) {
          const { seq } = JSON.parse(row) as { readonly seq: number };
          if (seq > 3) counts.set(seq, (counts.get(seq) ?? 0) + 1);
        }
        return new Map(
          [...counts].map(([seq, n]) => {
            const row = `{"seq":${seq},"n":${n}}`;
            return [hashKey(row), row] as const;
          }),
        );
      },
    },
  ],
  sql: (options) =>
    `${source('src')}${newestByKSql(options)}CREATE STREAMING TABLE w (seq BIGINT, n BIGINT)
FLOW REPLACE WHERE seq > 3 BY NAME SELECT seq, count(*) AS n FROM t WHERE seq > 3 GROUP BY seq;\n`,
};

/** Of a row that no group names. */
function hashKey(row: string): string {
  const digest = sha2(Buffer.from(row, 'utf8'), 256) ?? '';
  return `{"_hash":"${digest.slice(0, 40)}"}`;
}

type TableRow = { readonly k: number | null; readonly seq: number; readonly v: string };

function parsed(rows: readonly string[]): readonly TableRow[] {
  return rows.map((row) => JSON.parse(row) as TableRow);
}

const placeMax = 2;

/** Materialized views over a join of tables, and over a view that counts places in a window. */
const related: SimulationShape = {
  name: 'related',
  topics: ['src', 'other'],
  flows: [
    newestByK,
    { name: 'u', table: 'u', branches: [{ topic: 'other', rows: flat('g', byG) }] },
  ],
  views: [
    {
      name: 'm',
      input: 't',
      beside: 'u',
      rows: (rows, besides) => {
        const counts = new Map<number, number>();
        const others = parsed(besides);
        for (const { seq } of parsed(rows)) {
          const partners = others.filter((other) => other.seq === seq).length;
          if (partners > 0) counts.set(seq, (counts.get(seq) ?? 0) + partners);
        }
        return new Map(
          [...counts].map(([seq, n]) => [`{"seq":${seq}}`, `{"seq":${seq},"n":${n}}`] as const),
        );
      },
    },
    {
      name: 'w',
      input: 't',
      rows: (rows) => {
        const placed = [...groupedBy(parsed(rows), ({ k }) => k).values()].flatMap((ofKey) =>
          ofKey
            .toSorted((a, b) => (a.v < b.v ? -1 : 1))
            .slice(0, placeMax)
            .map(({ k, v }, at) => `{"k":${k},"v":"${v}","place":${at + 1}}`),
        );
        return new Map(placed.map((row) => [hashKey(row), row] as const));
      },
    },
  ],
  sql: (options) =>
    `${source('src')}${source('other')}${newestByKSql(options)}${table('u', 'g', options, 'SELECT g, seq, v FROM STREAM(other)')}
CREATE MATERIALIZED VIEW m AS SELECT t.seq, count(*) AS n FROM t JOIN u ON t.seq = u.seq GROUP BY t.seq;
CREATE VIEW placed AS SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v) AS place FROM t;
CREATE MATERIALIZED VIEW w AS SELECT k, v, place FROM placed WHERE place <= ${placeMax};\n`,
};

/** What is computed from several tables, or from the places of rows. */
export const relatedShapes: readonly SimulationShape[] = [related];

/** Flows that compute a part of their table as a batch. */
export const batchShapes: readonly SimulationShape[] = [sliced];
