import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { SimulationReport } from '../src/testing/simulate-pipeline.ts';
import { type Mutant, mutants } from './mutant-list.ts';

/**
 * `npm run mutants [-- --seeds N] [--only NAME] [--jobs N]`: plants one deliberate bug after another in a copy of the
 * source and simulates until it is found. The command fails where a bug is not found within its seeds, where the
 * source without any bug fails, or where the text that a bug changes is no longer there.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '6000' },
    only: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    run: { type: 'string' },
  },
});

const root = resolve(import.meta.dirname, '..');
const seedsMax = Number(values.seeds);
/** Of a seed that does not end at all. */
const silenceMsMax = 120_000;

type Outcome = {
  readonly name: string;
  /** undefined: it was not found. */
  readonly seed: number | undefined;
  readonly fault: string;
  readonly seeds: number;
  readonly cpuSeconds: number;
};

/** In a process of its own: simulates a copy until a seed fails. */
async function runCopy(folder: string): Promise<void> {
  const url = pathToFileURL(join(folder, 'src/testing/simulate-pipeline.ts')).href;
  const { simulate } = (await import(url)) as {
    simulate: (seed: number) => Promise<SimulationReport>;
  };
  for (let seed = 1; seed <= seedsMax; seed += 1) {
    const { faults } = await simulate(seed);
    const { user, system } = process.cpuUsage();
    const cpuSeconds = (user + system) / 1e6;
    const isLast = faults.length > 0 || seed === seedsMax;
    if (isLast || seed % 100 === 0) {
      process.send?.({ seed, fault: faults[0], cpuSeconds, isLast });
      await new Promise((done) => setImmediate(done));
    }
    if (isLast) break;
  }
  process.disconnect();
}

type Message = {
  readonly seed: number;
  readonly fault: string | undefined;
  readonly cpuSeconds: number;
  readonly isLast: boolean;
};

function plant({ name, edits }: Pick<Mutant, 'name' | 'edits'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-mutant-'));
  cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true });
  for (const file of ['package.json', 'tsconfig.json'])
    cpSync(join(root, file), join(folder, file));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, from, to } of edits) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    if (text.split(from).length !== 2) {
      rmSync(folder, { recursive: true });
      throw new Error(`mutant "${name}": ${file} does not hold its text exactly once:\n${from}`);
    }
    writeFileSync(
      path,
      text.replace(from, () => to),
    );
  }
  return folder;
}

async function tryMutant(one: Pick<Mutant, 'name' | 'edits'>): Promise<Outcome> {
  const folder = plant(one);
  try {
    return await simulateCopy(one.name, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function simulateCopy(name: string, folder: string): Promise<Outcome> {
  const args = [...process.execArgv, import.meta.filename, '--run', folder];
  const child = spawn(process.execPath, [...args, '--seeds', String(seedsMax)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  return new Promise((done) => {
    let last: Message = { seed: 0, fault: undefined, cpuSeconds: 0, isLast: false };
    const end = (seed: number | undefined, fault: string): void => {
      clearTimeout(silence);
      const { cpuSeconds } = last;
      done({ name, seed, fault, seeds: last.seed, cpuSeconds });
    };
    const silent = (): void => {
      child.kill('SIGKILL');
    };
    let silence = setTimeout(silent, silenceMsMax);
    child.on('message', (message: Message) => {
      last = message;
      clearTimeout(silence);
      silence = setTimeout(silent, silenceMsMax);
    });
    child.on('exit', (code, signal) => {
      if (last.isLast) end(last.fault === undefined ? undefined : last.seed, last.fault ?? '');
      // A world that hangs so that not even its clock leaps shows that something is wrong, too.
      else end(last.seed + 1, `the simulation ended with ${signal ?? code}`);
    });
  });
}

function printTable(outcomes: readonly Outcome[]): void {
  const width = Math.max(...outcomes.map(({ name }) => name.length));
  console.log(`${'mutant'.padEnd(width)}  found by seed  CPU s  first complaint`);
  for (const { name, seed, fault, seeds, cpuSeconds } of outcomes) {
    const found = seed === undefined ? `not in ${seeds}` : String(seed);
    const line = fault.split('\n')[0]?.slice(0, 110) ?? '';
    console.log(
      `${name.padEnd(width)}  ${found.padStart(13)}  ${cpuSeconds.toFixed(1).padStart(5)}  ${line}`,
    );
  }
}

async function main(): Promise<void> {
  const chosen = mutants.filter(({ name }) => values.only === undefined || name === values.only);
  // Every patch has to fit before the first one is tried.
  for (const one of chosen) rmSync(plant(one), { recursive: true });
  const waiting = [{ name: '(no mutant)', edits: [] }, ...chosen];
  const outcomes: Outcome[] = [];
  const lane = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const outcome = await tryMutant(one);
      outcomes.push(outcome);
      console.error(
        `${outcome.name}: ${outcome.seed === undefined ? 'not found' : `seed ${outcome.seed}`}`,
      );
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, lane));
  const order = new Map(chosen.map(({ name }, index) => [name, index]));
  outcomes.sort((a, b) => (order.get(a.name) ?? -1) - (order.get(b.name) ?? -1));
  printTable(outcomes);
  const bad = outcomes.filter(
    ({ name, seed }) => (name === '(no mutant)') !== (seed === undefined),
  );
  console.log(
    bad.length === 0
      ? `${chosen.length} of ${chosen.length} mutants found`
      : `not as it should be: ${bad.map(({ name }) => name).join(', ')}`,
  );
  if (bad.length > 0) process.exitCode = 1;
}

if (values.run === undefined) await main();
else await runCopy(values.run);
