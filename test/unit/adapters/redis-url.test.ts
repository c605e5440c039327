import { expect, test } from 'vitest';
import { RedisClient } from '../../../src/adapters/redis/redis-client.ts';

function failureOf(url: string, more: { readonly password?: string } = {}): unknown {
  try {
    new RedisClient({ url, ...more }).close();
    return undefined;
  } catch (error) {
    return error;
  }
}

test('a URL of Redis with a user and no password is refused, and what stands there is not repeated', () => {
  const failure = failureOf('redis://hunter2@127.0.0.1:1/0');
  expect(failure).toMatchObject({
    code: 'CONFIG_INVALID',
    message: 'the URL of Redis names a user and no password',
    hint: expect.stringContaining('redis://:password@host:6379/0'),
  });
  const { message, hint } = failure as { readonly message: string; readonly hint: string };
  expect(`${message} ${hint}`).not.toContain('hunter2');
});

test.each([
  ['redis://127.0.0.1:1/0', {}],
  ['redis://:hunter2@127.0.0.1:1/0', {}],
  ['redis://user:hunter2@127.0.0.1:1/0', {}],
  ['redis://user@127.0.0.1:1/0', { password: 'hunter2' }],
])('%s passes', (url, more) => {
  expect(failureOf(url, more)).toBeUndefined();
});
