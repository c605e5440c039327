import { expect, test } from 'vitest';
import { explainPipeline } from '../../../src/plan/explain/explain.ts';
import { planOf, replaceSql } from './bind-sql.ts';

const sql = `CREATE STREAMING TABLE cur (CONSTRAINT positive EXPECT (qty > 0) ON VIOLATION DROP ROW)
  WITH (dead_letter_topic = 'cur.dead')
  FLOW REPLACE USING (k) SEQUENCE BY seq APPLY AS EMPTY WHEN (sku IS NULL) BY NAME
  SELECT DISTINCT upper(k) AS k, seq, i.sku AS sku, coalesce(i.qty, 0) + 1 AS qty
  FROM (SELECT k, seq, n, explode_outer(items) AS i FROM STREAM(s)) WHERE n > 0 AND k <> 'x';
  CREATE STREAMING TABLE idle (a INT);`;

test('a flow as text: from its sources to its state, with types, tasks, topics and reasons', () => {
  const { text } = explainPipeline(planOf(sql), {
    pipeline: 'shop',
    partitionCounts: new Map([['s', 4]]),
  });
  expect(text).toBe(`pipeline "shop", time zone UTC

flow "cur" → streaming table "cur" (REPLACE USING)
  source s: topic s, json
    filter ((n > 0) AND (k <> 'x'))
    explode explode_outer(items) as (i): struct<sku:string,qty:int>
    project
      k = upper(k): string
      seq = seq: bigint
      sku = i.sku: string
      qty = (coalesce(i.qty, 0) + 1): int
  distinct: equal rows of a row-set are kept once
  expectation positive (drop): qty > 0
  key: k string
  sequence: seq bigint
  empty when: (sku IS NULL)
  tasks:
    flow stage: 4 for the partitions of s; decodes records, computes rows, checks expectations, sends each row to the partition of its key
    table stage: 4 for the partitions of shop.cur.repartition; keeps the rows of the highest sequence of each key and writes the output topic
  repartitioned: the key (k) is read from the record's value, so rows of one key may stand in any partition
  topics:
    shop.cur.repartition: repartition, 4 partitions
    cur: output, compacted; also the changelog of the state, 4 partitions
    shop.cur.levels: levels of empty keys, 4 partitions
    cur.dead: dead letters, 4 partitions
  output: one record for each key, its value the whole row-set
  state: per key: the highest sequence and the rows that carry it; DISTINCT needs nothing beyond these rows; the level of an empty key is kept for ever
  checkpoint: consumer group shop.cur

streaming table "idle": no flow writes it

catalog: topic shop.catalog, 1 partition, compacted
`);
});

test('without a broker the counts are told as rules; one flow can be asked for', () => {
  const plan =
    planOf(`${replaceSql('SELECT k, seq FROM STREAM(s) UNION ALL SELECT k, seq FROM STREAM(r)')}
    CREATE STREAMING TABLE u FLOW REPLACE USING (_key) SEQUENCE BY seq BY NAME SELECT _key, seq FROM STREAM(s);`);
  const { text, json } = explainPipeline(plan, { flow: 'T' });
  expect(json.flows.map(({ flow }) => flow)).toEqual(['t']);
  expect(json.flows[0]?.stages.map(({ tasks }) => tasks)).toEqual([undefined, undefined]);
  expect(text).toContain('flow stage: one for the partitions of s, r;');
  expect(text).toContain('as many partitions as the source with the most');
  expect(json.flows[0]?.repartition?.reason).toContain('2 topics');
  const other = explainPipeline(plan, { flow: 'u' }).json.flows[0];
  expect(other?.repartition?.reason).toContain('made of the record key');
});

test('the JSON form has the steps with their types and what depends on the clock', () => {
  const plan = planOf(replaceSql('SELECT k, seq, current_timestamp() AS at FROM STREAM(s)'));
  const { json } = explainPipeline(plan);
  expect(JSON.parse(JSON.stringify(json))).toEqual(json);
  expect(json.flows[0]).toMatchObject({
    kind: 'REPLACE USING',
    keys: [{ name: 'k', type: 'string' }],
    sequence: { value: 'seq', type: 'bigint' },
    output: 'row_set',
    group: '<pipeline>.t',
    nondeterministic: ['current_timestamp'],
    branches: [
      {
        steps: [
          {
            step: 'project',
            text: ['k = k', 'seq = seq', 'at = current_timestamp()'],
            types: ['string', 'bigint', 'timestamp'],
          },
        ],
      },
    ],
  });
});

test('P111 a table over one whose rows are replaced: what its records are, and that levels are kept', () => {
  const above = replaceSql('SELECT k, seq, n FROM STREAM(s)');
  const below =
    'CREATE STREAMING TABLE below FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(t) WHERE n > 1;';
  const { text, json } = explainPipeline(planOf(above + below), { flow: 'below' });
  expect(text).toContain(
    'a record is a version of its key; one of which no row is left empties the key',
  );
  expect(text).toContain('the level of an empty key is kept for ever');
  expect(json.flows[0]?.topics.map(({ role }) => role)).toContain('levels of empty keys');
  expect(json.flows[0]?.repartition?.reason).toContain('is that of table "t"');
});

test.each([
  ['SELECT seq, count(*) AS n FROM cur GROUP BY seq', 'only the groups that something came to'],
  ['SELECT k FROM cur WHERE qty > 1', 'only the records that something came to'],
  ['SELECT a.k FROM cur a JOIN idle b ON b.a = a.seq', 'all of it, as it joins'],
  [
    'SELECT k, rank() OVER (ORDER BY qty) AS place FROM cur',
    'all of it, as it has window functions',
  ],
  ['SELECT k FROM cur ORDER BY qty LIMIT 3', 'all of it, as it has a LIMIT'],
  ['SELECT k FROM cur UNION ALL SELECT k FROM cur', 'all of it, as it has a set operation'],
  [
    'SELECT k, count(*) AS n FROM cur GROUP BY ROLLUP (k)',
    'all of it, as it groups by several sets',
  ],
  ['SELECT k, current_timestamp() AS at FROM cur', 'all of it, as its query depends on the clock'],
  ['SELECT k FROM s', 'all of it, as it reads a source'],
  ['SELECT k FROM many', `all of it, as table "many" has output = 'rows'`],
])('FL-28 how a view is kept and why: %s', (query, told) => {
  const many = `CREATE STREAMING TABLE many WITH (output = 'rows')
    FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(s);`;
  const plan = planOf(`${sql} ${many} CREATE MATERIALIZED VIEW v AS ${query};`);
  const { text } = explainPipeline(plan, { pipeline: 'shop', partitionCounts: new Map() });
  expect(text).toContain(`between two computations by one process: ${told}`);
});
