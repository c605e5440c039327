/**
 * Who follows what the runtime does, for traces. Contract:
 * 1. No call throws, waits or keeps what it is given longer than it needs it.
 * 2. Every call is about a whole slice, a whole transaction or a whole step; nothing is asked once a record.
 * 3. `outgoing` names the transaction that is being filled; after `commitBegins` it names the next one.
 */
export interface Tracer {
  /** A slice went through one stage of one flow. */
  slice(trace: SliceTrace): void;
  /** The value of the header traceparent for output records; undefined: they carry none. */
  outgoing(): Buffer | undefined;
  commitBegins(): void;
  /** The commit that began last is over, or the transaction that was being filled was given up. */
  commitEnds(end: CommitTrace): void;
  /** A step that is over: a rebalance, a restore. */
  step(step: StepTrace): void;
}

export type SliceTrace = {
  readonly flow: string;
  readonly group: string;
  readonly topic: string;
  readonly partition: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** Of it, what the state store needed. */
  readonly storeMs: number;
  /** What became of its rows: a word of the account → how many. */
  readonly rows: Readonly<Record<string, number>>;
  readonly links: TraceLinks;
};

/** The sampled contexts that the records of a slice carry, as their headers have them. */
export type TraceLinks = {
  readonly traceparents: readonly string[];
  /** Further ones, beyond the bound. */
  readonly dropped: number;
};

export type CommitTrace = {
  readonly result: 'ok' | 'aborted' | 'fenced';
  readonly transactionalId: string | undefined;
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** Of it, what it took to send the records; undefined: not known. */
  readonly flushMs: number | undefined;
  readonly records: number;
  /** Output topic → records. */
  readonly sent: ReadonlyMap<string, number>;
};

export type StepTrace = {
  readonly name: string;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
};
