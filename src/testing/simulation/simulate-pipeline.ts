import { Random } from '../random.ts';
import { errorText, type SimulatedInstance } from './simulated-instance.ts';
import { SimulatedWorld, type Trace } from './simulated-world.ts';
import { disturb, oversleep } from './simulation-disturbances.ts';
import {
  acceptGaps,
  checkStops,
  cutOutput,
  inTime,
  recreate,
  stopAll,
  takeUnread,
} from './simulation-gaps.ts';
import { checkLastingStops, recreateAny } from './simulation-recreation.ts';
import { endRefresh } from './simulation-refresh.ts';
import { drawScenario, type ScenarioWish } from './simulation-scenario.ts';
import { lateShapeOf, refreshesIn } from './simulation-shapes.ts';
import {
  checkBounds,
  checkEverything,
  checkPromises,
  checkRecoveries,
} from './simulation-verdict.ts';

export type SimulationOptions = ScenarioWish & {
  readonly trace?: Trace;
};

export type SimulationReport = {
  readonly seed: number;
  readonly shape: string;
  readonly records: number;
  /** Processes that were started. */
  readonly processes: number;
  readonly crashes: number;
  /** What went wrong, one line each; none: the seed passed. */
  readonly faults: readonly string[];
};

/** Faults that are told of one seed. */
const faultsMax = 20;

/**
 * One world from a seed: records arrive while processes start, crash, stall and lose their state, and in
 * the end nothing fails any more. Then the output must be what the definition says, and every state that a reader
 * could have seen on the way must have been right. Invariant: the seed decides everything.
 */
export async function simulate(
  seed: number,
  options: SimulationOptions = {},
): Promise<SimulationReport> {
  const random = new Random(seed);
  const scenario = drawScenario(random, {
    ...options,
    shape: options.shape ?? lateShapeOf(seed),
    refreshes: refreshesIn(seed),
  });
  const world = new SimulatedWorld(random, scenario, options.trace);
  try {
    await live(world);
  } catch (error) {
    world.complain(`the simulation broke off: ${errorText(error)}`);
  } finally {
    world.clock.stop();
  }
  return {
    seed,
    shape: scenario.shape.name,
    records: world.workload.records,
    processes: world.started,
    crashes: world.crashes,
    faults: [...world.complaints].slice(0, faultsMax),
  };
}

async function live(world: SimulatedWorld): Promise<void> {
  const { shape, partitions, rounds } = world.scenario;
  world.note(() => `scenario ${JSON.stringify({ ...world.scenario, shape: shape.name })}`);
  for (const topic of shape.topics) world.log.createTopic(topic, partitions);
  for (const topic of shape.sinks ?? []) {
    world.log.createTopic(topic, partitions, { 'cleanup.policy': 'delete' });
    world.log.produce(topic, 0, { value: 'of somebody else' });
  }
  await world.workload.learnTopics();
  // A partition without rows holds up no watermark, so that its first ones may come too late.
  if (shape.isTimed === true) {
    inEveryPartition(world, (topic, partition) => world.workload.produceClean(topic, partition));
  }
  const middle = world.random.below(2 * rounds);
  const { disturbances, disturbancePermille } = world.scenario;
  // Before anybody has a checkpoint.
  if (disturbances.includes('oversleep') && world.random.chance(disturbancePermille / 2)) {
    await oversleep(world);
  }
  for (let round = 0; round < rounds; round += 1) {
    if (round === world.scenario.growsInRound) grow(world);
    await liveOn(world);
    if (round === middle) checkPromises(world);
  }
  if (world.scenario.recreates) await recreateAny(world);
  await end(world);
}

/** Somebody adds a partition to each source: it is read from its first record on. */
function grow({ scenario, log, note }: SimulatedWorld): void {
  for (const topic of scenario.shape.topics) {
    const partitions = scenario.partitions + 1;
    log.addPartitions(topic, partitions);
    note(() => `${topic} has ${partitions} partitions`);
  }
}

function inEveryPartition(
  { scenario, log }: SimulatedWorld,
  produce: (topic: string, partition: number) => void,
): void {
  for (const topic of scenario.shape.topics) {
    const count = log.partitionCountNow(topic);
    for (let partition = 0; partition < count; partition += 1) produce(topic, partition);
  }
}

async function liveOn(world: SimulatedWorld): Promise<void> {
  const { random, workload, clock } = world;
  const { roundRecordsMax, processesMax, disturbancePermille, disturbances } = world.scenario;
  await workload.produce(random.below(roundRecordsMax));
  world.forgetGone();
  const { length } = world.instances;
  if (length === 0 || (length < processesMax && random.chance(400))) world.begin();
  await clock.sleep(random.below(random.chance(150) ? 10_000 : 1_000));
  if (random.chance(disturbancePermille)) {
    const disturbance = random.pick(disturbances);
    if (disturbance !== undefined) await disturb(world, disturbance);
  }
  checkBounds(world);
}

async function end(world: SimulatedWorld): Promise<void> {
  const { ending, hasEpilogue, disturbancePermille } = world.scenario;
  const { faults, outages } = world.site;
  const isCalmAllAlong = faults.isCalm && disturbancePermille === 0;
  if (ending === 'retention') await takeUnread(world);
  if (ending === 'recreated') await recreate(world);
  if (ending === 'cut') cutOutput(world);
  faults.calm();
  for (const { process } of world.instances) process.lieInWait(undefined);
  outages.end();
  world.note(() => 'all is calm');
  world.forgetGone();
  // Where nobody knows any more whose transactions are open, they are waited for.
  if (world.torn === 'catalog') await endTransactions(world);
  await inTime(world, 'the refresh did not end', endRefresh(world));
  await catchUp(world, ending === 'once');
  if (world.torn !== undefined) await checkLastingStops(world);
  else if (isCalmAllAlong) checkRecoveries(world, 'all the time');
  if (world.torn === undefined && hasEpilogue && ending === 'caught_up') await epilogue(world);
  await stopAll(world);
  if (!world.flows.every((flow) => world.isReadable(flow))) await endTransactions(world);
  if (world.complaints.size === 0) await checkEverything(world);
}

/** What an update leaves behind that ends by itself, the broker ends some time: the transactions of the dead. */
async function endTransactions({ clock, log, scenario, flows }: SimulatedWorld): Promise<void> {
  await clock.sleep(scenario.transactionTimeoutMs);
  const [flow] = flows;
  if (flow !== undefined) await log.offsetRanges(flow.table.topic, []);
}

async function catchUp(world: SimulatedWorld, isOnce: boolean): Promise<void> {
  const gaps = world.expectedStops.size > 0;
  const isAlone = world.instances.length === 0;
  if (isOnce) {
    const last = await beginOnce(world);
    await inTime(world, 'it never caught up', last.fate);
  } else {
    if (isAlone || gaps || world.random.chance(500)) world.begin();
    await inTime(world, 'it never caught up', world.untilCaughtUp());
  }
  if (world.torn !== undefined) return;
  if (gaps) checkStops(world);
  if (gaps && world.scenario.ending !== 'cut') await acceptGaps(world);
}

/** One update that reads what is there and ends by itself; the others end before it or go on beside it. */
async function beginOnce(world: SimulatedWorld): Promise<SimulatedInstance> {
  if (world.random.chance(500)) await stopAll(world);
  return world.begin({ once: true });
}

/**
 * Nothing fails any more, and everything is taken over anew, so that what was lost before is found: whoever still has
 * to recover does so without need.
 */
async function epilogue(world: SimulatedWorld): Promise<void> {
  const { roundRecordsMax } = world.scenario;
  await stopAll(world);
  world.begin();
  inEveryPartition(world, (topic, partition) => world.workload.produceTo(topic, partition));
  await inTime(world, 'it never caught up again', world.untilCaughtUp());
  world.recoveries = [];
  await world.workload.produce(roundRecordsMax);
  await inTime(world, 'it never caught up with the last records', world.untilCaughtUp());
  checkRecoveries(world, 'in the end');
}
