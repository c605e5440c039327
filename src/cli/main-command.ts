import { FlowError } from '../base/errors.ts';
import { nearestNames } from '../base/nearest-name.ts';
import {
  type Command,
  type ExitCode,
  helpText,
  parseInvocation,
  type Terminal,
  usageError,
} from './command.ts';
import { commands } from './commands.ts';
import { errorJson, errorText, exitCodeOf } from './exit-code.ts';
import { version } from './version.ts';

/** Runs one verb. Invariant: every error ends in one message on standard error and an exit code, never in a stack trace, unless it is a bug. */
export async function runCommandLine(
  args: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  const [verb, ...rest] = args;
  try {
    if (verb === undefined || verb === '--help' || verb === '-h' || verb === 'help') {
      const named = commands.find(({ name }) => name === rest[0]);
      terminal.out(verb === 'help' && named !== undefined ? helpText(named) : overview());
      return verb === undefined ? 2 : 0;
    }
    if (verb === '--version') {
      terminal.out(`tidemark ${version}\n`);
      return 0;
    }
    const command = commands.find(({ name }) => name === verb);
    if (command === undefined) throw unknownVerb(verb);
    if (rest.includes('--help') || rest.includes('-h')) {
      terminal.out(helpText(command));
      return 0;
    }
    return await command.run(parseInvocation(command, rest, terminal));
  } catch (error) {
    return tell(error, rest, terminal);
  }
}

function tell(error: unknown, args: readonly string[], { out, err }: Terminal): ExitCode {
  if (!(error instanceof FlowError)) throw error;
  if (asksForJson(args)) out(`${JSON.stringify({ error: errorJson(error) })}\n`);
  err(errorText(error));
  return exitCodeOf(error);
}

/** Whatever else is wrong with the arguments: behind two hyphens nothing is an option. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).includes('--json');
}

function unknownVerb(verb: string): FlowError {
  const [near] = nearestNames(
    verb,
    commands.map(({ name }) => name),
  );
  const hint = near === undefined ? '' : `Did you mean "${near}"? `;
  return usageError(`there is no verb "${verb}"`, `${hint}tidemark --help lists all verbs.`);
}

function overview(): string {
  const lines = [
    'tidemark: keeps tables current from partial snapshots in Kafka',
    '',
    'Usage: tidemark VERB [arguments] [options]',
    '',
    'Verbs:',
    ...commands.map(({ name, summary }: Command) => `  ${name.padEnd(10)} ${summary}`),
    '',
    'tidemark VERB --help tells more, with an example.',
    'Exit codes: 0 done, 1 failed at run time, 2 usage, 3 the pipeline is invalid, 4 refused because data would be lost, 5 a test case failed.',
    '',
  ];
  return lines.join('\n');
}
