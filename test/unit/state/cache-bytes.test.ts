import { expect, test } from 'vitest';
import { workerSettings } from '../../../src/compose.ts';
import { loadConfig } from '../../../src/config/load-config.ts';

function cacheBytes(flags: Readonly<Record<string, string>>): number {
  const config = loadConfig({
    file: undefined,
    environment: {},
    flags: new Map(Object.entries(flags)),
  });
  return workerSettings(config, false).cacheBytesMax;
}

test('the cache in front of an embedded state is small, unless somebody sets it', () => {
  expect(cacheBytes({ 'state.kind': 'redis' })).toBe(64 << 20);
  expect(cacheBytes({ 'state.kind': 'embedded' })).toBe(8 << 20);
  expect(cacheBytes({ 'state.kind': 'embedded', 'state.cacheBytes': '33554432' })).toBe(32 << 20);
});
