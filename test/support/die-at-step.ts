import { MemoryLog } from '../../src/adapters/memory/memory-log.ts';
import { MemoryStateStore } from '../../src/adapters/memory/memory-state-store.ts';
import { isOutside, type PipelinePlan } from '../../src/plan/pipeline-plan.ts';
import type { WorkerSettings } from '../../src/runtime/worker/worker-settings.ts';
import { foldOutput } from '../../src/testing/check/fold-output.ts';
import type { PipelineUnderTest } from '../../src/testing/pipeline/pipeline-runner.ts';
import { pipelineStarter } from '../../src/testing/pipeline/start-pipeline.ts';
import { LeapingClock } from '../../src/testing/simulation/leaping-clock.ts';
import type { Given } from './scenario.ts';

const stepsMax = 2_000;

/** What a process asks of the outside without waiting for an answer. */
const answeredAtOnce = ['openReader', 'joinGroup', 'assign', 'unassign', 'wake', 'range', 'scan'];

/** A process whose n-th step, before or after one of its calls to the outside, is its last. */
class DoomedProcess {
  died = false;
  #stepsLeft: number;
  #report: () => void = () => undefined;
  readonly #kill: () => void;
  readonly dead = new Promise<void>((resolve) => {
    this.#report = resolve;
  });

  constructor(stepsMax: number, kill: () => void) {
    this.#stepsLeft = stepsMax;
    this.#kill = kill;
  }

  readonly step = async (): Promise<void> => {
    this.#take();
    // Its code stands still for ever, as that of a process that is gone.
    if (this.died) await new Promise(() => {});
  };

  #take(): void {
    if (this.died) return;
    this.#stepsLeft -= 1;
    if (this.#stepsLeft > 0) return;
    this.died = true;
    this.#kill();
    this.#report();
  }

  /** The same service, each call of which takes two steps. */
  reach<Service extends object>(service: Service): Service {
    return new Proxy(service, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        const call = member.bind(target) as (...values: unknown[]) => unknown;
        if (answeredAtOnce.includes(String(name))) {
          return (...values: unknown[]) => this.#reachResult(call(...values));
        }
        // Without transactions some of a commit's records may be there and others not.
        if (name === 'append') {
          return (...values: unknown[]) => {
            this.#take();
            if (!this.died) call(...values);
          };
        }
        if (name === 'onStatus') return this.#listen(call);
        return async (...values: unknown[]) => {
          await this.step();
          const result = await call(...values);
          await this.step();
          return this.#reachResult(result);
        };
      },
    });
  }

  #listen(call: (listener: () => void) => unknown) {
    return (listener: () => void) =>
      call(() => {
        if (!this.died) listener();
      });
  }

  /** Readers, producers, members and sessions are services themselves; data is not. */
  #reachResult(result: unknown): unknown {
    const isService =
      typeof result === 'object' &&
      result !== null &&
      ['poll', 'commit', 'rejoin', 'read'].some((name) => name in result);
    return isService ? this.reach(result) : result;
  }
}

/**
 * Runs a pipeline once for each of its steps, lets it die there, and a second process finish its
 * work. `check` sees the rows of the first table. Gives the number of steps that it takes unharmed.
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
  const state = new MemoryStateStore();
  const topics = plan.sources.filter(isOutside).map(({ topic }) => topic);
  for (const topic of new Set(topics)) log.createTopic(topic, 1);
  for (const { topic = topics[0] ?? '', key, value } of records) {
    log.produce(topic, 0, { value: JSON.stringify(value), ...(key === undefined ? {} : { key }) });
  }
  const begin = (steps: number, sliceRecordsMax: number) => {
    const process = new DoomedProcess(steps, () => client.kill());
    const client = log.connect({ sliceRecordsMax, betweenCommitSteps: process.step });
    const start = pipelineStarter({ sessionTimeoutMs: 5_000, ...settings });
    const options = { pipeline: 'test', instance: 'pod-0', clock };
    return { process, pipeline: start(plan, process.reach(client), process.reach(state), options) };
  };
  try {
    const doomed = begin(step, 2);
    await Promise.race([live(doomed.pipeline), doomed.process.dead]);
    // Its successor may find more in a commit than it did, or as much.
    const successor = begin(Number.POSITIVE_INFINITY, step % 2 === 0 ? 100 : 2);
    if (doomed.process.died) await live(successor.pipeline);
    const [table] = plan.tables;
    const rows = foldOutput(log.readCommitted(table?.topic ?? ''), table?.output ?? 'row_set')
      .rows()
      .map(({ row }) => row.bytes.toString('utf8', row.start, row.end));
    return { rows: rows.sort(), died: doomed.process.died };
  } finally {
    clock.stop();
  }
}

async function live(pipeline: PipelineUnderTest): Promise<void> {
  await pipeline.start();
  await pipeline.untilCaughtUp();
  await pipeline.stop();
}
