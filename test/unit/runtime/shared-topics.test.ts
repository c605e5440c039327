import { expect, test } from 'vitest';
import { RefreshWorld } from '../../support/refresh-world.ts';

const letters = "WITH (dead_letter_topic = 'letters')";

const pipelines: readonly (readonly [string, string])[] = [
  [
    'the two stages of an AUTO CDC table',
    `CREATE STREAMING TABLE t ${letters};
     CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(a) KEYS (k) SEQUENCE BY seq STORED AS SCD TYPE 1;
     CREATE FLOW g AS AUTO CDC INTO t FROM STREAM(b) KEYS (k) SEQUENCE BY seq STORED AS SCD TYPE 1;`,
  ],
  [
    'two append flows of one table',
    `CREATE STREAMING TABLE t ${letters};
     CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(a);
     CREATE FLOW g AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(b);`,
  ],
  [
    'two tables',
    `CREATE STREAMING TABLE t ${letters} FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);
     CREATE STREAMING TABLE u ${letters} FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(b);`,
  ],
  [
    'a join of two streams',
    `CREATE STREAMING TABLE t ${letters};
     CREATE FLOW f AS INSERT INTO t BY NAME SELECT l.k, l.seq, r.v FROM STREAM(a) AS l JOIN STREAM(b) AS r ON l.k = r.k;`,
  ],
  [
    'two flows of one sink',
    `CREATE SINK t ${letters};
     CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(a);
     CREATE FLOW g AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(b);`,
  ],
];

test.each(pipelines)('a dead-letter topic that %s share is created once', async (_, sql) => {
  const world = new RefreshWorld(sql, ['a', 'b'], 2);
  await world.produce('a', 0, { k: 'K1', seq: 1, v: 'x' });
  await world.update();
  const found = await world.log.describeTopics(['letters']);
  expect(found.get('letters')).toMatchObject({ partitions: 2 });
});
