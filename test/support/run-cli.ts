import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExitCode } from '../../src/cli/command.ts';
import { runCommandLine } from '../../src/cli/main-command.ts';

export type CliResult = { readonly code: ExitCode; readonly out: string; readonly err: string };

/** Runs one verb in this process, with an environment of its own. */
export async function runCli(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  let out = '';
  let err = '';
  const code = await runCommandLine(args, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    isTerminal: false,
    environment,
    onStop: () => undefined,
  });
  return { code, out, err };
}

/** A folder of files for one test; `remove` deletes it. */
export class CliFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'tidemark-cli-'));

  write(name: string, text: string): string {
    const path = join(this.path, name);
    writeFileSync(path, text);
    return path;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
