import { levelsTopicOf, repartitionTopicOf } from '../../plan/topology.ts';
import { numbersTo } from '../../runtime/refresh/refresh-facts.ts';
import { type SimulatedWorld, simulatedPipeline } from './simulated-world.ts';
import { checkStops, inTime, stopAll } from './simulation-gaps.ts';

const absenceMsMax = 3_000;
/** More than between two looks at the topics. */
const afterwardsMsMax = 12_000;

/** A topic, and the flows that must not go on where another one has its name. */
type Victim = {
  readonly what: 'source' | 'output' | 'inner' | 'letters' | 'view' | 'catalog';
  /** The state of a table follows it. */
  readonly isChangelog?: true;
  readonly topic: string;
  readonly flows: readonly string[];
};

/**
 * Somebody deletes a topic and creates one of the same name, while processes run or while none does: a source, a table, what
 * lies between the stages, dead letters, a view, the catalog. Whoever has a checkpoint that speaks of the former one must stop
 * and say so, and whoever goes on all the same must be right in the end.
 */
export async function recreateAny(world: SimulatedWorld): Promise<void> {
  const { random, log, clock, workload, scenario } = world;
  const victim = random.pick(await victims(world));
  if (victim === undefined) return;
  const { topic, what } = victim;
  const description = (await log.describeTopics([topic])).get(topic);
  if (description === undefined) return;
  const isAsleep = random.chance(400);
  if (isAsleep) world.crashAll();
  for (const flow of victim.flows) world.expectedStops.set(flow, codesOf(victim));
  world.tear(what);
  world.note(() => `${what} topic ${topic} is deleted`);
  log.deleteTopic(topic);
  if (random.chance(300)) {
    if (isAsleep && random.chance(500)) world.begin();
    await clock.sleep(random.below(absenceMsMax));
  }
  const { partitions, configs } = description;
  log.createTopic(topic, partitions, Object.fromEntries(configs));
  world.note(() => `${what} topic ${topic} is created again`);
  await workload.learnTopics();
  await workload.produce(1 + random.below(scenario.roundRecordsMax));
  world.forgetGone();
  if (world.instances.length === 0 && random.chance(500)) world.begin();
  await clock.sleep(random.below(afterwardsMsMax));
}

function codesOf({ what, isChangelog }: Victim): readonly string[] {
  // Who was starting meanwhile had read the definitions already, and finds that the catalog does not know the topics.
  if (what === 'catalog') return ['DEFINITION_MISSING', 'TOPIC_MISSING', 'TOPIC_CONFIG'];
  const codes = ['TOPIC_RECREATED', 'TOPIC_MISSING'];
  // Whoever takes a partition over meanwhile finds its checkpoint gone first: it goes with the topic.
  if (what === 'source' || what === 'inner') codes.push('CHECKPOINT_MISSING');
  // Whoever is taking the table over meanwhile finds its state ahead of the changelog first.
  return isChangelog === true ? [...codes, 'OFFSET_OUT_OF_RANGE'] : codes;
}

async function victims(world: SimulatedWorld): Promise<readonly Victim[]> {
  const { plan, scenario, log } = world;
  const catalog = await world.readCatalog();
  const marks = catalog.all('checkpoint').map(({ name }) => name);
  const begun = (flows: readonly string[], topic = ''): readonly string[] =>
    flows.filter((flow) => marks.some((mark) => mark.startsWith(`${flow}/${topic}`)));
  const found: Victim[] = [];
  for (const topic of scenario.shape.topics) {
    const readers = world.readersOf(topic).map((flow) => flow.plan.name);
    const flows = begun(readers, topic);
    // Who has read nothing of the former one goes on with the other, and nobody can say what that should give.
    if (flows.length === readers.length) found.push({ what: 'source', topic, flows });
  }
  for (const { name, topic, deadLetterTopic, isSink } of plan.tables) {
    // A sink is its owner's, who may do with it what he likes.
    if (isSink === true) continue;
    const writers = plan.flows.flatMap((flow) => (flow.target === name ? [flow.name] : []));
    if (writers.length > 0) {
      found.push({ what: 'output', topic, flows: begun(writers), isChangelog: true });
    }
    if (deadLetterTopic !== undefined) {
      found.push({ what: 'letters', topic: deadLetterTopic, flows: [] });
    }
  }
  for (const { name } of plan.flows) {
    const repartition = repartitionTopicOf(simulatedPipeline, name);
    const levels = levelsTopicOf(simulatedPipeline, name);
    found.push({ what: 'inner', topic: repartition, flows: begun([name], repartition) });
    found.push({ what: 'inner', topic: levels, flows: begun([name]), isChangelog: true });
  }
  for (const { name } of scenario.shape.views ?? []) {
    found.push({ what: 'view', topic: name, flows: [] });
  }
  // Only who has a checkpoint in a source goes on from something.
  const hasRead = (group: string, topic: string): boolean =>
    numbersTo(log.partitionCountNow(topic)).some(
      (partition) => world.committed(group, topic, partition) !== undefined,
    );
  const readers = world.flows.filter(({ group, topics }) =>
    scenario.shape.topics.some((topic) => topics.includes(topic) && hasRead(group, topic)),
  );
  const flows = begun(readers.map((flow) => flow.plan.name));
  found.push({ what: 'catalog', topic: catalog.topic, flows });
  return found.filter(
    ({ topic, flows, what }) =>
      log.partitionCountNow(topic) > 0 &&
      (flows.length > 0 || what === 'letters' || what === 'view'),
  );
}

/** What they stopped at stands: whoever starts next stops at it, too. */
export async function checkLastingStops(world: SimulatedWorld): Promise<void> {
  checkStops(world);
  await stopAll(world);
  world.stopped.clear();
  world.begin();
  await inTime(world, 'it never stopped again', world.untilCaughtUp());
  checkStops(world);
}
