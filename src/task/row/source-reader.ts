import { assert } from '../../base/assert.ts';
import { type JsonDecoder, jsonDecoder, misfitText } from '../../data/json-decode.ts';
import { scanOk } from '../../data/json-scan.ts';
import { type Misfit, misfit } from '../../data/misfit.ts';
import { readHeaders } from '../../data/record-headers.ts';
import { StraightScanner } from '../../data/straight-scan.ts';
import type { DataType } from '../../data/types.ts';
import type { Row, Value } from '../../data/value.ts';
import { type Zone, zoneOf } from '../../data/zones.ts';
import { csvConverter } from '../../expr/csv/csv-convert.ts';
import { ExpressionError } from '../../expr/expression-error.ts';
import { hiddenColumns, type SourcePlan } from '../../plan/pipeline-plan.ts';
import type { RecordCursor } from '../../ports/log.ts';
import { type BadRow, malformedRecord } from './bad-row.ts';
import { DebeziumEnvelope } from './debezium-envelope.ts';

export type RecordPlace = { readonly topic: string; readonly partition: number };

/** Where a value lies in its record, and what kind of JSON it is (`data/json-lex.ts`). */
export type LocatedValue = { bytes: Buffer; start: number; end: number; kind: number };

/** What is read of the records of a source. */
export type ReadColumns = {
  readonly source: SourcePlan;
  /** Columns that are decoded. */
  readonly used: ReadonlySet<number>;
  /** Columns that are only found, and decoded on demand. */
  readonly located: ReadonlySet<number>;
};

export type SourceReaderOptions = ReadColumns & {
  /** Of timestamps that are written without one. */
  readonly timeZone: string;
};

const nothing = Buffer.alloc(0);
/** To make one takes as long as to read some records. */
const textDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type HiddenRead = (records: RecordCursor, place: RecordPlace) => Value | Misfit;

/**
 * Reads the columns that a query uses from the records of a source. Invariant: the row has every column of
 * the source by position, those that are not used as NULL; nothing of it is kept by the reader's next record
 * unless an expression copied it.
 */
export class SourceReader {
  readonly #source: SourcePlan;
  readonly #row: Value[];
  readonly #scanner: StraightScanner;
  /** By position of the scanner's names. */
  readonly #decoded: readonly { readonly position: number; readonly decode: JsonDecoder }[];
  /** By position; made for those that are asked for. */
  readonly #decoders: (JsonDecoder | undefined)[] = [];
  readonly #decoderOf: (type: DataType) => JsonDecoder;
  readonly #envelope: DebeziumEnvelope | undefined;
  /** Columns that are no members of the row image. */
  readonly #around: DebeziumEnvelope['around'];
  readonly #hidden: readonly { readonly position: number; readonly read: HiddenRead }[];
  /** Source column → position of the scanner's names; -1: not scanned for. */
  readonly #scanned: Int32Array;
  readonly #located: LocatedValue = { bytes: nothing, start: 0, end: 0, kind: 0 };

  constructor({ source, used, located, timeZone }: SourceReaderOptions) {
    this.#source = source;
    const zone = zoneOf(timeZone);
    assert(zone !== undefined, `"${timeZone}" is no time zone`);
    const decoderOf = (type: DataType): JsonDecoder =>
      source.format === 'csv' ? csvDecoder(type, zone) : jsonDecoder(type, zone);
    const declared = source.columns.length - hiddenColumns.length;
    const byPosition = (a: number, b: number): number => a - b;
    this.#envelope =
      source.format === 'debezium-json' ? new DebeziumEnvelope(source.columns, zone) : undefined;
    const around = this.#envelope?.around ?? [];
    this.#around = around.filter(({ position }) => used.has(position));
    const outside = new Set(around.map(({ position }) => position));
    const wantedFirst = [...used]
      .filter((position) => position < declared && !outside.has(position))
      .sort(byPosition);
    const onlyLocated = [...located].filter((position) => !used.has(position)).sort(byPosition);
    const wanted = [...wantedFirst, ...onlyLocated];
    this.#scanned = new Int32Array(source.columns.length).fill(-1);
    for (const [index, position] of wanted.entries()) this.#scanned[position] = index;
    this.#row = source.columns.map(() => null);
    this.#scanner = new StraightScanner(
      wanted.map((position) => source.columns[position]?.name ?? ''),
      wanted.map((position) =>
        located.has(position) ? source.columns[position]?.type : undefined,
      ),
    );
    this.#decoded = wantedFirst.map((position) => ({
      position,
      decode: decoderOf(source.columns[position]?.type ?? { kind: 'void' }),
    }));
    this.#decoderOf = decoderOf;
    this.#hidden = [...used]
      .filter((position) => position >= declared)
      .map((position) => ({
        position,
        read: hiddenReads[source.columns[position]?.name ?? ''] ?? (() => null),
      }));
  }

  /** The row of the record that was read last: overwritten by the next one. */
  get row(): Row {
    return this.#row;
  }

  /** Where the values of the record that was read last lie; one object is filled again and again. */
  get found(): StraightScanner {
    return this.#scanner;
  }

  /** By which `found` tells of a located column. */
  foundAt(position: number): number {
    return this.#scanned[position] as number;
  }

  nameOf(position: number): string {
    return this.#source.columns[position]?.name ?? '';
  }

  /** Where the value of a located column lies in the current record; the object is overwritten by the next call. */
  locate(position: number): LocatedValue {
    const index = this.#scanned[position] as number;
    const located = this.#located;
    located.kind = this.#scanner.kinds[index] as number;
    located.start = this.#scanner.spans[index * 2] as number;
    located.end = this.#scanner.spans[index * 2 + 1] as number;
    return located;
  }

  /** The value of a located column. Throws ExpressionError when it does not fit. */
  decodeLocated(position: number): Value {
    const { bytes, start, end, kind } = this.locate(position);
    const decode = this.#decoderAt(position);
    const value = decode(bytes, start, end, kind as Parameters<JsonDecoder>[3]);
    if (value !== misfit) return value;
    const bad = this.#misfit(position, bytes.toString('utf8', start, end));
    throw new ExpressionError(bad.errorClass, bad.message);
  }

  #decoderAt(position: number): JsonDecoder {
    const made = this.#decoders[position];
    if (made !== undefined) return made;
    const decoder = this.#decoderOf(this.#source.columns[position]?.type ?? { kind: 'void' });
    this.#decoders[position] = decoder;
    return decoder;
  }

  /** Undefined: the row is there. */
  read(records: RecordCursor, place: RecordPlace): BadRow | 'tombstone' | undefined {
    if (records.valueEnd < 0) {
      return this.#source.tombstones === 'skip'
        ? 'tombstone'
        : { errorClass: 'NULL_VALUE', message: 'the record has a null value' };
    }
    const bad = this.#readValue(records);
    if (bad !== undefined) return bad;
    for (const { position, read } of this.#hidden) {
      const value = read(records, place);
      if (value === misfit) return this.#misfit(position, `${records.timestampMs} milliseconds`);
      this.#row[position] = value;
    }
    return undefined;
  }

  #readValue(records: RecordCursor): BadRow | 'tombstone' | undefined {
    const { bytes, valueStart, valueEnd } = records;
    switch (this.#source.format) {
      case 'json':
      case 'csv':
        return this.#readJson(bytes, valueStart, valueEnd);
      case 'debezium-json':
        return this.#readEnvelope(records);
      default:
        return this.#readWhole(records);
    }
  }

  /** The row image of a change, and what stands around it. */
  #readEnvelope({ bytes, valueStart, valueEnd }: RecordCursor): BadRow | 'tombstone' | undefined {
    const envelope = this.#envelope as DebeziumEnvelope;
    const image = envelope.read(bytes, valueStart, valueEnd);
    if (image === 'none') {
      for (const { position } of this.#decoded) this.#row[position] = null;
    } else {
      if (image === 'message') return 'tombstone';
      if ('errorClass' in image) return image;
      const bad = this.#readJson(bytes, image.start, image.end);
      if (bad !== undefined) return bad;
    }
    for (const { position, read } of this.#around) {
      const value = read(bytes);
      if (value === misfit) return this.#misfit(position, 'the value around the row');
      this.#row[position] = value;
    }
    return undefined;
  }

  #readJson(bytes: Buffer, start: number, end: number): BadRow | undefined {
    const scanner = this.#scanner;
    this.#located.bytes = bytes;
    const verdict = scanner.scan(bytes, start, end);
    if (verdict !== scanOk) return malformedRecord(verdict);
    const { kinds, spans } = scanner;
    const decoded = this.#decoded;
    for (let index = 0; index < decoded.length; index += 1) {
      const { position, decode } = decoded[index] as (typeof decoded)[number];
      const kind = kinds[index] as number;
      if (kind === 0) {
        this.#row[position] = null;
        continue;
      }
      const from = spans[index * 2] as number;
      const to = spans[index * 2 + 1] as number;
      const value = decode(bytes, from, to, kind as Parameters<JsonDecoder>[3]);
      if (value === misfit) return this.#misfit(position, bytes.toString('utf8', from, to));
      this.#row[position] = value;
    }
    return undefined;
  }

  #misfit(position: number, text: string): BadRow {
    const column = this.#source.columns[position];
    return {
      errorClass: 'VALUE_DOES_NOT_FIT',
      message: misfitText(column?.name ?? '', column?.type ?? { kind: 'void' }, text),
    };
  }

  /** Formats `string` and `bytes`: the whole value is the one declared column. */
  #readWhole({ bytes, valueStart, valueEnd }: RecordCursor): BadRow | undefined {
    const value = bytes.subarray(valueStart, valueEnd);
    if (this.#source.format === 'bytes') {
      this.#row[0] = Uint8Array.from(value);
      return undefined;
    }
    try {
      this.#row[0] = textDecoder.decode(value);
      return undefined;
    } catch {
      return { errorClass: 'MALFORMED_RECORD', message: 'it is no valid UTF-8' };
    }
  }
}

/** A field of CSV is a text, which is read as `from_csv` reads it: what does not fit is a bad row, though. */
function csvDecoder(type: DataType, zone: Zone): JsonDecoder {
  const names = { nan: 'NaN', positive: 'Inf', negative: '-Inf' };
  const convert = csvConverter(type, { zone }, names);
  const text = jsonDecoder({ kind: 'string' }, zone);
  return (bytes, start, end, kind) => {
    const field = text(bytes, start, end, kind);
    return (typeof field === 'string' ? convert?.(field) : undefined) ?? misfit;
  };
}

const hiddenReads: Readonly<Record<string, HiddenRead>> = {
  _topic: (_, { topic }) => topic,
  _partition: (_, { partition }) => partition,
  _offset: ({ offset }) => BigInt(offset),
  // As microseconds what is safe has 64 bits; nanoseconds, which some take for milliseconds, have not.
  _timestamp: ({ timestampMs }) =>
    Number.isSafeInteger(timestampMs) ? BigInt(timestampMs) * 1000n : misfit,
  _key: ({ bytes, keyStart, keyEnd }) =>
    keyEnd < 0 ? null : Uint8Array.from(bytes.subarray(keyStart, keyEnd)),
  _headers: ({ bytes, headersStart, headersEnd }) =>
    readHeaders(bytes, headersStart, headersEnd).map(({ key, value }) => [
      key,
      value === null ? null : Uint8Array.from(value),
    ]),
};
