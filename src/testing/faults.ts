import type { Random } from './random.ts';

/** How often each misfortune strikes, per thousand calls that a process makes to the outside. */
export type FaultRates = {
  /** The process is gone in the middle of the call. */
  readonly crash: number;
  /** The process stops for longer than its session lasts, and goes on believing in its old world. */
  readonly stall: number;
  /** The call is answered late, others run in between. */
  readonly delay: number;
  /** The call fails before it does anything. */
  readonly refuse: number;
  /** The call does its work, and its answer is lost. */
  readonly loseAnswer: number;
  /** The state store loses everything. */
  readonly loseState: number;
  /** The state store loses one task's state and keeps the others'. */
  readonly loseTask: number;
  /** One task's state goes back to what it was some time ago. */
  readonly rollBackTask: number;
};

export const noFaults: FaultRates = {
  crash: 0,
  stall: 0,
  delay: 0,
  refuse: 0,
  loseAnswer: 0,
  loseState: 0,
  loseTask: 0,
  rollBackTask: 0,
};

/** Rates of one seed: some worlds are calm, some crash all the time, some forget. */
export function drawFaultRates(random: Random): FaultRates {
  const up = (most: number) => (random.chance(500) ? 0 : random.below(most + 1));
  return {
    crash: up(30),
    stall: up(15),
    delay: up(300),
    refuse: up(20),
    loseAnswer: up(20),
    loseState: up(10),
    loseTask: up(10),
    rollBackTask: up(10),
  };
}

/** Which misfortune strikes now. Invariant: the same seed and the same calls give the same answers. */
export class Faults {
  readonly #random: Random;
  #rates: FaultRates;

  constructor(random: Random, rates: FaultRates) {
    this.#random = random;
    this.#rates = rates;
  }

  /** From now on nothing happens any more: what is right must come about. */
  calm(): void {
    this.#rates = noFaults;
  }

  strikes(fault: keyof FaultRates): boolean {
    const rate = this.#rates[fault];
    return rate > 0 && this.#random.chance(rate);
  }

  below(bound: number): number {
    return this.#random.below(bound);
  }
}
