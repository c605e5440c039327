import { expect, test } from 'vitest';
import { rowSetJson, sourceTopicsById } from '../../../src/cli/row-set-json.ts';
import { rowSourceText } from '../../../src/cli/row-source.ts';
import { hasJoinedRows } from '../../../src/plan/flows/joined-rows.ts';
import { isKeyed } from '../../../src/plan/pipeline-plan.ts';
import { readTableKeys } from '../../../src/runtime/inspect/read-table.ts';
import { planned, worldOf } from '../../support/append-world.ts';

const sql = `CREATE SOURCE orders (id BIGINT, seq BIGINT) WITH (topic = 'orders');
  CREATE SOURCE payments (order_id BIGINT, paid INT) WITH (topic = 'payments');
  CREATE STREAMING TABLE paid FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME
  SELECT o.id, o.seq, p.paid FROM STREAM(orders) o JOIN STREAM(payments) p ON o.id = p.order_id;
  CREATE STREAMING TABLE again FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME SELECT id, seq, paid FROM STREAM(paid);
  CREATE STREAMING TABLE plain FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME SELECT id, seq FROM STREAM(orders);`;

async function sourcesOf(name: string) {
  const plan = planned(sql);
  const world = worldOf(sql, 1);
  try {
    world.produce('orders', { value: '{"id":1,"seq":1}' });
    world.produce('payments', { value: '{"order_id":1,"paid":5}' });
    const process = await world.startProcess('one');
    await world.untilCaughtUp(process);
    await world.stop(process);
    const table = plan.tables.find((one) => one.name === name);
    const flow = plan.flows.find(({ target }) => target === name);
    if (table === undefined || flow === undefined || !isKeyed(flow)) throw new Error(name);
    const log = world.log.connect();
    const [set] = await readTableKeys({ log, table, flow }, [Buffer.from('{"id":1}')]);
    const topics = await sourceTopicsById(plan, log);
    const origins = { topics, areJoined: hasJoinedRows(plan, flow) };
    const json = rowSetJson({ key: '{"id":1}', set, table, flow, origins });
    return {
      texts: (set?.rows ?? []).flatMap(({ sources }) =>
        sources.map((source) => rowSourceText(source, origins)),
      ),
      json: (JSON.parse(json) as { sources: unknown }).sources,
    };
  } finally {
    world.close();
  }
}

test.each(['paid', 'again'])(
  'OP-10 where a joined row came from is no record of a topic that is gone: %s',
  async (name) => {
    const { texts, json } = await sourcesOf(name);
    expect(texts).toEqual(['joined row']);
    const nowhere = { topic: null, topicId: null, partition: null, offset: null };
    expect(json).toEqual([{ row: 0, joined: true, ...nowhere, branch: 0, index: 0 }]);
  },
);

test('a row that was not joined came from its record, beside a join, too', async () => {
  const { texts, json } = await sourcesOf('plain');
  expect(texts).toEqual(['orders/0@0']);
  expect(json).toMatchObject([{ row: 0, joined: false, topic: 'orders', partition: 0, offset: 0 }]);
});

test('a record of a topic that was created again is told with the id of the former one', () => {
  const source = { topicId: '0'.repeat(32), partition: 1, offset: 7, branch: 0, index: 0 };
  expect(rowSourceText(source, { topics: new Map(), areJoined: false })).toBe(
    'topic AAAAAAAAAAAAAAAAAAAAAA (gone)/1@7',
  );
});
