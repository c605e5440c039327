import { FlowError } from '../../base/errors.ts';
import type { LogPlace } from '../../base/log-place.ts';

/**
 * The records that somebody named, whose dead letters are meant; none: all are. Invariant: whoever named one that has no such letter
 * is told, and nothing is done for the others then.
 */
export class NamedLetters {
  readonly #named: ReadonlySet<string>;
  readonly #missing: Set<string>;

  constructor(places: readonly LogPlace[]) {
    this.#named = new Set(places.map(placeText));
    this.#missing = new Set(this.#named);
  }

  get isEmpty(): boolean {
    return this.#named.size === 0;
  }

  isMeant(letter: LogPlace): boolean {
    return this.isEmpty || this.#named.has(placeText(letter));
  }

  /** A letter of the record is there. */
  meet(letter: LogPlace): void {
    this.#missing.delete(placeText(letter));
  }

  /** To be asked once all letters were seen. */
  refuseMissing(flow: string): void {
    if (this.#missing.size === 0) return;
    throw new FlowError('USAGE', `flow "${flow}" has no such dead letter`, {
      detail: `Of ${[...this.#missing].join(', ')} there is none.`,
      hint: `A place is that of the record in its source. Those that are there: tidemark dlq show ${flow}`,
    });
  }
}

export function placeText({ topic, partition, offset }: LogPlace): string {
  return `${topic}/${partition}@${offset}`;
}
