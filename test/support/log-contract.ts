import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FlowError } from '../../src/base/errors.ts';
import { HeaderWriter, readHeaders } from '../../src/data/record-headers.ts';
import type {
  Assignment,
  GroupMember,
  Log,
  LogProducer,
  LogReader,
  OffsetCommit,
  OffsetRange,
  Slice,
} from '../../src/ports/log.ts';

/** What the contract needs beside the port: a cluster, several processes on it, and admin deeds. */
export type LogHarness = {
  /** A client that shares nothing with the others but the cluster. */
  readonly connect: () => Promise<Log>;
  readonly recreateTopic: (name: string, partitions: number) => Promise<void>;
  readonly addPartitions: (name: string, total: number) => Promise<void>;
  /** Stops and continues the process behind a client. */
  readonly stall?: (log: Log) => void;
  readonly resume?: (log: Log) => void;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  /** For how long an answer of the cluster may take. */
  readonly patienceMs: number;
  readonly close: () => Promise<void>;
};

/** The contract of `ports/log.ts`, run on any adapter. `canStall`: the harness has `stall` and `resume`. */
export function describeLogContract(
  adapter: string,
  canStall: boolean,
  open: () => Promise<LogHarness>,
): void {
  describe(`log contract: ${adapter}`, () => {
    let harness: LogHarness;
    let log: Log;
    let names = 0;
    const clients: Log[] = [];

    beforeAll(async () => {
      harness = await open();
      log = await connect();
    });

    afterAll(async () => {
      await Promise.allSettled(clients.map((client) => client.close()));
      await harness.close();
    });

    async function connect(): Promise<Log> {
      const client = await harness.connect();
      clients.push(client);
      return client;
    }

    function unique(prefix: string): string {
      names += 1;
      return `${prefix}-${names}-${process.pid}`;
    }

    async function makeTopic(
      partitions = 1,
      configs: Readonly<Record<string, string>> = {},
    ): Promise<string> {
      const name = unique('topic');
      await log.createTopics([{ name, partitions, replicationFactor: -1, configs }]);
      return name;
    }

    function join(
      client: Log,
      group: string,
      topics: readonly string[],
      instanceId?: string,
    ): GroupMember {
      const { sessionTimeoutMs, rebalanceTimeoutMs } = harness;
      return client.joinGroup({ group, topics, instanceId, sessionTimeoutMs, rebalanceTimeoutMs });
    }

    async function until(what: string, condition: () => boolean): Promise<void> {
      const deadline = Date.now() + harness.patienceMs;
      while (!condition()) {
        if (Date.now() > deadline) throw new Error(`never came: ${what}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }

    /** Waits until ended transactions are so for readers too: a commit is safe before its marker is written. */
    async function settled(topic: string, partition = 0): Promise<OffsetRange> {
      const deadline = Date.now() + harness.patienceMs;
      for (;;) {
        const range = (await log.offsetRanges(topic, [partition])).get(partition);
        if (range !== undefined && range.stable === range.end) return range;
        if (Date.now() > deadline) throw new Error(`still open: ${topic}/${partition}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }

    /** Reads a partition in which no transaction is open. */
    async function readAll(topic: string, partition = 0): Promise<Seen[]> {
      await settled(topic, partition);
      return await readStable(topic, partition);
    }

    /** Reads up to the stable offset as it is now; what a new committed reader sees. */
    async function readStable(topic: string, partition = 0, from = 0): Promise<Seen[]> {
      const reader = log.openReader();
      reader.assign(topic, partition, from);
      const seen = await readUntilStable(reader, topic, partition, from);
      await reader.close();
      return seen;
    }

    async function readUntilStable(
      reader: LogReader,
      topic: string,
      partition: number,
      from: number,
    ): Promise<Seen[]> {
      const range = (await log.offsetRanges(topic, [partition])).get(partition);
      const stable = range?.stable ?? 0;
      const seen: Seen[] = [];
      let position = from;
      while (position < stable) {
        for (const slice of await reader.poll(harness.patienceMs)) {
          expect(slice.fromOffset).toBe(position);
          expect(slice.nextOffset).toBeGreaterThan(position);
          position = slice.nextOffset;
          seen.push(...recordsOf(slice));
        }
      }
      return seen;
    }

    describe('topics', () => {
      test('a missing topic is left out of the description', async () => {
        const topic = await makeTopic(3, { 'cleanup.policy': 'compact', 'retention.ms': '-1' });
        const found = await log.describeTopics([topic, 'no-such-topic']);
        expect([...found.keys()]).toEqual([topic]);
        expect(found.get(topic)).toMatchObject({ name: topic, partitions: 3 });
        expect(found.get(topic)?.configs.get('cleanup.policy')).toBe('compact');
        expect(found.get(topic)?.configs.get('retention.ms')).toBe('-1');
      });

      test('all topics are named, and one that is deleted no more', async () => {
        const topics = [await makeTopic(), await makeTopic(2)];
        const named = async () => (await log.topicNames()).filter((name) => topics.includes(name));
        expect(await named()).toEqual(topics.toSorted());
        await log.deleteTopics(topics.slice(1));
        expect(await named()).toEqual(topics.slice(0, 1));
        expect(await log.topicNames()).not.toContain('__consumer_offsets');
      });

      test('creating a topic that is there changes nothing', async () => {
        const topic = await makeTopic(2);
        const before = (await log.describeTopics([topic])).get(topic);
        await log.createTopics([
          { name: topic, partitions: 5, replicationFactor: -1, configs: {} },
        ]);
        expect((await log.describeTopics([topic])).get(topic)).toEqual(before);
      });

      test('a call that names a topic twice is refused', async () => {
        const twin = { name: unique('twin'), partitions: 1, replicationFactor: -1, configs: {} };
        await expect(log.createTopics([twin, twin])).rejects.toMatchObject({
          code: 'NOT_SUPPORTED',
        });
        expect((await log.describeTopics([twin.name])).size).toBe(0);
      });

      test('FR-22 the topics of a cluster tell its id', async () => {
        const found = await log.describeTopics([await makeTopic(), await makeTopic()]);
        const ids = [...found.values()].map(({ clusterId }) => clusterId);
        expect(ids).toEqual([expect.stringMatching(/./), ids[0]]);
      });

      test('the id changes when a topic is deleted and created again', async () => {
        const topic = await makeTopic();
        const before = (await log.describeTopics([topic])).get(topic)?.topicId;
        await harness.recreateTopic(topic, 1);
        const after = (await log.describeTopics([topic])).get(topic)?.topicId;
        expect(after).toBeDefined();
        expect(after).not.toBe(before);
      });
    });

    describe('records', () => {
      test('key, value, headers and timestamp come back as they were, null apart from empty', async () => {
        const topic = await makeTopic();
        const producer = await log.openProducer(undefined);
        write(producer, topic, 0, { key: 'k', value: 'v', headers: { a: '1', b: '' }, at: 1234 });
        write(producer, topic, 0, { key: null, value: '', at: 1235 });
        write(producer, topic, 0, { key: '', value: null, at: 1236 });
        await producer.commit([]);
        expect(await readAll(topic)).toEqual([
          { offset: 0, key: 'k', value: 'v', headers: { a: '1', b: '' }, at: 1234 },
          { offset: 1, key: null, value: '', headers: {}, at: 1235 },
          { offset: 2, key: '', value: null, headers: {}, at: 1236 },
        ]);
      });

      test('spans are copied before append returns', async () => {
        const topic = await makeTopic();
        const producer = await log.openProducer(undefined);
        const record = outgoing({ key: 'kk', value: 'before' });
        producer.append(topic, 0, record);
        record.value.fill(0);
        await producer.commit([]);
        expect((await readAll(topic)).map(({ value }) => value)).toEqual(['before']);
      });

      test('a reader goes on where it is told, and a restart reads again', async () => {
        const topic = await makeTopic();
        await fill(topic, 10);
        const reader = log.openReader();
        reader.assign(topic, 0, 7);
        expect((await readUntilStable(reader, topic, 0, 7)).map(offsetOf)).toEqual([7, 8, 9]);
        reader.assign(topic, 0, 9);
        expect((await readUntilStable(reader, topic, 0, 9)).map(offsetOf)).toEqual([9]);
        reader.unassign(topic, 0);
        expect(await reader.poll(20)).toEqual([]);
        await reader.close();
      });

      test('what was asked for before an assignment is not delivered after it', async () => {
        const topic = await makeTopic();
        await fill(topic, 10);
        const reader = log.openReader();
        reader.assign(topic, 0, 0);
        const pending = reader.poll(harness.patienceMs);
        reader.assign(topic, 0, 8);
        for (const slice of await pending) expect(slice.fromOffset).toBe(8);
        reader.assign(topic, 0, 5);
        const next = await reader.poll(harness.patienceMs);
        expect(next[0]?.fromOffset).toBe(5);
        reader.unassign(topic, 0);
        expect(await reader.poll(20)).toEqual([]);
        await reader.close();
      });

      test('a poll at the stable offset gives nothing, and the range is known', async () => {
        const topic = await makeTopic();
        await fill(topic, 3);
        const reader = log.openReader();
        expect(reader.range(topic, 0)).toBeUndefined();
        reader.assign(topic, 0, 3);
        await reader.poll(50);
        await until('a range', () => reader.range(topic, 0) !== undefined);
        expect(reader.range(topic, 0)).toEqual({ start: 0, stable: 3, end: 3 });
        expect(await reader.poll(20)).toEqual([]);
        await reader.close();
      });

      test('wake makes a pending poll return', async () => {
        const topic = await makeTopic();
        const reader = log.openReader();
        reader.assign(topic, 0, 0);
        const pending = reader.poll(600_000);
        setTimeout(() => reader.wake(), 20);
        expect(await pending).toEqual([]);
        await reader.close();
      });

      test('a pending poll gets what is appended later', async () => {
        const topic = await makeTopic();
        const reader = log.openReader();
        reader.assign(topic, 0, 0);
        const pending = reader.poll(harness.patienceMs);
        await fill(topic, 1);
        expect((await pending).flatMap(recordsOf).map(({ value }) => value)).toEqual(['v0']);
        await reader.close();
      });

      test('the bytes of a slice stay valid while it is referenced', async () => {
        const topic = await makeTopic();
        await fill(topic, 1);
        const reader = log.openReader();
        reader.assign(topic, 0, 0);
        const [slice] = await reader.poll(harness.patienceMs);
        await fill(topic, 200);
        expect(slice === undefined ? [] : recordsOf(slice).map(({ value }) => value)).toEqual([
          'v0',
        ]);
        await reader.close();
      });
    });

    describe('read committed', () => {
      test('an open transaction holds readers back, its end lets them see all of it', async () => {
        const topic = await makeTopic(2);
        const producer = await log.openProducer(unique('tx'));
        write(producer, topic, 0, { key: 'a', value: '1' });
        write(producer, topic, 1, { key: 'b', value: '2' });
        expect(await readStable(topic, 0)).toEqual([]);
        await producer.commit([]);
        expect((await readAll(topic, 0)).map(({ value }) => value)).toEqual(['1']);
        expect((await readAll(topic, 1)).map(({ value }) => value)).toEqual(['2']);
      });

      test('the offset after the last record of a commit is told, and the marker takes one more', async () => {
        const topic = await makeTopic(2);
        const producer = await log.openProducer(unique('tx'));
        write(producer, topic, 1, { value: '1' });
        write(producer, topic, 1, { value: '2' });
        const { ends } = await producer.commit([]);
        expect([...ends]).toEqual([[`${topic}/1`, 2]]);
        expect(await settled(topic, 1)).toEqual({ start: 0, stable: 3, end: 3 });
      });

      test('a slice without any record still moves the position', async () => {
        const topic = await makeTopic();
        const producer = await log.openProducer(unique('tx'));
        write(producer, topic, 0, { value: 'never' });
        await drained(producer);
        await producer.abort();
        const { end } = await settled(topic);
        expect(await readAll(topic)).toEqual([]);
        const reader = log.openReader();
        reader.assign(topic, 0, 0);
        let position = 0;
        while (position < end) {
          for (const slice of await reader.poll(harness.patienceMs)) position = slice.nextOffset;
        }
        expect(position).toBe(end);
        await reader.close();
      });

      /** Each step: producer, then what it does: a value it writes, or how it ends its transaction. */
      const torture: Readonly<Record<string, readonly string[]>> = {
        'abort, commit, abort, commit by one producer': [
          'a x1',
          'a abort',
          'a y1',
          'a commit',
          'a x2',
          'a abort',
          'a y2',
          'a commit',
        ],
        'of two producers the later one aborts first': [
          'a x1',
          'b x2',
          'b abort',
          'b y1',
          'a x3',
          'b commit',
          'a abort',
          'a y2',
          'a commit',
        ],
        'an aborted record that looks like an abort marker': [
          'a \0\0\0\0',
          'a x1',
          'a abort',
          'a y1',
          'a commit',
        ],
        'commit and abort interleaved': [
          'a y1',
          'b x1',
          'a y2',
          'a commit',
          'b x2',
          'b abort',
          'b y3',
          'b commit',
        ],
        'six aborts in a row': [
          'a x1',
          'a abort',
          'a x2',
          'a abort',
          'a x3',
          'a abort',
          'a x4',
          'a abort',
          'a x5',
          'a abort',
          'a x6',
          'a abort',
          'a y1',
          'a commit',
        ],
      };

      test.each(Object.entries(torture))('no aborted record shows: %s', async (_, steps) => {
        const topic = await makeTopic();
        const producers = new Map<string, LogProducer>();
        for (const step of steps) {
          const [name = '', deed = ''] = step.split(' ');
          const producer = producers.get(name) ?? (await log.openProducer(unique('tx')));
          producers.set(name, producer);
          if (deed === 'abort') await producer.abort();
          else if (deed === 'commit') await producer.commit([]);
          else {
            write(producer, topic, 0, { key: deed, value: deed });
            await drained(producer);
          }
        }
        const expected = steps
          .map((step) => step.split(' ')[1])
          .filter((deed) => deed?.[0] === 'y');
        expect((await readAll(topic)).map(({ value }) => value).sort()).toEqual(expected.sort());
      });

      test('two producers keep their transactions apart', async () => {
        const topic = await makeTopic();
        const first = await log.openProducer(unique('tx'));
        const second = await log.openProducer(unique('tx'));
        write(first, topic, 0, { value: 'first' });
        await drained(first);
        write(second, topic, 0, { value: 'second' });
        await second.commit([]);
        expect(await readStable(topic)).toEqual([]);
        await first.commit([]);
        expect((await readAll(topic)).map(({ value }) => value)).toEqual(['first', 'second']);
      });
    });

    describe('commits', () => {
      test('records and offsets with metadata become visible together', async () => {
        const source = await makeTopic(2);
        const target = await makeTopic();
        const group = unique('group');
        const member = join(log, group, [source]);
        const { identity } = await member.rejoin();
        const producer = await log.openProducer(unique('tx'));
        write(producer, target, 0, { value: 'out' });
        const commit = offsets(identity, source, { 0: [7, 'm0'] });
        expect((await log.committedOffsets(group, source, [0, 1])).size).toBe(0);
        await producer.commit([commit]);
        expect([...(await log.committedOffsets(group, source, [0, 1]))]).toEqual([
          [0, { offset: 7, metadata: 'm0' }],
        ]);
        expect((await readAll(target)).map(({ value }) => value)).toEqual(['out']);
        await member.leave();
      });

      test('an abort drops records, and the next commit is clean of them', async () => {
        const topic = await makeTopic();
        const producer = await log.openProducer(unique('tx'));
        write(producer, topic, 0, { value: 'dropped' });
        await producer.abort();
        write(producer, topic, 0, { value: 'kept' });
        await producer.commit([]);
        expect((await readAll(topic)).map(({ value }) => value)).toEqual(['kept']);
      });

      test('P131 an abort of nothing right after a commit does no harm', async () => {
        const topic = await makeTopic();
        const producer = await log.openProducer(unique('tx'));
        write(producer, topic, 0, { value: '1' });
        await producer.commit([]);
        await producer.abort();
        write(producer, topic, 0, { value: '2' });
        await producer.commit([]);
        expect((await readAll(topic)).map(({ value }) => value)).toEqual(['1', '2']);
      });

      test('a commit of nothing does nothing', async () => {
        const topic = await makeTopic();
        const producer = await log.openProducer(unique('tx'));
        expect((await producer.commit([])).ends.size).toBe(0);
        expect((await log.offsetRanges(topic, [0])).get(0)?.end).toBe(0);
      });

      test('offsets alone can be committed', async () => {
        const source = await makeTopic();
        const group = unique('group');
        const member = join(log, group, [source]);
        const { identity } = await member.rejoin();
        const producer = await log.openProducer(unique('tx'));
        await producer.commit([offsets(identity, source, { 0: [3, ''] })]);
        await producer.commit([offsets(identity, source, { 0: [5, 'later'] })]);
        expect((await log.committedOffsets(group, source, [0])).get(0)).toEqual({
          offset: 5,
          metadata: 'later',
        });
        await member.leave();
      });

      test('without a transactional id, records and offsets are committed too', async () => {
        const source = await makeTopic();
        const target = await makeTopic();
        const group = unique('group');
        const member = join(log, group, [source]);
        const { identity } = await member.rejoin();
        const producer = await log.openProducer(undefined);
        write(producer, target, 0, { value: 'out' });
        await producer.commit([offsets(identity, source, { 0: [1, 'm'] })]);
        expect((await readAll(target)).map(({ value }) => value)).toEqual(['out']);
        expect((await log.committedOffsets(group, source, [0])).get(0)?.offset).toBe(1);
        await member.leave();
      });

      test('P065 without a transactional id nothing is written once the writer may not any more', async () => {
        const source = await makeTopic();
        const target = await makeTopic();
        const group = unique('group');
        const member = join(log, group, [source]);
        expect(member.isInTouch).toBe(false);
        const { identity } = await member.rejoin();
        expect(member.isInTouch).toBe(true);
        let isOver = false;
        const producer = await log.openProducer(undefined, () => member.isInTouch && !isOver);
        write(producer, target, 0, { value: 'in time' });
        await producer.commit([offsets(identity, source, { 0: [1, ''] })]);
        isOver = true;
        write(producer, target, 0, { value: 'too late' });
        const late = producer.commit([offsets(identity, source, { 0: [2, ''] })]);
        await expect(late).rejects.toMatchObject({ code: 'TASK_MIGRATED' });
        expect((await readAll(target)).map(({ value }) => value)).toEqual(['in time']);
        expect((await log.committedOffsets(group, source, [0])).get(0)?.offset).toBe(1);
        await member.leave();
        await producer.close();
      });

      test('P063 a compacted topic refuses a record without a key', async () => {
        const topic = await makeTopic(1, { 'cleanup.policy': 'compact' });
        const producer = await log.openProducer(unique('tx'));
        write(producer, topic, 0, { key: null, value: 'x' });
        await expect(producer.commit([])).rejects.toBeInstanceOf(FlowError);
        await producer.abort().catch(() => undefined);
      });

      test('a record over the limit of the topic is refused', async () => {
        const topic = await makeTopic(1, { 'max.message.bytes': '10000' });
        const producer = await log.openProducer(unique('tx'));
        write(producer, topic, 0, { value: randomText(50_000) });
        await expect(producer.commit([])).rejects.toMatchObject({ code: 'RECORD_TOO_LARGE' });
        await producer.abort().catch(() => undefined);
        expect(await readAll(topic)).toEqual([]);
      });

      test('many transactions one after the other all come through', async () => {
        const topic = await makeTopic();
        const producer = await log.openProducer(unique('tx'));
        for (let index = 0; index < 30; index += 1) {
          write(producer, topic, 0, { value: String(index) });
          await producer.commit([]);
        }
        expect((await readAll(topic)).map(({ value }) => Number(value))).toEqual(
          Array.from({ length: 30 }, (_, index) => index),
        );
      });
    });

    describe('fencing', () => {
      test('P065 a producer that was taken over commits nothing', async () => {
        const topic = await makeTopic();
        const id = unique('tx');
        const zombie = await log.openProducer(id);
        write(zombie, topic, 0, { value: 'zombie' });
        await drained(zombie);
        const successor = await (await connect()).openProducer(id);
        write(successor, topic, 0, { value: 'successor' });
        await successor.commit([]);
        await expect(zombie.commit([])).rejects.toMatchObject({ code: 'PRODUCER_FENCED' });
        write(successor, topic, 0, { value: 'again' });
        await successor.commit([]);
        expect((await readAll(topic)).map(({ value }) => value)).toEqual(['successor', 'again']);
      });

      test('P073 fencing ends the transaction of a producer that is gone, and readers get past it', async () => {
        const topic = await makeTopic();
        const id = unique('tx');
        const gone = await log.openProducer(id);
        write(gone, topic, 0, { value: 'half' });
        await drained(gone);
        await fill(topic, 1);
        expect(await readStable(topic)).toEqual([]);
        await (await connect()).fence(id);
        expect((await readAll(topic)).map(({ value }) => value)).toEqual(['v0']);
        await expect(gone.commit([])).rejects.toMatchObject({ code: 'PRODUCER_FENCED' });
      });

      test('fencing an id that was never used is no error', async () => {
        await expect(log.fence(unique('tx'))).resolves.toBeUndefined();
      });

      test('P065 a commit of a past generation is refused, records and all', async () => {
        const source = await makeTopic(2);
        const target = await makeTopic();
        const group = unique('group');
        const first = join(log, group, [source]);
        const { identity } = await first.rejoin();
        const second = join(await connect(), group, [source]);
        const joined = second.rejoin();
        await until('a rebalance', () => first.status === 'rebalancing');
        const [now] = await Promise.all([first.rejoin(), joined]);
        expect(now.identity.generation).toBeGreaterThan(identity.generation);
        const producer = await log.openProducer(unique('tx'));
        write(producer, target, 0, { value: 'stale' });
        const commit = offsets(identity, source, { 0: [1, ''] });
        await expect(producer.commit([commit])).rejects.toMatchObject({ code: 'TASK_MIGRATED' });
        await producer.abort();
        expect(await readAll(target)).toEqual([]);
        expect((await log.committedOffsets(group, source, [0])).size).toBe(0);
        await Promise.all([first.leave(), second.leave()]);
      });

      test('a commit of a member that left is refused', async () => {
        const source = await makeTopic();
        const group = unique('group');
        const member = join(log, group, [source]);
        const { identity } = await member.rejoin();
        await member.leave();
        expect(member.status).toBe('left');
        const producer = await log.openProducer(unique('tx'));
        const commit = offsets(identity, source, { 0: [1, ''] });
        await expect(producer.commit([commit])).rejects.toMatchObject({ code: 'TASK_MIGRATED' });
        await producer.abort();
      });

      // Elsewhere a process of its own is stopped: test/integration/kafka-zombie.test.ts.
      if (canStall) {
        test('P065 a process that stopped past its session is thrown out and commits nothing', async () => {
          const source = await makeTopic(2);
          const target = await makeTopic();
          const group = unique('group');
          const zombieLog = await connect();
          const zombie = join(zombieLog, group, [source]);
          const before = await zombie.rejoin();
          const producer = await zombieLog.openProducer(unique('tx'));
          const survivor = join(log, group, [source]);
          const joined = survivor.rejoin();
          await until('a rebalance', () => zombie.status === 'rebalancing');
          harness.stall?.(zombieLog);
          const after = await joined;
          expect(partitionsOf(after, source)).toEqual([0, 1]);
          harness.resume?.(zombieLog);
          write(producer, target, 0, { value: 'zombie' });
          const commit = offsets(before.identity, source, { 0: [9, ''] });
          await expect(producer.commit([commit])).rejects.toMatchObject({ code: 'TASK_MIGRATED' });
          await producer.abort();
          await until('the loss to be seen', () => zombie.status === 'lost');
          const again = zombie.rejoin();
          await until('a rebalance', () => survivor.status === 'rebalancing');
          const [mine, others] = await Promise.all([again, survivor.rejoin()]);
          expect([...partitionsOf(mine, source), ...partitionsOf(others, source)].sort()).toEqual([
            0, 1,
          ]);
          expect(await readAll(target)).toEqual([]);
          await Promise.all([zombie.leave(), survivor.leave()]);
        });
      }
    });

    describe('what is gone', () => {
      test('P047 an offset below the log start is an error, never skipped', async () => {
        const topic = await makeTopic();
        await fill(topic, 10);
        await log.deleteRecords(topic, new Map([[0, 4]]));
        expect((await log.offsetRanges(topic, [0])).get(0)).toEqual({
          start: 4,
          stable: 10,
          end: 10,
        });
        const reader = log.openReader();
        reader.assign(topic, 0, 2);
        await expect(reader.poll(harness.patienceMs)).rejects.toMatchObject({
          code: 'OFFSET_OUT_OF_RANGE',
        });
        reader.assign(topic, 0, 4);
        expect((await readUntilStable(reader, topic, 0, 4)).map(offsetOf)).toEqual([
          4, 5, 6, 7, 8, 9,
        ]);
        await reader.close();
      });

      test('P049 records deleted while a reader lags are an error', async () => {
        const topic = await makeTopic();
        await fill(topic, 3);
        const reader = log.openReader();
        reader.assign(topic, 0, 0);
        await readUntilStable(reader, topic, 0, 0);
        await fill(topic, 3);
        const lagging = log.openReader();
        await log.deleteRecords(topic, new Map([[0, 5]]));
        lagging.assign(topic, 0, 3);
        await expect(lagging.poll(harness.patienceMs)).rejects.toMatchObject({
          code: 'OFFSET_OUT_OF_RANGE',
        });
        await Promise.all([reader.close(), lagging.close()]);
      });

      test('an offset beyond the end is an error', async () => {
        const topic = await makeTopic();
        await fill(topic, 2);
        const reader = log.openReader();
        reader.assign(topic, 0, 5);
        await expect(reader.poll(harness.patienceMs)).rejects.toMatchObject({
          code: 'OFFSET_OUT_OF_RANGE',
        });
        await reader.close();
      });

      test('P053 a topic that was deleted and created again is an error', async () => {
        const topic = await makeTopic();
        await fill(topic, 3);
        const reader = log.openReader();
        reader.assign(topic, 0, 0);
        expect(await readUntilStable(reader, topic, 0, 0)).toHaveLength(3);
        await harness.recreateTopic(topic, 1);
        await fill(topic, 5);
        await expect(pollUntilRejected(reader)).rejects.toMatchObject({ code: 'TOPIC_RECREATED' });
        await reader.close();
      });

      async function pollUntilRejected(reader: LogReader): Promise<void> {
        const deadline = Date.now() + harness.patienceMs;
        while (Date.now() < deadline) {
          const slices = await reader.poll(50);
          expect(slices.flatMap(recordsOf)).toEqual([]);
        }
      }
    });

    describe('groups', () => {
      test('one member has every partition', async () => {
        const topic = await makeTopic(4);
        const member = join(log, unique('group'), [topic]);
        expect(member.status).toBe('joining');
        const assignment = await member.rejoin();
        expect(member.status).toBe('stable');
        expect(partitionsOf(assignment, topic)).toEqual([0, 1, 2, 3]);
        await member.leave();
      });

      test('a second member gets half only after the first one rejoined, who keeps half of its own', async () => {
        const topic = await makeTopic(4);
        const group = unique('group');
        const first = join(log, group, [topic]);
        await first.rejoin();
        const second = join(await connect(), group, [topic]);
        let answered = false;
        const joining = second.rejoin().then((assignment) => {
          answered = true;
          return assignment;
        });
        await until('a rebalance', () => first.status === 'rebalancing');
        await new Promise((resolve) => setTimeout(resolve, 30));
        expect(answered).toBe(false);
        const [one, two] = await Promise.all([first.rejoin(), joining]);
        expect(one.identity.generation).toBe(two.identity.generation);
        expect(partitionsOf(one, topic)).toHaveLength(2);
        const both = [...partitionsOf(one, topic), ...partitionsOf(two, topic)];
        expect(both.sort()).toEqual([0, 1, 2, 3]);
        await Promise.all([first.leave(), second.leave()]);
      });

      test('who leaves hands its partitions over at once', async () => {
        const topic = await makeTopic(3);
        const group = unique('group');
        const first = join(log, group, [topic]);
        await first.rejoin();
        const second = join(await connect(), group, [topic]);
        const joining = second.rejoin();
        await until('a rebalance', () => first.status === 'rebalancing');
        const [kept] = await Promise.all([first.rejoin(), joining]);
        await second.leave();
        await until('a rebalance', () => first.status === 'rebalancing');
        const after = await first.rejoin();
        expect(partitionsOf(after, topic)).toEqual([0, 1, 2]);
        expect(partitionsOf(after, topic)).toEqual(
          expect.arrayContaining([...partitionsOf(kept, topic)]),
        );
        await first.leave();
      });

      test('offsets may be committed under the old generation until the rejoin', async () => {
        const topic = await makeTopic(2);
        const group = unique('group');
        const first = join(log, group, [topic]);
        const { identity } = await first.rejoin();
        const producer = await log.openProducer(unique('tx'));
        const second = join(await connect(), group, [topic]);
        const joining = second.rejoin();
        await until('a rebalance', () => first.status === 'rebalancing');
        await producer.commit([offsets(identity, topic, { 0: [4, 'finished'] })]);
        await Promise.all([first.rejoin(), joining]);
        expect((await log.committedOffsets(group, topic, [0])).get(0)?.offset).toBe(4);
        await Promise.all([first.leave(), second.leave()]);
      });

      test('P089 a static member comes back to its partitions, and its former self commits nothing', async () => {
        const topic = await makeTopic(4);
        const group = unique('group');
        const former = join(await connect(), group, [topic], 'pod-0');
        await former.rejoin();
        const other = join(log, group, [topic], 'pod-1');
        const joining = other.rejoin();
        await until('a rebalance', () => former.status === 'rebalancing');
        const [before] = await Promise.all([former.rejoin(), joining]);
        const again = join(await connect(), group, [topic], 'pod-0');
        const after = await again.rejoin();
        expect(partitionsOf(after, topic)).toEqual(partitionsOf(before, topic));
        expect(other.status).toBe('stable');
        const producer = await log.openProducer(unique('tx'));
        const stale = offsets(before.identity, topic, { 0: [1, ''] });
        await expect(producer.commit([stale])).rejects.toMatchObject({ code: 'TASK_MIGRATED' });
        await producer.abort();
        await producer.commit([offsets(after.identity, topic, { 0: [2, ''] })]);
        expect((await log.committedOffsets(group, topic, [0])).get(0)?.offset).toBe(2);
        await until('the loss to be seen', () => former.status === 'lost');
        await Promise.all([again.leave(), other.leave()]);
      });

      test('who does not rejoin within the rebalance timeout is thrown out', async () => {
        const topic = await makeTopic(2);
        const group = unique('group');
        const slow = join(log, group, [topic]);
        await slow.rejoin();
        const second = join(await connect(), group, [topic]);
        const assignment = await second.rejoin();
        expect(partitionsOf(assignment, topic)).toEqual([0, 1]);
        await until('the loss to be seen', () => slow.status === 'lost');
        await second.leave();
      });

      test('status changes are announced', async () => {
        const topic = await makeTopic();
        const group = unique('group');
        const member = join(log, group, [topic]);
        const seen: string[] = [];
        member.onStatus(() => seen.push(member.status));
        await member.rejoin();
        const second = join(await connect(), group, [topic]);
        const joining = second.rejoin();
        await until('a rebalance', () => member.status === 'rebalancing');
        await Promise.all([member.rejoin(), joining]);
        await member.leave();
        expect(seen).toEqual(['stable', 'rebalancing', 'stable', 'left']);
        await second.leave();
      });

      test('partitions that are added are given out', async () => {
        const topic = await makeTopic(1);
        const member = join(log, unique('group'), [topic]);
        await member.rejoin();
        await harness.addPartitions(topic, 3);
        await until('a rebalance', () => member.status === 'rebalancing');
        expect(partitionsOf(await member.rejoin(), topic)).toEqual([0, 1, 2]);
        await member.leave();
      });

      test('several topics are spread evenly', async () => {
        const topics = [await makeTopic(2), await makeTopic(2), await makeTopic(2)];
        const group = unique('group');
        const first = join(log, group, topics);
        await first.rejoin();
        const second = join(await connect(), group, topics);
        const joining = second.rejoin();
        await until('a rebalance', () => first.status === 'rebalancing');
        const both = await Promise.all([first.rejoin(), joining]);
        const names = both.map((assignment) =>
          topics.flatMap((topic) => partitionsOf(assignment, topic).map((p) => `${topic}/${p}`)),
        );
        expect(names.map((list) => list.length)).toEqual([3, 3]);
        expect(new Set(names.flat()).size).toBe(6);
        await Promise.all([first.leave(), second.leave()]);
      });
    });

    async function fill(topic: string, count: number): Promise<void> {
      const producer = await log.openProducer(undefined);
      for (let index = 0; index < count; index += 1) {
        write(producer, topic, 0, { key: `k${index}`, value: `v${index}` });
      }
      await producer.commit([]);
      await producer.close();
    }

    /** Waits until what was appended is in the log, so that an abort has something to abort. */
    async function drained(producer: LogProducer): Promise<void> {
      await producer.drain(0);
    }
  });
}

type Seen = {
  readonly offset: number;
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly at: number;
};

type Written = {
  readonly key?: string | null;
  readonly value: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly at?: number;
};

function outgoing({ key = 'key', value, headers = {}, at = 1_700_000_000_000 }: Written) {
  const section = new HeaderWriter();
  const entries = Object.entries(headers);
  if (entries.length > 0) section.begin(entries.length);
  for (const [name, text] of entries) section.addText(name, text);
  const headerBytes = section.writer.copy();
  const keyBytes = Buffer.from(key ?? '');
  const valueBytes = Buffer.from(value ?? '');
  return {
    key: keyBytes,
    keyStart: 0,
    keyEnd: key === null ? -1 : keyBytes.length,
    value: valueBytes,
    valueStart: 0,
    valueEnd: value === null ? -1 : valueBytes.length,
    headers: headerBytes,
    headersStart: 0,
    headersEnd: headerBytes.length,
    timestampMs: at,
  };
}

function write(producer: LogProducer, topic: string, partition: number, record: Written): void {
  producer.append(topic, partition, outgoing(record));
}

function recordsOf(slice: Slice): Seen[] {
  const seen: Seen[] = [];
  const { records } = slice;
  const text = (start: number, end: number) =>
    end < 0 ? null : records.bytes.toString('utf8', start, end);
  while (records.next()) {
    const headers: Record<string, string> = {};
    for (const { key, value } of readHeaders(
      records.bytes,
      records.headersStart,
      records.headersEnd,
    )) {
      headers[key] = value?.toString('utf8') ?? '';
    }
    seen.push({
      offset: records.offset,
      key: text(records.keyStart, records.keyEnd),
      value: text(records.valueStart, records.valueEnd),
      headers,
      at: records.timestampMs,
    });
  }
  expect(seen.length).toBeLessThanOrEqual(slice.recordCountMax);
  return seen;
}

function offsets(
  member: OffsetCommit['member'],
  topic: string,
  byPartition: Readonly<Record<number, readonly [number, string]>>,
): OffsetCommit {
  const list = Object.entries(byPartition).map(([partition, [offset, metadata]]) => ({
    topic,
    partition: Number(partition),
    offset,
    metadata,
  }));
  return { member, offsets: list };
}

function partitionsOf(assignment: Assignment, topic: string): readonly number[] {
  return assignment.partitions.get(topic) ?? [];
}

function offsetOf({ offset }: Seen): number {
  return offset;
}

/** Text that no codec makes small. */
function randomText(length: number): string {
  let state = 1;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += state.toString(36);
  }
  return text;
}
