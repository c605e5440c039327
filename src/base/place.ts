/** A span of a pipeline file. `start` and `end` are UTF-16 offsets into the text; line and column count from 1. */
export type Place = {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly line: number;
  readonly column: number;
};

/**
 * One thing that is wrong with a pipeline, or worth a warning. Faults are collected, never thrown
 * one by one, so that a reader sees all of them at once.
 */
export type Fault = {
  readonly severity: 'error' | 'warning';
  /** Stable upper-case code: one of ours, or Spark's error class. */
  readonly code: string;
  /** One short clause: lower case, no full stop. */
  readonly message: string;
  readonly detail?: string;
  /** What to do about it; whole sentences. */
  readonly hint?: string;
  readonly place: Place;
};

/** Thrown inside one clause and caught at its border, where it becomes one collected fault. */
export class FaultError extends Error {
  override readonly name = 'FaultError';
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(`${fault.code}: ${fault.message}`);
    this.fault = fault;
  }
}
