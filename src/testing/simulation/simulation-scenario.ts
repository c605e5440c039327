import type { OutputMode } from '../../plan/pipeline-plan.ts';
import type { WorkerSettings } from '../../runtime/worker/worker-settings.ts';
import type { Random } from '../random.ts';
import { drawMood, type Mood } from './faults.ts';
import type { SimulationShape } from './shape-parts.ts';
import { drawShape } from './simulation-shapes.ts';

/**
 * How a world ends: `caught_up` reads everything, `once` lets one triggered update read the rest, `retention` takes
 * records away that were not read yet, `recreated` deletes a source and creates it anew, `cut` takes the end of an
 * output topic away that was acknowledged.
 */
export type Ending = 'caught_up' | 'once' | 'retention' | 'recreated' | 'cut';

/** What happens to a world beside what befalls single calls. */
export const disturbances = [
  'crash',
  'ambush',
  'oversleep',
  'linger',
  'perish',
  'end',
  'stall',
  'fence',
  'foreign',
  'skew',
  'broker_restart',
  'state_restart',
  'evict',
  'compact',
  'retention',
  'purge',
  'rewind',
] as const;

/** These come in some worlds beside the others: derived, not drawn, so that worlds which once showed a fault stay as they were. */
const lateDisturbances = ['silence', 'oust', 'bounce'] as const;

/** Of a thousand worlds, how many have more of everything. */
const largePermille = 100;

/** A table is computed anew while everything goes on: in worlds that their seeds have it in. */
export type Disturbance = (typeof disturbances | typeof lateDisturbances)[number] | 'refresh';

/** What may be wished for: beside the disturbances, which come in any round, a topic that is created again in the last. */
export const wishes = [...disturbances, ...lateDisturbances, 'refresh', 'recreate'] as const;

export type Wish = (typeof wishes)[number];

/** With which a process may stop for a while and go on. */
const stalling: readonly Disturbance[] = ['stall', 'ambush', 'oversleep', 'oust'];

/** All that a seed decides about its world before anything runs. */
export type Scenario = {
  readonly shape: SimulationShape;
  readonly output: OutputMode;
  /** Of each source topic. */
  readonly partitions: number;
  /** Before which round each source topic gets one more; undefined: it never does. */
  readonly growsInRound: number | undefined;
  /** Of each table; undefined: as the plan has it. */
  readonly tablePartitions: number | undefined;
  readonly sliceRecordsMax: number;
  readonly keys: number;
  readonly sequences: number;
  readonly dirtPermille: number;
  readonly rounds: number;
  readonly roundRecordsMax: number;
  readonly processesMax: number;
  readonly mood: Mood;
  /** How often something of the list happens in a round. */
  readonly disturbancePermille: number;
  readonly disturbances: readonly Disturbance[];
  readonly ending: Ending;
  /** After the last round a topic of any kind is deleted and created again. */
  readonly recreates: boolean;
  readonly hasEpilogue: boolean;
  readonly transactionTimeoutMs: number;
  readonly settings: Partial<WorkerSettings> &
    Pick<WorkerSettings, 'delivery' | 'cacheBytesMax' | 'sessionTimeoutMs'>;
};

/** What a seed does not decide. */
export type ScenarioWish = {
  readonly shape?: SimulationShape | undefined;
  /** It alone disturbs the world, again and again. */
  readonly disturbance?: Wish | undefined;
  /** Whether tables are computed anew in it, beside whatever else disturbs it. */
  readonly refreshes?: boolean | undefined;
};

export function drawScenario(random: Random, wish: ScenarioWish = {}): Scenario {
  const { shape } = wish;
  const disturbance = wish.disturbance === 'recreate' ? undefined : wish.disturbance;
  const drawnShape = drawShape(random);
  const drawn = shape ?? drawnShape;
  const delivery = random.chance(150) ? 'at_least_once' : 'exactly_once';
  const mood = drawMood(random);
  // Most worlds are small, and cheap: what goes wrong with few records and processes is found soonest there.
  const isLarge = random.chance(largePermille);
  // More keys than a task may hold.
  const isWide = isLarge && random.chance(250);
  const sessionTimeoutMs = 1_000 + random.below(5_000);
  const isExact = delivery === 'exactly_once';
  const possible = disturbances.filter((one) => isExact || !stalling.includes(one));
  // Some worlds have one thing happen again and again, the others a little of several.
  const theme = random.chance(250) ? random.pick(possible) : undefined;
  const chosen = theme === undefined ? possible.filter(() => random.chance(400)) : [theme];
  const late = lateDisturbances.filter((one) => isExact || !stalling.includes(one));
  const present = sessionTimeoutMs % 13 === 5 ? [...chosen, ...late] : chosen;
  // Derived, not drawn, as growth is.
  const recreates = wish.disturbance === 'recreate' || sessionTimeoutMs % 23 === 7;
  const isRefreshed =
    disturbance === 'refresh' || (wish.refreshes === true && disturbance === undefined);
  return {
    shape: drawn,
    output: random.chance(500) ? 'row_set' : 'rows',
    partitions: isLarge ? 1 + random.below(3) : 1 + random.below(random.chance(250) ? 2 : 1),
    growsInRound: mayGrow(drawn) && sessionTimeoutMs % 5 === 0 ? 1 : undefined,
    tablePartitions: drawTablePartitions(random, isLarge),
    sliceRecordsMax: 1 + random.below(isWide ? 3 : 8),
    keys: isWide ? 200 : 1 + random.below(5),
    sequences: random.chance(300) ? 2 : 8,
    dirtPermille: random.chance(300) && drawn.isClean !== true ? 100 : 0,
    rounds: isLarge ? 2 + random.below(4) : 1 + random.below(3),
    roundRecordsMax: isWide ? 80 : isLarge ? 4 + random.below(10) : 2 + random.below(5),
    processesMax: 1 + random.below(isLarge ? 3 : 2),
    mood: isExact ? mood : withoutStalls(mood),
    disturbancePermille: withWish(
      theme === undefined ? random.below(700) : 500 + random.below(500),
      disturbance,
    ),
    disturbances: [
      ...(disturbance === undefined ? present : [disturbance]).filter((one) =>
        isPossibleIn(drawn, one),
      ),
      ...(wish.refreshes === true && disturbance === undefined ? (['refresh'] as const) : []),
    ],
    ...endingOf(drawn, drawEnding(random, isExact), recreates, isRefreshed),
    hasEpilogue: random.chance(isLarge ? 250 : 80),
    transactionTimeoutMs: drawTransactionTimeout(random),
    settings: {
      delivery: drawn.isTimed === true ? 'exactly_once' : delivery,
      commitIntervalMs: 1 + random.below(200),
      commitRecordsMax: 1 + random.below(isWide ? 3 : 20),
      viewIntervalMs: 1_000,
      cacheBytesMax: random.below(4) * 400,
      retryDelayMinMs: 10,
      retriesMax: Number.POSITIVE_INFINITY,
      staticMembership: random.chance(500),
      sessionTimeoutMs,
      rebalanceTimeoutMs: 2 * sessionTimeoutMs,
      // Derived, not drawn, as growth is: worlds that once showed a fault stay as they were.
      shuffle: sessionTimeoutMs % 4 === 0 ? 'topic' : 'memory',
    },
  };
}

/**
 * Whoever reads no more than what was there does not read a partition that comes later; and a watermark does not wait for the
 * first rows of one.
 */
function mayGrow({ flows, isTimed }: SimulationShape): boolean {
  return isTimed !== true && flows.every(({ isOnce }) => isOnce !== true);
}

function withWish(permille: number, disturbance: Disturbance | undefined): number {
  return disturbance === undefined ? permille : 900;
}

/** Rows that were let go by their time are not known any more where they are read once more. */
function isPossibleIn({ isTimed }: SimulationShape, disturbance: Disturbance): boolean {
  return isTimed !== true || disturbance !== 'rewind';
}

/** Undefined: as many as the source has. */
function drawTablePartitions(random: Random, isLarge: boolean): number | undefined {
  if (!isLarge) return random.chance(200) ? 2 : undefined;
  return random.chance(300) ? 1 + random.below(3) : undefined;
}

/** Some are so long that only fencing ends the transaction of the dead in time. */
function drawTransactionTimeout(random: Random): number {
  if (random.chance(250)) return 7_200_000;
  return 3_000 + random.below(random.chance(500) ? 3_000 : 30_000);
}

/** Short ones reorder, longer ones end a session with the transaction still open, the longest end both. */
export function drawStall(random: Random, { settings, transactionTimeoutMs }: Scenario): number {
  const { sessionTimeoutMs } = settings;
  switch (random.below(3)) {
    case 0:
      return random.below(1_000);
    case 1:
      return sessionTimeoutMs + random.below(4_000);
    default:
      return random.below(2 * sessionTimeoutMs + Math.min(transactionTimeoutMs, 30_000));
  }
}

function drawEnding(random: Random, isExact: boolean): Ending {
  const drawn = random.below(100);
  // Without transactions nobody can tell which of the lost records were handed on already.
  if (drawn < 15 || (!isExact && drawn < 30)) return 'once';
  if (drawn < 22) return 'retention';
  if (drawn < 26) return 'recreated';
  if (drawn < 30) return 'cut';
  return 'caught_up';
}

/**
 * Whoever reads no more than what was there does not start again with what is there now. What is lost of all records
 * together is not worked out, nor is what a refresh makes good of it.
 */
function endingOf(
  { flows, views = [] }: SimulationShape,
  drawn: Ending,
  isRecreating: boolean,
  isRefreshed: boolean,
): Pick<Scenario, 'ending' | 'recreates'> {
  const isOnce = [...flows, ...views].some((one) => one.isOnce === true);
  const isTogether =
    flows.some(({ whole }) => whole !== undefined) || views.some((view) => view.isOnce === true);
  const isWhole = (isTogether || isRefreshed) && drawn !== 'once';
  const ending = isWhole || (isOnce && drawn === 'recreated') ? 'caught_up' : drawn;
  const isPlain = ending === 'caught_up' || ending === 'once';
  return { ending, recreates: isRecreating && isPlain && !isOnce && !isRefreshed };
}

/** Without transactions nothing fences what a process that stalled still sends: it is not simulated. */
function withoutStalls({ rates, focuses }: Mood): Mood {
  return {
    rates: { ...rates, stall: 0 },
    focuses: focuses.filter(({ misfortune }) => misfortune !== 'stall'),
  };
}
