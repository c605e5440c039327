import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<Of extends Options> = ReturnType<typeof parseArgs<{ options: Of }>>['values'];

/**
 * The options of a script. `--help` prints how it is used and ends it with 0; whatever is no option of it is told in one line,
 * and ends it with 2 before anything was done.
 */
export function scriptOptions<const Of extends Options>(usage: string, options: Of): Values<Of> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(`${usage.trim()}\n`);
    process.exit(0);
  }
  try {
    return parseArgs({ args, options }).values as Values<Of>;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

/** The value of an option that is a whole number from `least` on. */
export function wholeNumber(option: string, text: string, least = 1): number {
  const number = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(number) && number >= least) return number;
  return refuse(`--${option} takes a whole number from ${least}, not "${text}"`);
}

/** Ends the script for what it was asked for. */
export function refuse(what: string): never {
  const [line = ''] = what.split('\n');
  process.stderr.write(`${line.trim()} (--help tells what there is)\n`);
  process.exit(2);
}
