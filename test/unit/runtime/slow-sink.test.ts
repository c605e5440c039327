import { expect, test } from 'vitest';
import type { Log, LogProducer } from '../../../src/ports/log.ts';
import { workerOf, worldOf } from '../../support/append-world.ts';

const sql = `CREATE SOURCE src (k INT, v STRING);
CREATE STREAMING TABLE a WITH (topic = 'a');
CREATE FLOW fa AS INSERT INTO a BY NAME SELECT k, v FROM STREAM(src);`;
const pendingBytesMax = 2_000;
const sliceRecords = 5;
const valueBytes = 200;

/** A log whose brokers take nothing until they are let: what is appended piles up in its producers. */
class SlowSink {
  pendingBytes = 0;
  mostBytes = 0;
  #letGo: () => void = () => undefined;
  readonly #isLetGo = new Promise<void>((resolve) => {
    this.#letGo = resolve;
  });

  takeAll(): void {
    this.#letGo();
  }

  over(log: Log): Log {
    return new Proxy(log, {
      get: (inner, name) => {
        const member: unknown = Reflect.get(inner, name, inner);
        if (typeof member !== 'function') return member;
        if (name !== 'openProducer') return member.bind(inner);
        return async (...args: Parameters<Log['openProducer']>) =>
          this.#producer(await inner.openProducer(...args));
      },
    });
  }

  #producer(producer: LogProducer): LogProducer {
    const sink = this;
    return {
      transactionalId: producer.transactionalId,
      get pendingBytes() {
        return sink.pendingBytes;
      },
      append: (topic, partition, record) => {
        this.pendingBytes += record.valueEnd;
        this.mostBytes = Math.max(this.mostBytes, this.pendingBytes);
        producer.append(topic, partition, record);
      },
      drain: async (bytesMax) => {
        await this.#isLetGo;
        this.pendingBytes = 0;
        return producer.drain(bytesMax);
      },
      commit: (commits) => producer.commit(commits),
      abort: () => producer.abort(),
      close: () => producer.close(),
    };
  }
}

test('a slow sink holds up what is read: no more is kept in memory than was allowed and one slice', async () => {
  const world = worldOf(sql, 1, sliceRecords);
  const records = 200;
  for (let k = 0; k < records; k += 1) {
    world.produce('src', { value: JSON.stringify({ k, v: 'x'.repeat(valueBytes) }) });
  }
  const sink = new SlowSink();
  const settings = { pendingBytesMax, commitIntervalMs: 600_000, retriesMax: 0 };
  const worker = await workerOf(world, sql, settings, sink.over(world.log.connect()));
  const running = worker.run();
  await world.clock.sleep(10_000);
  expect(sink.mostBytes).toBeGreaterThan(pendingBytesMax);
  expect(sink.mostBytes).toBeLessThan(pendingBytesMax + sliceRecords * (valueBytes + 100));
  const held = sink.mostBytes;
  await world.clock.sleep(10_000);
  expect(sink.mostBytes).toBe(held);
  expect(world.log.committedNow('test.fa', 'src', 0)).toBeUndefined();
  sink.takeAll();
  await world.clock.sleep(1_000);
  worker.stop();
  await running;
  expect(world.log.committedNow('test.fa', 'src', 0)?.offset).toBe(records);
  expect(world.log.readCommitted('a')).toHaveLength(records);
  world.close();
});
