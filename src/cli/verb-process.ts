import { type ChildProcess, spawn } from 'node:child_process';
import { HttpProblem } from '../adapters/http/http-problem.ts';
import { type ErrorCode, FlowError, isErrorCode } from '../base/errors.ts';
import { type Config, environmentName, optionDeclarations } from '../config/options.ts';
import type { Clock } from '../ports/clock.ts';

export type VerbOutcome = {
  readonly exitCode: number;
  /** What it printed for machines. */
  readonly out: string;
  /** What it said of its failure; undefined: nothing, or nothing that can be read. */
  readonly error: FlowError | HttpProblem | undefined;
};

/** One run of a verb that may go on after somebody stopped waiting for it. */
export type VerbRun = {
  readonly ended: Promise<VerbOutcome>;
  stop(): void;
};

export type StartVerb = (args: readonly string[]) => VerbRun;

const outBytesMax = 4 * 1024 * 1024;
const errorBytesMax = 16 * 1024;

/**
 * Runs verbs of this same program in processes of their own, under the configuration of this one: what an operator asks
 * of a service is done as it would be from a command line, and its memory and its faults are not those of the service.
 * Invariant: what a process prints is bounded, and none outlives `close`.
 */
export class VerbProcesses {
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #files: readonly string[];
  readonly #living = new Set<ChildProcess>();

  constructor(config: Config, files: readonly string[]) {
    this.#environment = { ...process.env, ...environmentOf(config) };
    this.#files = files;
  }

  readonly start: StartVerb = (args) => {
    const files = this.#files.flatMap((file) => ['--pipeline', file]);
    const program = [...process.execArgv, process.argv[1] ?? ''];
    const child = spawn(process.execPath, [...program, ...args, ...files, '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: this.#environment,
    });
    this.#living.add(child);
    const ended = outcomeOf(child).finally(() => this.#living.delete(child));
    return { ended, stop: () => void child.kill('SIGTERM') };
  };

  async close(): Promise<void> {
    const ends = [...this.#living].map(
      (child) => new Promise<void>((resolve) => child.once('exit', () => resolve())),
    );
    for (const child of this.#living) child.kill('SIGTERM');
    await Promise.all(ends);
  }
}

/** The outcome of a verb that somebody waits for; what takes longer is stopped. */
export async function outcomeWithin(
  run: VerbRun,
  { clock, patienceMs }: { readonly clock: Clock; readonly patienceMs: number },
): Promise<VerbOutcome> {
  const late = clock.sleep(patienceMs).then(() => undefined);
  const outcome = await Promise.race([run.ended, late]);
  if (outcome !== undefined) return outcome;
  run.stop();
  throw new HttpProblem('TIMEOUT', `there is no answer after ${patienceMs} ms`, {
    hint: 'The same verb on a command line has no such limit. /readyz says whether Kafka answers.',
  });
}

/** The document that a verb printed, as it is: no digit of it passes through a JavaScript number. */
export function printed({ exitCode, out, error }: VerbOutcome): string {
  if (exitCode !== 0 && error !== undefined) {
    if (!error.message.endsWith('is not built yet')) throw error;
    throw new HttpProblem('NOT_BUILT', error.message);
  }
  const text = out.trim();
  if (exitCode === 0) return text === '' ? '{}' : text;
  throw new HttpProblem('INTERNAL', `the verb ended with ${exitCode} and no answer`);
}

function outcomeOf(child: ChildProcess): Promise<VerbOutcome> {
  let out = '';
  let err = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (out.length < outBytesMax) out += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    // The message comes last.
    err = (err + text).slice(-errorBytesMax);
  });
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ exitCode: 1, out, error: spawnError(error) }));
    child.once('close', (code) => resolve({ exitCode: code ?? 1, out, error: readError(err) }));
  });
}

function spawnError({ message }: Error): HttpProblem {
  return new HttpProblem('OVERLOADED', 'no further process can be started', {
    hint: `The system says: ${message}. Run the same verb on a command line.`,
    headers: { 'retry-after': '10' },
  });
}

/** The message of `errorText`, back as the error that it was. */
export function readError(text: string): FlowError | undefined {
  const lines = text.split('\n');
  const start = lines.findLastIndex((line) => /^error [A-Z_]+: /.test(line));
  const [, code = '', message = ''] = /^error ([A-Z_]+): (.*)$/.exec(lines[start] ?? '') ?? [];
  if (!isErrorCode(code)) return undefined;
  const rest = lines.slice(start + 1);
  const detail = rest.filter((line) => line.startsWith('  ')).map((line) => line.slice(2));
  const hint = rest.find((line) => line.startsWith('hint: '))?.slice('hint: '.length);
  return new FlowError(code satisfies ErrorCode, message, {
    ...(detail.length === 0 ? {} : { detail: detail.join('\n') }),
    ...(hint === undefined ? {} : { hint }),
  });
}

/** A configuration as the environment of a process that is to have the same. */
export function environmentOf(config: Config): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const { name, default: usual } of optionDeclarations) {
    const value = config[name as keyof Config];
    if (value === undefined || String(value) === String(usual ?? '')) continue;
    environment[environmentName(name)] = Array.isArray(value) ? value.join(',') : String(value);
  }
  return environment;
}
