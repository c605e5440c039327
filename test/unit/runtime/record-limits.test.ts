import { afterEach, expect, test } from 'vitest';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { workerOf, worldOf } from '../../support/append-world.ts';

const source = 'CREATE SOURCE s (id BIGINT, op STRING, seq BIGINT, ts TIMESTAMP, v STRING);\n';

/** Each kind of flow, with a value that grows ten times on its way. */
const kinds = {
  'REPLACE USING': `CREATE STREAMING TABLE t FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME
SELECT id, seq, repeat(v, 10) AS v FROM STREAM(s);`,
  'REPLACE USING, a record a row': `CREATE STREAMING TABLE t WITH (output = 'rows') FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME
SELECT id, seq, repeat(v, 10) AS v FROM STREAM(s);`,
  append: `CREATE STREAMING TABLE t;
CREATE FLOW f AS INSERT INTO t BY NAME SELECT id, seq, repeat(v, 10) AS v FROM STREAM(s);`,
  DISTINCT: `CREATE STREAMING TABLE t;
CREATE FLOW f AS INSERT INTO t BY NAME SELECT DISTINCT id, seq, repeat(v, 10) AS v FROM STREAM(s);`,
  'AUTO CDC': `CREATE STREAMING TABLE t;
CREATE FLOW f AS AUTO CDC INTO t FROM (SELECT id, op, seq, repeat(v, 10) AS v FROM STREAM(s)) KEYS (id) APPLY AS DELETE WHEN op = 'd' SEQUENCE BY seq COLUMNS * EXCEPT (op) STORED AS SCD TYPE 1;`,
  'AUTO CDC with history': `CREATE STREAMING TABLE t;
CREATE FLOW f AS AUTO CDC INTO t FROM (SELECT id, op, seq, repeat(v, 10) AS v FROM STREAM(s)) KEYS (id) APPLY AS DELETE WHEN op = 'd' SEQUENCE BY seq COLUMNS * EXCEPT (op) STORED AS SCD TYPE 2;`,
  'join of two streams': `CREATE STREAMING TABLE t;
CREATE FLOW f AS INSERT INTO t BY NAME SELECT a.id, repeat(a.v, 10) AS v FROM STREAM(s) WATERMARK ts DELAY OF INTERVAL 0 SECONDS AS a
JOIN STREAM(s) WATERMARK ts DELAY OF INTERVAL 0 SECONDS AS b ON a.id = b.id AND a.ts <= b.ts AND b.ts <= a.ts + INTERVAL 5 SECONDS;`,
  'materialized view': 'CREATE MATERIALIZED VIEW t AS SELECT id, repeat(v, 10) AS v FROM s;',
} as const;

let world: PipelineWorld;

afterEach(() => world.close());

test.each(Object.entries(kinds))(
  'P095 a record over the limit of its topic, %s: it stops, says whose it is, and writes nothing',
  async (kind, flow) => {
    const sql = source + flow;
    world = worldOf(sql, 1);
    const ts = '2025-01-01T00:00:00Z';
    world.produce('s', {
      value: JSON.stringify({ id: 7, op: 'c', seq: 1, ts, v: 'x'.repeat(200_000) }),
    });
    const worker = await workerOf(world, sql, { once: true });
    const error: unknown = await worker.run().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'RECORD_TOO_LARGE',
      detail: expect.stringMatching(/^(Key \{|The row of source partition 0, offset 0 )/),
      hint: expect.stringContaining(kind === 'REPLACE USING' ? "Set output = 'rows'" : 'Raise'),
    });
    expect(world.log.readCommitted('t')).toEqual([]);
  },
);
