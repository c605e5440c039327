import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SimulationReport } from '../src/testing/simulate-pipeline.ts';

/**
 * Child of `try-mutant.ts`, `simulate-copy.ts FOLDER SEEDS`: simulates a copy of the source until a seed fails, and tells
 * how far it is.
 */
export type CopyMessage = {
  readonly seed: number;
  /** The first complaint of this seed. */
  readonly fault: string | undefined;
  readonly cpuSeconds: number;
  readonly isLast: boolean;
};

const [folder = '', seeds = '0'] = process.argv.slice(2);
const url = pathToFileURL(join(folder, 'src/testing/simulate-pipeline.ts')).href;
const { simulate } = (await import(url)) as {
  simulate: (seed: number) => Promise<SimulationReport>;
};
const seedsMax = Number(seeds);
tell({ seed: 0, fault: undefined, cpuSeconds: 0, isLast: false });
for (let seed = 1; seed <= seedsMax; seed += 1) {
  const { faults } = await simulate(seed);
  const { user, system } = process.cpuUsage();
  const isLast = faults.length > 0 || seed === seedsMax;
  if (isLast || seed % 100 === 0) {
    tell({ seed, fault: faults[0], cpuSeconds: (user + system) / 1e6, isLast });
    await new Promise((done) => setImmediate(done));
  }
  if (isLast) break;
}
process.disconnect();

function tell(message: CopyMessage): void {
  process.send?.(message);
}
