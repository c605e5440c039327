import { expect, test } from 'vitest';
import {
  actionOf,
  brokerError,
  connectionError,
  isTransient,
} from '../../../../src/adapters/kafka/kafka-errors.ts';
import { kafkaErrorCode } from '../../../../src/adapters/kafka/wire/error-codes.ts';
import { FlowError } from '../../../../src/base/errors.ts';

const codes = Array.from({ length: 130 }, (_, index) => index).filter((code) => code !== 0);

test('a code is named as Kafka names it', () => {
  for (const code of codes) {
    const { message } = brokerError(code, 'topic "t" partition 3');
    expect(message).toMatch(/^topic "t" partition 3: /);
    if (!message.includes('UNKNOWN_ERROR')) {
      expect(message).toContain(`(${kafkaErrorCode(code).name}, ${code})`);
    }
  }
});

test('what is tried again has an error that says so, and the other way round', () => {
  for (const code of [-1, ...codes]) {
    const error = brokerError(code, 'broker 1');
    if (code === 3 || code === 100 || code === 103) continue;
    if (actionOf(code) !== 'fail') expect(isTransient(error), error.message).toBe(true);
  }
});

test.each([
  [22, 'TASK_MIGRATED'],
  [25, 'TASK_MIGRATED'],
  [82, 'TASK_MIGRATED'],
  [47, 'PRODUCER_FENCED'],
  [90, 'PRODUCER_FENCED'],
  [10, 'RECORD_TOO_LARGE'],
  [29, 'NOT_AUTHORIZED'],
  [120, 'TRANSACTION_ABORTED'],
])('P065 code %i is %s', (code, expected) => {
  expect(brokerError(code, 'here')).toMatchObject({ code: expected });
  expect(actionOf(code)).toBe('fail');
});

test('P087 a coordinator that is loading or has moved is waited for', () => {
  expect(actionOf(14)).toBe('retry');
  expect(actionOf(15)).toBe('coordinator');
  expect(actionOf(16)).toBe('coordinator');
});

test('the text of the broker is kept', () => {
  expect(brokerError(42, 'topic "t"', 'Bad thing').detail).toBe('The broker says: Bad thing');
});

test('an error of the client library becomes one of ours, by its kind', () => {
  const named = (name: string, message = 'x') => Object.assign(new Error(message), { name });
  const codeOf = (error: unknown) => connectionError(error, 'broker 1').code;
  expect(codeOf(named('KafkaJSSASLAuthenticationError'))).toBe('NOT_AUTHORIZED');
  expect(codeOf(named('KafkaJSConnectionError', 'Connection timeout'))).toBe('BROKER_TIMEOUT');
  expect(codeOf(named('KafkaJSConnectionError'))).toBe('BROKER_UNAVAILABLE');
  expect(codeOf('text')).toBe('BROKER_UNAVAILABLE');
  const own = new FlowError('TASK_MIGRATED', 'stays');
  expect(connectionError(own, 'broker 1')).toBe(own);
});

test.each([
  [3, 'tidemark plan'],
  [100, 'tidemark plan'],
  [103, 'tidemark plan'],
  [87, 'cleanup.policy=delete'],
  [88, 'a start of the pipeline ends it'],
])('code %i says what to do', (code, hint) => {
  expect(brokerError(code, 'topic "t"').hint).toContain(hint);
});
