import type { AbortedTransaction } from './fetch.ts';

/**
 * Knows, batch by batch in offset order, which producers are inside of an aborted transaction.
 * Invariant: a producer is inside from the first batch at or after the first offset of one of its aborted
 * transactions until its next marker. The broker's list comes in the order of the aborts, may name a
 * producer many times and may begin before the fetched range; whether a batch is a marker is told by its
 * attributes alone, never by what a key looks like.
 */
export class AbortedFilter {
  readonly #pending: AbortedTransaction[];
  readonly #inside = new Set<bigint>();
  #next = 0;

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#pending = [...aborted].sort((left, right) => left.firstOffset - right.firstOffset);
  }

  /** To be called for each batch, control batches too, before the questions below. */
  advance(lastOffset: number): void {
    for (;;) {
      const transaction = this.#pending[this.#next];
      if (transaction === undefined || transaction.firstOffset > lastOffset) return;
      this.#inside.add(transaction.producerId);
      this.#next += 1;
    }
  }

  hides(producerId: bigint): boolean {
    return this.#inside.has(producerId);
  }

  /** A marker of either kind: the producer's transaction ends here, even if compaction emptied the marker. */
  end(producerId: bigint): void {
    this.#inside.delete(producerId);
  }
}
