import type { CommittedRecord } from '../../adapters/memory/memory-log.ts';
import { countedExpectations } from '../../plan/counted-expectations.ts';
import type { TablePlan } from '../../plan/pipeline-plan.ts';
import { checkAccount } from '../check/check-account.ts';
import { appendedRow, checkAppended, isOurs } from '../check/check-appended.ts';
import { checkChanges } from '../check/check-changes.ts';
import { checkDeadLetters } from '../check/check-dead-letters.ts';
import { checkMemory } from '../check/check-memory.ts';
import { checkMonotone } from '../check/check-monotone.ts';
import { checkOffsets } from '../check/check-offsets.ts';
import { checkResult } from '../check/check-result.ts';
import { checkView } from '../check/check-view.ts';
import { checkWhole } from '../check/check-whole.ts';
import { OutputFold } from '../check/fold-output.ts';
import { type AccountOfFlow, readAccount } from '../check/read-account.ts';
import { reference } from '../check/reference.ts';
import { referenceChanges } from '../check/reference-changes.ts';
import { hasMisfortune } from './faults.ts';
import { inputsOf, type ShapeView, type WholeRows } from './shape-parts.ts';
import { type FlowUnderTest, type SimulatedWorld, simulatedPipeline } from './simulated-world.ts';
import type { FlowExpectation, RecordPlace, WorkloadRow } from './simulation-workload.ts';

/** No process may hold more keys than its cache has room for, at any moment. */
export function checkBounds(world: SimulatedWorld): void {
  const { settings, sliceRecordsMax, keys } = world.scenario;
  // Whether a commit is due is asked after each slice.
  const touchedMax = (settings.commitRecordsMax ?? 0) + sliceRecordsMax;
  // What falls due at one watermark is let go in one transaction, however many keys it has.
  const isTimed = world.flows.some(
    ({ plan }) => plan.kind === 'join' && plan.join.times !== undefined,
  );
  // A truncate touches every key of its partition: those that are drawn, and NULL.
  const isTruncated = world.flows.some(
    ({ plan }) => plan.kind === 'auto_cdc' && plan.truncateWhen !== undefined,
  );
  const touchedAtOnceMax = isTruncated ? Math.max(touchedMax, keys + 1) : touchedMax;
  const transactionKeysMax = isTimed ? Number.POSITIVE_INFINITY : touchedAtOnceMax;
  for (const instance of world.instances) {
    const progress = instance.progress();
    if (progress === undefined) continue;
    const { cacheBytesMax } = settings;
    const check = { instance: instance.name, progress, cacheBytesMax, transactionKeysMax };
    for (const fault of checkMemory(check)) world.complain(fault);
  }
}

/** Whoever had to recover though nothing was wrong waits for something that it need not wait for, or forgets it. */
export function checkRecoveries(world: SimulatedWorld, when: string): void {
  const expected = new Set([...world.expectedStops.values()].flat());
  // Whoever waits for an answer for longer than its group waits for it comes to what is another one's by then.
  if (hasMisfortune(world.scenario.mood, 'slow')) expected.add('TASK_CORRUPTED');
  for (const { code, message } of world.recoveries) {
    // Somebody starts, somebody leaves: that is nothing wrong.
    if (code === 'TASK_MIGRATED' || code === 'PRODUCER_FENCED') continue;
    // One of the flows of a process may meet its gap after the other.
    if (expected.has(code)) continue;
    world.complain(`nothing failed ${when}, and yet: ${code}: ${message}`);
  }
}

/** What checkpoints promise, at a moment in the middle of everything. */
export function checkPromises(world: SimulatedWorld): void {
  // Rows that a refresh has taken away are promised again once it has taken the checkpoints away.
  if (world.refresh?.way === 'in_place') return;
  for (const flow of world.flows) {
    const { shape, table, group, stageGroup, plan, repartitionTopic } = flow;
    if (shape.whole !== undefined) continue;
    const fold = new OutputFold(table.output);
    const output = world.log
      .readSettled(table.topic)
      .filter((one) => one.value === null || isOurs(one));
    for (const record of output) fold.add(record);
    const { rows } = world.workload.expectationOf(shape, []);
    const isAppending = plan.kind === 'append';
    const isMerging = plan.kind === 'auto_cdc';
    const others = isMerging ? world.flows.filter((one) => one.stageGroup === stageGroup) : [];
    const faults = checkOffsets({
      flow: plan.name,
      rows: placedRows(world, flow, rows),
      others: others.flatMap((one) => world.workload.expectationOf(one.shape, []).rows),
      isMerging,
      output: fold,
      appended: isAppending ? new Set(output.map((one) => appendedRow(one).source)) : undefined,
      repartition: isAppending ? [] : world.log.readSettled(repartitionTopic),
      committed: (topic, partition) =>
        world.committed(topic === repartitionTopic ? stageGroup : group, topic, partition),
      repartitionTopic,
      isEmptiable: isMerging || (plan.kind === 'replace_using' && plan.emptyWhen !== undefined),
    });
    for (const fault of faults) world.complain(`${fault} (table ${table.name})`);
  }
}

/** Rows that come through a table are read where they lie in it. What is not in it yet is not to be read yet. */
function placedRows(
  world: SimulatedWorld,
  { shape }: FlowUnderTest,
  rows: readonly WorkloadRow[],
): readonly WorkloadRow[] {
  const tables = new Set(shape.branches.flatMap(({ via }) => (via === undefined ? [] : [via])));
  if (tables.size === 0) return rows;
  const places = new Map<string, RecordPlace>();
  for (const topic of tables) {
    for (const record of world.log.readSettled(topic)) {
      const { source } = appendedRow(record);
      const { partition, offset } = record;
      // Without transactions, and after a rewind, it may be there more than once; the last one is no less than the first.
      places.set(source, { topic, partition, offset });
    }
  }
  return rows.map((row) => ({
    ...row,
    place: places.get(row.provenance) ?? { ...row.place, offset: Number.POSITIVE_INFINITY },
  }));
}

/** At the end of everything, once all is read: output, account and dead letters of each flow, and the views. */
export async function checkEverything(world: SimulatedWorld): Promise<void> {
  const { scenario, log, plan: pipeline } = world;
  const isExact = scenario.settings.delivery === 'exactly_once';
  await world.learnPins();
  const expectationOf = expectations(world);
  for (const flow of world.flows) {
    const { plan, table, shape } = flow;
    if (world.hasStopped(flow) || (world.torn !== undefined && world.isCutOff(plan))) continue;
    const isWhole = shape.whole !== undefined;
    const expected = isWhole ? undefined : expectationOf(flow);
    const isCounted = isExact && !world.isRewound;
    const account = await readAccount(log, pipeline, simulatedPipeline, plan);
    const letters = deadLetters(world, table);
    const faults = [
      ...checkRows(world, flow, expectationOf),
      ...checkAccount({
        flow: plan.name,
        account,
        expected: expected?.counters,
        handedOn: handedOnTo(world, flow, account, expectationOf),
        // A version holds the rows of those before it, and a join finds its pairs anew where it cannot know of them.
        mayRepeat: plan.kind === 'auto_cdc' || isWhole,
        isExact: isCounted && !isRecounted(world),
      }),
      ...(world.torn === 'letters'
        ? []
        : checkDeadLetters(
            plan.name,
            letters,
            expected?.deadLetters ?? world.workload.badOf(shape),
            isCounted && !world.isEmptied,
          )),
      ...checkPins(world, flow),
    ];
    for (const fault of faults) world.complain(`flow "${plan.name}": ${fault}`);
  }
  for (const view of scenario.shape.views ?? []) checkViewOf(world, view, expectationOf);
}

/** A refresh counts anew, and what its sources have lost by then it has not read. */
function isRecounted({ refreshes, scenario, log }: SimulatedWorld): boolean {
  if (refreshes === 0) return false;
  return scenario.shape.topics.some((topic) =>
    Array.from({ length: log.partitionCountNow(topic) }, (_, partition) => partition).some(
      (partition) => log.rangeNow(topic, partition).start > 0,
    ),
  );
}

/** The rows that the table stage of a flow is sent; undefined: one of those who send them has stopped. */
function handedOnTo(
  world: SimulatedWorld,
  { stageGroup, shape }: FlowUnderTest,
  account: AccountOfFlow,
  expectationOf: Expectations,
): number | undefined {
  if (shape.whole !== undefined) return account.source.handedOn;
  const feeders = world.flows.filter((one) => one.stageGroup === stageGroup);
  if (feeders.some((one) => world.hasStopped(one))) return undefined;
  return feeders.reduce((sum, one) => sum + expectationOf(one).counters.handedOn, 0);
}

type Expectations = (flow: FlowUnderTest) => FlowExpectation;

/** What is expected of each flow, worked out once: nothing comes any more. */
function expectations(world: SimulatedWorld): Expectations {
  const known = new Map<FlowUnderTest, FlowExpectation>();
  return (flow) => {
    const found = known.get(flow);
    if (found !== undefined) return found;
    const names = countedExpectations(flow.plan, flow.table);
    const expected = world.workload.expectationOf(
      flow.shape,
      names,
      ({ topic, partition, offset }) => !world.isBeyond(flow, topic, partition, offset),
    );
    known.set(flow, expected);
    return expected;
  };
}

/** A flow that reads what is there when it starts reads all of it. */
function checkPins(
  { pins, endsAtStart }: SimulatedWorld,
  { shape, plan }: FlowUnderTest,
): string[] {
  if (shape.isOnce !== true) return [];
  const faults: string[] = [];
  for (const [topic, ends] of pins.get(plan.name) ?? []) {
    for (const [partition, end] of ends.entries()) {
      const was = endsAtStart.get(`${topic}/${partition}`) ?? 0;
      if (end < was) faults.push(`reads ${topic}/${partition} up to ${end}, and ${was} were there`);
    }
  }
  return faults;
}

function checkRows(
  world: SimulatedWorld,
  { plan, table, shape }: FlowUnderTest,
  expectationOf: Expectations,
): readonly string[] {
  const isExact = world.scenario.settings.delivery === 'exactly_once';
  const records = world.log.readCommitted(table.topic);
  if (shape.whole !== undefined) {
    const given = world.workload.recordsOf(shape);
    const isCounted = isExact && !world.isRewound;
    if (table.output === 'append') {
      const rows = records.filter(isOurs).map(({ value }) => value?.toString('utf8') ?? 'null');
      return checkWhole(rows, shape.whole(given, seenRows(world, rows, isCounted)), isCounted);
    }
    const fold = new OutputFold(table.output);
    const seen = checkMonotone(records, table.output, Number, compareNumbers, fold);
    const rows = fold.rows().map(({ row }) => row.bytes.toString('utf8', row.start, row.end));
    return [
      ...(isSeenWhole(world, table) ? seen : []),
      ...checkWhole(rows, shape.whole(given, seenRows(world, rows, true)), true),
    ];
  }
  // The rows of all flows that write the table are in one topic.
  const writers = world.flows.filter(({ shape: one }) => one.table === shape.table);
  if (writers[0]?.plan !== plan) return [];
  const rows = writers.flatMap((one) => expectationOf(one).rows);
  // One of them may have stopped for a topic that was made anew, while the others go on.
  const stopped = writers.filter((one) => world.hasStopped(one));
  if (plan.kind === 'append') {
    const missed = new Set(
      stopped
        .flatMap((one) => expectationOf(one).rows)
        .map(({ provenance, row }) => `lacks ${provenance} ${row}`),
    );
    const faults = checkAppended(records, rows, isExact && !world.isRewound);
    return faults.filter((fault) => !missed.has(fault));
  }
  if (stopped.length > 0) return [];
  if (shape.changes !== undefined) {
    return checkChanges(records, referenceChanges(rows, shape.changes), world.isEmptied);
  }
  const fold = new OutputFold(table.output);
  const seen = checkMonotone(records, table.output, Number, compareNumbers, fold);
  return [
    ...(isSeenWhole(world, table) ? seen : []),
    ...checkResult(fold, table.output, reference(rows, compareNumbers)),
  ];
}

/** Without transactions the rows of a key become visible one by one; and a table that is emptied begins anew. */
function isSeenWhole({ scenario, isEmptied }: SimulatedWorld, { output }: TablePlan): boolean {
  if (isEmptied) return false;
  return scenario.settings.delivery === 'exactly_once' || output === 'row_set';
}

function seenRows(
  { endsAtStart }: SimulatedWorld,
  rows: readonly string[],
  isExact: boolean,
): WholeRows {
  return {
    rows,
    isExact,
    isOld: ({ topic, partition, offset }) =>
      offset < (endsAtStart.get(`${topic}/${partition}`) ?? 0),
  };
}

/** Of a table that is right: what is wrong with it was told already. */
function checkViewOf(world: SimulatedWorld, view: ShapeView, expectationOf: Expectations): void {
  const { name } = view;
  const inputs = inputsOf(view).flatMap((input) =>
    world.flows.filter(({ table }) => table.name === input),
  );
  const isCutOff = inputs.some(({ plan }) => world.isCutOff(plan));
  if (world.torn !== undefined && (world.stopped.has(name) || isCutOff)) return;
  if (inputs.some((flow) => world.hasStopped(flow))) return;
  for (const fault of viewFaults(world, view, inputs, expectationOf)) {
    world.complain(`view "${name}": ${fault}`);
  }
}

function viewFaults(
  world: SimulatedWorld,
  view: ShapeView,
  inputs: readonly FlowUnderTest[],
  expectationOf: Expectations,
): readonly string[] {
  const records = world.log.readCommitted(view.name);
  if (view.isOnce === true) {
    const rows = viewRows(records);
    const given = inputs.flatMap(({ shape }) => world.workload.recordsOf(shape));
    const whole = view.whole(given, seenRows(world, rows, true));
    return [...checkWhole(rows, whole, true), ...checkOneRun(records)];
  }
  const [present = [], besides = []] = inputs.map((flow) => {
    const sets = reference(expectationOf(flow).rows, compareNumbers);
    return [...sets.values()].flatMap((set) => [...set.rows.values()]);
  });
  return checkView(records, view.rows(present, besides));
}

/** Whatever died on the way: no run follows one that was done. */
function checkOneRun(records: readonly CommittedRecord[]): readonly string[] {
  const runs = new Set(
    records.flatMap(({ headers }) =>
      headers.flatMap(({ key, value }) => (key === 'tm-seq' ? [value?.toString('utf8')] : [])),
    ),
  );
  return runs.size > 1 ? [`was computed in the runs ${[...runs].join()}`] : [];
}

/** Equal rows are one record, with as many of them. */
function viewRows(records: readonly CommittedRecord[]): readonly string[] {
  const values = new Map<string, string>();
  for (const { key, value } of records) {
    values.set(key?.toString('utf8') ?? '', value?.toString('utf8') ?? '[]');
  }
  return [...values.values()].flatMap((value) =>
    (JSON.parse(value) as readonly unknown[]).map((row) => JSON.stringify(row)),
  );
}

function deadLetters(
  { log }: SimulatedWorld,
  { deadLetterTopic }: TablePlan,
): readonly CommittedRecord[] {
  return deadLetterTopic === undefined ? [] : log.readCommitted(deadLetterTopic);
}

function compareNumbers(a: number, b: number): number {
  return a - b;
}
