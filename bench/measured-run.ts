import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

export type MeasuredRun = {
  /** From the start of the process to its end. */
  readonly seconds: number;
  /** From the start of the process until it had its partitions. */
  readonly startSeconds: number;
  readonly cpuSeconds: number;
  readonly peakRssMb: number;
  /** The longest single pause of the garbage collector. */
  readonly longestGcMs: number;
  readonly records: number;
  readonly outputRecords: number;
  readonly commits: number;
};

/** Runs the built service once, as a process of its own, and measures it from outside and at its exit. */
export async function measuredRun(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  folder: string,
): Promise<MeasuredRun> {
  const usageFile = join(folder, 'usage.json');
  const startedMs = performance.now();
  const startedAt = Date.now();
  const child = spawn(
    process.execPath,
    [
      '--import',
      join(root, 'bench/usage-at-exit.mjs'),
      join(root, 'dist/main.js'),
      ...args,
      '--once',
      '--json',
    ],
    {
      env: { ...process.env, ...environment, BENCH_USAGE_FILE: usageFile },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const code = await new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  const seconds = (performance.now() - startedMs) / 1000;
  const log = Buffer.concat(err).toString('utf8');
  if (code !== 0) throw new Error(`the service ended with exit code ${code}:\n${log}`);
  const summary = JSON.parse(Buffer.concat(out).toString('utf8')) as Record<string, number>;
  const used = JSON.parse(readFileSync(usageFile, 'utf8')) as Record<string, number>;
  return {
    seconds,
    startSeconds: (assignedAt(log) - startedAt) / 1000,
    cpuSeconds: (used['cpuMicros'] ?? Number.NaN) / 1e6,
    peakRssMb: (used['peakRssKb'] ?? Number.NaN) / 1024,
    longestGcMs: used['longestGcMs'] ?? Number.NaN,
    records: summary['records'] ?? 0,
    outputRecords: summary['outputRecords'] ?? 0,
    commits: summary['commits'] ?? 0,
  };
}

function assignedAt(log: string): number {
  for (const line of log.split('\n')) {
    if (!line.includes('"partitions assigned"')) continue;
    return Date.parse((JSON.parse(line) as { readonly time: string }).time);
  }
  return Number.NaN;
}
