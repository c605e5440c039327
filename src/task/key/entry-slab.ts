import { copyBytes, longCopyBytes, viewOf } from '../../data/byte-copy.ts';

const nothing = Buffer.alloc(0);
const slabBytesMin = 1 << 13;
const slabBytesMax = 1 << 18;

/**
 * Memory for entries on their way to the state store, cut from large pieces: an allocation of its own for each of a
 * hundred thousand entries of a commit keeps the garbage collector busy. Invariant: an entry that was handed out is
 * never changed.
 */
export class EntrySlab {
  #slab = nothing;
  #view = viewOf(nothing);
  #capacity = 0;
  #used = 0;

  /** A copy of [start, end); `view` is of the very bytes. */
  copy(bytes: Buffer, view: DataView, start: number, end: number): Buffer {
    const length = end - start;
    if (this.#used + length > this.#capacity) {
      const usual = Math.min(Math.max(2 * this.#capacity, slabBytesMin), slabBytesMax);
      if (length > usual) return Buffer.from(bytes.subarray(start, end));
      this.#slab = Buffer.allocUnsafeSlow(usual);
      this.#view = viewOf(this.#slab);
      this.#capacity = usual;
      this.#used = 0;
    }
    const at = this.#used;
    this.#used += length;
    // Without the row an entry is short: an object for its span would cost more than the copy.
    if (length < longCopyBytes) copyBytes(view, start, end, this.#view, at);
    else this.#slab.set(bytes.subarray(start, end), at);
    return this.#slab.subarray(at, at + length);
  }
}
