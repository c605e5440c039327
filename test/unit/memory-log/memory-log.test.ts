import { describe, expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { stickyAssignment } from '../../../src/adapters/memory/sticky-assignment.ts';
import type { OutgoingRecord } from '../../../src/ports/log.ts';
import { ManualClock } from '../../../src/testing/manual-clock.ts';

const none = Buffer.alloc(0);

function record(value: string): OutgoingRecord {
  const bytes = Buffer.from(value);
  return {
    key: bytes,
    keyStart: 0,
    keyEnd: bytes.length,
    value: bytes,
    valueStart: 0,
    valueEnd: bytes.length,
    headers: none,
    headersStart: 0,
    headersEnd: 0,
    timestampMs: 1,
  };
}

function valuesOf(log: MemoryLog, topic: string): (string | undefined)[] {
  return log.readCommitted(topic).map(({ value }) => value?.toString());
}

describe('the helpers for tests', () => {
  test('what was produced is read back with its offset, key, headers and time', () => {
    const log = new MemoryLog();
    log.createTopic('t', 2);
    expect(log.produce('t', 1, { key: 'k', value: 'v', headers: { h: 'x' }, timestampMs: 5 })).toBe(
      0,
    );
    expect(log.produce('t', 1, { value: null, timestampMs: 6 })).toBe(1);
    expect(log.readCommitted('t')).toEqual([
      {
        partition: 1,
        offset: 0,
        timestampMs: 5,
        key: Buffer.from('k'),
        value: Buffer.from('v'),
        headers: [{ key: 'h', value: Buffer.from('x') }],
        transaction: 0,
      },
      {
        partition: 1,
        offset: 1,
        timestampMs: 6,
        key: null,
        value: null,
        headers: [],
        transaction: 0,
      },
    ]);
  });

  test('records of one transaction carry one number, open and aborted ones do not show', async () => {
    const log = new MemoryLog();
    log.createTopic('t', 2);
    const producer = await log.openProducer('p');
    producer.append('t', 0, record('a'));
    producer.append('t', 1, record('b'));
    expect(log.readCommitted('t')).toEqual([]);
    await producer.commit([]);
    producer.append('t', 0, record('dropped'));
    await producer.abort();
    producer.append('t', 0, record('c'));
    await producer.commit([]);
    const [a, c, b] = log.readCommitted('t');
    expect([a, c, b].map((found) => found?.value?.toString())).toEqual(['a', 'c', 'b']);
    expect(a?.transaction).toBe(b?.transaction);
    expect(c?.transaction).not.toBe(a?.transaction);
    // a, marker, dropped, marker, c
    expect(c?.offset).toBe(4);
  });
});

describe('slices', () => {
  test('with a bound of one record, each slice holds one', async () => {
    const log = new MemoryLog();
    log.createTopic('t', 1);
    for (const value of ['a', 'b', 'c']) log.produce('t', 0, { value });
    const reader = log.connect({ sliceRecordsMax: 1 }).openReader();
    reader.assign('t', 0, 0);
    const counts: number[] = [];
    for (let at = 0; at < 3; at += 1) {
      for (const slice of await reader.poll(0)) counts.push(slice.recordCountMax, slice.nextOffset);
    }
    expect(counts).toEqual([1, 1, 1, 2, 1, 3]);
  });

  test('a slice ends at its bound of bytes, but holds at least one record', async () => {
    const log = new MemoryLog({ sliceBytesMax: 10 });
    log.createTopic('t', 1);
    for (const size of [4, 4, 4, 50, 4]) log.produce('t', 0, { value: 'x'.repeat(size) });
    const reader = log.openReader();
    reader.assign('t', 0, 0);
    const counts: number[] = [];
    while (counts.length < 4) {
      for (const slice of await reader.poll(0)) counts.push(slice.recordCountMax);
    }
    expect(counts).toEqual([2, 1, 1, 1]);
  });

  test('thousands of records come in order over many segments', async () => {
    const log = new MemoryLog();
    log.createTopic('t', 1);
    const count = 20_000;
    for (let at = 0; at < count; at += 1)
      log.produce('t', 0, { key: `${at}`, value: 'x'.repeat(150) });
    const reader = log.openReader();
    reader.assign('t', 0, 0);
    let expected = 0;
    while (expected < count) {
      for (const { records } of await reader.poll(0)) {
        while (records.next()) {
          expect(records.offset).toBe(expected);
          expect(records.bytes.toString('utf8', records.keyStart, records.keyEnd)).toBe(
            `${expected}`,
          );
          expected += 1;
        }
      }
    }
    expect(await reader.poll(0)).toEqual([]);
  });
});

describe('compaction', () => {
  test('P057 keeps the last record of each key at its offset, and readers get past the gaps', async () => {
    const log = new MemoryLog();
    log.createTopic('t', 1);
    for (let at = 0; at < 10; at += 1) log.produce('t', 0, { key: `k${at % 2}`, value: `v${at}` });
    log.produce('t', 0, { key: 'k0', value: null });
    log.compact('t');
    expect(log.readCommitted('t').map(({ offset }) => offset)).toEqual([9, 10]);
    log.compact('t', { dropTombstones: true });
    expect(valuesOf(log, 't')).toEqual(['v9']);
    const reader = log.openReader();
    reader.assign('t', 0, 0);
    const [slice] = await reader.poll(0);
    expect(slice?.nextOffset).toBe(11);
    expect(slice?.records.next()).toBe(true);
    expect(slice?.records.offset).toBe(9);
  });

  test('leaves what is not settled, and drops what was aborted', async () => {
    const log = new MemoryLog();
    log.createTopic('t', 1);
    const aborted = await log.openProducer('a');
    log.produce('t', 0, { key: 'k', value: 'old' });
    aborted.append('t', 0, record('k'));
    await aborted.abort();
    const open = await log.openProducer('b');
    open.append('t', 0, record('k'));
    log.compact('t');
    expect(valuesOf(log, 't')).toEqual(['old']);
    await open.commit([]);
    expect(valuesOf(log, 't')).toEqual(['old', 'k']);
    log.compact('t');
    expect(valuesOf(log, 't')).toEqual(['k']);
  });
});

describe('processes', () => {
  test('a killed client is never answered, and its open transaction holds readers back until it times out', async () => {
    const clock = new ManualClock();
    const log = new MemoryLog({ clock, transactionTimeoutMs: 1000 });
    log.createTopic('t', 1);
    const client = log.connect();
    const producer = await client.openProducer('p');
    producer.append('t', 0, record('half'));
    client.kill();
    producer.append('t', 0, record('ghost'));
    let answered = false;
    void producer.commit([]).finally(() => {
      answered = true;
    });
    expect((await log.offsetRanges('t', [0])).get(0)).toEqual({ start: 0, stable: 0, end: 1 });
    await clock.advance(999);
    expect((await log.offsetRanges('t', [0])).get(0)?.stable).toBe(0);
    await clock.advance(1);
    expect((await log.offsetRanges('t', [0])).get(0)).toEqual({ start: 0, stable: 2, end: 2 });
    expect(valuesOf(log, 't')).toEqual([]);
    expect(answered).toBe(false);
  });

  test('a killed member keeps its partitions until its session is over', async () => {
    const clock = new ManualClock();
    const log = new MemoryLog({ clock });
    log.createTopic('t', 2);
    const options = {
      group: 'g',
      topics: ['t'],
      instanceId: undefined,
      sessionTimeoutMs: 1000,
      rebalanceTimeoutMs: 60_000,
    };
    const gone = log.connect();
    await gone.joinGroup(options).rejoin();
    gone.kill();
    let assigned: readonly number[] | undefined;
    const successor = log.joinGroup(options);
    void successor.rejoin().then(({ partitions }) => {
      assigned = partitions.get('t');
    });
    await clock.advance(999);
    expect(assigned).toBeUndefined();
    await clock.advance(1);
    expect(assigned).toEqual([0, 1]);
  });

  test('committed offsets are told only when a pending transaction is settled', async () => {
    const clock = new ManualClock();
    const log = new MemoryLog({ clock });
    log.createTopic('t', 1);
    let goOn: () => void = () => undefined;
    const client = log.connect({
      betweenCommitSteps: () =>
        new Promise((resolve) => {
          goOn = resolve;
        }),
    });
    const options = {
      group: 'g',
      topics: ['t'],
      instanceId: undefined,
      sessionTimeoutMs: 1000,
      rebalanceTimeoutMs: 1000,
    };
    const { identity } = await client.joinGroup(options).rejoin();
    const producer = await client.openProducer('p');
    const offsets = [{ topic: 't', partition: 0, offset: 5, metadata: 'm' }];
    const committing = producer.commit([{ member: identity, offsets }]);
    let told: unknown;
    const reading = log.committedOffsets('g', 't', [0]).then((found) => {
      told = found.get(0);
    });
    await clock.advance(10);
    expect(told).toBeUndefined();
    goOn();
    await Promise.all([committing, reading]);
    expect(told).toEqual({ offset: 5, metadata: 'm' });
  });

  test('a call that nothing befalls is done when it returns; a toll is paid before it is made and before it is answered', async () => {
    const log = new MemoryLog();
    const paid: string[] = [];
    let pay: () => void = () => undefined;
    const toll = {
      before: () => {
        paid.push(`before ${log.partitionCountNow('late')}`);
        return new Promise<void>((resolve) => {
          pay = resolve;
        });
      },
      after: () => {
        paid.push(`after ${log.partitionCountNow('late')}`);
        return undefined;
      },
    };
    const topic = { partitions: 2, configs: {}, replicationFactor: 1 };
    const atOnce = log.connect().createTopics([{ ...topic, name: 'at-once' }]);
    expect(log.partitionCountNow('at-once')).toBe(2);
    await atOnce;
    const client = log.connect({ tolls: { asking: toll, checkpoints: toll, commit: toll } });
    const late = client.createTopics([{ ...topic, name: 'late' }]);
    expect(log.partitionCountNow('late')).toBe(0);
    pay();
    await late;
    expect(paid).toEqual(['before 0', 'after 2']);
  });

  test('whoever fences between the two steps of a commit wins, and neither offsets nor records show', async () => {
    const log = new MemoryLog();
    log.createTopic('t', 1);
    const client = log.connect({ betweenCommitSteps: () => log.fence('p') });
    const producer = await client.openProducer('p');
    producer.append('t', 0, record('x'));
    const offsets = [{ topic: 't', partition: 0, offset: 5, metadata: '' }];
    const options = {
      group: 'g',
      topics: ['t'],
      instanceId: undefined,
      sessionTimeoutMs: 1000,
      rebalanceTimeoutMs: 1000,
    };
    const { identity } = await client.joinGroup(options).rejoin();
    await expect(producer.commit([{ member: identity, offsets }])).rejects.toMatchObject({
      code: 'PRODUCER_FENCED',
    });
    expect(valuesOf(log, 't')).toEqual([]);
    expect((await log.committedOffsets('g', 't', [0])).size).toBe(0);
  });

  test('offsets are set from outside only while the group is empty', async () => {
    const log = new MemoryLog();
    log.createTopic('t', 1);
    const outside = { group: 'g', memberId: '', instanceId: undefined, generation: -1 };
    const commit = {
      member: outside,
      offsets: [{ topic: 't', partition: 0, offset: 5, metadata: '' }],
    };
    const producer = await log.openProducer(undefined);
    await producer.commit([commit]);
    expect((await log.committedOffsets('g', 't', [0])).get(0)?.offset).toBe(5);
    const member = log.joinGroup({
      group: 'g',
      topics: ['t'],
      instanceId: undefined,
      sessionTimeoutMs: 1000,
      rebalanceTimeoutMs: 1000,
    });
    await member.rejoin();
    await expect(producer.commit([commit])).rejects.toMatchObject({ code: 'TASK_MIGRATED' });
    await member.leave();
    await producer.abort();
  });
});

describe('sticky assignment', () => {
  const counts = new Map([
    ['a', 4],
    ['b', 4],
  ]);
  const topics = ['a', 'b'];

  function load(assignment: ReadonlyMap<string, readonly string[]>): number[] {
    return [...assignment.values()].map((names) => names.length);
  }

  test('nothing moves when nothing changed', () => {
    const first = stickyAssignment(
      ['m1', 'm2', 'm3'].map((memberId) => ({ memberId, topics, held: [] })),
      counts,
    );
    const again = stickyAssignment(
      [...first].map(([memberId, held]) => ({ memberId, topics, held })),
      counts,
    );
    expect(again).toEqual(first);
    expect(load(first).sort()).toEqual([2, 3, 3]);
  });

  test('a member that joins takes no more than its share, of each topic', () => {
    const all = ['a/0', 'a/1', 'a/2', 'a/3', 'b/0', 'b/1', 'b/2', 'b/3'];
    const after = stickyAssignment(
      [
        { memberId: 'm1', topics, held: all },
        { memberId: 'm2', topics, held: [] },
      ],
      counts,
    );
    expect([...(after.get('m2') ?? [])].sort()).toEqual(['a/2', 'a/3', 'b/2', 'b/3']);
    expect([...(after.get('m1') ?? [])].sort()).toEqual(['a/0', 'a/1', 'b/0', 'b/1']);
  });

  test('a partition that two claim has one owner, and one that is gone has none', () => {
    const after = stickyAssignment(
      [
        { memberId: 'm1', topics: ['c'], held: ['c/0', 'c/9'] },
        { memberId: 'm2', topics: ['c'], held: ['c/0'] },
      ],
      new Map([['c', 2]]),
    );
    expect(after).toEqual(
      new Map([
        ['m1', ['c/0']],
        ['m2', ['c/1']],
      ]),
    );
  });
});
