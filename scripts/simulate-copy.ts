import { simulate } from '../src/testing/simulation/simulate-pipeline.ts';
import { wishes } from '../src/testing/simulation/simulation-scenario.ts';
import { simulationShapes } from '../src/testing/simulation/simulation-shapes.ts';

/**
 * Child of `try-mutant.ts`, `simulate-copy.ts SEEDS SHAPE DISTURBANCE`: simulates the source next to which it was copied until a
 * seed fails, and tells how far it is.
 */
export type CopyMessage = {
  readonly seed: number;
  /** The first complaint of this seed. */
  readonly fault: string | undefined;
  readonly cpuSeconds: number;
  readonly isLast: boolean;
};

// An empty text: whatever the seeds draw.
const [seeds = '0', shapeName = '', disturbanceName = ''] = process.argv.slice(2);
const shape = simulationShapes.find(({ name }) => name === shapeName);
if (shapeName !== '' && shape === undefined) throw new Error(`no shape "${shapeName}"`);
const disturbance = wishes.find((name) => name === disturbanceName);
const options = { shape, disturbance };
const seedsMax = Number(seeds);
tell({ seed: 0, fault: undefined, cpuSeconds: 0, isLast: false });
for (let seed = 1; seed <= seedsMax; seed += 1) {
  const { faults } = await simulate(seed, options);
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
