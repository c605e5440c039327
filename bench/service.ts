import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
/** Of the kernel's clock that /proc tells times in. */
const ticksPerSecond = 100;

/** The built service as a process that runs until it is told to stop, looked at from outside. */
export class BenchService {
  readonly #child: ChildProcess;
  readonly #startedMs = performance.now();
  #log = '';

  constructor(file: string, environment: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, [join(root, 'dist/main.js'), 'run', file], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#log += chunk.toString('utf8');
    });
  }

  /** User and system time so far, all threads. */
  get cpuSeconds(): number {
    const text = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  }

  get rssMb(): number {
    const text = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1]) / 1024;
  }

  get peakRssMb(): number {
    const text = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(text)?.[1]) / 1024;
  }

  /** Seconds since its start. */
  get age(): number {
    return (performance.now() - this.#startedMs) / 1000;
  }

  /** Waits until it has its partitions; gives the seconds since its start. */
  async assigned(withinSeconds = 120): Promise<number> {
    while (!this.#log.includes('"partitions assigned"')) {
      if (this.#child.exitCode !== null) throw new Error(`the service ended:\n${this.#log}`);
      if (performance.now() - this.#startedMs > withinSeconds * 1000) {
        throw new Error(`the service got no partitions:\n${this.#log}`);
      }
      await sleep(5);
    }
    return this.age;
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((done) => this.#child.once('exit', done));
    this.#child.kill(signal);
    await ended;
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

export function quantile(sorted: readonly number[], share: number): number {
  const at = Math.min(sorted.length - 1, Math.floor(share * sorted.length));
  return sorted[at] ?? Number.NaN;
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
