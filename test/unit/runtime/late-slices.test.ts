import { expect, test } from 'vitest';
import type { LogReader, Slice } from '../../../src/ports/log.ts';
import { workerOf, worldOf } from '../../support/append-world.ts';

const sql = `CREATE SOURCE src (k INT, seq BIGINT);
CREATE STREAMING TABLE a WITH (topic = 'a');
CREATE FLOW fa AS INSERT INTO a BY NAME SELECT k, seq FROM STREAM(src);`;

/** Once, a slice of the source comes although the partition is to be read from its beginning again, with more in it. */
class HastyReader implements LogReader {
  isHasty = true;
  readonly #reader: LogReader;
  readonly #produceMore: () => void;

  constructor(reader: LogReader, produceMore: () => void) {
    this.#reader = reader;
    this.#produceMore = produceMore;
  }

  async poll(maxWaitMs: number): Promise<readonly Slice[]> {
    const slices = await this.#reader.poll(maxWaitMs);
    const [slice] = slices;
    if (this.isHasty && slice?.topic === 'src') {
      this.isHasty = false;
      this.#reader.assign(slice.topic, slice.partition, slice.fromOffset);
      this.#produceMore();
    }
    return slices;
  }

  assign = (topic: string, partition: number, offset: number): void =>
    this.#reader.assign(topic, partition, offset);
  unassign = (topic: string, partition: number): void => this.#reader.unassign(topic, partition);
  wake = (): void => this.#reader.wake();
  range = (topic: string, partition: number) => this.#reader.range(topic, partition);
  close = (): Promise<void> => this.#reader.close();
}

test('a slice that was on its way while its partition was taken over neither stops the flow nor comes twice', async () => {
  const world = worldOf(sql, 1);
  const produce = (...keys: number[]): void => {
    for (const k of keys) world.produce('src', { value: `{"k":${k},"seq":1}` });
  };
  produce(1, 2);
  const client = world.log.connect();
  const log = new Proxy(client, {
    get: (target, name) => {
      if (name === 'openReader') {
        return () => new HastyReader(target.openReader(), () => produce(3, 4, 5));
      }
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  const worker = await workerOf(world, sql, { sessionTimeoutMs: 3_000 }, log);
  const running = worker.run();
  const deadlineMs = world.clock.monotonic() + 60_000;
  while (world.log.committedNow('test.fa', 'src', 0)?.offset !== 5) {
    expect(world.clock.monotonic(), 'the flow stands still').toBeLessThan(deadlineMs);
    await world.clock.sleep(10);
  }
  expect(world.log.readCommitted('a')).toHaveLength(5);
  worker.stop();
  await running;
  world.close();
});
