import { cpus, loadavg } from 'node:os';
import { compareRun, type KeptRun, keepRun, readKept } from './compare.ts';
import { idle } from './idle.ts';
import { instances } from './instances.ts';
import { kill } from './kill.ts';
import { latency } from './latency.ts';
import { type BenchOptions, benchOptions, usage } from './options.ts';
import { restore } from './restore.ts';
import type { BenchResult } from './result.ts';
import { tableRows } from './rows.ts';
import { round } from './service.ts';
import { throughput } from './throughput.ts';
import { BenchWorld } from './world.ts';

/** Beyond it the times of a run say little; processor time and ratios of runs in the same minutes still do. */
const quietLoad = 2.5;

/**
 * The benchmark of the whole service: each work in a world of its own, checked where there is a result. Invariant: a
 * figure is printed only together with the differences of the same run.
 */
async function bench(options: BenchOptions): Promise<number> {
  if (!options.all) return benchOne(options);
  let code = 0;
  for (const row of tableRows(options)) {
    const asked = Object.values(askedOf(row)).join(' ');
    tell(`--- ${asked}`);
    try {
      code = Math.max(code, await benchOne(row));
    } catch (error) {
      // The other rows are measured all the same.
      tell(`${asked}: ${error instanceof Error ? error.message : String(error)}`);
      code = 1;
    }
  }
  return code;
}

async function benchOne(options: BenchOptions): Promise<number> {
  const [load = 0] = loadavg();
  if (load > quietLoad) {
    tell(`the machine is busy (load ${load.toFixed(1)}): the times of this run say little`);
  }
  const world = await BenchWorld.open(options);
  try {
    const figures = await measure(world, options);
    report(options, {
      asked: askedOf(options),
      figures,
      date: new Date().toISOString(),
      machine: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.version}`,
      load: round(load, 1),
    });
    return figures.differences === 0 ? 0 : 1;
  } finally {
    await world.close();
  }
}

function measure(world: BenchWorld, options: BenchOptions): Promise<BenchResult> {
  switch (options.work) {
    case 'latency':
      return latency(world, options);
    case 'restore':
      return restore(world, options, tell);
    case 'kill':
      return kill(world, options, tell);
    case 'idle':
      return idle(world, options);
    case 'instances':
      return instances(world, options, tell);
    default:
      return throughput(world, options, tell);
  }
}

/** What a kept run is found by. */
function askedOf(options: BenchOptions): Record<string, string | number> {
  const { work, output, state, commitMs, partitions, delivery, shuffle } = options;
  const asked: Record<string, string | number> = {
    work,
    output,
    state,
    commitMs,
    partitions,
    delivery,
  };
  if (work === 'latency') asked['rate'] = options.rate;
  else if (work !== 'idle') asked['records'] = options.records;
  if (work === 'instances') asked['processes'] = options.processes;
  if (shuffle !== 'memory') asked['shuffle'] = shuffle;
  if (options.keys !== undefined) asked['keys'] = options.keys;
  return asked;
}

function report({ json, compare, keepIn }: BenchOptions, run: KeptRun): void {
  if (keepIn !== undefined) keepRun(run, keepIn);
  const ratios = compare === undefined ? undefined : compareRun(run, readKept(compare));
  if (compare !== undefined && ratios === undefined) tell(`${compare} has no such run`);
  if (json) {
    process.stdout.write(`${JSON.stringify({ ...run, ...(ratios && { ratios }) })}\n`);
    return;
  }
  const { asked, figures, ...rest } = run;
  const lines = Object.entries({ ...asked, ...figures, ...rest }).map(([name, value]) => {
    const found = ratios?.find(({ figure }) => figure === name);
    const ratio = found === undefined ? '' : `   ${found.ratio} of ${found.before}`;
    return `${name.padEnd(22)} ${value}${ratio}`;
  });
  process.stdout.write(`${lines.join('\n')}\n`);
}

function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

if (process.argv.includes('--help')) {
  process.stdout.write(usage);
} else {
  try {
    process.exitCode = await bench(benchOptions(process.argv.slice(2)));
  } catch (error) {
    tell(`bench failed: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
