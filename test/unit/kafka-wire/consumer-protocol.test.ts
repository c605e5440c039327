import { describe, expect, test } from 'vitest';
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from '../../../src/adapters/kafka/wire/consumer-protocol.ts';
import { kafkaErrorCode } from '../../../src/adapters/kafka/wire/error-codes.ts';
import { FlowError } from '../../../src/base/errors.ts';

describe('subscription', () => {
  const subscription = {
    topics: ['orders', 'sales'],
    userData: Buffer.from('u'),
    ownedPartitions: [
      { topic: 'orders', partition: 3 },
      { topic: 'orders', partition: 1 },
      { topic: 'sales', partition: 0 },
    ],
    generation: 7,
  };

  test('round trip', () => {
    expect(decodeSubscription(encodeSubscription(subscription))).toEqual(subscription);
    const least = { topics: [], userData: null, ownedPartitions: [], generation: -1 };
    expect(decodeSubscription(encodeSubscription(least))).toEqual(least);
  });

  test('bytes', () => {
    const least = { topics: ['a'], userData: null, ownedPartitions: [], generation: 5 };
    expect(encodeSubscription(least).toString('hex')).toBe(
      '0002' + '00000001' + '000161' + 'ffffffff' + '00000000' + '00000005',
    );
  });

  test('older and newer versions are read', () => {
    const v0 = Buffer.from('0000' + '00000001' + '000161' + 'ffffffff', 'hex');
    expect(decodeSubscription(v0)).toEqual({
      topics: ['a'],
      userData: null,
      ownedPartitions: [],
      generation: -1,
    });
    const owned = '00000001' + '000161' + '00000001' + '00000004';
    const v1 = Buffer.from('0001' + '00000001' + '000161' + '00000000' + owned, 'hex');
    expect(decodeSubscription(v1)).toEqual({
      topics: ['a'],
      userData: Buffer.alloc(0),
      ownedPartitions: [{ topic: 'a', partition: 4 }],
      generation: -1,
    });
    const v3 = Buffer.from('0003' + '00000000' + 'ffffffff' + owned + '00000009' + '000172', 'hex');
    expect(decodeSubscription(v3)).toMatchObject({ generation: 9 });
  });

  test('cut short', () => {
    const bytes = encodeSubscription(subscription);
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeSubscription(bytes.subarray(0, length))).toThrow(FlowError);
    }
  });
});

describe('assignment', () => {
  test('round trip', () => {
    const assignment = {
      partitions: [
        { topic: 'orders', partition: 0 },
        { topic: 'sales', partition: 2 },
        { topic: 'sales', partition: 1 },
      ],
      userData: Buffer.from('u'),
    };
    const bytes = encodeAssignment(assignment);
    expect(decodeAssignment(bytes)).toEqual(assignment);
    for (let length = 1; length < bytes.length; length += 1) {
      expect(() => decodeAssignment(bytes.subarray(0, length))).toThrow(FlowError);
    }
  });

  test('a member without partitions may be handed nothing at all', () => {
    expect(decodeAssignment(Buffer.alloc(0))).toEqual({ partitions: [], userData: null });
  });
});

describe('error codes', () => {
  test.each([
    [0, 'NONE', false],
    [1, 'OFFSET_OUT_OF_RANGE', false],
    [6, 'NOT_LEADER_OR_FOLLOWER', true],
    [22, 'ILLEGAL_GENERATION', false],
    [51, 'CONCURRENT_TRANSACTIONS', true],
    [88, 'UNSTABLE_OFFSET_COMMIT', true],
    [90, 'PRODUCER_FENCED', false],
    [100, 'UNKNOWN_TOPIC_ID', true],
    [133, 'SHARE_SESSION_LIMIT_REACHED', true],
    [-1, 'UNKNOWN_SERVER_ERROR', false],
    [4242, 'ERROR_4242', false],
  ])('%i is %s', (code, name, retriable) => {
    expect(kafkaErrorCode(code)).toEqual({ name, retriable });
  });

  test('all codes up to the last are named, each once', () => {
    const names = Array.from({ length: 135 }, (_, index) => kafkaErrorCode(index - 1).name);
    expect(new Set(names).size).toBe(135);
    expect(names.some((name) => name.startsWith('ERROR_'))).toBe(false);
  });
});
