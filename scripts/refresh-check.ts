/**
 * `npm run refresh-check -- --keys 100000 --seeds 5 [--from 1] [--kills 50]`: full refreshes on a real Kafka and Redis against
 * brute-force recomputations: what the preview names as lost, what is kept and what goes, and what a reader sees
 * meanwhile; and a refresh that is killed (kill -9) at so many random moments. `--seeds 0` only kills; `--from` is the
 * first seed, and chooses other moments.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '100000' },
    seeds: { type: 'string', default: '3' },
    from: { type: 'string', default: '1' },
    kills: { type: 'string', default: '0' },
  },
});
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
