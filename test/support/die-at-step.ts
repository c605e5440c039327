import { MemoryLog } from '../../src/adapters/memory/memory-log.ts';
import type { PipelinePlan } from '../../src/plan/pipeline-plan.ts';
import type { WorkerSettings } from '../../src/runtime/worker.ts';
import { Faults, noFaults } from '../../src/testing/faults.ts';
import { foldOutput } from '../../src/testing/fold-output.ts';
import { FragileState } from '../../src/testing/fragile-state.ts';
import { LeapingClock } from '../../src/testing/leaping-clock.ts';
import { Random } from '../../src/testing/random.ts';
import { SimulatedLog } from '../../src/testing/simulated-log.ts';
import { SimulatedProcess } from '../../src/testing/simulated-process.ts';
import { SimulatedStateStore } from '../../src/testing/simulated-state-store.ts';
import { pipelineStarter } from '../../src/testing/start-pipeline.ts';
import type { Given } from './scenario.ts';

const stepsMax = 2_000;

/** Misfortune by number: the process dies in its n-th call to the outside. */
class CrashAtStep extends Faults {
  readonly #step: number;
  #calls = 0;
  died = false;

  constructor(step: number) {
    super(new Random(step), noFaults);
    this.#step = step;
  }

  override strikes(fault: keyof typeof noFaults): boolean {
    if (fault !== 'crash') return false;
    this.#calls += 1;
    if (this.#calls === this.#step) this.died = true;
    return this.#calls === this.#step;
  }
}

/**
 * Runs a pipeline of one source once for each of its calls to log and state store, lets it die there, and a
 * second process finish its work. `check` sees the rows of the first table. Gives the number of steps.
 */
export async function dieAtEveryStep(
  plan: PipelinePlan,
  records: readonly Given[],
  check: (rows: readonly string[], step: number) => void,
  settings: Partial<WorkerSettings> = {},
): Promise<number> {
  for (let step = 1; step < stepsMax; step += 1) {
    const outcome = await dieAtStep({ plan, records, settings }, step);
    check(outcome.rows, step);
    if (!outcome.died) return step;
  }
  throw new Error(`the pipeline takes more than ${stepsMax} steps`);
}

type Doomed = {
  readonly plan: PipelinePlan;
  readonly records: readonly Given[];
  readonly settings: Partial<WorkerSettings>;
};

async function dieAtStep(
  { plan, records, settings }: Doomed,
  step: number,
): Promise<{ readonly rows: readonly string[]; readonly died: boolean }> {
  const clock = new LeapingClock();
  const log = new MemoryLog({ clock });
  const topic = plan.sources[0]?.topic ?? '';
  log.createTopic(topic, 1);
  for (const { value } of records) log.produce(topic, 0, { value: JSON.stringify(value) });
  const faults = new CrashAtStep(step);
  const state = new FragileState(faults);
  const start = pipelineStarter({ sessionTimeoutMs: 5_000, ...settings });
  const begin = () => {
    const process = new SimulatedProcess({ clock, faults, stallMsMax: 1 });
    const fetched = new SimulatedLog(log, process, 2);
    const kept = new SimulatedStateStore(state, process);
    const options = { pipeline: 'test', instance: 'pod-0', clock: process.clock };
    return { process, pipeline: start(plan, fetched, kept, options) };
  };
  const live = async ({ pipeline }: ReturnType<typeof begin>) => {
    await pipeline.start();
    await pipeline.untilCaughtUp();
    await pipeline.stop();
  };
  try {
    const doomed = begin();
    await Promise.race([live(doomed), doomed.process.crashed]);
    if (faults.died) await live(begin());
    const [table] = plan.tables;
    const rows = foldOutput(log.readCommitted(table?.topic ?? ''), table?.output ?? 'row_set')
      .rows()
      .map(({ row }) => row.bytes.toString('utf8', row.start, row.end));
    return { rows: rows.sort(), died: faults.died };
  } finally {
    clock.stop();
  }
}
