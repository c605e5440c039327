import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { workerSettings } from '../../../src/compose.ts';
import { loadConfig } from '../../../src/config/load-config.ts';

function nameOf(once: boolean, name?: string): string {
  const flags = new Map<string, string>(name === undefined ? [] : [['instance.name', name]]);
  return workerSettings(loadConfig({ file: undefined, environment: {}, flags }), once).instance;
}

test('an update that nobody named does not take the place of the service beside it', () => {
  expect(nameOf(false)).toBe(hostname());
  expect(nameOf(true)).toBe(`${hostname()}-once`);
});

test('a name that was given stays as it is', () => {
  expect([nameOf(false, 'pod-0'), nameOf(true, 'pod-0')]).toEqual(['pod-0', 'pod-0']);
});
