import { describe, expect, test } from 'vitest';
import { FlowError } from '../../../src/base/errors.ts';
import { topology } from '../../../src/plan/topology.ts';
import { planOf, replaceSql } from './bind-sql.ts';

const counts = new Map([
  ['s', 4],
  ['r', 6],
]);

function code(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof FlowError) return error.code;
    throw error;
  }
}

describe('topology', () => {
  test('names and settings of groups and topics', () => {
    const found = topology(planOf(replaceSql('SELECT k, seq FROM STREAM(s)')), 'shop', counts);
    expect(found).toEqual({
      pipeline: 'shop',
      flows: [
        {
          flow: 't',
          group: 'shop.t',
          sources: [{ source: 's', topic: 's', partitions: 4 }],
          repartitionTopic: 'shop.t.repartition',
          outputTopic: 't',
          deadLetterTopic: undefined,
          levelsTopic: undefined,
        },
      ],
      topics: [
        {
          name: 't',
          role: 'output',
          flow: 't',
          partitions: 4,
          configs: { 'cleanup.policy': 'compact', 'retention.ms': '-1' },
        },
        {
          name: 'shop.t.repartition',
          role: 'repartition',
          flow: 't',
          partitions: 4,
          configs: { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' },
        },
        {
          name: 'shop.catalog',
          role: 'catalog',
          flow: undefined,
          partitions: 1,
          configs: { 'cleanup.policy': 'compact', 'retention.ms': '-1' },
        },
      ],
    });
  });

  test('a join of two streams has a flow, a table and topics of its own, in one partition count', () => {
    const query = 'SELECT a.k, a.seq FROM STREAM(s) a JOIN STREAM(r) b ON a.k = b.k';
    const { flows, topics } = topology(planOf(replaceSql(query)), 'shop', counts);
    expect(flows.map(({ flow, group }) => [flow, group])).toEqual([
      ['t.join', 'shop.t.join'],
      ['t', 'shop.t'],
    ]);
    const told = topics.map(
      ({ name, role, partitions, configs }) =>
        `${name}: ${role}, ${configs['cleanup.policy']}, ${partitions}`,
    );
    expect(told).toEqual(
      expect.arrayContaining([
        't.join: output, delete, 6',
        'shop.t.join.repartition: repartition, delete, 6',
        'shop.t.join.levels: levels, compact, 6',
        't: output, compact, 6',
        'shop.t.repartition: repartition, delete, 6',
      ]),
    );
  });

  test('repartition and output topic have equal counts: the table’s own, else that of the widest source', () => {
    const union = 'SELECT k, seq FROM STREAM(s) UNION ALL SELECT k, seq FROM STREAM(r)';
    const partitions = (sql: string) =>
      topology(planOf(sql), 'p', counts).topics.map((topic) => `${topic.role} ${topic.partitions}`);
    expect(partitions(replaceSql(union))).toEqual(['output 6', 'repartition 6', 'catalog 1']);
    const sized = replaceSql(union).replace(' FLOW', ' WITH (partitions = 12) FLOW');
    expect(partitions(sized)).toEqual(['output 12', 'repartition 12', 'catalog 1']);
  });

  test('P109 names depend on pipeline, table and flow alone, whatever stands around them', () => {
    const before = topology(planOf(replaceSql('SELECT k, seq FROM STREAM(s)')), 'shop', counts);
    const sql = `CREATE STREAMING TABLE first FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(r);
      CREATE VIEW v AS SELECT * FROM STREAM(s) WHERE n > 0;
      ${replaceSql('SELECT DISTINCT k, seq, explode_outer(tags) AS tag FROM v WHERE v IS NOT NULL')}`;
    const after = topology(planOf(sql), 'shop', counts);
    expect(after.flows.find(({ flow }) => flow === 't')).toEqual(before.flows[0]);
    expect(after.topics.map(({ name }) => name)).toEqual([
      'first',
      'shop.first.repartition',
      't',
      'shop.t.repartition',
      'shop.catalog',
    ]);
  });

  test('dead letters, levels of empty keys and tables without a flow have topics', () => {
    const sql = `CREATE STREAMING TABLE idle (a INT) WITH (partitions = 2);
      CREATE STREAMING TABLE t WITH (dead_letter_topic = 'dead') FLOW REPLACE USING (k) SEQUENCE BY seq
        APPLY AS EMPTY WHEN (n IS NULL) BY NAME SELECT k, seq, n FROM STREAM(s);
      CREATE STREAMING TABLE u WITH (dead_letter_topic = 'dead') FLOW REPLACE USING (k) SEQUENCE BY seq
        BY NAME SELECT k, seq FROM STREAM(r);`;
    const topics = topology(planOf(sql), 'p', counts).topics;
    expect(topics.map(({ name, role, partitions }) => `${name} ${role} ${partitions}`)).toEqual([
      't output 4',
      'p.t.repartition repartition 4',
      'p.t.levels levels 4',
      'u output 6',
      'p.u.repartition repartition 6',
      'idle output 2',
      'p.catalog catalog 1',
      'dead dead_letter 6',
    ]);
  });

  test('a missing source topic, and names that collide or grow too long, are refused', () => {
    const plan = planOf(replaceSql('SELECT k, seq FROM STREAM(s)'));
    expect(code(() => topology(plan, 'p', new Map()))).toBe('TOPIC_MISSING');
    expect(code(() => topology(plan, 'p'.repeat(240), counts))).toBe('PIPELINE_INVALID');
    const clash = planOf(
      replaceSql('SELECT k, seq FROM STREAM(s)').replace(
        ' FLOW',
        " WITH (topic = 'p.catalog') FLOW",
      ),
    );
    expect(code(() => topology(clash, 'p', counts))).toBe('PIPELINE_INVALID');
    expect(code(() => topology(clash, 'q', counts))).toBeUndefined();
  });

  test('FL-08, FL-27 append flows share one topic that keeps all, and a table over it is as wide', () => {
    const sql = `CREATE STREAMING TABLE a; CREATE FLOW f AS INSERT INTO a BY NAME SELECT k, seq FROM STREAM(s);
      CREATE FLOW g AS INSERT INTO a BY NAME SELECT k, seq FROM STREAM(r);
      CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(a);`;
    const { topics, flows } = topology(planOf(sql), 'p', counts);
    expect(topics.map(({ name, partitions }) => `${name} ${partitions}`)).toEqual([
      'a 6',
      't 6',
      'p.t.repartition 6',
      'p.catalog 1',
    ]);
    expect(topics[0]?.configs).toEqual({
      'cleanup.policy': 'delete',
      'retention.ms': '-1',
      'retention.bytes': '-1',
    });
    expect(flows.map(({ group, repartitionTopic }) => [group, repartitionTopic])).toEqual([
      ['p.f', undefined],
      ['p.g', undefined],
      ['p.t', 'p.t.repartition'],
    ]);
  });
});
