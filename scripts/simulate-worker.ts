import { type SimulationReport, simulate } from '../src/testing/simulation/simulate-pipeline.ts';
import { wishes } from '../src/testing/simulation/simulation-scenario.ts';
import { simulationShapes } from '../src/testing/simulation/simulation-shapes.ts';

/**
 * Child of `simulate.ts`, `simulate-worker.ts SHAPE DISTURBANCE` (an empty text: whatever the seeds draw): is given seeds piece by
 * piece, and tells of each piece which of them failed and what processor time it took.
 */
export type Piece = { readonly from: number; readonly count: number };
export type PieceResult = { readonly failed: readonly SimulationReport[]; readonly cpuMs: number };

const [shapeName = '', disturbanceName = ''] = process.argv.slice(2);
const options = {
  shape: simulationShapes.find(({ name }) => name === shapeName),
  disturbance: wishes.find((name) => name === disturbanceName),
};

async function runPiece({ from, count }: Piece): Promise<PieceResult> {
  const before = process.cpuUsage();
  const failed: SimulationReport[] = [];
  for (let seed = from; seed < from + count; seed += 1) {
    const report = await simulate(seed, options);
    if (report.faults.length > 0) failed.push(report);
  }
  const { user, system } = process.cpuUsage(before);
  // The event loop goes round, so that messages and signals are heard.
  await new Promise((resolve) => setImmediate(resolve));
  return { failed, cpuMs: (user + system) / 1000 };
}

// Errors are many here, and a replay shows where they come from.
Error.stackTraceLimit = 0;
process.on('message', async (piece) => process.send?.(await runPiece(piece as Piece)));
