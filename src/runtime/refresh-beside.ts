import { FlowError } from '../base/errors.ts';
import { countedExpectations } from '../plan/counted-expectations.ts';
import { builtFlowOf } from '../plan/names.ts';
import type { PipelinePlan, ReplaceUsingFlowPlan } from '../plan/pipeline-plan.ts';
import { groupOf, levelsTopicOf, repartitionTopicOf, sourcesOf } from '../plan/topology.ts';
import type { CommittedOffset } from '../ports/log.ts';
import type { StateStore } from '../ports/state-store.ts';
import { flowChanges } from '../refresh/changes.ts';
import { readDeployedFlow } from '../refresh/deployed-flow.ts';
import { progressText } from '../refresh/refresh-progress.ts';
import { isUntouched, type RefreshState } from '../refresh/refresh-states.ts';
import { parseFlowMetadata } from '../task/row-account.ts';
import { recordedGaps } from './gaps.ts';
import { generationOf } from './generation.ts';
import { type LockFacts, lockFlows, lockName, lockOf, unlockFlows } from './locks.ts';
import { awaitNobody } from './refresh-checkpoints.ts';
import { gatherFacts, numbersTo, type RefreshFacts } from './refresh-facts.ts';
import { previewRefresh } from './refresh-preview.ts';
import { openRefresh, type RefreshRecord } from './refresh-record.ts';
import {
  beginRun,
  endsOf,
  type FreshTopics,
  finish,
  locksOf,
  type RefreshOutcome,
  type RefreshRun,
  type RefreshRunOptions,
  refuseUnwanted,
  settleTable,
  swap,
} from './refresh-run.ts';
import { scanPending } from './refresh-scan.ts';
import { throttledLog } from './refresh-throttle.ts';
import { startWorker } from './start-worker.ts';
import type { Worker, WorkerSettings } from './worker.ts';

export type BesideOptions = RefreshRunOptions & {
  readonly flow: ReplaceUsingFlowPlan;
  readonly state: StateStore;
  /** Those of a worker of the pipeline; the refresh has an instance name of its own. */
  readonly settings: WorkerSettings;
  readonly replicationFactor: number;
  /** Bound on the records that are read again in a second; undefined: as fast as it goes. */
  readonly recordsPerSecondMax?: number | undefined;
  /** Registers what ends the refresh early, in good order. */
  readonly onStop?: (listener: () => void) => void;
};

/** Longer than a session usually lasts: an attempt that was killed is a member until then. */
const waitMsDefault = 60_000;
const pollMs = 200;
const tellIntervalMs = 2_000;
/** As far as the new generation catches up while the old one goes on; the rest is read while the flow is held. */
const lagRecordsMax = 20_000;
const catchUpRoundsMax = 20;
const gapAttemptsMax = 3;
/** How long the claim of a command that was killed stands in the way of others. */
const claimMs = 60_000;

/**
 * Computes a table anew beside the one that is there, and swaps it in by its differences. Invariant: until the swap the
 * table and its flow are as they were, and the refresh can be given up; in the swap each key goes from its former
 * row-set to the new one in one step; after a crash at any point the same command goes on and ends the same.
 */
export async function refreshBeside(options: BesideOptions): Promise<RefreshOutcome> {
  await options.catalog.read();
  const run = beginRun(options, 'beside');
  const beside = new Beside(options, run);
  if (isUntouched(run.progress.state)) await beside.build();
  return beside.swapIn();
}

/** Gives up a refresh that has not touched the table yet, and removes what it has built. */
export async function cancelRefresh(options: BesideOptions): Promise<void> {
  const { catalog, clock, table, flow } = options;
  await catalog.read();
  const open = openRefresh(catalog, flow.name);
  if (open === undefined) {
    throw new FlowError('USAGE', `no refresh of table "${table.name}" is under way`);
  }
  refuseTouched(options, open);
  // Whoever builds stops when it finds this lock, and nobody begins to swap while it stands.
  const claim: LockFacts = {
    flow: builtFlowOf(flow.name),
    command: options.command,
    token: 'cancel',
    untilMs: clock.now() + claimMs,
  };
  await lockFlows(catalog, [claim], clock.now());
  try {
    refuseTouched(options, openRefresh(catalog, flow.name) ?? open);
    const run = beginRun(options, 'beside');
    await new Beside(options, run).cleanUp();
    await run.progress.close('cancelled', clock.now(), locksOf(options));
  } finally {
    await unlockFlows(catalog, [claim], clock.now());
  }
}

function refuseTouched({ table }: BesideOptions, { state, mode }: RefreshRecord): void {
  if (isUntouched(state)) return;
  throw new FlowError(
    'TABLE_LOCKED',
    `the refresh of table "${table.name}" can not be cancelled any more`,
    {
      detail: `It stands at "${state}": records of the table are being replaced.`,
      hint: `Start the same command once more to finish it: tidemark refresh ${table.name}${mode === 'in_place' ? ' --in-place' : ''}`,
    },
  );
}

type SourceCheckpoints = {
  readonly topic: string;
  readonly partitions: readonly number[];
  readonly committed: ReadonlyMap<number, CommittedOffset>;
};

class Beside {
  readonly #options: BesideOptions;
  readonly #run: RefreshRun;
  readonly #name: string;
  #worker: Worker | undefined;
  #isStopped = false;
  /** What somebody else has made of the refresh meanwhile. */
  #overtaken: RefreshState | undefined;

  constructor(options: BesideOptions, run: RefreshRun) {
    this.#options = options;
    this.#run = run;
    this.#name = builtFlowOf(options.flow.name);
    options.onStop?.(() => {
      this.#isStopped = true;
      this.#worker?.stop();
    });
  }

  get #group(): string {
    return groupOf(this.#options.pipeline, this.#name);
  }

  get #output(): string {
    return `${this.#group}.output`;
  }

  // ---------------------------------------------------------------- building

  async build(): Promise<void> {
    const { log, plan, catalog, clock, onStep, onProgress } = this.#options;
    const facts = await gatherFacts(this.#options);
    this.#refuseNothing(facts);
    const { report } = await previewRefresh({
      log,
      plan,
      facts,
      ...(onProgress === undefined ? {} : { onProgress }),
    });
    refuseUnwanted(this.#run, {
      lost: report.lost,
      pendingLost: report.pending.lost,
      partitions: facts.output?.partitions.length,
    });
    await this.#refuseOvertaken();
    await this.#discardOther();
    await this.#run.progress.enter('building', clock.now(), { toRead: report.records });
    await this.#prepare();
    // What an attempt that was killed has left: its claim, and a member that would count until its session has timed out.
    const claim = { flow: this.#name, token: 'swap' };
    if (catalog.get('lock', lockName(claim)) !== undefined) {
      await unlockFlows(catalog, [claim], clock.now());
    }
    await log.removeMembers(this.#group);
    onStep?.(`building generation ${this.#run.progress.record.generation} beside the table`);
    for (let round = 0; round < catchUpRoundsMax; round += 1) {
      await this.#update();
      await catalog.read();
      if ((await this.#lag()) <= lagRecordsMax) break;
    }
  }

  #refuseNothing({ output }: RefreshFacts): void {
    if (output !== undefined && this.#run.before !== undefined) return;
    const { table } = this.#options;
    throw new FlowError('USAGE', `table "${table.name}" was never written`, {
      hint: 'Run the pipeline: it reads its sources from the beginning anyway.',
    });
  }

  /** What an attempt with another definition has built is of no use. */
  async #discardOther(): Promise<void> {
    const { catalog } = this.#options;
    const built = readDeployedFlow(catalog.get('flow', this.#name)?.value);
    if (built === undefined) return;
    const wanted = { ...this.#run.after, topic: this.#output };
    if (flowChanges(built, wanted).length > 0) await this.cleanUp();
  }

  async #prepare(): Promise<void> {
    const { catalog, clock, flow } = this.#options;
    const { generation } = this.#run.progress.record;
    await catalog.write(
      [
        { kind: 'generation', name: this.#name, value: { generation } },
        // Records that the flow steps over are no more readable for its next generation.
        ...catalog
          .all('skip')
          .filter(({ name }) => name.startsWith(`${flow.name}/`))
          .map(({ name, value }) => ({
            kind: 'skip' as const,
            name: `${this.#name}${name.slice(flow.name.length)}`,
            value: value['flow'] === undefined ? value : { ...value, flow: this.#name },
          })),
      ],
      clock.now(),
    );
  }

  #plan(): PipelinePlan {
    const { plan, table, flow } = this.#options;
    const partitions = this.#partitions;
    return {
      ...plan,
      tables: [{ ...table, topic: this.#output, partitions }],
      flows: [{ ...flow, name: this.#name }],
      // They go on reading the live tables, and whoever updates the pipeline computes them.
      materializedViews: [],
    };
  }

  #partitions: number | undefined;

  /** One triggered update of the new generation, to the ends as they stand at its start. */
  async #update(): Promise<void> {
    const { log, table } = this.#options;
    this.#partitions ??= (await log.describeTopics([table.topic])).get(table.topic)?.partitions;
    let acceptGaps: readonly string[] = [];
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#runWorker(acceptGaps);
      } catch (error) {
        // What expires while it is read again is counted before the swap, with all else that is lost.
        const isGap = error instanceof FlowError && error.code === 'OFFSET_OUT_OF_RANGE';
        if (!isGap || attempt > gapAttemptsMax) throw error;
        await this.#options.catalog.read();
        acceptGaps = recordedGaps(this.#options.catalog).flatMap((gap) =>
          gap.flow === this.#name && gap.acceptedAtMs === undefined ? [gap.id] : [],
        );
      }
    }
  }

  async #runWorker(acceptGaps: readonly string[]): Promise<void> {
    const { clock, state, settings, listener, flow, replicationFactor } = this.#options;
    this.#refuseStopped();
    const worker = await startWorker({
      plan: this.#plan(),
      log: this.#sourceLog(),
      state,
      clock,
      listener,
      replicationFactor,
      acceptGaps,
      settings: {
        ...settings,
        instance: `refresh.${flow.name}`,
        once: true,
        delivery: 'exactly_once',
        staticMembership: false,
      },
    });
    this.#worker = worker;
    let isOver = false;
    const running = worker.run().finally(() => {
      isOver = true;
    });
    const telling = this.#tell(worker, () => isOver);
    try {
      await running;
    } finally {
      this.#worker = undefined;
      isOver = true;
      await telling.catch(() => undefined);
    }
    this.#refuseStopped();
  }

  /** Whether somebody gave it up, or went on with it, since this attempt looked last. */
  async #refuseOvertaken(): Promise<void> {
    await this.#options.catalog.read();
    this.#overtaken ??= this.#run.progress.overtaken();
    this.#refuseStopped();
  }

  #refuseStopped(): void {
    const { table } = this.#options;
    if (this.#overtaken === 'cancelled') {
      throw new FlowError('TABLE_LOCKED', `the refresh of table "${table.name}" was cancelled`, {
        detail: 'The table and its flow are as they were.',
      });
    }
    if (this.#overtaken !== undefined) {
      throw new FlowError('TABLE_LOCKED', `another command refreshes table "${table.name}"`, {
        detail: 'It went on from where this one stood.',
      });
    }
    if (!this.#isStopped) return;
    throw new FlowError('TASK_MIGRATED', `the refresh of table "${table.name}" was interrupted`, {
      hint: `Start the same command once more: it goes on where it stood. Give it up with: tidemark refresh ${table.name} --cancel`,
    });
  }

  #sourceLog() {
    const { log, clock, plan, flow, recordsPerSecondMax } = this.#options;
    if (recordsPerSecondMax === undefined) return log;
    const topics = new Set(sourcesOf(plan, flow).map(({ topic }) => topic));
    return throttledLog(log, clock, { recordsPerSecond: recordsPerSecondMax, topics });
  }

  /** Keeps the catalog's figures up to date for whoever asks how far it is, and heeds whoever gives it up. */
  async #tell(worker: Worker, isOver: () => boolean): Promise<void> {
    const { clock, catalog } = this.#options;
    const startedMs = clock.monotonic();
    let toldMs = startedMs;
    let first: number | undefined;
    while (!isOver()) {
      await clock.sleep(pollMs);
      if (isOver() || clock.monotonic() - toldMs < tellIntervalMs) continue;
      toldMs = clock.monotonic();
      await catalog.read();
      const isClaimed = lockOf(catalog, this.#name, clock.now()) !== undefined;
      this.#overtaken = isClaimed ? 'cancelled' : this.#run.progress.overtaken();
      if (this.#overtaken !== undefined) {
        worker.stop();
        return;
      }
      const { read, toRead } = this.#figures(worker);
      first ??= read;
      const recordsPerSecond = Math.round(((read - first) * 1000) / (toldMs - startedMs));
      if (this.#run.progress.state !== 'building') continue;
      await this.#run.progress.enter('building', clock.now(), { read, toRead, recordsPerSecond });
      this.#options.onStep?.(progressText(this.#run.progress.record));
    }
  }

  /** Of the sources, from the first record that is there. */
  #figures(worker: Worker): { readonly read: number; readonly toRead: number } {
    const { flow, plan } = this.#options;
    const sources = new Set(sourcesOf(plan, flow).map(({ topic }) => topic));
    let read = 0;
    let toRead = 0;
    for (const { topic, committed, stable, logStart } of worker
      .progress()
      .flows.flatMap(({ partitions }) => partitions)) {
      if (!sources.has(topic) || logStart === undefined) continue;
      read += Math.max(0, committed - logStart);
      toRead += Math.max(0, stable - logStart);
    }
    return { read, toRead };
  }

  /** Records of the sources that the new generation has not read yet. */
  async #lag(): Promise<number> {
    const { log } = this.#options;
    let lag = 0;
    for (const { topic, partitions, committed } of await this.#checkpointsOf(this.#group)) {
      for (const [at, { start, stable }] of await log.offsetRanges(topic, partitions)) {
        lag += Math.max(0, stable - (committed.get(at)?.offset ?? start));
      }
    }
    return lag;
  }

  /** Where a group stands in each source. */
  async #checkpointsOf(group: string): Promise<readonly SourceCheckpoints[]> {
    const { log, plan, flow } = this.#options;
    const found: SourceCheckpoints[] = [];
    for (const topic of new Set(sourcesOf(plan, flow).map((source) => source.topic))) {
      const count = (await log.describeTopics([topic])).get(topic)?.partitions ?? 0;
      const partitions = numbersTo(count);
      const committed = await log.committedOffsets(group, topic, partitions);
      found.push({ topic, partitions, committed });
    }
    return found;
  }

  // ---------------------------------------------------------------- swap

  async swapIn(): Promise<RefreshOutcome> {
    const { catalog, clock, pipeline, flow, onStep } = this.#options;
    const { progress } = this.#run;
    const locks = locksOf(this.#options);
    await lockFlows(catalog, locks, clock.now());
    let isTouched = !isUntouched(progress.state);
    try {
      await this.#awaitEmpty(groupOf(pipeline, flow.name), 'instances let go of the flow');
      this.#refuseStopped();
      await settleTable(this.#run);
      let lost = { keys: 0, rows: 0, levels: 0 };
      let deadLetters = 0;
      let result = { published: 0, buried: 0 };
      if (progress.state === 'building') {
        onStep?.('reading what has come meanwhile');
        await this.#update();
        deadLetters = await this.#refuseUnreadable();
        lost = await this.#refuseLoss();
        await this.#makeLevels();
        const facts = await gatherFacts(this.#options);
        await this.#beginSwap(endsOf(facts));
        isTouched = true;
      }
      if (progress.state === 'swapping') {
        onStep?.('swapping in the differences');
        const facts = await gatherFacts(this.#options);
        result = await swap(this.#run, facts, await this.#fresh());
        await progress.enter('switching', clock.now());
      }
      await this.#switch();
      await this.cleanUp();
      await progress.close('done', clock.now(), locks);
      const { table, generation, allowLoss, keepUnrecoverable } = progress.record;
      const isLost = allowLoss && !keepUnrecoverable;
      return {
        table,
        generation,
        mode: 'beside',
        published: result.published,
        buried: result.buried,
        lost: isLost ? lost : { keys: 0, rows: 0, levels: 0 },
        deadLetters,
      };
    } catch (error) {
      if (!isTouched) await unlockFlows(catalog, locks, clock.now());
      throw error;
    }
  }

  /** From here on there is no way back: of this and a cancellation the one that came first has its way. */
  async #beginSwap(from: readonly number[]): Promise<void> {
    const { catalog, clock, command } = this.#options;
    const untilMs = clock.now() + claimMs;
    const claim: LockFacts = { flow: this.#name, command, token: 'swap', untilMs };
    await lockFlows(catalog, [claim], clock.now());
    try {
      await this.#refuseOvertaken();
      await this.#run.progress.enter('swapping', clock.now(), { from });
    } finally {
      await unlockFlows(catalog, [claim], clock.now());
    }
  }

  async #awaitEmpty(group: string, what: string): Promise<void> {
    const { log, clock, onStep, waitMs } = this.#options;
    const onWait = (members: number): void => onStep?.(`waiting until ${members} ${what}`);
    await awaitNobody({ log, clock, waitMs: waitMs ?? waitMsDefault, onWait }, group);
  }

  async #fresh(): Promise<FreshTopics> {
    const { log, pipeline, table } = this.#options;
    const levels = levelsTopicOf(pipeline, this.#name);
    const found = await log.describeTopics([levels]);
    return {
      output: this.#output,
      levels: found.has(levels) ? levels : undefined,
      isNumbered: table.output === 'rows',
    };
  }

  /** What retention took away meanwhile counts as what it took before. */
  async #refuseLoss(): Promise<{ keys: number; rows: number; levels: number }> {
    const { log } = this.#options;
    const facts = await gatherFacts(this.#options);
    const { lost } = await swap(this.#run, facts, await this.#fresh(), true);
    const pending = await scanPending({ log, facts });
    refuseUnwanted(this.#run, {
      lost,
      pendingLost: pending.lost,
      partitions: facts.output?.partitions.length,
    });
    return lost;
  }

  /**
   * A definition that can't read what the one before could would empty keys whose records are all still there: more dead
   * letters than the table's checkpoint counts are a loss. Gives how many there are.
   */
  async #refuseUnreadable(): Promise<number> {
    const { pipeline, table, flow } = this.#options;
    const before = await this.#deadLettersOf(groupOf(pipeline, flow.name));
    const now = await this.#deadLettersOf(this.#group);
    if (now <= before || this.#run.progress.record.allowLoss) return now;
    throw new FlowError(
      'DATA_LOSS_REFUSED',
      `the new generation of table "${table.name}" cannot read ${now - before} records that the present one has read`,
      {
        detail: `They are dead letters now (${now} in all, ${before} before). The table is as it was.`,
        hint: `See which: tidemark dlq list ${flow.name}. Correct the definition and start the same command again, or accept that their rows are gone: --allow-loss`,
      },
    );
  }

  /** Dead letters that the checkpoints of a group count. */
  async #deadLettersOf(group: string): Promise<number> {
    const { table, flow } = this.#options;
    const expectations = countedExpectations(flow, table);
    let count = 0;
    for (const { committed } of await this.#checkpointsOf(group)) {
      for (const { metadata } of committed.values()) {
        count += parseFlowMetadata(metadata, expectations)?.deadLettered ?? 0;
      }
    }
    return count;
  }

  /** A clause that empties keys may be new to the table. */
  async #makeLevels(): Promise<void> {
    const { log, catalog, clock, pipeline, flow, replicationFactor } = this.#options;
    const fresh = await this.#fresh();
    if (fresh.levels === undefined) return;
    const name = levelsTopicOf(pipeline, flow.name);
    const partitions = this.#partitions ?? 1;
    await log.createTopics([
      {
        name,
        partitions,
        replicationFactor,
        configs: { 'cleanup.policy': 'compact', 'retention.ms': '-1' },
      },
    ]);
    if (catalog.get('topic', name) !== undefined) return;
    const value = { role: 'levels', flow: flow.name, partitions };
    await catalog.write([{ kind: 'topic', name, value }], clock.now());
  }

  /** The flow goes on from where the new generation stands, of the definition that it was built with. */
  async #switch(): Promise<void> {
    const { log, catalog, pipeline, plan, flow } = this.#options;
    await catalog.read();
    // Where the catalog knows the generation already, an attempt was interrupted while it cleaned up.
    if (generationOf(catalog, flow.name) === this.#run.progress.record.generation) return;
    const offsets = [];
    const checkpoints = [];
    const own = repartitionTopicOf(pipeline, flow.name);
    const built = repartitionTopicOf(pipeline, this.#name);
    const sources = [...new Set(sourcesOf(plan, flow).map(({ topic }) => topic))];
    for (const [name, { topicId, partitions }] of await log.describeTopics([...sources, own])) {
      const isOwn = name === own;
      const numbers = numbersTo(partitions);
      const known = await log.committedOffsets(this.#group, isOwn ? built : name, numbers);
      const ranges = isOwn ? await log.offsetRanges(name, numbers) : undefined;
      for (const [partition, { offset, metadata }] of known) {
        // Between the stages nothing of the former generation is taken over, only the account of the new one.
        const end = ranges?.get(partition)?.end;
        offsets.push({ topic: name, partition, offset: end ?? offset, metadata });
        checkpoints.push({ topic: name, partition, topicId });
      }
      if (ranges !== undefined) {
        const ends = [...ranges].map(([partition, { end }]) => [partition, end] as const);
        await log.deleteRecords(name, new Map(ends));
      }
    }
    await log.commitCheckpoint(groupOf(pipeline, flow.name), offsets);
    await finish(this.#run, checkpoints);
  }

  /** Removes what was built: topics, group, what the catalog says of it, and its state. */
  async cleanUp(): Promise<void> {
    const { log, catalog, clock, state, pipeline } = this.#options;
    const names = [
      this.#output,
      repartitionTopicOf(pipeline, this.#name),
      levelsTopicOf(pipeline, this.#name),
    ];
    const partitions = (await log.describeTopics(names)).get(this.#output)?.partitions ?? 0;
    await log.removeMembers(this.#group);
    await this.#awaitEmpty(this.#group, 'attempts that were killed are forgotten');
    await log.deleteCheckpoints(this.#group);
    await catalog.read();
    const entries = [
      ...(['flow', 'generation', 'once'] as const).map((kind) => ({ kind, name: this.#name })),
      ...names.map((name) => ({ kind: 'topic' as const, name })),
      // Left by an attempt that was killed right after it had begun to swap.
      { kind: 'lock' as const, name: lockName({ flow: this.#name, token: 'swap' }) },
      ...(['checkpoint', 'takeover', 'skip', 'static'] as const).flatMap((kind) =>
        catalog
          .all(kind)
          .filter(({ name }) => name.startsWith(`${this.#name}/`))
          .map(({ name }) => ({ kind, name })),
      ),
    ];
    const epoch = await catalog.write(
      entries.map((entry) => ({ ...entry, value: undefined })),
      clock.now(),
    );
    const { generation } = this.#run.progress.record;
    for (const partition of numbersTo(partitions)) {
      const task = { pipeline, flow: this.#name, generation, partition };
      const session = await state.open(task, epoch);
      await session.clear().finally(() => session.close());
    }
    // Last of all: they tell how many states there are.
    await log.deleteTopics(names);
  }
}
