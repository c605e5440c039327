import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const main = join(import.meta.dirname, '../../../src/main.ts');

/** Sends the signal as soon as the process listens for it; without a listener the verb runs to its end. */
const preload = `data:text/javascript,${encodeURIComponent(`
  const ask = () => {
    if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM');
    else setImmediate(ask).unref();
  };
  ask();
`)}`;

function endOf(verb: string): number | null {
  const { status } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--import', preload, main, verb, '/nowhere/pipeline.sql'],
    { encoding: 'utf8', timeout: 30_000 },
  );
  return status;
}

test('SIGTERM while the service is still being loaded is a clean stop', () => {
  expect(endOf('run')).toBe(0);
});

test('of any other verb it would pass for success: there the signal does as ever', () => {
  expect(endOf('validate')).not.toBe(0);
});

test('a signal that arrives while the reaction changes is not lost', () => {
  const signals = join(import.meta.dirname, '../../../src/cli/stop-signals.ts');
  const script = `
    import { onStopSignal } from ${JSON.stringify(signals)};
    onStopSignal(() => process.exit(1));
    process.kill(process.pid, 'SIGTERM');
    onStopSignal(() => process.exit(7));
    setTimeout(() => process.exit(2), 5_000);`;
  const { status } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '--eval', script],
    { encoding: 'utf8', timeout: 30_000 },
  );
  expect(status).toBe(7);
});
