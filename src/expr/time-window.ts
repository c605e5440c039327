import type { Place } from '../base/place.ts';
import { formatType } from '../data/type-text.ts';
import type { DataType } from '../data/types.ts';
import type { Row } from '../data/value.ts';
import { strictCall } from './call.ts';
import { castTo } from './coerce.ts';
import { constantValue, isConstant } from './compile.ts';
import type { Expression } from './expression.ts';
import { fault, mismatch } from './faults.ts';
import type { BoundGenerator } from './generator.ts';
import { microsOf, parseUnits } from './interval-parse.ts';
import { arrayOf, structOf, types } from './types.ts';

/** Lengths in microseconds. */
export type WindowLengths = {
  readonly duration: bigint;
  readonly slide: bigint;
  readonly start: bigint;
};

/** The struct of a window's bounds. */
export function windowType(time: DataType): DataType {
  return structOf([
    ['start', time],
    ['end', time],
  ]);
}

/** A time as a window takes it: a timestamp with or without a zone. */
export function windowTime(name: string, argument: Expression): Expression {
  const { type } = argument;
  if (type.kind === 'timestamp' || type.kind === 'timestamp_ntz') return argument;
  if (type.kind === 'date' || type.kind === 'string' || type.kind === 'void') {
    return castTo(argument, types.timestamp);
  }
  throw mismatch(
    'UNEXPECTED_INPUT_TYPE',
    `${name} takes a timestamp, not ${formatType(type)}`,
    argument.place,
  );
}

/** A length of time, given as the text of an interval or as microseconds. */
export function windowLength(argument: Expression, timeZone: string): bigint {
  const { kind } = argument.type;
  const isText = kind === 'string';
  if (!isConstant(argument) || !(isText || kind === 'int' || kind === 'bigint')) {
    throw fault(
      '_LEGACY_ERROR_TEMP_1207',
      'the lengths of a window are constant texts',
      argument.place,
    );
  }
  const value = constantValue(argument, timeZone);
  if (!isText) return BigInt(value as number | bigint);
  const sum = parseUnits(String(value).replace(/^\s*interval\s+/i, ''));
  if (sum === undefined) {
    throw fault('_LEGACY_ERROR_TEMP_3230', `'${value}' is no length of time`, argument.place);
  }
  if (sum.months !== 0) {
    throw fault(
      '_LEGACY_ERROR_TEMP_3231',
      'months have no fixed length',
      argument.place,
      'Give the length in days.',
    );
  }
  return BigInt(sum.days) * microsOf.day + sum.micros;
}

export function checkLengths({ duration, slide, start }: WindowLengths, place: Place): void {
  if (duration <= 0n || slide <= 0n) {
    throw mismatch('VALUE_OUT_OF_RANGE', 'the lengths of a window are above 0', place);
  }
  const size = start < 0n ? -start : start;
  if (slide > duration || size >= slide) {
    throw mismatch(
      'PARAMETER_CONSTRAINT_VIOLATION',
      'a window slides by no more than its length, and starts before it slides',
      place,
    );
  }
}

/** Gives the windows that a time lies in, the latest first; none for NULL. */
export function windowGenerator(time: Expression, lengths: WindowLengths): BoundGenerator {
  const { duration, slide, start } = lengths;
  return {
    name: `window(${duration},${slide},${start})`,
    columns: [{ name: 'window', type: windowType(time.type) }],
    arguments: [time],
    prepare:
      () =>
      ([at]) =>
        typeof at === 'bigint' ? windowsOf(at, lengths).map((window) => [window]) : [],
  };
}

function windowsOf(at: bigint, { duration, slide, start }: WindowLengths): Row[] {
  const rest = (at - start) % slide;
  const windows: Row[] = [];
  for (let from = at - (rest < 0n ? rest + slide : rest); from + duration > at; from -= slide) {
    windows.push([from, from + duration]);
  }
  return windows;
}

/** The windows that a time lies in as one array, the latest first. */
export function windowArray(time: Expression, lengths: WindowLengths, place: Place): Expression {
  const { duration, slide, start } = lengths;
  return strictCall({
    name: `windows(${duration},${slide},${start})`,
    type: arrayOf(windowType(time.type)),
    arguments: [time],
    place,
    prepare: () => (at: bigint) => windowsOf(at, lengths),
  });
}

/** Gives the session that a time alone makes. */
export function sessionGenerator(time: Expression, gap: Expression): BoundGenerator {
  return {
    name: 'session_window',
    columns: [{ name: 'session_window', type: windowType(time.type) }],
    arguments: [time, gap],
    prepare:
      () =>
      ([at, length]) =>
        typeof at === 'bigint' && typeof length === 'bigint' && length > 0n
          ? [[[at, at + length]]]
          : [],
  };
}

/** The last instant of a window: the time of what was aggregated over it. */
export function windowEnd(window: Expression, place: Place): Expression {
  const { type } = window;
  const end = type.kind === 'struct' ? type.fields.findIndex(({ name }) => name === 'end') : -1;
  const endType = type.kind === 'struct' ? type.fields[end]?.type : undefined;
  if (endType?.kind !== 'timestamp' && endType?.kind !== 'timestamp_ntz') {
    throw mismatch('UNEXPECTED_INPUT_TYPE', 'window_time takes a window', window.place);
  }
  return strictCall({
    name: 'window_time',
    type: endType,
    arguments: [window],
    place,
    prepare: () => (bounds: Row) => (bounds[end] as bigint) - 1n,
  });
}
