import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { buildFirst } from './build-first.ts';
import { scriptOptions, wholeNumber } from './script-options.ts';

const usage = `
npm run refresh-check -- [options]: full refreshes on a real Kafka and Redis against brute-force recomputations: what the
preview names as lost, what is kept and what goes, and what a reader sees meanwhile; and a refresh that is killed (kill -9)
at random moments. The exit code is 1 where anything differs.
  --keys N   of the table, default 100000
  --seeds N  refreshes that are compared, default 3; 0: only kills
  --from S   the first seed, which chooses other moments, too; default 1
  --kills N  default 0
`;
const values = scriptOptions(usage, {
  keys: { type: 'string', default: '100000' },
  seeds: { type: 'string', default: '3' },
  from: { type: 'string', default: '1' },
  kills: { type: 'string', default: '0' },
});
wholeNumber('keys', values.keys);
for (const name of ['seeds', 'from', 'kills'] as const) wholeNumber(name, values[name], 0);
buildFirst();
const root = resolve(import.meta.dirname, '..');
const args = ['run', '--config', 'test/vitest.config.ts', '--project', 'integration'];
const wanted = [
  ...(values.seeds === '0' ? [] : ['brute-force']),
  ...(values.kills === '0' ? [] : ['killed']),
];
const only = ['-t', wanted.join('|')];
const { status } = spawnSync(
  'npx',
  ['vitest', ...args, 'test/integration/refresh-check.test.ts', ...only],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      REFRESH_MAIN: resolve(root, 'dist/main.js'),
      REFRESH_KEYS: values.keys,
      REFRESH_SEEDS: values.seeds,
      REFRESH_FROM: values.from,
      REFRESH_KILLS: values.kills,
    },
  },
);
process.exitCode = status ?? 1;
