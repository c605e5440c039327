import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type KafkaLogOptions, openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { Log, LogReader } from '../../src/ports/log.ts';
import { recreateTopic, withAdmin } from '../support/kafka-admin.ts';
import { fillTopic, readTopic, textRecord } from '../support/log-worker.ts';
import { kafkaJars, type PrivateKafka, startPrivateKafka } from '../support/services.ts';

describe('records and batches of Kafka', () => {
  let kafka: PrivateKafka;
  let log: Log;
  const logs: Log[] = [];
  let names = 0;

  beforeAll(async () => {
    kafka = await startPrivateKafka({
      settings: { 'log.cleaner.backoff.ms': '200', 'log.retention.check.interval.ms': '1000' },
    });
    log = await connect();
  });

  afterAll(async () => {
    await Promise.allSettled(logs.map((client) => client.close()));
    await kafka.stop();
  });

  async function connect(options: Partial<KafkaLogOptions> = {}): Promise<Log> {
    const client = await openKafkaLog({
      brokers: [kafka.brokers],
      clientId: 'records',
      ...options,
    });
    logs.push(client);
    return client;
  }

  async function makeTopic(
    partitions: number,
    configs: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    names += 1;
    const name = `records-${names}`;
    await log.createTopics([{ name, partitions, replicationFactor: -1, configs }]);
    return name;
  }

  async function setConfig(topic: string, name: string, value: string): Promise<void> {
    await withAdmin(kafka.brokers, async (admin) => {
      await admin.alterConfigs({
        validateOnly: false,
        resources: [{ type: 2, name: topic, configEntries: [{ name, value }] }],
      });
    });
  }

  /** Reads until the position, and gives how many records there were. */
  async function readUpTo(reader: LogReader, position: number): Promise<number> {
    let count = 0;
    for (;;) {
      for (const slice of await reader.poll(10_000)) {
        while (slice.records.next()) count += 1;
        if (slice.nextOffset >= position) return count;
      }
    }
  }

  test.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const)(
    'P093 batches in %s, written by us',
    async (compression) => {
      const topic = await makeTopic(2);
      const client = await connect({ compression });
      const values = Array.from({ length: 5_000 }, (_, index) => `value ${index}`);
      await fillTopic(client, topic, 2, values);
      expect((await readTopic(log, topic, 2)).sort()).toEqual(values.sort());
    },
  );

  test.each(['gzip', 'snappy', 'lz4', 'zstd'])(
    'P093 batches in %s, written by the Java producer',
    async (codec) => {
      const topic = await makeTopic(1);
      const values = Array.from({ length: 20_000 }, (_, index) => `value ${index}`);
      const args = ['--bootstrap-server', kafka.brokers, '--topic', topic];
      const { status, stderr } = spawnSync(
        'java',
        ['-cp', `${await kafkaJars()}/*`, 'org.apache.kafka.tools.ConsoleProducer', ...args].concat(
          '--compression-codec',
          codec,
        ),
        { input: values.join('\n'), encoding: 'utf8' },
      );
      expect(status, stderr).toBe(0);
      expect(await readTopic(log, topic, 1)).toEqual(values);
    },
  );

  test('a record larger than a fetch of its partition is read, in every partition', async () => {
    const topic = await makeTopic(4, { 'max.message.bytes': '8000000' });
    await log.describeTopics([topic]);
    const values = Array.from({ length: 12 }, () => randomBytes(1_500_000).toString('base64'));
    await fillTopic(log, topic, 4, values);
    const client = await connect({ fetchPartitionBytesMax: 100_000, fetchAheadBytesMax: 400_000 });
    expect((await readTopic(client, topic, 4)).sort()).toEqual(values.sort());
  });

  test('a partition without records does not hold up the others', async () => {
    const full = await makeTopic(1);
    const empty = await makeTopic(1);
    await fillTopic(
      log,
      full,
      1,
      Array.from({ length: 50 }, () => randomBytes(100_000).toString('base64')),
    );
    // Each request on the empty partition waits longer than the test may take.
    const client = await connect({ fetchWaitMs: 25_000, fetchPartitionBytesMax: 150_000 });
    const reader = client.openReader();
    reader.assign(empty, 0, 0);
    expect(await reader.poll(200)).toEqual([]);
    reader.assign(full, 0, 0);
    expect(await readUpTo(reader, 50)).toBe(50);
    await reader.close();
  }, 20_000);

  test('what is assigned again is read from there, and nothing that was fetched before', async () => {
    const topic = await makeTopic(1);
    await fillTopic(
      log,
      topic,
      1,
      Array.from({ length: 100 }, (_, index) => `v${index}`),
    );
    const reader = log.openReader();
    reader.assign(topic, 0, 0);
    await reader.poll(10_000);
    reader.assign(topic, 0, 90);
    const [slice] = await reader.poll(10_000);
    expect(slice).toMatchObject({ fromOffset: 90, nextOffset: 100 });
    await reader.close();
  });

  test('P047 what the error of a lost offset tells', async () => {
    const topic = await makeTopic(1);
    await fillTopic(log, topic, 1, ['0', '1', '2', '3', '4', '5']);
    await log.deleteRecords(topic, new Map([[0, 4]]));
    const reader = log.openReader();
    reader.assign(topic, 0, 2);
    await expect(reader.poll(10_000)).rejects.toMatchObject({
      code: 'OFFSET_OUT_OF_RANGE',
      message: `topic "${topic}" partition 0: offset 2 is below the log start 4`,
      detail:
        '2 records were deleted before they were read; the log holds the offsets from 4 to 6.',
    });
    // Told once; the partition is not read any more.
    expect(await reader.poll(300)).toEqual([]);
    expect(reader.range(topic, 0)).toBeUndefined();
    await reader.close();
  });

  test('P053 a topic that is gone for good is told as missing', async () => {
    const topic = await makeTopic(1);
    const reader = log.openReader();
    reader.assign(topic, 0, 0);
    await reader.poll(100);
    await withAdmin(kafka.brokers, (admin) => admin.deleteTopics({ topics: [topic] }));
    await expect(reader.poll(60_000)).rejects.toMatchObject({ code: 'TOPIC_MISSING' });
    await reader.close();
  });

  test('P053 fetched by name, a recreated topic is noticed all the same', async () => {
    const topic = await makeTopic(1);
    await fillTopic(log, topic, 1, ['old 0', 'old 1', 'old 2']);
    const client = await connect({ fetchByTopicId: false });
    const reader = client.openReader();
    reader.assign(topic, 0, 0);
    expect(await readUpTo(reader, 3)).toBe(3);
    await recreateTopic(kafka.brokers, topic, 1);
    // As long as the old one was, so that no offset gives it away.
    await fillTopic(log, topic, 1, ['new 0', 'new 1', 'new 2']);
    await expect(reader.poll(60_000)).rejects.toMatchObject({ code: 'TOPIC_RECREATED' });
    await reader.close();
  });

  test('P057 offsets that compaction took away are passed over', async () => {
    const topic = await makeTopic(1, {
      'cleanup.policy': 'compact',
      'segment.ms': '200',
      'min.cleanable.dirty.ratio': '0.01',
      'delete.retention.ms': '0',
    });
    for (let round = 0; round < 10; round += 1) {
      const keys = Array.from({ length: 500 }, (_, index) => `R${index % 5}`);
      await fillTopic(log, topic, 1, keys);
    }
    let left = 5_000;
    for (let attempt = 0; left >= 1_000; attempt += 1) {
      if (attempt === 150) throw new Error('the broker never compacted');
      await new Promise((resolve) => setTimeout(resolve, 200));
      // Only a segment that is not written to any more is compacted.
      await fillTopic(log, topic, 1, ['tail']);
      left = (await readTopic(log, topic, 1)).length;
    }
    const range = (await log.offsetRanges(topic, [0])).get(0);
    const reader = log.openReader();
    reader.assign(topic, 0, 1);
    expect(await readUpTo(reader, range?.stable ?? 0)).toBeLessThan(1_000);
    await reader.close();
  });

  test('an end of the log that holds only aborted records and markers is reached', async () => {
    const topic = await makeTopic(1);
    await fillTopic(log, topic, 1, ['a']);
    const producer = await log.openProducer(`tx-${topic}`);
    for (let round = 0; round < 3; round += 1) {
      producer.append(topic, 0, textRecord('x', 'x'));
      await producer.drain(0);
      await producer.abort();
    }
    expect(await readTopic(log, topic, 1)).toEqual(['a']);
    const range = (await log.offsetRanges(topic, [0])).get(0);
    const reader = log.openReader();
    reader.assign(topic, 0, 1);
    expect(await readUpTo(reader, range?.end ?? 0)).toBe(0);
    await reader.close();
  });

  test('P097 a topic that takes smaller batches than before: the next try heeds it', async () => {
    const topic = await makeTopic(1);
    await log.describeTopics([topic]);
    await setConfig(topic, 'max.message.bytes', '20000');
    const values = Array.from({ length: 400 }, () => randomBytes(500).toString('base64'));
    const producer = await log.openProducer(`tx-${topic}`);
    const write = () => {
      for (const value of values) producer.append(topic, 0, textRecord('k', value));
    };
    write();
    await expect(producer.commit([])).rejects.toMatchObject({ code: 'TRANSACTION_ABORTED' });
    await producer.abort();
    write();
    await producer.commit([]);
    expect(await readTopic(log, topic, 1)).toEqual(values);
  });

  test('P095 a record that is too large is told with its topic, partition and size', async () => {
    const topic = await makeTopic(1);
    const producer = await log.openProducer(`tx-${topic}`);
    producer.append(topic, 0, textRecord('k', randomBytes(2_000_000).toString('base64')));
    await expect(producer.commit([])).rejects.toMatchObject({
      code: 'RECORD_TOO_LARGE',
      message: expect.stringContaining(`topic "${topic}" partition 0`),
    });
    await producer.abort();
    producer.append(topic, 0, textRecord('k', 'small'));
    await producer.commit([]);
    expect(await readTopic(log, topic, 1)).toEqual(['small']);
  });

  test('a record that is small enough once compressed is taken', async () => {
    const topic = await makeTopic(1);
    const value = 'abcdefgh'.repeat(400_000);
    await fillTopic(log, topic, 1, [value]);
    expect(await readTopic(log, topic, 1)).toEqual([value]);
  });

  test('records appended while a commit runs belong to the next one', async () => {
    const topic = await makeTopic(2);
    const producer = await log.openProducer(`tx-${topic}`);
    producer.append(topic, 0, textRecord('k', 'first'));
    const committing = producer.commit([]);
    producer.append(topic, 0, textRecord('k', 'second'));
    producer.append(topic, 1, textRecord('k', 'second'));
    expect([...(await committing).ends]).toEqual([[`${topic}/0`, 1]]);
    expect(producer.pendingBytes).toBeGreaterThan(0);
    // The marker of the first commit stands between them.
    expect((await producer.commit([])).ends.get(`${topic}/0`)).toBe(3);
    expect(producer.pendingBytes).toBe(0);
    expect(await readTopic(log, topic, 2)).toHaveLength(3);
  });

  test('what is lost with an abort is also lost when a commit ran', async () => {
    const topic = await makeTopic(1);
    const producer = await log.openProducer(`tx-${topic}`);
    producer.append(topic, 0, textRecord('k', 'kept'));
    const committing = producer.commit([]);
    producer.append(topic, 0, textRecord('k', 'dropped'));
    await committing;
    await producer.abort();
    producer.append(topic, 0, textRecord('k', 'later'));
    await producer.commit([]);
    expect(await readTopic(log, topic, 1)).toEqual(['kept', 'later']);
  });
});
