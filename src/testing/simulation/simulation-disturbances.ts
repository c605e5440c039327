import { catalogTopicOf } from '../../plan/topology.ts';
import { abortedRecord } from './aborted-record.ts';
import { drawAmbush, drawSleep } from './faults.ts';
import type { SimulatedInstance } from './simulated-instance.ts';
import type { SimulatedWorld } from './simulated-world.ts';
import { simulatedPipeline } from './simulated-world.ts';
import { beginRefresh } from './simulation-refresh.ts';
import { type Disturbance, drawStall } from './simulation-scenario.ts';

const outageMsMax = 8_000;
/** Some of it is more than a stop waits for. */
const lingerMsMax = 20_000;
const foreignMsMax = 30_000;
const silentMsMax = 30_000;
const skewMsMax = 86_400_000;

/** Lets something happen to a world beside what befalls single calls. */
export async function disturb(world: SimulatedWorld, disturbance: Disturbance): Promise<void> {
  const { random, site, clock, log } = world;
  const instance = random.pick(world.instances);
  world.note(() => `disturbance: ${disturbance}`);
  switch (disturbance) {
    case 'crash':
      instance?.process.crash();
      return;
    case 'ambush':
      if (instance !== undefined) ambush(world, instance);
      return;
    case 'oversleep':
      await oversleep(world);
      return;
    case 'linger':
      await linger(world);
      return;
    case 'perish':
      if (instance !== undefined) await perish(world, instance);
      return;
    case 'end':
      instance?.stop();
      return;
    case 'stall':
      instance?.process.stall(drawStall(random, world.scenario));
      return;
    case 'fence':
      if (instance !== undefined) await world.log.fence(`${simulatedPipeline}-${instance.name}`);
      return;
    case 'foreign':
      await holdUp(world);
      return;
    case 'skew':
      instance?.process.skew(random.below(2 * skewMsMax) - skewMsMax);
      return;
    case 'broker_restart':
      site.outages.brokerUntilMs = clock.monotonic() + random.below(outageMsMax);
      return;
    case 'state_restart':
      if (random.chance(500)) site.state.store.flush();
      site.outages.stateUntilMs = clock.monotonic() + random.below(outageMsMax);
      return;
    case 'evict':
      evict(world);
      return;
    case 'compact':
      compact(world);
      return;
    case 'retention':
      await passRetention(world);
      return;
    case 'purge':
      await purge(world);
      return;
    case 'rewind':
      await rewind(world);
      return;
    case 'silence':
      silence(world);
      return;
    case 'oust':
      await log.removeMembers(random.pick(world.flows)?.group ?? '');
      return;
    case 'bounce':
      await bounce(world);
      return;
    case 'refresh':
      await beginRefresh(world);
      return;
  }
}

/** The leader of one partition is away for long, or slow, while all others go on. */
function silence({ random, log, site, scenario, plan, flows }: SimulatedWorld): void {
  const topics = [
    ...scenario.shape.topics,
    ...plan.tables.map(({ topic }) => topic),
    ...flows.map(({ repartitionTopic }) => repartitionTopic),
    catalogTopicOf(simulatedPipeline),
  ];
  const topic = random.pick(topics) ?? '';
  const count = log.partitionCountNow(topic);
  if (count > 0) site.outages.silence(topic, random.below(count), random.below(silentMsMax));
}

/** Two restarts within what one rebalance takes. */
async function bounce(world: SimulatedWorld): Promise<void> {
  const { random, scenario, clock } = world;
  for (let round = 0; round < 2; round += 1) {
    world.forgetGone();
    const instance = random.pick(world.instances);
    if (random.chance(500)) instance?.process.crash();
    else instance?.stop();
    world.begin();
    await clock.sleep(random.below(scenario.settings.sessionTimeoutMs));
  }
}

/** Something lies in wait for a process between two of its steps. */
function ambush({ random, note }: SimulatedWorld, { name, process }: SimulatedInstance): void {
  const drawn = drawAmbush(random);
  note(() => `${drawn.misfortune} lies in wait for ${name} at ${drawn.place}`);
  process.lieInWait(drawn);
}

/**
 * Somebody starts, and one of those who take over sleeps in it: the others have gone on when it wakes, and retention
 * may have followed them.
 */
export async function oversleep(world: SimulatedWorld): Promise<void> {
  const { random, scenario, clock, workload } = world;
  const before = random.chance(700) ? random.pick(world.instances) : undefined;
  const newcomer = world.begin();
  const victim = before ?? newcomer;
  const { sessionTimeoutMs } = scenario.settings;
  const drawn = drawSleep(random, sessionTimeoutMs);
  world.note(() => `${victim.name} will sleep at ${drawn.place}`);
  victim.process.lieInWait(drawn);
  if (world.instances.length === 1) world.begin();
  await workload.produce(random.below(scenario.roundRecordsMax));
  await clock.sleep(sessionTimeoutMs + random.below(2 * sessionTimeoutMs));
  await workload.produce(random.below(scenario.roundRecordsMax));
  await clock.sleep(random.below(1_000));
  if (random.chance(500)) return;
  await passRetention(world);
  await purge(world);
}

/** A process is asked to end while one of its turns waits for longer than an end may take. */
async function linger(world: SimulatedWorld): Promise<void> {
  const { random, scenario, clock, workload } = world;
  if (world.instances.length < 2) {
    world.begin();
    await clock.sleep(random.below(3_000));
  }
  const instance = random.pick(world.instances);
  const place = random.chance(800) ? 'state_read_answer' : 'broker';
  const lastsMs = 5_000 + random.below(lingerMsMax);
  instance?.process.lieInWait({ place, misfortune: 'slow', lastsMs });
  await workload.produce(1 + random.below(scenario.roundRecordsMax));
  await clock.sleep(random.below(500));
  instance?.stop();
}

/** A process dies in the middle of a transaction, and none of its name comes back that would end it. */
async function perish(world: SimulatedWorld, instance: SimulatedInstance): Promise<void> {
  instance.process.lieInWait({ place: 'commit', misfortune: 'crash' });
  world.retire(instance.name);
  await world.workload.produce(world.random.below(world.scenario.roundRecordsMax));
}

/**
 * Somebody else has a transaction open on a table: readers see nothing behind it, and nobody can end it by a fence.
 * What is committed behind it counts all the same, whoever looks at the log next.
 */
async function holdUp(world: SimulatedWorld): Promise<void> {
  const { random, log, clock, site, workload } = world;
  const flow = random.pick(world.flows);
  const table = flow?.table;
  const count = table === undefined ? 0 : log.partitionCountNow(table.topic);
  // Before anything is committed, a topic with records is taken for one of somebody else.
  const isOurs = flow?.topics.some((topic) => world.committed(flow.group, topic, 0) !== undefined);
  if (table === undefined || count === 0 || isOurs !== true) return;
  world.foreigners += 1;
  const producer = await log.openProducer(`somebody-else-${world.foreigners}`);
  producer.append(table.topic, random.below(count), abortedRecord);
  const abort = () => producer.abort().catch(() => undefined);
  void clock.sleep(random.below(foreignMsMax)).then(abort);
  if (random.chance(500)) return;
  await workload.produce(random.below(world.scenario.roundRecordsMax));
  await clock.sleep(random.below(1_000));
  site.state.store.flush();
  random.pick(world.instances)?.process.crash();
}

/** The store drops keys of its own, as under memory pressure: a task's state is one of them. */
function evict({ flows, site, random, log }: SimulatedWorld): void {
  for (const { plan, table } of flows) {
    const count = log.partitionCountNow(table.topic);
    for (let partition = 0; partition < count; partition += 1) {
      if (random.chance(500)) continue;
      const task = { pipeline: simulatedPipeline, flow: plan.name, generation: 0, partition };
      site.state.store.restore(task, undefined);
    }
  }
}

/** Now and then the state is lost right after it: what the topics have kept is all there is. */
function compact(world: SimulatedWorld): void {
  const { log, plan, random, site, instances } = world;
  log.compact(catalogTopicOf(simulatedPipeline));
  for (const { topic, output } of plan.tables) {
    // Whoever streams the table has to see that a key is empty.
    const isStreamed = plan.sources.some((one) => one.topic === topic);
    const dropTombstones = random.chance(500) && !isStreamed;
    if (output === 'append' || isFirstUnread(world, topic)) continue;
    log.compact(topic, { dropTombstones });
  }
  for (const { name } of plan.flows) {
    const levels = `${simulatedPipeline}.${name}.levels`;
    if (log.partitionCountNow(levels) > 0) log.compact(levels);
  }
  if (random.chance(700)) return;
  site.state.store.flush();
  for (const { process } of instances) process.crash();
}

/** Whether first versions of keys are still to be read: compaction would take them away. */
function isFirstUnread(world: SimulatedWorld, topic: string): boolean {
  const { log, plan } = world;
  if (!plan.sources.some((one) => one.topic === topic && one.skipsChanges === true)) return false;
  return world.readersOf(topic).some(({ group }) => {
    const count = log.partitionCountNow(topic);
    return Array.from({ length: count }, (_, partition) => partition).some(
      (partition) =>
        (world.committed(group, topic, partition) ?? 0) < log.rangeNow(topic, partition).end,
    );
  });
}

/** Retention takes what every flow has read: nobody may notice. */
async function passRetention(world: SimulatedWorld): Promise<void> {
  const { scenario, log } = world;
  for (const topic of scenario.shape.topics) {
    const before = new Map<number, number>();
    const readers = world.readersOf(topic);
    // A query over all of it has no checkpoint in it.
    if (readers.length === 0) continue;
    for (let partition = 0; partition < log.partitionCountNow(topic); partition += 1) {
      const offsets = readers.map(({ group }) => world.committed(group, topic, partition) ?? 0);
      before.set(partition, Math.min(...offsets));
    }
    await log.deleteRecords(topic, before);
  }
}

/** What lies behind the checkpoint between the stages is deleted, as the service does with large topics. */
async function purge(world: SimulatedWorld): Promise<void> {
  const { log } = world;
  for (const { stageGroup: group, repartitionTopic } of world.flows) {
    const count = log.partitionCountNow(repartitionTopic);
    const before = new Map<number, number>();
    for (let partition = 0; partition < count; partition += 1) {
      before.set(partition, world.committed(group, repartitionTopic, partition) ?? 0);
    }
    if (count > 0) await log.deleteRecords(repartitionTopic, before);
  }
}

/** Somebody sets a checkpoint back while nobody works on it: rows come again that were merged long ago. */
async function rewind(world: SimulatedWorld): Promise<void> {
  const { log, random, clock, scenario } = world;
  world.crashAll();
  // Until the last transaction is over and the groups are empty.
  await clock.sleep(scenario.transactionTimeoutMs + scenario.settings.sessionTimeoutMs * 3);
  const producer = await log.openProducer(undefined);
  for (const { group, topics } of world.flows) {
    for (const topic of topics) {
      const offsets = [];
      for (let partition = 0; partition < log.partitionCountNow(topic); partition += 1) {
        const committed = log.committedNow(group, topic, partition);
        const { start } = log.rangeNow(topic, partition);
        if (committed === undefined || committed.offset <= start) continue;
        const offset = start + random.below(committed.offset - start + 1);
        world.keepReached(group, topic, partition);
        offsets.push({ ...committed, topic, partition, offset });
      }
      if (offsets.length === 0) continue;
      const member = { group, memberId: '', instanceId: undefined, generation: -1 };
      await producer.commit([{ member, offsets }]);
      world.isRewound = true;
    }
  }
  await producer.close();
}
