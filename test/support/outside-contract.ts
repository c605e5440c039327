import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Log } from '../../src/ports/log.ts';
import { textRecord } from './log-worker.ts';

/** What tools need of a log beside the service: groups seen and set from outside, times, the end of topics. */
export function describeOutsideContract(adapter: string, open: () => Promise<Log>): void {
  describe(`log from outside: ${adapter}`, () => {
    let log: Log;
    let names = 0;

    beforeAll(async () => {
      log = await open();
    });

    afterAll(() => log.close());

    async function makeTopic(partitions = 1): Promise<string> {
      names += 1;
      const name = `outside-${names}-${process.pid}-${Date.now()}`;
      await log.createTopics([{ name, partitions, replicationFactor: -1, configs: {} }]);
      return name;
    }

    function join(group: string, topic: string) {
      return log.joinGroup({
        group,
        topics: [topic],
        instanceId: undefined,
        sessionTimeoutMs: 6_000,
        rebalanceTimeoutMs: 6_000,
      });
    }

    test('a group that nobody knows has no members and no checkpoints to delete', async () => {
      expect(await log.groupMembers(`nobody-${process.pid}`)).toEqual([]);
      await log.deleteCheckpoints(`nobody-${process.pid}`);
    });

    test('checkpoints of an empty group are set, read back, set again and deleted', async () => {
      const topic = await makeTopic(2);
      const group = `${topic}-group`;
      await log.commitCheckpoint(group, [
        { topic, partition: 0, offset: 5, metadata: 'five' },
        { topic, partition: 1, offset: 0, metadata: '' },
      ]);
      await log.commitCheckpoint(group, [{ topic, partition: 0, offset: 3, metadata: '' }]);
      expect(await log.committedOffsets(group, topic, [0, 1])).toEqual(
        new Map([
          [0, { offset: 3, metadata: '' }],
          [1, { offset: 0, metadata: '' }],
        ]),
      );
      expect(await log.groupMembers(group)).toEqual([]);
      await log.deleteCheckpoints(group);
      expect(await log.committedOffsets(group, topic, [0, 1])).toEqual(new Map());
    });

    test('FR-42 the groups that have a checkpoint in a topic are known', async () => {
      const [read, other] = [await makeTopic(2), await makeTopic()];
      for (const name of ['two', 'one']) {
        await log.commitCheckpoint(`${read}-${name}`, [
          { topic: read, partition: 1, offset: 0, metadata: '' },
        ]);
      }
      await log.commitCheckpoint(`${read}-two`, [
        { topic: other, partition: 0, offset: 0, metadata: '' },
      ]);
      expect(await log.groupsOn([read, other, `${read}-missing`])).toEqual(
        new Map([
          [read, [`${read}-one`, `${read}-two`]],
          [other, [`${read}-two`]],
          [`${read}-missing`, []],
        ]),
      );
      await log.deleteCheckpoints(`${read}-one`);
      expect((await log.groupsOn([read])).get(read)).toEqual([`${read}-two`]);
      await log.deleteCheckpoints(`${read}-two`);
    });

    test('while a member is there nothing is set from outside, and the member is told of', async () => {
      const topic = await makeTopic();
      const group = `${topic}-group`;
      const member = join(group, topic);
      const { identity } = await member.rejoin();
      const members = await log.groupMembers(group);
      expect(members.map(({ memberId }) => memberId)).toEqual([identity.memberId]);
      expect(members[0]?.host).not.toBe('');
      const offset = { topic, partition: 0, offset: 0, metadata: '' };
      await expect(log.commitCheckpoint(group, [offset])).rejects.toMatchObject({
        code: 'GROUP_BUSY',
      });
      await expect(log.deleteCheckpoints(group)).rejects.toMatchObject({ code: 'GROUP_BUSY' });
      await member.leave();
      await log.commitCheckpoint(group, [offset]);
      expect((await log.committedOffsets(group, topic, [0])).get(0)?.offset).toBe(0);
    });

    test('members that are taken for dead lose their seats at once', async () => {
      const topic = await makeTopic();
      const group = `${topic}-group`;
      await log.removeMembers(group);
      const member = join(group, topic);
      await member.rejoin();
      await log.removeMembers(group);
      await expect.poll(() => log.groupMembers(group)).toEqual([]);
      await log.commitCheckpoint(group, [{ topic, partition: 0, offset: 0, metadata: '' }]);
      await log.deleteCheckpoints(group);
    });

    test('the offset of a time is that of the first record as late; past the last it is the end', async () => {
      const topic = await makeTopic();
      const producer = await log.openProducer(undefined);
      const startMs = Date.now() - 60_000;
      for (const seconds of [0, 10, 20]) {
        const record = textRecord('k', String(seconds));
        producer.append(topic, 0, { ...record, timestampMs: startMs + seconds * 1000 });
      }
      await producer.commit([]);
      await producer.close();
      const offsetAt = async (ms: number) => (await log.offsetsAt(topic, [0], startMs + ms)).get(0);
      expect(await offsetAt(-5_000)).toBe(0);
      expect(await offsetAt(10_000)).toBe(1);
      expect(await offsetAt(10_001)).toBe(2);
      expect(await offsetAt(20_001)).toBe(3);
    });

    test('a topic that is deleted is gone, and may be created anew with another id', async () => {
      const topic = await makeTopic(2);
      const before = (await log.describeTopics([topic])).get(topic);
      await log.deleteTopics([topic, `${topic}-missing`]);
      expect((await log.describeTopics([topic])).size).toBe(0);
      await log.createTopics([{ name: topic, partitions: 1, replicationFactor: -1, configs: {} }]);
      const after = (await log.describeTopics([topic])).get(topic);
      expect(after?.partitions).toBe(1);
      expect(after?.topicId).not.toBe(before?.topicId);
    });
  });
}
