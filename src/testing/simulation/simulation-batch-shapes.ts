import { sha2 } from '../../expr/digest/sha2.ts';
import { newestByK, newestByKSql, type SimulationShape, source } from './shape-parts.ts';

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
            const digest = sha2(Buffer.from(row, 'utf8'), 256) ?? '';
            return [`{"_hash":"${digest.slice(0, 40)}"}`, row] as const;
          }),
        );
      },
    },
  ],
  sql: (options) =>
    `${source('src')}${newestByKSql(options)}CREATE STREAMING TABLE w (seq BIGINT, n BIGINT)
FLOW REPLACE WHERE seq > 3 BY NAME SELECT seq, count(*) AS n FROM t WHERE seq > 3 GROUP BY seq;\n`,
};

/** Flows that compute a part of their table as a batch. */
export const batchShapes: readonly SimulationShape[] = [sliced];
