import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { buildFirst } from './build-first.ts';
import { scriptOptions, wholeNumber } from './script-options.ts';

const usage = `
npm run crash -- [options]: the crash tests with as many kills as asked for, on a real Kafka and Redis. Each is a kill -9 at
a random moment. The exit code is 1 where anything differs.
  --kills N  default 200
  --seed S   repeats the records and the pauses, though not the machine's timing
`;
const values = scriptOptions(usage, {
  kills: { type: 'string', default: '200' },
  seed: { type: 'string' },
});
wholeNumber('kills', values.kills);
if (values.seed !== undefined) wholeNumber('seed', values.seed, 0);
buildFirst();
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
