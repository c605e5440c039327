import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEmbeddedStateStore } from '../../../src/adapters/embedded/embedded-state-store.ts';
import { everything } from '../../support/state-store-contract.ts';
import { clearEvery, stateAfter, writtenTask } from '../../support/written-batches.ts';

const writer = resolve(import.meta.dirname, '../../support/embedded-writer.ts');
const kills = 12;

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-state-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** Lets a process write for a while, then kills it without warning. */
async function writeAndKill(epoch: number, first: number, ms: number): Promise<void> {
  const args = ['--import', 'tsx', writer, directory, String(epoch), String(first)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<string>((done) => {
    let complaint = '';
    child.stderr.on('data', (text) => {
      complaint += text;
    });
    child.once('exit', (code, signal) => done(`${code} ${signal} ${complaint}`));
  });
  await Promise.race([
    ended,
    new Promise<void>((ready) => {
      child.stdout.once('data', () => ready());
    }),
  ]);
  await new Promise((done) => setTimeout(done, ms));
  child.kill('SIGKILL');
  expect(await ended).toBe('null SIGKILL ');
}

function differences(found: Map<string, string>, expected: Map<string, string>): string[] {
  const keys = new Set([...found.keys(), ...expected.keys()]);
  return [...keys].filter((key) => found.get(key) !== expected.get(key));
}

test('P077 rule 2: kill -9 at any moment leaves the state after one whole batch, and its mark', async () => {
  let last = -1;
  for (let run = 0; run < kills; run++) {
    await writeAndKill(2 * run + 1, last + 1, 20 + Math.random() * 150);
    const store = await openEmbeddedStateStore({ directory });
    const session = await store.open(writtenTask, 2 * run + 2);
    const mark = await session.mark();
    const found = await everything(session);
    if (mark === undefined) {
      // Between a clear and the write after it.
      expect(found).toEqual(new Map());
      last = (Math.floor(last / clearEvery) + 1) * clearEvery - 1;
    } else {
      expect(mark.offset).toBeGreaterThanOrEqual(last);
      expect(differences(found, stateAfter(mark.offset))).toEqual([]);
      last = mark.offset;
    }
    await store.close();
  }
  expect(last).toBeGreaterThan(kills);
}, 120_000);
