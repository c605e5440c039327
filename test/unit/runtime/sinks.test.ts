import { afterEach, describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { headerOf, killedRun, valuesOf, worldOf } from '../../support/append-world.ts';

const orders = `CREATE SOURCE orders (region STRING, qty INT);
CREATE SINK alerts WITH (topic = 'elsewhere.alerts');
CREATE FLOW large AS INSERT INTO alerts BY NAME SELECT region, qty FROM STREAM(orders) WHERE qty > 5;
CREATE FLOW missing AS INSERT INTO alerts BY NAME SELECT region, qty FROM STREAM(orders) WHERE qty IS NULL;`;

let world: PipelineWorld;

afterEach(() => world.close());

async function settled(): Promise<void> {
  const process = await world.startProcess('one');
  await world.untilCaughtUp(process);
  await world.stop(process);
}

const large = '{"region":"EU","qty":9}';

describe('FL-29 sinks', () => {
  test('FL-10 append flows write a topic that others write too, and change nothing about it', async () => {
    world = worldOf(orders);
    world.log.createTopic('elsewhere.alerts', 3, {
      'cleanup.policy': 'delete',
      'retention.ms': '1000000',
    });
    world.log.produce('elsewhere.alerts', 2, { value: 'of somebody else' });
    world.produce('orders', { key: 'k', value: large });
    world.produce('orders', { key: 'k', value: '{"region":"US","qty":null}' });
    world.produce('orders', { key: 'k', value: '{"region":"US","qty":1}' });
    await settled();
    const records = world.log.readCommitted('elsewhere.alerts');
    expect(valuesOf(records)).toEqual(
      ['of somebody else', large, '{"region":"US","qty":null}'].sort(),
    );
    const own = records.find(({ value }) => value?.toString() === large);
    expect(own?.key?.toString('utf8')).toBe('k');
    expect(own === undefined ? undefined : headerOf(own, 'tm-src')).toMatch(/@0$/);
    const topics = await world.log.describeTopics(['elsewhere.alerts']);
    expect(topics.get('elsewhere.alerts')?.configs.get('retention.ms')).toBe('1000000');
  });

  test('FL-09 a sink has no flow of its own: without one it is warned of, and a query in its definition is no SQL', () => {
    const codes = (text: string) =>
      planPipeline([{ file: 'p.sql', text }]).faults.map(({ code, severity }) => [code, severity]);
    const sink = "CREATE SOURCE orders (region STRING); CREATE SINK idle WITH (topic = 'idle')";
    expect(codes(`${sink};`)).toEqual([['SINK_WITHOUT_FLOW', 'warning']]);
    expect(codes(`${sink} AS SELECT region FROM STREAM(orders);`)).toContainEqual([
      'PARSE_SYNTAX_ERROR',
      'error',
    ]);
    const flow = 'CREATE FLOW f AS INSERT INTO idle BY NAME SELECT region FROM STREAM(orders)';
    expect(codes(`${sink}; ${flow};`)).toEqual([]);
  });

  test('a sink whose topic is missing gets one that keeps its rows', async () => {
    world = worldOf(orders);
    world.produce('orders', { value: large });
    await settled();
    const found = (await world.log.describeTopics(['elsewhere.alerts'])).get('elsewhere.alerts');
    expect(found?.partitions).toBe(2);
    expect(found?.configs.get('cleanup.policy')).toBe('delete');
    expect(found?.configs.get('retention.ms')).toBe('-1');
  });

  test('FL-10 processes that are killed lose and repeat no row of a sink', async () => {
    world = worldOf(orders);
    const row = (n: number): string => `{"region":"R${n}","qty":${6 + n}}`;
    await killedRun(
      world,
      [0, 1, 2, 3, 4, 5].map((part) => () => {
        for (let n = part * 20; n < part * 20 + 20; n += 1)
          world.produce('orders', { value: row(n) });
      }),
    );
    const expected = Array.from({ length: 120 }, (_, n) => row(n)).sort();
    expect(valuesOf(world.log.readCommitted('elsewhere.alerts'))).toEqual(expected);
  });
});
