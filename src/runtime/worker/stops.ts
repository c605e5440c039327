import { type ErrorCode, FlowError, isErrorCode } from '../../base/errors.ts';
import type { LogPlace } from '../../base/log-place.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Catalog } from '../topics/catalog.ts';
import { isSettledWithin } from './is-settled-within.ts';

/** Why a flow or a materialized view stands, as the catalog keeps it for whoever asks while nothing runs. */
export type Stop = {
  /** The flow, or the view. */
  readonly flow: string;
  readonly code: ErrorCode;
  readonly message: string;
  /** Without anything that a row says. */
  readonly detail: string | undefined;
  readonly hint: string | undefined;
  /** The record that it stopped at, or the first that is gone. */
  readonly place: LogPlace | undefined;
  readonly atMs: number;
  readonly instance: string;
};

/** How far a flow has come since: what it took over, and what it has committed. */
export type FlowMove =
  | { readonly move: 'taken_over'; readonly gained: (place: LogPlace) => boolean }
  | { readonly move: 'committed'; readonly offsetOf: (place: LogPlace) => number | undefined };

const recordCodes: readonly ErrorCode[] = [
  'BAD_ROW',
  'EXPECTATION_FAILED',
  'TOO_MANY_DEAD_LETTERS',
];
const gapCodes: readonly ErrorCode[] = [
  'OFFSET_OUT_OF_RANGE',
  'TOPIC_RECREATED',
  'CHECKPOINT_MISSING',
  'SOURCE_REFRESHED',
];
/** What keeps a flow from being taken over at all, though no input is at fault. */
const takeoverCodes: readonly ErrorCode[] = [
  'DEFINITION_CHANGED',
  'DEFINITION_MISSING',
  'TABLE_LOCKED',
];
/** Whoever stops is not held up by a catalog that can't be written: the log of the service has the error, too. */
const writeMsMax = 5_000;

export async function recordStop(
  { catalog, clock, instance }: StopWriter,
  flow: string,
  error: FlowError,
): Promise<void> {
  const { code, message, logDetail, hint, place } = error;
  const value = {
    ...{ flow, code, message, instance, atMs: clock.now() },
    ...(logDetail === undefined ? {} : { detail: logDetail }),
    ...(hint === undefined ? {} : { hint }),
    ...(place === undefined ? {} : { place }),
  };
  const writing = catalog.write([{ kind: 'stop', name: flow, value }], clock.now());
  await isSettledWithin(
    clock,
    writeMsMax,
    writing.catch(() => undefined),
  );
}

export type StopWriter = {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly instance: string;
};

export function stopOf(catalog: Catalog | undefined, flow: string): Stop | undefined {
  const value = catalog?.get('stop', flow)?.value;
  const code = value?.['code'];
  if (typeof code !== 'string' || !isErrorCode(code)) return undefined;
  return { detail: undefined, hint: undefined, place: undefined, ...(value as object) } as Stop;
}

/** Forgets why a flow stood, once it has come past it. */
export async function clearStop(
  { catalog, clock }: Omit<StopWriter, 'instance'>,
  flow: string,
  move: FlowMove,
): Promise<void> {
  const stop = stopOf(catalog, flow);
  if (stop === undefined || !isOver(stop, move)) return;
  await catalog.write([{ kind: 'stop', name: flow, value: undefined }], clock.now());
}

/** Whether the checkpoint has come past the record that a flow stopped at. */
export function isPassed({ code, place }: Stop, committed: number | undefined): boolean {
  return place !== undefined && recordCodes.includes(code) && (committed ?? 0) > place.offset;
}

/**
 * A takeover that succeeds shows that what kept it from starting is mended; what it met while it ran is over only when
 * it has committed beyond.
 */
function isOver(stop: Stop, move: FlowMove): boolean {
  const { code, place } = stop;
  const isGap = gapCodes.includes(code);
  if (move.move === 'taken_over') {
    if (place !== undefined) return isGap && move.gained(place);
    return takeoverCodes.includes(code) || new FlowError(code, '').remedy === 'fix-input';
  }
  if (place === undefined) return true;
  const offset = move.offsetOf(place);
  return isGap ? offset !== undefined : isPassed(stop, offset);
}
