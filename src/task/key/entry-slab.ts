const nothing = Buffer.alloc(0);
const slabBytesMin = 1 << 13;
const slabBytesMax = 1 << 18;

/**
 * Memory for entries on their way to the state store, cut from large pieces: an allocation of its own for each of a
 * hundred thousand entries of a commit keeps the garbage collector busy. Invariant: an entry that was handed out is
 * never changed.
 */
export class EntrySlab {
  #slab: Buffer = nothing;
  #used = 0;

  /** A copy of [start, end). */
  copy(bytes: Buffer, start: number, end: number): Buffer {
    const length = end - start;
    if (this.#used + length > this.#slab.length) {
      const usual = Math.min(Math.max(2 * this.#slab.length, slabBytesMin), slabBytesMax);
      if (length > usual) return Buffer.from(bytes.subarray(start, end));
      this.#slab = Buffer.allocUnsafeSlow(usual);
      this.#used = 0;
    }
    const at = this.#used;
    this.#used += length;
    this.#slab.set(bytes.subarray(start, end), at);
    return this.#slab.subarray(at, at + length);
  }
}
