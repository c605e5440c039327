import { fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type SimulationReport, simulate } from '../src/testing/simulation/simulate-pipeline.ts';
import { wishes } from '../src/testing/simulation/simulation-scenario.ts';
import { simulationShapes } from '../src/testing/simulation/simulation-shapes.ts';
import { bundleSimulation, simulatingFlags } from './bundle-simulation.ts';
import { refuse, scriptOptions, wholeNumber } from './script-options.ts';
import type { Piece, PieceResult } from './simulate-worker.ts';

const root = resolve(import.meta.dirname, '..');

const shapeNames = simulationShapes.map(({ name }) => name).join(', ');
/** Of a process: after those most of what runs is machine code. */
const warmSeeds = 10_000;
const usage = `
npm run simulate -- [options]: runs whole simulated worlds, one a seed. The last line says how many seeds passed and which
failed first; the exit code is 1 when any failed. On standard error it tells how many seeds it does a second and core: a second
of processor time, user and system, of the processes that simulate, whoever else is at work. In the first ${warmSeeds} seeds of a
process most of it is the engine's, which makes machine code of what runs; "once warm" leaves those out.
How fast pipelines of one table are simulated: npm run simulate -- --shape plain --seeds 50000
  --seeds N      how many, default 1000
  --from S       the first one, default 1
  --replay SEED  tells, line by line, what happens in the world of one seed
  --shape NAME   this pipeline in all of them, whatever a seed draws: ${shapeNames}
  --disturbance NAME  this alone disturbs them, again and again: ${wishes.join(', ')}
  --jobs N       processes that share the seeds, default 1
  --json         the result as one JSON document on standard output
`;

/** Each job is a process of `simulate-worker.ts`, which is given seeds piece by piece. */
const values = scriptOptions(usage, {
  seeds: { type: 'string', default: '1000' },
  from: { type: 'string', default: '1' },
  replay: { type: 'string' },
  shape: { type: 'string' },
  disturbance: { type: 'string' },
  jobs: { type: 'string', default: '1' },
  json: { type: 'boolean', default: false },
});

/** Seeds that a process takes at a time. */
const pieceSize = 250;
const progressIntervalMs = 5_000;

const shape = simulationShapes.find(({ name }) => name === values.shape);
if (values.shape !== undefined && shape === undefined) {
  refuse(`there is no shape "${values.shape}"; there are ${shapeNames}`);
}
const disturbance = wishes.find((name) => name === values.disturbance);
if (values.disturbance !== undefined && disturbance === undefined) {
  refuse(`there is no disturbance "${values.disturbance}"; there are ${wishes.join(', ')}`);
}
const options = { shape, disturbance };

/** One lane works on pieces until none is left. */
type Lane = { readonly run: (piece: Piece) => Promise<PieceResult>; readonly end: () => void };

function childLane(script: string): Lane {
  const child = fork(script, [values.shape ?? '', values.disturbance ?? ''], {
    execArgv: simulatingFlags,
  });
  const run = (piece: Piece): Promise<PieceResult> =>
    new Promise((resolve, reject) => {
      child.once('message', (result) => resolve(result as PieceResult));
      child.once('exit', (code) => reject(new Error(`a simulating process ended with ${code}`)));
      child.send(piece);
    });
  return {
    run: (piece) => run(piece).finally(() => child.removeAllListeners()),
    end: () => child.disconnect(),
  };
}

/** Gives the script of the simulating processes, packed, as long as `use` takes. */
async function withWorker(use: (script: string) => Promise<unknown>): Promise<void> {
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'tidemark-simulation-'));
  try {
    const script = join(folder, 'worker.mjs');
    await bundleSimulation(join(import.meta.dirname, 'simulate-worker.ts'), script);
    await use(script);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function runAll(from: number, total: number, jobs: number): Promise<void> {
  const startedMs = performance.now();
  const failed: SimulationReport[] = [];
  let next = from;
  let done = 0;
  let cpuMs = 0;
  const warm = { done: 0, cpuMs: 0 };
  let toldMs = startedMs;
  const tell = (): void => {
    const seconds = (performance.now() - startedMs) / 1000;
    const onceWarm = warm.done === 0 ? '' : ` (${rate(warm.done, warm.cpuMs / 1000)} once warm)`;
    process.stderr.write(
      `${done} of ${total} seeds, ${failed.length} failed, ${rate(done, seconds)} a second, ${rate(done, cpuMs / 1000)} a second and core${onceWarm}\n`,
    );
  };
  const work = async (lane: Lane): Promise<void> => {
    let doneHere = 0;
    while (next < from + total) {
      const piece = { from: next, count: Math.min(pieceSize, from + total - next) };
      next += piece.count;
      const result = await lane.run(piece);
      done += piece.count;
      cpuMs += result.cpuMs;
      if (doneHere >= warmSeeds) {
        warm.done += piece.count;
        warm.cpuMs += result.cpuMs;
      }
      doneHere += piece.count;
      for (const report of result.failed) {
        failed.push(report);
        if (!values.json) print(report);
      }
      if (performance.now() - toldMs < progressIntervalMs) continue;
      toldMs = performance.now();
      tell();
    }
    lane.end();
  };
  await withWorker((script) =>
    Promise.all(Array.from({ length: jobs }, () => work(childLane(script)))),
  );
  tell();
  failed.sort((a, b) => a.seed - b.seed);
  const seconds = (performance.now() - startedMs) / 1000;
  if (values.json) {
    const perSecondAndCore = rate(done, cpuMs / 1000);
    const onceWarm = warm.done === 0 ? null : rate(warm.done, warm.cpuMs / 1000);
    const firstFailed = failed[0]?.seed ?? null;
    const passed = done - failed.length;
    const report = { seeds: done, passed, firstFailed, seconds, cpuSeconds: cpuMs / 1000 };
    console.log(JSON.stringify({ ...report, perSecondAndCore, onceWarm, failed }));
  } else {
    const first = failed[0] === undefined ? '' : `, first failing seed ${failed[0].seed}`;
    console.log(`${done - failed.length} of ${done} seeds passed${first}`);
  }
  if (failed.length > 0) process.exitCode = 1;
}

function rate(count: number, seconds: number): number {
  return Math.round(count / Math.max(seconds, 0.001));
}

function print({ seed, shape: name, faults }: SimulationReport): void {
  console.log(`seed ${seed} (${name}) failed; see it with --replay ${seed}`);
  for (const fault of faults) console.log(`  ${fault}`);
}

async function replay(seed: number): Promise<void> {
  const report = await simulate(seed, { ...options, trace: (line) => console.log(line) });
  if (values.json) console.log(JSON.stringify(report));
  const isPassed = report.faults.length === 0;
  console.log(
    `seed ${seed} (${report.shape}): ${isPassed ? '1 of 1 seeds passed' : `0 of 1 seeds passed, first failing seed ${seed}`}`,
  );
  if (!isPassed) process.exitCode = 1;
}

if (values.replay !== undefined) {
  await replay(wholeNumber('replay', values.replay, 0));
} else {
  await runAll(
    wholeNumber('from', values.from, 0),
    wholeNumber('seeds', values.seeds),
    wholeNumber('jobs', values.jobs),
  );
}
