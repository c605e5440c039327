/** A seeded generator (mulberry32): the only randomness that a test or a simulation may use. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to 2^32 - 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** From 0 up to, and without, 1. */
  fraction(): number {
    return this.next() / 0x1_0000_0000;
  }

  /** A whole number from 0 up to, and without, `bound`. */
  below(bound: number): number {
    return Math.floor(this.fraction() * bound);
  }

  /** True in `permille` of a thousand cases. */
  chance(permille: number): boolean {
    return this.fraction() * 1000 < permille;
  }

  pick<T>(choices: readonly T[]): T | undefined {
    return choices[this.below(choices.length)];
  }

  shuffled<T>(items: readonly T[]): T[] {
    const shuffled = [...items];
    for (let last = shuffled.length - 1; last > 0; last -= 1) {
      const other = this.below(last + 1);
      const item = shuffled[last] as T;
      shuffled[last] = shuffled[other] as T;
      shuffled[other] = item;
    }
    return shuffled;
  }
}
