import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The built command line. TEST_SERVICE_MAIN names another build of it. */
const main = process.env['TEST_SERVICE_MAIN'] ?? resolve(import.meta.dirname, '../../dist/main.js');

export type ServiceOptions = {
  readonly brokers: string;
  readonly redisUrl: string;
  readonly pipeline: string;
  readonly instance: string;
  readonly sql: string;
  /** More options and flags, by their names in the configuration; they win over the defaults of tests. */
  readonly options?: Readonly<Record<string, string | number | boolean>>;
  readonly once?: boolean;
};

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** Short times, so that tests need not wait for the defaults of a service. Sessions are the default ones. */
const testOptions = {
  'group.rebalanceTimeoutMs': 10_000,
  'retry.delayMaxMs': 1_000,
};

/**
 * The service as an operator has it: a process of `tidemark run` that is told nothing but signals. Its log lines go to a
 * file that outlives its restarts, and are read back from there.
 */
export class ServiceProcess {
  readonly options: ServiceOptions;
  readonly #directory: string;
  readonly #logFile: string;
  #child: ChildProcess | undefined;
  #exit: Promise<Exit> = Promise.resolve({ code: null, signal: null });
  #stdout = '';
  /** Length of the log file before the last start. */
  #logStart = 0;

  constructor(options: ServiceOptions) {
    this.options = options;
    this.#directory = mkdtempSync(join(tmpdir(), 'tidemark-service-'));
    this.#logFile = join(this.#directory, 'service.log');
    mkdirSync(this.#directory, { recursive: true });
    writeFileSync(join(this.#directory, 'pipeline.sql'), options.sql);
    writeFileSync(this.#logFile, '');
  }

  get logFile(): string {
    return this.#logFile;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('the service was not started');
    return pid;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** What the last start printed on standard output. */
  get stdout(): string {
    return this.#stdout;
  }

  /** `more`: arguments of this start alone. */
  start(more: readonly string[] = []): this {
    if (this.isRunning) throw new Error('the service runs already');
    const { brokers, redisUrl, pipeline, instance, once } = this.options;
    const settings = {
      'pipeline.name': pipeline,
      'instance.name': instance,
      'kafka.brokers': brokers,
      'state.kind': 'redis',
      ...testOptions,
      ...this.options.options,
    };
    const args = [main, 'run', join(this.#directory, 'pipeline.sql')];
    for (const [name, value] of Object.entries(settings)) args.push(flag(name), String(value));
    if (once === true) args.push('--once');
    args.push(...more);
    const log = openSync(this.#logFile, 'a');
    this.#logStart = readFileSync(this.#logFile).length;
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', log],
      env: { ...process.env, TIDEMARK_REDIS_URL: redisUrl },
    });
    this.#stdout = '';
    child.stdout?.on('data', (bytes: Buffer) => {
      this.#stdout += bytes.toString('utf8');
    });
    living.add(child);
    this.#exit = new Promise((settle) => {
      child.once('exit', (code, signal) => {
        living.delete(child);
        settle({ code, signal });
      });
    });
    this.#child = child;
    return this;
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void {
    this.#child?.kill(signal);
  }

  /** Signals the end and waits for it. */
  async end(signal: 'SIGKILL' | 'SIGTERM' = 'SIGTERM', withinMs = 60_000): Promise<Exit> {
    if (this.isRunning) this.signal(signal);
    return await this.exited(withinMs);
  }

  async exited(withinMs = 60_000): Promise<Exit> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`the service did not end within ${withinMs} ms\n${this.tail()}`)),
        withinMs,
      );
    });
    try {
      return await Promise.race([this.#exit, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The log lines since the last start. */
  lines(): LogLine[] {
    return this.stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .flatMap((line) => {
        try {
          return [JSON.parse(line) as LogLine];
        } catch {
          // The last line of a process that was killed.
          return [];
        }
      });
  }

  /** What was written to standard error since the last start. */
  get stderr(): string {
    return readFileSync(this.#logFile).subarray(this.#logStart).toString('utf8');
  }

  /** The end of the log, of earlier starts too. */
  tail(lines = 30): string {
    return readFileSync(this.#logFile, 'utf8').split('\n').slice(-lines).join('\n');
  }

  /** Waits until it has work. */
  async isAssigned(withinMs?: number): Promise<this> {
    await this.sees('an assignment', ({ msg }) => msg === 'partitions assigned', withinMs);
    return this;
  }

  /** Waits for a log line since the last start. */
  async sees(
    what: string,
    isSeen: (line: LogLine) => boolean,
    withinMs = 60_000,
  ): Promise<LogLine> {
    let found: LogLine | undefined;
    await until(
      `the service logs ${what}`,
      () => {
        found = this.lines().find(isSeen);
        return Promise.resolve(found !== undefined);
      },
      { withinMs, onFailure: () => this.tail() },
    );
    return found as LogLine;
  }

  /** Kills what still runs, and removes its files unless they are to be kept. */
  async dispose({ isKept = false }: { readonly isKept?: boolean } = {}): Promise<void> {
    if (this.isRunning) {
      this.signal('SIGKILL');
      await this.exited();
    }
    if (!isKept) rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** Asks again and again until the answer is yes. */
export async function until(
  what: string,
  isTrue: () => Promise<boolean>,
  options: {
    readonly withinMs?: number;
    readonly everyMs?: number;
    readonly onFailure?: () => string;
  } = {},
): Promise<void> {
  const { withinMs = 60_000, everyMs = 100, onFailure } = options;
  const deadline = Date.now() + withinMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline) {
      throw new Error(`not within ${withinMs} ms: ${what}\n${onFailure?.() ?? ''}`);
    }
    await sleep(everyMs);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, ms));
}

const living = new Set<ChildProcess>();
// A run that is interrupted leaves no service behind, nor one that is stopped by SIGSTOP.
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** `group.sessionTimeoutMs` → `--group.session-timeout-ms`. */
function flag(option: string): string {
  return `--${option.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()}`;
}
