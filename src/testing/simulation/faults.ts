import type { Random } from '../random.ts';

/**
 * Where a misfortune may strike: before a call of a process to the outside, at its answer, and between the two steps
 * of a commit. What lies between two of these places happens at once.
 */
export const places = [
  'broker',
  'broker_answer',
  'checkpoint',
  'checkpoint_answer',
  'poll',
  'poll_answer',
  'join',
  'join_answer',
  'commit',
  'commit_middle',
  'commit_answer',
  'state_read',
  'state_read_answer',
  'state_write',
  'state_write_answer',
] as const;

export type Place = (typeof places)[number];

/** Every misfortune, with the places where it makes sense; none named: all of them. */
const misfortunes = {
  /** The process is gone. */
  crash: undefined,
  /** The process stops, for longer than its session lasts or for less, and goes on believing in its old world. */
  stall: undefined,
  /** The others run first. */
  delay: undefined,
  /** The service takes its time, far longer than anybody would wait who did not have to. */
  slow: [
    'state_read',
    'state_read_answer',
    'state_write',
    'state_write_answer',
    'commit',
    'broker',
    'checkpoint_answer',
  ],
  /** The service is away: the call does nothing. */
  refuse: ['broker', 'checkpoint', 'poll', 'commit', 'state_read', 'state_write'],
  /** The call does nothing, and its caller cannot know. */
  time_out: ['broker', 'checkpoint', 'commit'],
  /** The call has done its work, and its caller cannot know. */
  lose_answer: [
    'broker_answer',
    'checkpoint_answer',
    'commit_answer',
    'state_read_answer',
    'state_write_answer',
  ],
  /** Somebody fences the process from outside. */
  fence: ['broker', 'poll_answer', 'commit', 'commit_middle', 'commit_answer', 'state_write'],
  /** The state store loses everything. */
  lose_state: ['state_read', 'state_read_answer', 'state_write'],
  /** It loses one task's state and keeps the others'. */
  lose_task: ['state_read', 'state_read_answer', 'state_write'],
  /** One task's state goes back to what it was some time ago, under this owner or one before it. */
  roll_back: ['state_read', 'state_read_answer', 'state_write'],
  /** A write stops half way: the mark goes before the first entry and comes back after the last one. */
  half_write: ['state_write'],
} as const satisfies Record<string, readonly Place[] | undefined>;

export type Misfortune = keyof typeof misfortunes;

/** Per thousand times that a process passes a place. */
export type Rates = Partial<Readonly<Record<Misfortune, number>>>;

/** One place where one misfortune strikes again and again: what needs two of them in a row is met this way. */
export type Focus = {
  readonly place: Place;
  readonly misfortune: Misfortune;
  readonly permille: number;
};

/** One misfortune that strikes once, at the place that a process passes next. */
export type Ambush = {
  readonly place: Place;
  readonly misfortune: Misfortune;
  /** How long a stall or a slow call lasts; absent: as long as others do. */
  readonly lastsMs?: number;
};

/** What kind of bad day a seed has. */
export type Mood = { readonly rates: Rates; readonly focuses: readonly Focus[] };

export const calmMood: Mood = { rates: {}, focuses: [] };

function isPossible(misfortune: Misfortune, place: Place): boolean {
  const at: readonly Place[] | undefined = misfortunes[misfortune];
  return at === undefined || at.includes(place);
}

const names = Object.keys(misfortunes) as Misfortune[];

/**
 * Some worlds are only slow, some have a little of everything, and most have one to three places at which the same
 * thing goes wrong again and again, with or without the rest.
 */
export function drawMood(random: Random): Mood {
  const kind = random.below(100);
  if (kind < 8) return { rates: { delay: random.below(300) }, focuses: [] };
  const up = (most: number) => (random.chance(500) ? 0 : random.below(most + 1));
  const rates: Rates =
    kind < 50
      ? {
          crash: up(20),
          stall: up(15),
          delay: up(200),
          slow: up(10),
          refuse: up(20),
          time_out: up(20),
          lose_answer: up(20),
          fence: up(10),
          lose_state: up(10),
          lose_task: up(10),
          roll_back: up(20),
          half_write: up(20),
        }
      : { delay: up(200) };
  const count = kind < 50 ? random.below(2) : 1 + random.below(3);
  return { rates, focuses: Array.from({ length: count }, () => drawFocus(random)) };
}

/** What a process passes while it takes partitions over. */
const takeoverPlaces: readonly Place[] = ['join', 'join', 'join_answer', 'checkpoint_answer'];

/** In which a process sleeps while the others go on without it. */
export function drawSleep(random: Random, sessionTimeoutMs: number): Ambush {
  const lastsMs = sessionTimeoutMs + random.below(2 * sessionTimeoutMs);
  return { place: random.pick(takeoverPlaces) ?? 'join', misfortune: 'stall', lastsMs };
}

/** Where two steps lie that nothing but the protocol between them holds together. */
const seams: readonly (readonly [Place, Misfortune])[] = [
  ['commit_middle', 'stall'],
  ['commit_middle', 'fence'],
  ['commit_middle', 'crash'],
  ['commit', 'stall'],
  ['commit', 'crash'],
  ['commit_answer', 'stall'],
  ['commit_answer', 'lose_answer'],
  ['poll_answer', 'delay'],
  ['poll_answer', 'stall'],
  ['join', 'stall'],
  ['join_answer', 'stall'],
  ['broker_answer', 'stall'],
  ['checkpoint_answer', 'stall'],
  ['state_read_answer', 'stall'],
  ['state_read_answer', 'roll_back'],
  ['state_write', 'stall'],
  ['state_write', 'delay'],
  ['state_write', 'slow'],
  ['state_read_answer', 'slow'],
  ['state_write', 'roll_back'],
];

export function drawAmbush(random: Random): Ambush {
  const [place, misfortune] = random.pick(seams) ?? ['commit', 'crash'];
  return { place, misfortune };
}

function drawFocus(random: Random): Focus {
  const permille = 20 + random.below(250);
  if (random.chance(600)) return { ...drawAmbush(random), permille };
  const misfortune = random.pick(names) ?? 'crash';
  const possible = places.filter((place) => isPossible(misfortune, place));
  return { place: random.pick(possible) ?? 'broker', misfortune, permille };
}

/** The misfortunes of one place, each with the upper end of its share of a thousand. */
type Odds = { readonly misfortune: Misfortune; readonly below: number }[];

/** Far more than any world needs: virtual time never ends a loop in which none passes. */
const passedMax = 1_000_000;

/** Which misfortune strikes now. Invariant: the same seed and the same calls give the same answers. */
export class Faults {
  readonly #random: Random;
  #mood: Mood;
  #odds = new Map<Place, Odds>();
  #passed = 0;

  constructor(random: Random, mood: Mood) {
    this.#random = random;
    this.#mood = mood;
  }

  /** Whether anything can go wrong at all; being late is not wrong, however late. */
  get isCalm(): boolean {
    const { rates, focuses } = this.#mood;
    const struck = [...names.filter((name) => (rates[name] ?? 0) > 0), ...focuses.map(kindOf)];
    return struck.every((misfortune) => misfortune === 'delay' || misfortune === 'slow');
  }

  /** Whether a misfortune strikes anywhere, so that what it needs is worth preparing. */
  has(misfortune: Misfortune): boolean {
    return hasMisfortune(this.#mood, misfortune);
  }

  /** From now on nothing fails any more, though all may still be slow: what is right must come about. */
  calm(): void {
    this.#mood = { rates: { delay: this.#mood.rates.delay ?? 0 }, focuses: [] };
    this.#odds = new Map();
  }

  strike(place: Place): Misfortune | undefined {
    this.#passed += 1;
    if (this.#passed > passedMax) throw new Error('a loop that never rests');
    const odds = this.#odds.get(place) ?? this.#oddsAt(place);
    if (odds.length === 0) return undefined;
    const drawn = this.#random.fraction() * 1000;
    for (const { misfortune, below } of odds) if (drawn < below) return misfortune;
    return undefined;
  }

  below(bound: number): number {
    return this.#random.below(bound);
  }

  #oddsAt(place: Place): Odds {
    const odds: Odds = [];
    let below = 0;
    const { rates, focuses } = this.#mood;
    for (const focus of focuses) {
      if (focus.place !== place) continue;
      below += focus.permille;
      odds.push({ misfortune: focus.misfortune, below });
    }
    for (const misfortune of names) {
      const permille = rates[misfortune] ?? 0;
      if (permille === 0 || !isPossible(misfortune, place)) continue;
      below += permille;
      odds.push({ misfortune, below });
    }
    this.#odds.set(place, odds);
    return odds;
  }
}

export function hasMisfortune({ rates, focuses }: Mood, misfortune: Misfortune): boolean {
  return (rates[misfortune] ?? 0) > 0 || focuses.map(kindOf).includes(misfortune);
}

function kindOf({ misfortune }: Focus): Misfortune {
  return misfortune;
}
