/**
 * `npm run crash -- --kills 200 [--seed S]`: the crash tests with as many kills as asked for, on a real Kafka and Redis.
 * Each kill is a kill -9 at a random moment; a seed repeats the records and the pauses, though not the machine's timing.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '200' }, seed: { type: 'string' } },
});
const root = resolve(import.meta.dirname, '..');
const args = ['run', '--config', 'test/vitest.config.ts', '--project', 'integration'];
const { status } = spawnSync('npx', ['vitest', ...args, 'test/integration/crash.test.ts'], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    CRASH_KILLS: values.kills,
    ...(values.seed === undefined ? {} : { CRASH_SEED: values.seed }),
  },
});
process.exitCode = status ?? 1;
