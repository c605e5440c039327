import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

/**
 * Builds the service that a check starts: what is measured or judged is the source as it stands, never a build of
 * before. Ends this process where the build fails; the compiler has said why.
 */
export function buildFirst(): void {
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd: resolve(import.meta.dirname, '..'),
    // Results go to standard output, all else to standard error.
    stdio: ['ignore', process.stderr, 'inherit'],
  });
  if (status !== 0) process.exit(status ?? 1);
}
