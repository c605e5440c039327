import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { composeState } from '../../../src/compose.ts';
import { loadConfig } from '../../../src/config/load-config.ts';

const directory = mkdtempSync(join(tmpdir(), 'tidemark-wait-'));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('ST a state directory that a living process holds: said at once, with who, where and how long, and once', async () => {
  const owner = { pid: process.ppid, host: hostname(), started: '' };
  writeFileSync(join(directory, 'lock'), JSON.stringify(owner));
  const config = loadConfig({
    file: undefined,
    environment: {
      TIDEMARK_STATE_DIRECTORY: directory,
      TIDEMARK_RETRY_START_TIMEOUT_MS: '1000',
      TIDEMARK_RETRY_DELAY_MIN_MS: '100',
    },
    flags: new Map(),
  });
  const told: string[] = [];
  await expect(composeState(config, (text) => told.push(text))).rejects.toMatchObject({
    code: 'STATE_UNAVAILABLE',
    message: 'the state directory did not become free within 1 s',
    detail: expect.stringContaining(`"${directory}" is held by process ${process.ppid}`),
    hint: expect.stringContaining('state.directory'),
  });
  expect(told).toEqual([
    `The state directory is not free yet (state directory "${directory}" is held by process ${process.ppid} of this host); waiting up to 1 s for it`,
  ]);
});
