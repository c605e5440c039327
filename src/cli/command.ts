import { parseArgs } from 'node:util';
import { FlowError } from '../base/errors.ts';
import { nearestNames } from '../base/nearest-name.ts';
import { loadConfig } from '../config/load-config.ts';
import { valueText } from '../config/option-text.ts';
import { type Config, environmentName, flagName, optionDeclarations } from '../config/options.ts';

/** 0 done · 1 failed at run time · 2 usage · 3 invalid pipeline · 4 refused because data would be lost · 5 a test case failed. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5;

export type FlagSpec = {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  /** How the value is called in the help. */
  readonly value?: string;
  readonly doc: string;
};

/** One verb. Invariant: it prints results to `out` only, everything else to `err`, and never ends the process itself. */
export type Command = {
  readonly name: string;
  readonly summary: string;
  /** Arguments after the verb, such as `FILE…`. */
  readonly arguments: string;
  readonly example: string;
  readonly flags: Readonly<Record<string, FlagSpec>>;
  /** Whether every option of the configuration is also a flag of this verb. */
  readonly usesConfig: boolean;
  /** Whether its help lists those options. */
  readonly listsConfig?: boolean;
  /** Whether nobody may be looking on: an outage at the start is then waited out for as long as the configuration says. */
  readonly isUnattended?: boolean;
  readonly run: (invocation: Invocation) => Promise<ExitCode>;
};

export type Terminal = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Resolves when what was printed is on its way, so that a slow reader is never outrun; absent: nothing is held back. */
  readonly drained?: () => Promise<void>;
  readonly isTerminal: boolean;
  /** Asks whoever sits there; absent: nobody does. */
  readonly ask?: (question: string) => Promise<string>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Called once for SIGTERM or SIGINT. */
  readonly onStop: (listener: () => void) => void;
};

export class Invocation {
  readonly positionals: readonly string[];
  readonly terminal: Terminal;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #startMsMax: number;

  constructor(
    positionals: readonly string[],
    values: Readonly<Record<string, unknown>>,
    terminal: Terminal,
    startMsMax: number,
  ) {
    this.positionals = positionals;
    this.#values = values;
    this.terminal = terminal;
    this.#startMsMax = startMsMax;
  }

  get json(): boolean {
    return this.isSet('json');
  }

  isSet(flag: string): boolean {
    return this.#values[flag] === true;
  }

  text(flag: string): string | undefined {
    const value = this.#values[flag];
    return typeof value === 'string' ? value : undefined;
  }

  texts(flag: string): readonly string[] {
    const value = this.#values[flag];
    return Array.isArray(value) ? value.map(String) : [];
  }

  /** A whole number within bounds, or a usage error that names the flag. */
  whole(flag: string, bounds: { readonly min: number; readonly max: number }): number | undefined {
    const text = this.text(flag);
    if (text === undefined) return undefined;
    const number = Number(text);
    if (!Number.isSafeInteger(number) || number < bounds.min || number > bounds.max) {
      throw usageError(`--${flag} takes a whole number from ${bounds.min} to ${bounds.max}`);
    }
    return number;
  }

  config(): Config {
    const flags = new Map<string, string>();
    for (const { name } of optionDeclarations) {
      const value = this.#values[flagName(name).slice(2)];
      if (typeof value === 'string') flags.set(name, value);
    }
    const environment = this.terminal.environment;
    const config = loadConfig({ file: this.text('config'), environment, flags });
    const startMs = config['retry.startTimeoutMs'];
    const isAsked = flags.has('retry.startTimeoutMs');
    return {
      ...config,
      'retry.startTimeoutMs': isAsked ? startMs : Math.min(startMs, this.#startMsMax),
    };
  }

  /** One JSON document for machines. */
  printJson(value: unknown): void {
    this.terminal.out(`${JSON.stringify(value, undefined, 2)}\n`);
  }
}

export function usageError(message: string, hint?: string): FlowError {
  return new FlowError('USAGE', message, hint === undefined ? {} : { hint });
}

const commonFlags: Readonly<Record<string, FlagSpec>> = {
  help: { type: 'boolean', doc: 'Show this help.' },
  json: { type: 'boolean', doc: 'Answer with JSON on standard output.' },
};

function flagsOf(command: Command): Record<string, FlagSpec> {
  const flags: Record<string, FlagSpec> = { ...command.flags, ...commonFlags };
  if (command.usesConfig) {
    flags['config'] = {
      type: 'string',
      value: 'FILE',
      doc: 'Configuration file (default: tidemark.yaml where there is one).',
    };
    for (const { name, doc, secret } of optionDeclarations) {
      // A secret on a command line would stand in every process list.
      if (secret !== true) flags[flagName(name).slice(2)] = { type: 'string', value: 'VALUE', doc };
    }
  }
  return flags;
}

/**
 * Who waits for an answer would rather hear soon that nobody is there. The settings of a service, which it finds in a pod,
 * are for a start that nobody waits for.
 */
function startMsMaxOf({ isUnattended }: Command): number {
  return isUnattended === true ? Number.POSITIVE_INFINITY : 10_000;
}

/** Parses the arguments after the verb; throws USAGE with what is wrong. */
export function parseInvocation(
  command: Command,
  args: readonly string[],
  terminal: Terminal,
): Invocation {
  const options: Record<string, { type: 'string' | 'boolean'; multiple?: boolean }> = {};
  for (const [name, { type, multiple }] of Object.entries(flagsOf(command))) {
    options[name] = multiple === true ? { type, multiple } : { type };
  }
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      strict: true,
    });
    return new Invocation(positionals, values, terminal, startMsMaxOf(command));
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const isValue = /^Unknown option '-[^-]/.test(text);
    const unknown = /^Unknown option '--([^']+)'/.exec(text)?.[1];
    const [near] = unknown === undefined ? [] : nearestNames(unknown, Object.keys(options));
    throw usageError(
      parserText(text),
      `${near === undefined ? '' : `Did you mean --${near}? `}${isValue ? 'What begins with a hyphen and is no option goes after two: -- -1. ' : ''}tidemark ${command.name} --help lists what it takes.`,
    );
  }
}

/** What the parser of arguments says, as a clause of ours. */
function parserText(text: string): string {
  const first = text.split(/\. |\.?\n/)[0] ?? text;
  const missing = /^Option '(-[^ ']+)[^']*' argument (?:missing|is ambiguous)/.exec(first)?.[1];
  if (missing !== undefined) return `option ${missing} needs a value`;
  const superfluous = /^Option '([^']+)' does not take an argument/.exec(first)?.[1];
  if (superfluous !== undefined) return `option ${superfluous} takes no value`;
  return first.replace(/^Unknown option/, 'unknown option');
}

export function helpText(command: Command): string {
  const own = Object.entries({ ...command.flags, ...commonFlags }).map(
    ([name, { value, doc }]) =>
      `  ${`--${name}${value === undefined ? '' : ` ${value}`}`.padEnd(26)} ${doc}`,
  );
  const lines = [
    `tidemark ${command.name}: ${command.summary}`,
    '',
    `Usage: tidemark ${command.name} ${command.arguments} [options]`.replaceAll('  ', ' '),
    '',
    'Options:',
    ...own,
  ];
  if (command.usesConfig) {
    lines.push(
      '  --config FILE              Configuration file (default: tidemark.yaml where there is one).',
    );
    if (command.listsConfig === true) lines.push('', ...configHelp());
    else {
      lines.push(
        '  --kafka.brokers … etc.     Every option of the configuration: see tidemark config --help.',
      );
    }
  }
  lines.push('', 'Example:', `  ${command.example}`, '');
  return lines.join('\n');
}

function configHelp(): string[] {
  const lines = [
    'Options of the configuration, each in the file, in the environment or as a flag:',
  ];
  for (const option of optionDeclarations) {
    const { name, secret, doc } = option;
    const flag = secret === true ? 'no flag: it is a secret' : flagName(name);
    lines.push(
      `  ${name} (${valueText(option)})`,
      `      ${doc}`,
      `      ${environmentName(name)}, ${flag}`,
    );
  }
  return lines;
}
