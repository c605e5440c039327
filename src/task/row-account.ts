import { type DeadLetterReason, deadLetterReasons } from '../base/dead-letter-reason.ts';

/**
 * The account of every row, per source partition (flow stage) and per key partition (table stage). It
 * rides with the offset commit as its metadata, so that a replay counts nothing twice. Two equations hold:
 *
 *     records = decoded + tombstones + deadLettered
 *     rows    = filtered + dropped + handed on                               (flow stage)
 *     rows    = new + replacing + tied + superseded + duplicate + distinct + limited   (table stage)
 *
 * And once nothing is on its way between the stages, over all partitions: rows = handed on + replayed.
 */
export type FlowCounters = {
  records: number;
  decoded: number;
  tombstones: number;
  /** Those that somebody had the flow step over are among them. */
  deadLettered: number;
  /** Rows that the query's generators gave, before any filter after them. */
  rows: number;
  filtered: number;
  dropped: number;
  handedOn: number;
  /** No part of the account: rows whose time was behind the watermark. */
  late: number;
  /** The latest time of the rows, in milliseconds since 1970; 0: none is known. */
  eventTimeMs: number;
  /** No part of the account: of `deadLettered`, the records that somebody had the flow step over. */
  skipped: number;
  /** In the order of the table's expectations. */
  expectations: ExpectationCounter[];
  /** No part of the account: how many of the records of that thousand were dead letters. */
  lately: { thousand: number; deadLettered: number };
  /** No part of the account: `deadLettered` without `skipped`, by reason, as far as it was counted by one. */
  reasons: Record<DeadLetterReason, number>;
};

export type ExpectationCounter = { readonly name: string; passed: number; failed: number };

export type TableCounters = {
  rows: number;
  new: number;
  replacing: number;
  tied: number;
  superseded: number;
  duplicate: number;
  distinct: number;
  /** Beyond LIMIT, and ignored. */
  limited: number;
  /** Of `rows`: those of dead letters that were replayed. */
  replayed: number;
};

export function emptyFlowCounters(expectations: readonly string[]): FlowCounters {
  return {
    records: 0,
    decoded: 0,
    tombstones: 0,
    deadLettered: 0,
    rows: 0,
    filtered: 0,
    dropped: 0,
    handedOn: 0,
    late: 0,
    eventTimeMs: 0,
    skipped: 0,
    expectations: expectations.map((name) => ({ name, passed: 0, failed: 0 })),
    lately: { thousand: 0, deadLettered: 0 },
    reasons: noReasons(),
  };
}

function noReasons(): Record<DeadLetterReason, number> {
  return { deserialize: 0, schema: 0, key_null: 0, sequence_null: 0, expression: 0 };
}

export function emptyTableCounters(): TableCounters {
  return {
    rows: 0,
    new: 0,
    replacing: 0,
    tied: 0,
    superseded: 0,
    duplicate: 0,
    distinct: 0,
    limited: 0,
    replayed: 0,
  };
}

export function copyFlowCounters(counters: FlowCounters): FlowCounters {
  return {
    ...counters,
    expectations: counters.expectations.map((one) => ({ ...one })),
    lately: { ...counters.lately },
    reasons: { ...counters.reasons },
  };
}

const flowFields = [
  'records',
  'decoded',
  'tombstones',
  'deadLettered',
  'rows',
  'filtered',
  'dropped',
  'handedOn',
  'late',
  'eventTimeMs',
  'skipped',
] as const;

const tableFields = [
  'rows',
  'new',
  'replacing',
  'tied',
  'superseded',
  'duplicate',
  'distinct',
  'replayed',
  'limited',
] as const;

/** Field by field: these two run once a record. */
export function clearFlowCounters(counters: FlowCounters): void {
  counters.records = 0;
  counters.decoded = 0;
  counters.tombstones = 0;
  counters.deadLettered = 0;
  counters.rows = 0;
  counters.filtered = 0;
  counters.dropped = 0;
  counters.handedOn = 0;
  counters.late = 0;
  counters.eventTimeMs = 0;
  counters.skipped = 0;
  for (const one of counters.expectations) {
    one.passed = 0;
    one.failed = 0;
  }
}

/** Both have the same expectations, in the same order. */
export function addFlowCounters(sum: FlowCounters, delta: FlowCounters): void {
  sum.records += delta.records;
  sum.decoded += delta.decoded;
  sum.tombstones += delta.tombstones;
  sum.deadLettered += delta.deadLettered;
  sum.rows += delta.rows;
  sum.filtered += delta.filtered;
  sum.dropped += delta.dropped;
  sum.handedOn += delta.handedOn;
  sum.late += delta.late;
  sum.eventTimeMs = Math.max(sum.eventTimeMs, delta.eventTimeMs);
  sum.skipped += delta.skipped;
  for (let index = 0; index < delta.expectations.length; index += 1) {
    const one = delta.expectations[index];
    const target = sum.expectations[index];
    if (one === undefined || target === undefined) continue;
    target.passed += one.passed;
    target.failed += one.failed;
  }
}

/** What a broker takes beside a committed offset unless told otherwise (offset.metadata.max.bytes), with some room. */
const metadataBytesMax = 4_000;

/**
 * Checkpoint metadata: a tag with the version, then numbers. Counters of expectations go by name; where these do not fit
 * they go by position, and where that does not fit either they are left out: a commit never fails for their sake.
 * Changes: 2026-11-30 version 1; `lately` at its end; counters by position; dead letters by reason behind `lately`.
 */
export function flowMetadata(counters: FlowCounters): string {
  const { expectations, lately, reasons } = counters;
  const byReason = deadLetterReasons.map((reason) => reasons[reason]);
  const hasReasons = byReason.some((count) => count > 0);
  const forms: readonly unknown[][] = [
    expectations.map(({ name, passed, failed }) => [name, passed, failed]),
    expectations.flatMap(({ passed, failed }) => [passed, failed]),
  ];
  const text = (form: unknown[]): string =>
    JSON.stringify([
      'f1',
      flowFields.map((field) => counters[field]),
      form,
      [lately.thousand, lately.deadLettered],
      ...(hasReasons ? [byReason] : []),
    ]);
  const found = forms.map(text).find((one) => Buffer.byteLength(one) <= metadataBytesMax);
  return found ?? text([]);
}

export function tableMetadata(counters: TableCounters): string {
  return JSON.stringify(['t1', tableFields.map((field) => counters[field])]);
}

/** Beside a checkpoint that `tidemark checkpoint` has set: its counters start at zero. */
export const movedMetadata = '["m1"]';

/**
 * Undefined when the text is not such metadata: an empty one is that of a checkpoint which some other tool has set.
 * Counters of expectations go by name: one that the table no longer has is left out.
 */
export function parseFlowMetadata(
  text: string,
  expectations: readonly string[],
): FlowCounters | undefined {
  const counters = emptyFlowCounters(expectations);
  if (text === movedMetadata) return counters;
  const parts = parseParts(text, 'f1');
  if (parts === undefined) return undefined;
  const [numbers, stored, lately, byReason] = parts;
  if (!isNumbers(numbers) || !Array.isArray(stored)) return undefined;
  if (isNumbers(lately)) {
    const [thousand = 0, deadLettered = 0] = lately;
    counters.lately = { thousand, deadLettered };
  }
  if (isNumbers(byReason)) {
    for (const [index, reason] of deadLetterReasons.entries()) {
      counters.reasons[reason] = byReason[index] ?? 0;
    }
  }
  for (const [index, field] of flowFields.entries()) counters[field] = numbers[index] ?? 0;
  if (isNumbers(stored)) {
    // Of another number of expectations, nobody knows which is which.
    if (stored.length !== expectations.length * 2) return counters;
    for (const [at, counter] of counters.expectations.entries()) {
      counter.passed = stored[at * 2] ?? 0;
      counter.failed = stored[at * 2 + 1] ?? 0;
    }
    return counters;
  }
  for (const [name, passed, failed] of stored as [unknown, unknown, unknown][]) {
    const counter = counters.expectations.find((one) => one.name === name);
    if (counter === undefined) continue;
    counter.passed = Number(passed);
    counter.failed = Number(failed);
  }
  return counters;
}

export function parseTableMetadata(text: string): TableCounters | undefined {
  const counters = emptyTableCounters();
  if (text === movedMetadata) return counters;
  const parts = parseParts(text, 't1');
  if (parts === undefined || !isNumbers(parts[0])) return undefined;
  for (const [index, field] of tableFields.entries()) counters[field] = parts[0][index] ?? 0;
  return counters;
}

/** The outcomes of a row at the table. */
export const tableOutcomes = [
  'new',
  'replacing',
  'tied',
  'superseded',
  'duplicate',
  'distinct',
  'limited',
] as const satisfies readonly (keyof TableCounters)[];

/** What the equations of one partition leave unexplained; 0: its books are closed. */
export function unexplained(counters: FlowCounters | TableCounters): number {
  if ('records' in counters) {
    const { records, decoded, tombstones, deadLettered } = counters;
    const { rows, filtered, dropped, handedOn } = counters;
    return (
      Math.abs(records - decoded - tombstones - deadLettered) +
      Math.abs(rows - filtered - dropped - handedOn)
    );
  }
  return Math.abs(
    counters.rows - tableOutcomes.reduce((sum, outcome) => sum + counters[outcome], 0),
  );
}

function parseParts(text: string, tag: string): unknown[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    if (!Array.isArray(parsed) || parsed[0] !== tag) return undefined;
    return parsed.slice(1);
  } catch {
    return undefined;
  }
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item));
}
