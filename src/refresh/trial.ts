import type { LogPlace } from '../base/log-place.ts';

/** Why a record could not be read again. */
export type TrialFault = {
  readonly errorClass: string;
  readonly message: string;
};

/** What became of the records that a table was computed from, read with the present definition. */
export type TrialReport = {
  /** Offsets that the table was computed from and that its sources still have: an upper bound of the records. */
  readonly records: number;
  /** Those of them that were tried: all, or a sample. */
  readonly tried: number;
  /** Records that would become dead letters, and are none yet. */
  readonly deadLetters: number;
  /** Records that give no row now as before: they are dead letters already, and stay so. */
  readonly setAside: number;
  /** Records at which the flow would stop. */
  readonly stops: number;
  readonly reasons: Readonly<Record<string, number>>;
  /** The first of them. */
  readonly sample: readonly (LogPlace & TrialFault)[];
  /** Tables that are computed anew with it: what they will hold is not known yet. */
  readonly untried: readonly string[];
};

export type TrialSpan = { readonly from: number; readonly to: number };

const sampleMax = 5;
const chunksMax = 8;
/** Records over which the share of dead letters is taken, as a flow does it. */
const shareRecords = 1_000;

/** Invariant: a record counts once, however many of its rows are bad. */
export class TrialAccount {
  readonly #untried: readonly string[];
  readonly #reasons = new Map<string, number>();
  readonly #sample: (LogPlace & TrialFault)[] = [];
  readonly #blocks = new Map<string, number>();
  #last = '';
  #records = 0;
  #tried = 0;
  #deadLetters = 0;
  #setAside = 0;
  #stops = 0;

  constructor(untried: readonly string[]) {
    this.#untried = untried;
  }

  addSpans(range: TrialSpan, spans: readonly TrialSpan[]): void {
    this.#records += range.to - range.from;
    for (const { from, to } of spans) this.#tried += to - from;
  }

  /** `known`: it is a dead letter already. False: the record was counted with another row of it. */
  add(place: LogPlace, fault: TrialFault, fate: 'dead_letter' | 'known' | 'stop'): boolean {
    const name = `${place.topic}/${place.partition}@${place.offset}`;
    if (name === this.#last) return false;
    this.#last = name;
    if (fate === 'known') this.#setAside += 1;
    else this.#lose(place, fault, fate);
    return true;
  }

  /** A record that was known to be a dead letter, and of which the table has a row. */
  loseKnown(place: LogPlace, fault: TrialFault): void {
    this.#setAside = Math.max(0, this.#setAside - 1);
    this.#lose(place, fault, 'dead_letter');
  }

  #lose(place: LogPlace, fault: TrialFault, fate: 'dead_letter' | 'stop'): void {
    if (fate === 'stop') this.#stops += 1;
    else this.#deadLetters += 1;
    this.#reasons.set(fault.errorClass, (this.#reasons.get(fault.errorClass) ?? 0) + 1);
    if (this.#sample.length < sampleMax) {
      const { topic, partition, offset } = place;
      const { errorClass, message } = fault;
      this.#sample.push({ topic, partition, offset, errorClass, message });
    }
  }

  /** A dead letter, known or not, that lies so far behind the first record: too many in a thousand stop the flow. */
  addToShare(place: LogPlace, start: number, shareMax: number): void {
    if (shareMax >= 1) return;
    const block = Math.floor((place.offset - start) / shareRecords);
    const name = `${place.topic}/${place.partition}/${block}`;
    const count = (this.#blocks.get(name) ?? 0) + 1;
    this.#blocks.set(name, count);
    if (count !== Math.floor(shareMax * shareRecords) + 1) return;
    this.#stops += 1;
    const reason = 'TOO_MANY_DEAD_LETTERS';
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
  }

  report(): TrialReport {
    return {
      records: this.#records,
      tried: this.#tried,
      deadLetters: this.#deadLetters,
      setAside: this.#setAside,
      stops: this.#stops,
      reasons: Object.fromEntries(this.#reasons),
      sample: this.#sample,
      untried: this.#untried,
    };
  }
}

/** Whether records that were read once would not be read again. */
export function isUnreadable({ deadLetters, stops }: TrialReport): boolean {
  return deadLetters + stops > 0;
}

/**
 * The part of a range that is tried where there is no time for all of it: pieces of one length, evenly spread, the first
 * records and the last ones among them. Invariant: the pieces do not overlap, and are no longer than the budget in all.
 */
export function trialSpans(range: TrialSpan, budget: number): readonly TrialSpan[] {
  const length = range.to - range.from;
  if (length <= 0) return [];
  if (length <= budget) return [range];
  const chunks = Math.max(1, Math.min(chunksMax, Math.floor(budget / shareRecords)));
  const size = Math.max(1, Math.floor(budget / chunks));
  return Array.from({ length: chunks }, (_, at) => {
    const shift = chunks === 1 ? 0 : Math.floor((at * (length - size)) / (chunks - 1));
    return { from: range.from + shift, to: range.from + shift + size };
  });
}
