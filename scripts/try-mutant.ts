import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { bundleSimulation, simulatingFlags } from './bundle-simulation.ts';
import type { Mutant } from './mutant-list.ts';
import type { CopyMessage } from './simulate-copy.ts';

export type MutantOutcome = {
  readonly name: string;
  /** undefined: it was not found. */
  readonly seed: number | undefined;
  readonly fault: string;
  readonly seeds: number;
  readonly cpuSeconds: number;
};

/** Goes along with the source, of which it imports what it simulates. */
const copyScript = 'simulate-copy.ts';

type Planted = Pick<Mutant, 'name' | 'edits' | 'shape' | 'disturbance'>;

const root = resolve(import.meta.dirname, '..');
/** Of a seed that does not end at all. */
const silenceMsMax = 120_000;

/** A copy of the source with a bug in it. Fails where the text that the bug changes is not there exactly once. */
export function plant({ name, edits }: Pick<Mutant, 'name' | 'edits'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-mutant-'));
  cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true });
  cpSync(join(root, 'scripts', copyScript), join(folder, 'scripts', copyScript));
  for (const file of ['package.json', 'tsconfig.json']) {
    cpSync(join(root, file), join(folder, file));
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, from, to } of edits) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    if (text.split(from).length !== 2) {
      rmSync(folder, { recursive: true });
      throw new Error(`mutant "${name}": ${file} does not hold its text exactly once:\n${from}`);
    }
    const mutated = text.replace(from, () => to);
    writeFileSync(path, mutated);
  }
  return folder;
}

/** Plants a bug in a copy of the source, and simulates until a seed fails: none of so many means that nothing was found. */
export async function tryMutant(one: Planted, seedsMax: number): Promise<MutantOutcome> {
  const folder = plant(one);
  try {
    const script = join(folder, 'simulate.mjs');
    await bundleSimulation(join(folder, 'scripts', copyScript), script);
    return await simulateCopy(one, script, seedsMax);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function simulateCopy(
  { name, shape, disturbance }: Planted,
  script: string,
  seedsMax: number,
): Promise<MutantOutcome> {
  const child = spawn(
    process.execPath,
    [...simulatingFlags, script, String(seedsMax), shape ?? '', disturbance ?? ''],
    {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  );
  return new Promise((done, fail) => {
    let last: CopyMessage | undefined;
    const end = (seed: number | undefined, fault: string): void => {
      done({ name, seed, fault, seeds: last?.seed ?? 0, cpuSeconds: last?.cpuSeconds ?? 0 });
    };
    const silent = (): void => {
      child.kill('SIGKILL');
    };
    let silence = setTimeout(silent, silenceMsMax);
    child.on('message', (message: CopyMessage) => {
      last = message;
      clearTimeout(silence);
      silence = setTimeout(silent, silenceMsMax);
    });
    // The end of the process can be told before its last messages are: those have all come once the channel is closed, too.
    const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    const closed = once(child, 'disconnect');
    void Promise.all([exited, closed]).then(([[code, signal]]) => {
      clearTimeout(silence);
      if (last === undefined) {
        fail(new Error(`mutant "${name}" does not even start: it ended with ${signal ?? code}`));
      } else if (last.isLast)
        end(last.fault === undefined ? undefined : last.seed, last.fault ?? '');
      // A world that hangs so that not even its clock leaps shows that something is wrong, too.
      else end(last.seed + 1, `the simulation ended with ${signal ?? code}`);
    }, fail);
  });
}
