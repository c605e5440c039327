import type { Provenance } from '../data/provenance.ts';
import type { Readability, SourceBounds } from './retention.ts';

/** What a full refresh does to one row. */
export type RowFate = 'kept' | 'at_risk' | 'lost';

/** One row, or several equal ones that DISTINCT wrote as one: where each of them came from. */
export type RowSources = readonly Provenance[];

export type RowLoss = {
  readonly fate: 'at_risk' | 'lost';
  /** Why, by the source that stood best. */
  readonly reason: Exclude<Readability, 'readable'>;
  readonly sources: RowSources;
};

/** Equal rows stand for each other, so the one that is read again best decides. */
const preference: readonly Readability[] = [
  'readable',
  'at_risk',
  'expired',
  'truncated',
  'elsewhere',
];

/**
 * What becomes of a row when its table is computed from the sources alone; undefined: it comes back.
 * Invariant: a row is kept exactly when one of its sources is certainly readable.
 */
export function rowLoss(bounds: SourceBounds, sources: RowSources): RowLoss | undefined {
  let best: Readability | undefined;
  for (const source of sources) {
    const found = bounds.readability(source);
    if (found === 'readable') return undefined;
    if (best === undefined || preference.indexOf(found) < preference.indexOf(best)) best = found;
  }
  if (best === undefined || best === 'readable') return undefined;
  return { fate: best === 'at_risk' ? 'at_risk' : 'lost', reason: best, sources };
}

export function rowFate(bounds: SourceBounds, sources: RowSources): RowFate {
  return rowLoss(bounds, sources)?.fate ?? 'kept';
}

/** What a full refresh takes from one key. */
export type KeyLoss = {
  /** Latin1 text of the key's canonical bytes. */
  readonly key: string;
  readonly rows: readonly RowLoss[];
  /** The level of a key without rows, where it can't be read again: an older row might rise. */
  readonly level: RowLoss | undefined;
};

export type LossCounts = { readonly keys: number; readonly rows: number; readonly levels: number };

export type LossReport = {
  /** Certain or possible: what has to be accepted before a refresh. */
  readonly lost: LossCounts;
  /** The part of it that a compacted source may still have. */
  readonly atRisk: LossCounts;
  readonly reasons: Readonly<Partial<Record<RowLoss['reason'], number>>>;
  /** By partition of a source: its topic's id in hexadecimal digits, a slash and the number. */
  readonly places: ReadonlyMap<string, LostPlaces>;
  /** The first keys, for a person. */
  readonly sample: readonly KeyLoss[];
};

/** What comes from one partition of a source and is lost with it. */
export type LostPlaces = {
  /** Rows and levels; equal rows count where the first of them came from. */
  readonly rows: number;
  /** Offsets of the first and the last of them. */
  readonly first: number;
  readonly last: number;
};

const sampleMax = 10;

/** Adds up what is lost, key by key. Each key comes once. */
export class LossAccount {
  readonly #lost = { keys: 0, rows: 0, levels: 0 };
  readonly #atRisk = { keys: 0, rows: 0, levels: 0 };
  readonly #reasons = new Map<RowLoss['reason'], number>();
  readonly #sample: KeyLoss[] = [];
  readonly #places = new Map<string, LostPlaces>();

  add(loss: KeyLoss): void {
    const parts = [...loss.rows, ...(loss.level === undefined ? [] : [loss.level])];
    if (parts.length === 0) return;
    this.#count(this.#lost, loss, parts);
    const possible = parts.filter(({ fate }) => fate === 'at_risk');
    // A key is merely at risk where nothing of it is lost for certain.
    if (possible.length > 0) {
      this.#count(this.#atRisk, loss, possible);
      if (possible.length < parts.length) this.#atRisk.keys -= 1;
    }
    for (const { reason, sources } of parts) {
      this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
      const [source] = sources;
      if (source !== undefined) this.#place(source);
    }
    if (this.#sample.length < sampleMax) this.#sample.push(loss);
  }

  #place({ topicId, partition, offset }: Provenance): void {
    const name = `${topicId}/${partition}`;
    const { rows, first, last } = this.#places.get(name) ?? {
      rows: 0,
      first: offset,
      last: offset,
    };
    this.#places.set(name, {
      rows: rows + 1,
      first: Math.min(first, offset),
      last: Math.max(last, offset),
    });
  }

  #count(
    counts: { keys: number; rows: number; levels: number },
    { level }: KeyLoss,
    parts: readonly RowLoss[],
  ): void {
    const levels = level !== undefined && parts.includes(level) ? 1 : 0;
    counts.keys += 1;
    counts.levels += levels;
    counts.rows += parts.length - levels;
  }

  report(): LossReport {
    return {
      lost: { ...this.#lost },
      atRisk: { ...this.#atRisk },
      reasons: Object.fromEntries(this.#reasons),
      places: new Map(this.#places),
      sample: [...this.#sample],
    };
  }
}
