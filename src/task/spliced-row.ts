import type { ByteWriter } from '../data/byte-writer.ts';
import { type Int64, readInt64Digits } from '../data/int64.ts';
import { type JsonEncoder, jsonEncoder, jsonText, type Zeros } from '../data/json-encode.ts';
import {
  kindAscii,
  kindFalse,
  kindInteger,
  kindNumber,
  kindText,
  kindTrue,
} from '../data/json-lex.ts';
import { sameType } from '../data/type-text.ts';
import type { Column, DataType } from '../data/types.ts';
import type { Row } from '../data/value.ts';
import type { BranchPlan, RowStep, SourcePlan } from '../plan/pipeline-plan.ts';
import { hiddenColumns } from '../plan/pipeline-plan.ts';
import type { SourceReader } from './source-reader.ts';

/** Whether the bytes of a source value, as they lie, are already the canonical ones of its type. */
type IsCanonical = (bytes: Buffer, start: number, end: number, kind: number) => boolean;

/**
 * Which source column each target column is taken from unchanged, by position; -1 where it is computed.
 * Only where nothing but filters and expectations stands before the last projection.
 */
export function passedThrough(
  plan: BranchPlan,
  source: SourcePlan,
  columns: readonly Column[],
): readonly number[] {
  const nothing = columns.map(() => -1);
  const last = plan.steps.at(-1);
  if (last?.step !== 'project' || source.format !== 'json') return nothing;
  const isPlain = ({ step }: RowStep): boolean =>
    step === 'filter' || step === 'expect' || step === 'watermark';
  if (!plan.steps.slice(0, -1).every(isPlain)) return nothing;
  const declared = source.columns.length - hiddenColumns.length;
  return last.columns.map(({ value }, position) => {
    const type = columns[position]?.type;
    const isPassed =
      value.node === 'column' &&
      value.index < declared &&
      type !== undefined &&
      sameType(value.type, type) &&
      canonicalTest(type) !== undefined;
    return isPassed ? value.index : -1;
  });
}

/** What a writer writes: some columns of the target, in order. */
export type WrittenColumns = {
  readonly columns: readonly Column[];
  /** Where each stands in the row. */
  readonly positions: readonly number[];
  /** Which source column each is taken from unchanged; -1: it is computed. */
  readonly passed: readonly number[];
  readonly zeros: Zeros;
};

/**
 * Writes columns of a row as one JSON object (the row itself, or its key): a value that only passes through is copied
 * from the record as it lies, where its bytes are canonical, and otherwise decoded and written. Neighbours that lie in
 * the record as they have to in the result are one copy, names and all. Invariant: the bytes are those that
 * `rowEncoder` gives for the decoded values; a test runs both on the same records.
 */
export class SplicedRowWriter {
  readonly #reader: SourceReader;
  readonly #members: readonly Member[];

  constructor(reader: SourceReader, { columns, positions, passed, zeros }: WrittenColumns) {
    this.#reader = reader;
    this.#members = columns.map(({ name, type }, index) => {
      const source = passed[index] ?? -1;
      return {
        prefix: Buffer.from(
          `${index === 0 ? '{' : ','}${jsonText({ kind: 'string' }, name)}:`,
          'utf8',
        ),
        encode: jsonEncoder(type, zeros),
        position: positions[index] as number,
        source,
        quotes: type.kind === 'string' || type.kind === 'timestamp' ? 1 : 0,
        isTimestamp: type.kind === 'timestamp',
        isCanonical: source < 0 ? undefined : canonicalTest(type),
      };
    });
  }

  /** Throws as `write` does, for a row that is not written. */
  check(): void {
    for (const { source, isCanonical } of this.#members) {
      if (isCanonical === undefined) continue;
      const { bytes, start, end, kind } = this.#reader.locate(source);
      if (!isCanonical(bytes, start, end, kind)) this.#reader.decodeLocated(source);
    }
  }

  /** Throws ExpressionError where a value that was not looked at before does not fit its column. */
  write(row: Row, out: ByteWriter): void {
    const members = this.#members;
    const reader = this.#reader;
    // The part of the record, [from, to), that is still to be copied.
    let from = 0;
    let to = 0;
    for (let index = 0; index < members.length; index += 1) {
      const member = members[index] as Member;
      const { prefix, source, isCanonical } = member;
      if (isCanonical === undefined) {
        if (to > from) out.bytes(reader.bytes, from, to);
        from = 0;
        to = 0;
        out.bytes(prefix);
        member.encode(row[member.position] ?? null, out);
        continue;
      }
      const { bytes, start, end, kind } = reader.locate(source);
      const isAsItLies = isCanonical(bytes, start, end, kind);
      const isMillis =
        !isAsItLies &&
        member.isTimestamp &&
        kind === kindAscii &&
        isMillisTimestamp(bytes, start, end);
      if (isAsItLies || isMillis) {
        const first = start - member.quotes;
        const nameStart = first - prefix.length;
        const isNamed = endsWith(bytes, first, prefix);
        if (!isNamed || nameStart !== to || to === from) {
          if (to > from) out.bytes(bytes, from, to);
          if (!isNamed) out.bytes(prefix);
          from = isNamed ? nameStart : first;
        }
        to = isMillis ? end - 1 : end + member.quotes;
        if (!isMillis) continue;
      }
      if (to > from) out.bytes(bytes, from, to);
      from = 0;
      to = 0;
      if (isMillis) {
        out.bytes(microsTail);
      } else {
        out.bytes(prefix);
        member.encode(reader.decodeLocated(source), out);
      }
    }
    if (to > from) out.bytes(reader.bytes, from, to);
    out.byte(closeBrace);
  }
}

/** Whether a text stands right before a position. Nothing before the record's own value is looked at: it begins with `{`. */
function endsWith(bytes: Buffer, end: number, text: Buffer): boolean {
  const start = end - text.length;
  if (start < 0) return false;
  for (let index = 0; index < text.length; index += 1) {
    if (bytes[start + index] !== text[index]) return false;
  }
  return true;
}

type Member = {
  readonly prefix: Buffer;
  readonly encode: JsonEncoder;
  readonly position: number;
  readonly source: number;
  /** 1 where the value stands in quotes, which its span is without. */
  readonly quotes: number;
  readonly isTimestamp: boolean;
  readonly isCanonical: IsCanonical | undefined;
};

const closeBrace = 0x7d;
const minus = 0x2d;
const digit0 = 0x30;
const dot = 0x2e;

function canonicalTest(type: DataType): IsCanonical | undefined {
  switch (type.kind) {
    case 'boolean':
      return (_bytes, _start, _end, kind) => kind === kindTrue || kind === kindFalse;
    case 'string':
      return (bytes, start, end, kind) =>
        kind === kindAscii || (kind === kindText && hasCanonicalEscapes(bytes, start, end));
    case 'int':
      return (bytes, start, end, kind) => kind === kindInteger && isShort(bytes, start, end, 9);
    case 'bigint':
      return (bytes, start, end, kind) => kind === kindInteger && isInt64(bytes, start, end);
    case 'decimal':
      return decimalTest(type.precision, type.scale);
    case 'timestamp':
      return (bytes, start, end, kind) =>
        kind === kindAscii && isMicrosTimestamp(bytes, start, end);
    default:
      return undefined;
  }
}

/** So few digits always fit; `-0` is written as `0`. */
function isShort(bytes: Buffer, start: number, end: number, digitsMax: number): boolean {
  if (bytes[start] !== minus) return end - start <= digitsMax;
  return end - start <= digitsMax + 1 && bytes[start + 1] !== digit0;
}

function isInt64(bytes: Buffer, start: number, end: number): boolean {
  return (
    isShort(bytes, start, end, 18) ||
    (isShort(bytes, start, end, 19) && readInt64Digits(bytes, start, end, scratch))
  );
}

const scratch: Int64 = { high: 0, low: 0 };

function decimalTest(precision: number, scale: number): IsCanonical {
  const wholeDigitsMax = precision - scale;
  return (bytes, start, end, kind) => {
    if (bytes[start] === minus && bytes[start + 1] === digit0) return false;
    const first = bytes[start] === minus ? start + 1 : start;
    if (scale === 0) return kind === kindInteger && end - first <= wholeDigitsMax;
    const point = end - scale - 1;
    if (kind !== kindNumber || point <= first || bytes[point] !== dot) return false;
    const wholeDigits = point - first;
    // `0.50` has one digit before the point even where the type leaves room for none.
    if (wholeDigits > wholeDigitsMax && !(wholeDigits === 1 && bytes[first] === digit0)) {
      return false;
    }
    for (let at = point + 1; at < end; at += 1) {
      const byte = bytes[at] as number;
      if (byte < digit0 || byte > digit0 + 9) return false;
    }
    return true;
  };
}

/**
 * Whether a string of ASCII characters has no other escapes than those that its canonical form has, too. The
 * scanner has checked that it is a valid JSON string.
 */
function hasCanonicalEscapes(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= 0x80) return false;
    if (byte !== backslash) continue;
    at += 1;
    // `\/` is written plain, and what `\u` stands for is not looked into here.
    if (bytes[at] === slash || bytes[at] === letterU) return false;
  }
  return true;
}

const backslash = 0x5c;
const slash = 0x2f;
const letterU = 0x75;

/** `2025-03-05T04:33:46.000000Z` exactly, with every part in its range. */
function isMicrosTimestamp(bytes: Buffer, start: number, end: number): boolean {
  return hasShape(bytes, start, end, microsShape) && isInRange(bytes, start);
}

/** The same with three digits, as many producers print an instant. */
function isMillisTimestamp(bytes: Buffer, start: number, end: number): boolean {
  return hasShape(bytes, start, end, millisShape) && isInRange(bytes, start);
}

function hasShape(bytes: Buffer, start: number, end: number, shape: Buffer): boolean {
  const length = shape.length;
  if (end - start !== length) return false;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[start + at] as number;
    const wanted = shape[at] as number;
    if (wanted === digit0 ? byte < digit0 || byte > digit0 + 9 : byte !== wanted) return false;
  }
  return true;
}

function isInRange(bytes: Buffer, start: number): boolean {
  const year = two(bytes, start) * 100 + two(bytes, start + 2);
  const month = two(bytes, start + 5);
  const day = two(bytes, start + 8);
  return (
    year >= 1 &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    // The end of February is left to the decoder: it knows the leap years.
    day <= (monthDays[month] as number) &&
    two(bytes, start + 11) < 24 &&
    two(bytes, start + 14) < 60 &&
    two(bytes, start + 17) < 60
  );
}

const monthDays = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const microsShape = Buffer.from('0000-00-00T00:00:00.000000Z', 'latin1');
const millisShape = Buffer.from('0000-00-00T00:00:00.000Z', 'latin1');
/** What a millisecond text lacks of the canonical one, from its Z on. */
const microsTail = Buffer.from('000Z"', 'latin1');

function two(bytes: Buffer, at: number): number {
  return ((bytes[at] as number) - digit0) * 10 + ((bytes[at + 1] as number) - digit0);
}
