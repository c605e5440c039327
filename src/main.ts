#!/usr/bin/env node
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Terminal } from './cli/command.ts';
import { onStopSignal } from './cli/stop-signals.ts';

// A service that is told to stop while it is still being loaded has nothing to end, and stops cleanly.
if (process.argv[2] === 'run') onStopSignal(() => process.exit(0));

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

/** argv → verb → exit code. */
const terminal: Terminal = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  drained: async () => {
    if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
  },
  isTerminal: process.stderr.isTTY === true,
  ...(process.stdin.isTTY === true && process.stderr.isTTY === true ? { ask } : {}),
  environment: process.env,
  onStop: onStopSignal,
};

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader went away (`| head`): nothing is left to say.
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

// Loaded only now: it takes a good part of a second.
const { runCommandLine } = await import('./cli/main-command.ts');
process.exitCode = await runCommandLine(process.argv.slice(2), terminal);
