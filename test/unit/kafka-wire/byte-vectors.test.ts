import { describe, expect, test } from 'vitest';
import { fetch } from '../../../src/adapters/kafka/wire/fetch.ts';
import { joinGroup } from '../../../src/adapters/kafka/wire/join-group.ts';
import { produce } from '../../../src/adapters/kafka/wire/produce.ts';
import { ResponseReader, zeroUuid } from '../../../src/adapters/kafka/wire/response-reader.ts';

/** Bytes written by hand from the protocol's description, field by field. */
function hex(...fields: string[]): string {
  return fields.join('').replaceAll(' ', '');
}

function encoded(buffers: Buffer[]): string {
  return Buffer.concat(buffers).toString('hex');
}

const ascii = (text: string): string => Buffer.from(text, 'ascii').toString('hex');

const idHex = '00112233445566778899aabbccddeeff';
const topicId = Buffer.from(idHex, 'hex').toString('base64url');

describe('Fetch', () => {
  const request = {
    maxWaitMs: 500,
    minBytes: 1,
    maxBytes: 0x0100_0000,
    isolation: 'read_committed',
    partitions: [
      {
        topic: 'orders',
        topicId,
        partition: 2,
        offset: 0x1_0000_0001,
        leaderEpoch: 9,
        maxBytes: 4096,
      },
    ],
  } as const;

  const head = hex(
    'ffffffff', // replica id: a consumer
    '000001f4', // max wait
    '00000001', // min bytes
    '01000000', // max bytes
    '01', // read committed
    '00000000', // session id
    'ffffffff', // session epoch: no session
  );

  test('v11 request', () => {
    expect(encoded(fetch.encode(11, request))).toBe(
      hex(
        head,
        '00000001', // one topic
        '0006',
        ascii('orders'),
        '00000001', // one partition
        '00000002',
        '00000009', // leader epoch
        '0000000100000001', // fetch offset
        'ffffffffffffffff', // log start of a follower
        '00001000', // partition max bytes
        '00000000', // forgotten topics
        '0000', // rack
      ),
    );
  });

  test.each([
    [12, hex('07', ascii('orders'))],
    [13, idHex],
  ])('v%i request', (version, topic) => {
    expect(encoded(fetch.encode(version, request))).toBe(
      hex(
        head,
        '02', // one topic
        topic,
        '02', // one partition
        '00000002',
        '00000009',
        '0000000100000001',
        'ffffffff', // last fetched epoch
        'ffffffffffffffff',
        '00001000',
        '00', // tags of the partition
        '00', // tags of the topic
        '01', // forgotten topics: none
        '01', // rack: empty
        '00', // tags
      ),
    );
  });

  test('v15 request has no replica id', () => {
    expect(encoded(fetch.encode(15, request))).toBe(
      encoded(fetch.encode(13, request)).slice('ffffffff'.length),
    );
  });

  test.each([
    [12, hex('07', ascii('orders')), { topic: 'orders', topicId: zeroUuid }],
    [13, idHex, { topic: '', topicId }],
  ])('v%i reply', (version, topicHex, topic) => {
    const bytes = Buffer.from(
      hex(
        '0000000a', // throttled for 10 ms
        '0000', // no error
        '00000000', // session id
        '02', // one topic
        topicHex,
        '03', // two partitions
        '00000002',
        '0000',
        '0000000100000009', // high watermark
        '0000000100000007', // last stable offset
        '0000000000000005', // log start
        '02', // one aborted transaction
        '0000000000000fa0', // producer 4000
        '0000000000000006', // from offset 6
        '00',
        'ffffffff', // no preferred replica
        '04 616263', // three bytes of records
        '01 01 04 00000001', // a tag: the leader's id, which is passed over
        '00000003',
        '0001', // offset out of range
        'ffffffffffffffff',
        'ffffffffffffffff',
        'ffffffffffffffff',
        '00', // aborted transactions: null
        '00000004', // preferred replica
        '00', // records: null
        '00',
        '00', // tags of the topic
        '00', // tags
      ),
      'hex',
    );
    const reply = fetch.decode(version, new ResponseReader(bytes, true));
    expect(reply).toEqual({
      throttleMs: 10,
      errorCode: 0,
      partitions: [
        {
          ...topic,
          partition: 2,
          errorCode: 0,
          highWatermark: 0x1_0000_0009,
          lastStableOffset: 0x1_0000_0007,
          logStartOffset: 5,
          abortedTransactions: [{ producerId: 4000n, firstOffset: 6 }],
          preferredReadReplica: -1,
          records: Buffer.from('abc'),
        },
        {
          ...topic,
          partition: 3,
          errorCode: 1,
          highWatermark: -1,
          lastStableOffset: -1,
          logStartOffset: -1,
          abortedTransactions: null,
          preferredReadReplica: 4,
          records: Buffer.alloc(0),
        },
      ],
    });
    expect(reply.partitions[0]?.records.buffer).toBe(bytes.buffer);
  });
});

describe('Produce', () => {
  const batches = [Buffer.from('first batch'), Buffer.alloc(200, 'b')] as const;
  const request = {
    transactionalId: 'tx',
    acks: -1,
    timeoutMs: 1000,
    partitions: [
      { topic: 'out', partition: 0, batch: batches[0] },
      { topic: 'out', partition: 5, batch: batches[1] },
    ],
  };

  test('v9 request', () => {
    expect(encoded(produce.encode(9, request))).toBe(
      hex(
        '03',
        ascii('tx'),
        'ffff', // acks: all
        '000003e8', // timeout
        '02', // one topic
        '04',
        ascii('out'),
        '03', // two partitions
        '00000000',
        '0c', // 11 bytes
        ascii('first batch'),
        '00',
        '00000005',
        'c901', // 200 bytes
        '62'.repeat(200),
        '00',
        '00', // tags of the topic
        '00', // tags
      ),
    );
  });

  test('batches are handed on, not copied', () => {
    const buffers = produce.encode(12, request);
    expect(buffers).toContain(batches[0]);
    expect(buffers).toContain(batches[1]);
    expect(buffers).toHaveLength(5);
  });

  test('without a transaction', () => {
    expect(encoded(produce.encode(9, { ...request, transactionalId: null })).slice(0, 6)).toBe(
      '00ffff',
    );
  });

  test('v9 reply', () => {
    const bytes = Buffer.from(
      hex(
        '02', // one topic
        '04',
        ascii('out'),
        '02', // one partition
        '00000005',
        '0033', // concurrent transactions
        'ffffffffffffffff', // base offset
        'ffffffffffffffff', // log append time
        '0000000000000011', // log start
        '02', // one record error
        '00000003 00 00',
        '05',
        ascii('wait'),
        '00',
        '00',
        '00000007', // throttled
        '00',
      ),
      'hex',
    );
    expect(produce.decode(9, new ResponseReader(bytes, true))).toEqual({
      partitions: [
        {
          topic: 'out',
          partition: 5,
          errorCode: 51,
          baseOffset: -1,
          logStartOffset: 17,
          errorMessage: 'wait',
        },
      ],
      throttleMs: 7,
    });
  });
});

describe('JoinGroup', () => {
  const request = {
    group: 'g',
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 60_000,
    memberId: 'm',
    instanceId: 'pod-0',
    protocolType: 'consumer',
    protocols: [{ name: 'range', metadata: Buffer.from('ab') }],
    reason: 'began',
  };

  test('v5 request', () => {
    expect(encoded(joinGroup.encode(5, request))).toBe(
      hex(
        '0001 67',
        '00002710', // session timeout
        '0000ea60', // rebalance timeout
        '0001 6d',
        '0005',
        ascii('pod-0'),
        '0008',
        ascii('consumer'),
        '00000001', // one protocol
        '0005',
        ascii('range'),
        '00000002 6162',
      ),
    );
  });

  test('v9 request', () => {
    expect(encoded(joinGroup.encode(9, request))).toBe(
      hex(
        '02 67',
        '00002710',
        '0000ea60',
        '02 6d',
        '06',
        ascii('pod-0'),
        '09',
        ascii('consumer'),
        '02',
        '06',
        ascii('range'),
        '03 6162',
        '00', // tags of the protocol
        '06',
        ascii('began'),
        '00', // tags
      ),
    );
  });

  test('v5 reply', () => {
    const bytes = Buffer.from(
      hex(
        '00000000',
        '0000',
        '0000000c', // generation 12
        '0005',
        ascii('range'),
        '0002',
        ascii('m1'),
        '0002',
        ascii('m2'),
        '00000001', // one member
        '0002',
        ascii('m1'),
        'ffff', // no instance id
        '00000002 6162',
      ),
      'hex',
    );
    expect(joinGroup.decode(5, new ResponseReader(bytes, false))).toEqual({
      errorCode: 0,
      generation: 12,
      protocolName: 'range',
      leaderId: 'm1',
      skipAssignment: false,
      memberId: 'm2',
      members: [{ memberId: 'm1', instanceId: null, metadata: Buffer.from('ab') }],
    });
  });

  test('v9 reply that asks for a member id', () => {
    const bytes = Buffer.from(
      hex(
        '00000000',
        '004f', // member id required
        'ffffffff',
        '00', // protocol type: null
        '00', // protocol name: null
        '01', // leader: empty
        '01', // skip the assignment
        '03',
        ascii('m2'),
        '01', // no members
        '00',
      ),
      'hex',
    );
    expect(joinGroup.decode(9, new ResponseReader(bytes, true))).toEqual({
      errorCode: 79,
      generation: -1,
      protocolName: null,
      leaderId: '',
      skipAssignment: true,
      memberId: 'm2',
      members: [],
    });
  });
});
