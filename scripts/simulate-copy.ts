import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SimulationShape } from '../src/testing/simulation/shape-parts.ts';
import type {
  SimulationOptions,
  SimulationReport,
} from '../src/testing/simulation/simulate-pipeline.ts';
import { wishes } from '../src/testing/simulation/simulation-scenario.ts';

/**
 * Child of `try-mutant.ts`, `simulate-copy.ts FOLDER SEEDS SHAPE DISTURBANCE`: simulates a copy of the source until a seed fails,
 * and tells how far it is.
 */
export type CopyMessage = {
  readonly seed: number;
  /** The first complaint of this seed. */
  readonly fault: string | undefined;
  readonly cpuSeconds: number;
  readonly isLast: boolean;
};

// An empty text: whatever the seeds draw.
const [folder = '', seeds = '0', shapeName = '', disturbanceName = ''] = process.argv.slice(2);
const inCopy = (file: string): string =>
  pathToFileURL(join(folder, 'src/testing/simulation', file)).href;
const { simulate } = (await import(inCopy('simulate-pipeline.ts'))) as {
  simulate: (seed: number, options: SimulationOptions) => Promise<SimulationReport>;
};
const { simulationShapes } = (await import(inCopy('simulation-shapes.ts'))) as {
  simulationShapes: readonly SimulationShape[];
};
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
