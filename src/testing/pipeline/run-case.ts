import { FlowError } from '../../base/errors.ts';
import type { Fault } from '../../base/place.ts';
import { rowDecoder } from '../../data/row-decoder.ts';
import { formatType } from '../../data/type-text.ts';
import { type FlowPlan, type PipelinePlan, staticSources } from '../../plan/pipeline-plan.ts';
import { minus } from '../check/check-result.ts';
import { Random } from '../random.ts';
import { rowText } from './decode-rows.ts';
import type { ExpectationCount, ExpectedRows, PipelineCase } from './pipeline-case.ts';
import type { StartPipeline } from './pipeline-runner.ts';
import { PipelineWorld } from './pipeline-world.ts';
import { plainSchedule, type Schedule, schedules } from './schedules.ts';

export type ScheduleReport = {
  readonly schedule: string;
  readonly status: 'passed' | 'failed';
  /** What is wrong, one line each: rows that are missing or too many, counts that differ, an error. */
  readonly differences: readonly string[];
};

export type CaseReport = {
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'skipped';
  /** Why it was skipped, or is run under its plain schedule only. */
  readonly note: string | undefined;
  readonly schedules: readonly ScheduleReport[];
};

/** What planning a case gives; a plan is there exactly when no fault is an error. */
export type PlannedCase = {
  readonly plan: PipelinePlan | undefined;
  readonly faults: readonly Fault[];
};

const unsupportedCodes = ['NOT_SUPPORTED_YET', 'NOT_SUPPORTED'];

/** A warning with this code says that the result depends on when and in which order records are read. */
const orderDependent = 'NONDETERMINISTIC';

/**
 * Runs one case under every schedule. Invariant: a case that this version does not support is skipped by
 * name, and only then; whatever runs must give the expected rows each time.
 */
export async function runCase(
  pipelineCase: PipelineCase,
  { plan, faults }: PlannedCase,
  start: StartPipeline,
): Promise<CaseReport> {
  const { name, error } = pipelineCase;
  const errors = faults.filter(({ severity }) => severity === 'error');
  const unsupported = errors.find(({ code }) => unsupportedCodes.includes(code));
  if (unsupported !== undefined) {
    return { name, status: 'skipped', note: unsupported.message, schedules: [] };
  }
  if (plan === undefined) return refusedReport(pipelineCase, errors);
  const statics = staticTopics(plan);
  const isPlain = statics.areWritten || plan.warnings.some(({ code }) => code === orderDependent);
  const chosen = isPlain || error !== undefined ? [plainSchedule] : schedules;
  const reports: ScheduleReport[] = [];
  for (const schedule of chosen) {
    reports.push(await runSchedule(pipelineCase, plan, schedule, start));
  }
  const failed = reports.some(({ status }) => status === 'failed');
  return {
    name,
    status: failed ? 'failed' : 'passed',
    note: isPlain
      ? 'its result depends on order or time: one schedule only'
      : countNote(plan, pipelineCase),
    schedules: reports,
  };
}

function refusedReport({ name, error }: PipelineCase, errors: readonly Fault[]): CaseReport {
  const lines = errors.map(
    ({ code, message, place }) => `${place.line}:${place.column} ${code}: ${message}`,
  );
  const isExpected = error !== undefined;
  const status = isExpected ? 'passed' : 'failed';
  const differences = isExpected ? [] : lines;
  return {
    name,
    status,
    note: undefined,
    schedules: [{ schedule: 'validate', status, differences }],
  };
}

async function runSchedule(
  pipelineCase: PipelineCase,
  plan: PipelinePlan,
  schedule: Schedule,
  start: StartPipeline,
): Promise<ScheduleReport> {
  const world = new PipelineWorld({
    plan,
    partitions: schedule.partitions,
    sliceRecordsMax: schedule.batchRecordsMax,
    start,
  });
  let differences: readonly string[];
  try {
    refuseUnreadInput(world, pipelineCase);
    await play(world, withStatics(pipelineCase, staticTopics(plan).topics), schedule);
    differences = [
      ...pipelineCase.expected.flatMap((expected) => rowDifferences(world, plan, expected)),
      ...(await countDifferences(world, plan, pipelineCase)),
    ];
    if (pipelineCase.error !== undefined) {
      differences = [`it must fail with ${pipelineCase.error}, and did not`];
    }
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
    const isExpected = pipelineCase.error !== undefined && thrown instanceof FlowError;
    differences = isExpected ? [] : [errorText(thrown)];
  } finally {
    world.close();
  }
  const status = differences.length === 0 ? 'passed' : 'failed';
  return { schedule: schedule.name, status, differences };
}

/**
 * Topics that are read without STREAM only. Their records are there before the pipeline starts, so that the
 * result does not depend on when it reads them; a table that the pipeline writes itself can't be.
 */
function staticTopics({ flows, sources }: PipelinePlan): {
  readonly topics: ReadonlySet<string>;
  readonly areWritten: boolean;
} {
  const branches = flows.flatMap((flow) => flow.branches);
  const streamed = new Set(
    branches.flatMap(({ source }) => sources.find(({ name }) => name === source)?.topic ?? []),
  );
  const statics = branches.flatMap(({ steps }) => staticSources(steps));
  return {
    topics: new Set(statics.flatMap(({ topic }) => (streamed.has(topic) ? [] : topic))),
    areWritten: statics.some(({ topic, table }) => table !== undefined || streamed.has(topic)),
  };
}

function withStatics(pipelineCase: PipelineCase, topics: ReadonlySet<string>): PipelineCase {
  const inputs = [...pipelineCase.inputs];
  return {
    ...pipelineCase,
    inputs: new Map(inputs.filter(([topic]) => !topics.has(topic))),
    statics: new Map([...pipelineCase.statics, ...inputs.filter(([topic]) => topics.has(topic))]),
  };
}

function errorText(error: Error): string {
  if (!(error instanceof FlowError)) return error.stack ?? error.message;
  const { code, message, detail } = error;
  return `${code}: ${message}${detail === undefined ? '' : ` (${detail})`}`;
}

function refuseUnreadInput(world: PipelineWorld, { inputs, inputFiles }: PipelineCase): void {
  const topics = world.sourceTopics();
  const unread = [...inputs].find(([one, values]) => values.length > 0 && !topics.includes(one));
  if (unread === undefined) return;
  const [topic] = unread;
  const file = inputFiles?.get(topic);
  const named = file === undefined ? '' : `, whose records stand in ${file}`;
  throw new FlowError('USAGE', `no source of the pipeline reads topic "${topic}"${named}`, {
    detail: `Its sources read: ${topics.join(', ')}.`,
  });
}

/** Feeds the records in three parts, with the schedule's event around the second one. */
async function play(
  world: PipelineWorld,
  { inputs, statics }: PipelineCase,
  schedule: Schedule,
): Promise<void> {
  produce(world, statics);
  const parts = cutInThree(inputs, schedule.shuffleSeed);
  const names = Array.from({ length: schedule.workers }, (_, index) => `worker-${index + 1}`);
  const startAll = () => Promise.all(names.map((name) => world.startProcess(name)));
  const isAtOnce = schedule.event === 'none' && schedule.workers === 1;
  if (isAtOnce) for (const part of parts) produce(world, part);
  else produce(world, parts[0]);
  let processes = await startAll();
  await world.untilCaughtUp(...processes);
  if (!isAtOnce) {
    if (schedule.event === 'state-lost') {
      await world.stop(...processes);
      // What a new process restores from a compacted output must be the whole state.
      world.state.flush();
      world.compactOutputs();
      processes = await startAll();
    }
    produce(world, parts[1]);
    if (schedule.event === 'restart') {
      // Less than a commit takes: some of the second part is read, and none of it is committed.
      await world.clock.sleep(10);
      for (const process of processes) world.kill(process);
      processes = await startAll();
    }
    await world.untilCaughtUp(...processes);
    produce(world, parts[2]);
    if (schedule.event === 'state-lost') {
      await world.clock.sleep(10);
      world.state.flush();
    }
    await world.untilCaughtUp(...processes);
  }
  await world.stop(...processes);
}

type Inputs = ReadonlyMap<string, readonly string[]>;

function produce(world: PipelineWorld, inputs: Inputs): void {
  for (const [topic, values] of inputs) {
    for (const value of values) world.produce(topic, { value });
  }
}

function cutInThree(
  inputs: Inputs,
  shuffleSeed: number | undefined,
): readonly [Inputs, Inputs, Inputs] {
  const random = shuffleSeed === undefined ? undefined : new Random(shuffleSeed);
  const ordered = new Map(
    [...inputs].map(([topic, values]) => [topic, random?.shuffled(values) ?? values]),
  );
  const part = (index: number): Inputs =>
    new Map(
      [...ordered].map(([topic, values]) => {
        const size = Math.ceil(values.length / 3);
        return [topic, values.slice(index * size, (index + 1) * size)];
      }),
    );
  return [part(0), part(1), part(2)];
}

function rowDifferences(
  world: PipelineWorld,
  plan: PipelinePlan,
  expected: ExpectedRows,
): string[] {
  const { dataset, columns } = expected;
  const table = world.table(dataset);
  if (table === undefined) {
    const names = plan.tables.map(({ name }) => name).join(', ');
    return [`the pipeline has no table "${dataset}"; it has ${names}`];
  }
  const wanted = columns.map(({ name, type }) => `${name} ${formatType(type)}`.toLowerCase());
  const found = table.columns.map(({ name, type }) => `${name} ${formatType(type)}`.toLowerCase());
  if (wanted.join() !== found.join()) {
    return [`${dataset} has the columns ${found.join(', ')}, expected ${wanted.join(', ')}`];
  }
  const decode = rowDecoder(table.columns);
  const types = columns.map(({ type }) => type);
  const rows = world.rows(table).map(({ row }) => rowText(types, decode(row)));
  return [
    ...minus(expected.rows, rows).map((row) => `${dataset} lacks ${row}`),
    ...minus(rows, expected.rows).map((row) => `${dataset} has ${row}`),
  ];
}

/**
 * Which rows are equal is known only where a key's rows come together, and there only among those of its
 * highest sequence: expectations run before, and see equal rows as often as they come. So each row that is
 * expected to be counted is counted at least once.
 */
function countNote(plan: PipelinePlan, { expectations }: PipelineCase): string | undefined {
  const isDistinct = plan.flows.some(isDistinctFlow);
  return isDistinct && expectations.size > 0
    ? 'with SELECT DISTINCT the counts of expectations are lower bounds'
    : undefined;
}

function isDistinctFlow(flow: FlowPlan): boolean {
  return flow.kind === 'replace_using' && flow.distinct;
}

async function countDifferences(
  world: PipelineWorld,
  plan: PipelinePlan,
  { expectations, target }: PipelineCase,
): Promise<string[]> {
  if (expectations.size === 0) return [];
  const counts = new Map<string, ExpectationCount>();
  let isDistinct = false;
  for (const flow of plan.flows) {
    if (flow.target.toLowerCase() !== target.toLowerCase()) continue;
    isDistinct ||= isDistinctFlow(flow);
    const { source } = await world.account(flow);
    for (const { name, passed, failed } of source.expectations) {
      const before = counts.get(name) ?? { rows: 0, violations: 0 };
      counts.set(name, {
        rows: before.rows + passed + failed,
        violations: before.violations + failed,
      });
    }
  }
  return [...expectations].flatMap(([name, want]) => {
    const have = counts.get(name);
    if (have !== undefined && isExpected(have, want, isDistinct)) return [];
    const found = have === undefined ? 'no count' : countText(have);
    return [`expectation "${name}" has ${found}, expected ${countText(want)}`];
  });
}

function isExpected(have: ExpectationCount, want: ExpectationCount, isDistinct: boolean): boolean {
  const passed = have.rows - have.violations;
  const wanted = want.rows - want.violations;
  return isDistinct
    ? passed >= wanted && have.violations >= want.violations
    : passed === wanted && have.violations === want.violations;
}

function countText({ rows, violations }: ExpectationCount): string {
  return `${rows} rows, ${violations} violations`;
}
