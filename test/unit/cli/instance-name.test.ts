import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takeInstanceName } from '../../../src/cli/instance-name.ts';
import { workerSettings } from '../../../src/compose.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import type { Config } from '../../../src/config/options.ts';

function configOf(given: Readonly<Record<string, string>> = {}): Config {
  const base = { 'pipeline.name': 'p', 'kafka.brokers': 'b:9092', ...given };
  return loadConfig({ file: undefined, environment: {}, flags: new Map(Object.entries(base)) });
}

function nameOf(once: boolean, name?: string): string {
  return workerSettings(configOf(name === undefined ? {} : { 'instance.name': name }), once)
    .instance;
}

test('an update that nobody named does not take the place of the service beside it', () => {
  expect(nameOf(false)).toBe(hostname());
  expect(nameOf(true)).toBe(`${hostname()}-once`);
});

test('a name that was given stays as it is', () => {
  expect([nameOf(false, 'pod-0'), nameOf(true, 'pod-0')]).toEqual(['pod-0', 'pod-0']);
});

function within(use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-instance-'));
  try {
    use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('a second process of a host that nobody named does not throw the first one out', () => {
  within((folder) => {
    const first = takeInstanceName(configOf(), false, folder);
    const second = takeInstanceName(configOf(), false, folder);
    expect([first.name, first.isSecond]).toEqual([hostname(), false]);
    expect([second.name, second.isSecond]).toEqual([`${hostname()}-2`, true]);
    const update = takeInstanceName(configOf(), true, folder);
    expect(update.name).toBe(`${hostname()}-once`);
    // Another pipeline, and the same on other brokers, are not in the way.
    for (const other of [{ 'pipeline.name': 'q' }, { 'kafka.brokers': 'c:9092' }]) {
      const apart = takeInstanceName(configOf(other), false, folder);
      expect(apart.name).toBe(hostname());
      apart.release();
    }
    first.release();
    const third = takeInstanceName(configOf(), false, folder);
    expect(third.name).toBe(hostname());
    for (const one of [second, third, update]) one.release();
  });
});

test('a process that was killed leaves its name to the one that starts in its place', () => {
  within((folder) => {
    takeInstanceName(configOf(), false, folder).release();
    const [owner] = readdirSync(folder);
    const [pipeline] = readdirSync(join(folder, String(owner)));
    const lock = join(folder, String(owner), String(pipeline), hostname(), 'lock');
    // No process has this number: it is above what the system gives.
    writeFileSync(lock, JSON.stringify({ pid: 2 ** 30, host: hostname(), started: '1' }));
    const again = takeInstanceName(configOf(), false, folder);
    expect([again.name, again.isSecond]).toEqual([hostname(), false]);
    again.release();
  });
});

test('a name that was given is taken as it is, and so is the default where no lock can be kept', () => {
  within((folder) => {
    const named = configOf({ 'instance.name': 'pod-0' });
    expect(takeInstanceName(named, false, folder).name).toBe('pod-0');
    expect(takeInstanceName(named, true, folder).name).toBe('pod-0');
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect(takeInstanceName(configOf(), false, file).name).toBe(hostname());
  });
});
