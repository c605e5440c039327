import { isAddedSince } from '../../runtime/takeover/added-partitions.ts';
import { checkEnds } from '../check/check-liveness.ts';
import { type FlowUnderTest, type SimulatedWorld, simulatedPipeline } from './simulated-world.ts';

/** Each partition may find its gap in a takeover of its own. */
const gapRoundsMax = 10;
/** Of virtual time, once nothing fails any more. */
const patienceMs = 1_800_000;

/** Complains where something does not come to its end although nothing fails any more. */
export async function inTime(
  world: SimulatedWorld,
  what: string,
  work: Promise<unknown>,
): Promise<void> {
  for (const fault of await checkEnds(world.clock, patienceMs, what, work)) {
    world.complain(`${fault}: ${world.behind().join(', ')}`);
  }
}

export async function stopAll(world: SimulatedWorld): Promise<void> {
  const alive = world.instances.filter(({ isGone }) => !isGone);
  for (const instance of alive) instance.stop();
  const ends = alive.map(({ fate, process }) => Promise.race([fate, process.crashed]));
  await inTime(world, 'it did not stop', Promise.all(ends));
  world.forgetGone();
}

/** Retention overtakes a checkpoint: whoever reads that source has to stop, and must not go on with a gap. */
export async function takeUnread(world: SimulatedWorld): Promise<void> {
  const { random, scenario, workload, log } = world;
  world.crashAll();
  const topic = random.pick(scenario.shape.topics) ?? '';
  const partition = pickUnread(world, topic);
  for (let made = 0; made < 3; made += 1) workload.produceTo(topic, partition);
  const { end } = log.rangeNow(topic, partition);
  const start = end - random.below(2);
  await world.learnPins();
  for (const flow of world.readersOf(topic)) {
    const { plan, group } = flow;
    const from = await checkpointOf(world, flow, topic, partition);
    // Who has never read anything starts with what is there.
    if (from !== undefined && (from >= start || world.isDoneAt(flow, topic, partition, from))) {
      continue;
    }
    const reached = from === undefined ? 0 : (world.reached(group, topic, partition) ?? 0);
    if (from !== undefined) world.expectedStops.set(plan.name, ['OFFSET_OUT_OF_RANGE']);
    loseIn(world, plan.name, (at) => {
      const isThere = at.topic === topic && at.partition === partition;
      return isThere && at.offset >= reached && at.offset < start;
    });
  }
  await log.deleteRecords(topic, new Map([[partition, start]]));
  world.note(() => `retention takes ${topic}/${partition} below ${start}`);
}

/** Of a source that may grow also a partition that nobody has seen yet. */
function pickUnread({ random, scenario, log, note }: SimulatedWorld, topic: string): number {
  const count = log.partitionCountNow(topic);
  const partition = random.below(count);
  // Not drawn: what a seed draws besides stays as it is.
  if (scenario.growsInRound === undefined || partition % 2 === 1) return partition;
  log.addPartitions(topic, count + 1);
  note(() => `${topic} has ${count + 1} partitions`);
  return count;
}

/** Of a partition that was added since the flow began that is its first offset, before any was committed. */
async function checkpointOf(
  world: SimulatedWorld,
  { plan, group }: FlowUnderTest,
  topic: string,
  partition: number,
): Promise<number | undefined> {
  const committed = world.committed(group, topic, partition);
  if (committed !== undefined) return committed;
  const topicId = (await world.log.describeTopics([topic])).get(topic)?.topicId ?? '';
  const place = { flow: plan.name, topic, topicId, partition };
  return isAddedSince(await world.readCatalog(), place) ? 0 : undefined;
}

/** Retention goes on while a flow stands at its gap. Gives the flows that lose more by it. */
async function takeMore(world: SimulatedWorld): Promise<ReadonlySet<string>> {
  const { random, scenario, workload, log } = world;
  const losers = new Set<string>();
  if (scenario.ending !== 'retention') return losers;
  for (const topic of scenario.shape.topics) {
    for (let partition = 0; partition < log.partitionCountNow(topic); partition += 1) {
      if (random.chance(300)) continue;
      for (let made = 0; made < 2; made += 1) workload.produceTo(topic, partition);
      const start = log.rangeNow(topic, partition).end - random.below(2);
      for (const flow of world.readersOf(topic)) {
        const { plan, group } = flow;
        const from = await checkpointOf(world, flow, topic, partition);
        if (from !== undefined && (from >= start || world.isDoneAt(flow, topic, partition, from))) {
          continue;
        }
        const reached = from === undefined ? 0 : (world.reached(group, topic, partition) ?? 0);
        if (from !== undefined) {
          world.expectedStops.set(plan.name, ['OFFSET_OUT_OF_RANGE']);
          losers.add(plan.name);
        }
        loseIn(world, plan.name, (at) => {
          const isThere = at.topic === topic && at.partition === partition;
          return isThere && at.offset >= reached && at.offset < start;
        });
      }
      await log.deleteRecords(topic, new Map([[partition, start]]));
      world.note(() => `retention takes ${topic}/${partition} below ${start}, too`);
    }
  }
  return losers;
}

/** What a flow has lost, those have lost that read its table. */
function loseIn(
  { flows, workload }: SimulatedWorld,
  flow: string,
  isLost: Parameters<SimulatedWorld['workload']['lose']>[1],
): void {
  workload.lose(flow, isLost);
  const table = flows.find(({ plan }) => plan.name === flow)?.table.topic;
  for (const { plan, shape } of flows) {
    if (shape.branches.some(({ via }) => via === table)) workload.lose(plan.name, isLost);
  }
}

export async function recreate(world: SimulatedWorld): Promise<void> {
  const { random, scenario, workload, log } = world;
  world.crashAll();
  const topic = random.pick(scenario.shape.topics) ?? '';
  const description = (await log.describeTopics([topic])).get(topic);
  const count = log.partitionCountNow(topic);
  const former = description?.topicId.replaceAll('-', '') ?? '';
  const known = await world.readCatalog();
  for (const { plan, group } of world.readersOf(topic)) {
    const from = Array.from({ length: count }, (_, partition) =>
      world.reached(group, topic, partition),
    );
    // A checkpoint is known to be of the former topic only once that was recorded, right after the commit.
    const isRecorded = from.some(
      (_, partition) => known.get('checkpoint', `${plan.name}/${topic}/${partition}`) !== undefined,
    );
    if (isRecorded) world.expectedStops.set(plan.name, ['TOPIC_RECREATED']);
    loseIn(world, plan.name, (at, topicId) => {
      const isThere = at.topic === topic && topicId === former;
      return isThere && at.offset >= (from[at.partition] ?? 0);
    });
  }
  // The counters went with the checkpoints.
  world.isRewound = true;
  log.deleteTopic(topic);
  log.createTopic(topic, count);
  await workload.learnTopics();
  for (let made = 0; made < 5; made += 1) {
    workload.produceTo(topic, random.below(count));
  }
  world.note(() => `${topic} is deleted and created again`);
}

/** A broker loses the end of an output topic: where the state knows of it, the flow must not go on without it. */
export function cutOutput(world: SimulatedWorld): void {
  const { random, log, site } = world;
  world.crashAll();
  for (const { plan, table } of world.flows) {
    if (table.output === 'append') continue;
    const partition = random.below(Math.max(1, log.partitionCountNow(table.topic)));
    const task = { pipeline: simulatedPipeline, flow: plan.name, generation: 0, partition };
    const mark = site.state.store.image(task)?.mark;
    if (mark === undefined || mark.offset === 0) continue;
    const end = random.below(mark.offset);
    log.truncate(table.topic, partition, end);
    world.expectedStops.set(plan.name, ['OFFSET_OUT_OF_RANGE']);
    world.note(() => `${table.topic}/${partition} is cut at ${end}`);
  }
}

export function checkStops(world: SimulatedWorld): void {
  for (const [flow, codes] of world.expectedStops) {
    const code = world.stopped.get(flow)?.code;
    if (code !== undefined && codes.includes(code)) continue;
    world.complain(`flow "${flow}" should have stopped with ${codes.join(' or ')}, not ${code}`);
  }
}

/** The flows have stopped, as they must; now somebody takes the gaps into account, one after the other, and they go on. */
export async function acceptGaps(world: SimulatedWorld): Promise<void> {
  world.areGapsAccepted = true;
  for (let attempt = 0; attempt < gapRoundsMax; attempt += 1) {
    await stopAll(world);
    const catalog = await world.readCatalog();
    const ids = catalog.all('gap').map(({ name }) => name);
    // Nobody knows of it who accepts the gaps that were told.
    const losers = attempt === 0 && world.random.chance(600) ? await takeMore(world) : [];
    world.note(() => `somebody accepts ${ids.join(' ')}`);
    world.stopped.clear();
    world.begin({ acceptGaps: ids });
    await inTime(world, 'it never caught up behind the gap', world.untilCaughtUp());
    for (const flow of losers) {
      if (!world.stopped.has(flow)) {
        world.complain(`flow "${flow}" went on over a gap that nobody has accepted`);
      }
    }
    if (world.stopped.size === 0) return;
  }
  world.complain('it found gap after gap');
}
