import type { RefreshState } from './refresh-states.ts';

/** What the catalog tells of a refresh that is under way. */
export type ProgressFacts = {
  readonly state: RefreshState;
  readonly generation: number;
  /** Offsets of the sources that were read so far, from the first that is there. */
  readonly read?: number | undefined;
  readonly toRead?: number | undefined;
  readonly recordsPerSecond?: number | undefined;
};

export type RefreshFigures = {
  /** Between 0 and 1: how much of what has to be read was read; 1 where the table is being touched already. */
  readonly ratio: number;
  /** undefined: nobody can say yet. */
  readonly secondsLeft: number | undefined;
};

/** How far a refresh is, and how long it takes yet. Invariant: without a measured rate no time is promised. */
export function refreshFigures(facts: ProgressFacts): RefreshFigures {
  const { state, read = 0, toRead = 0, recordsPerSecond = 0 } = facts;
  if (state !== 'building') return { ratio: 1, secondsLeft: undefined };
  const left = Math.max(0, toRead - read);
  const ratio = toRead === 0 ? 0 : Math.min(1, read / toRead);
  return {
    ratio,
    secondsLeft: recordsPerSecond > 0 ? Math.ceil(left / recordsPerSecond) : undefined,
  };
}

const stateTexts: Readonly<Record<RefreshState, string>> = {
  building: 'building it beside the table',
  swapping: 'swapping in the differences',
  emptying: 'emptying the table',
  switching: 'setting its checkpoints',
  done: 'done',
  cancelled: 'cancelled',
};

/** One clause for a person. */
export function progressText(facts: ProgressFacts): string {
  const { state, generation, read, toRead, recordsPerSecond } = facts;
  const what = `generation ${generation}: ${stateTexts[state]}`;
  if (state !== 'building' || read === undefined || toRead === undefined) return what;
  const { ratio, secondsLeft } = refreshFigures(facts);
  const rate =
    recordsPerSecond === undefined || recordsPerSecond === 0
      ? ''
      : `, ${recordsPerSecond} records/s`;
  const left = secondsLeft === undefined ? '' : `, about ${secondsLeft} s left`;
  return `${what}, ${Math.floor(ratio * 100)} % (${read} of ${toRead} offsets)${rate}${left}`;
}
