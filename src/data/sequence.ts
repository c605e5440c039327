import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { oncePer } from '../base/once-per.ts';
import { ByteWriter } from './byte-writer.ts';
import { canonicalText, parseCanonicalText } from './canonical.ts';
import { isOrderable } from './compare.ts';
import { type Int64, readInt64Digits, writeInt64Digits } from './int64.ts';
import { formatType } from './type-text.ts';
import type { DataType } from './types.ts';
import type { Value } from './value.ts';

export type SequenceCodec = {
  /** Writes the order-preserving bytes of a sequence, which is never NULL. */
  readonly encode: (value: Value, out: ByteWriter) => void;
  readonly decode: (bytes: Buffer, start: number, end: number) => Value;
  /** The canonical text of encoded bytes, as the header `tm-seq` has it. */
  readonly text: (bytes: Buffer, start: number, end: number) => string;
  /** Writes that text. */
  readonly writeText: (out: ByteWriter, bytes: Buffer, start: number, end: number) => void;
  /** The bytes of such a text. */
  readonly parse: (text: string) => Buffer;
  /** Writes the bytes of such a text where that takes no string; false, and nothing is written: `parse` has to. */
  readonly readText: (out: ByteWriter, bytes: Buffer, start: number, end: number) => boolean;
};

/**
 * Sequences as bytes whose unsigned order (shorter first where one begins the other) is the order of
 * `comparator`, so that state and tasks compare bytes and never need the type. Invariant: equal bytes exactly
 * for equal sequences.
 *
 * Whole numbers, times and intervals take 8 bytes with the sign bit flipped; doubles 8 bytes in IEEE order;
 * decimals 8 bytes up to 18 digits, else 16; text and binary stand as they are. Inside arrays and structs each
 * part has a byte before it that says whether it is NULL, and text and binary end with two zero bytes.
 */
export const sequenceCodec = oncePer((type: DataType): SequenceCodec => {
  if (!isOrderable(type)) {
    throw new FlowError('PIPELINE_INVALID', `a sequence of type ${formatType(type)} has no order`, {
      hint: 'Sequence by a number, a string, a boolean, a date, a timestamp, binary, or an array or struct of those.',
    });
  }
  const part = partCodec(type, false);
  const encode = (value: Value, out: ByteWriter): void => {
    assert(value !== null, 'a NULL sequence is a bad row and is never encoded');
    part.write(value, out);
  };
  const decode = (bytes: Buffer, start: number, end: number): Value =>
    part.read({ bytes, at: start, end });
  const text = (bytes: Buffer, start: number, end: number): string =>
    canonicalText(type, decode(bytes, start, end));
  return {
    encode,
    decode,
    text,
    writeText:
      type.kind === 'bigint'
        ? writeInt64Text
        : (out, bytes, start, end) => out.utf8(text(bytes, start, end)),
    parse: (text) => {
      const value = parseCanonicalText(type, text);
      if (value === undefined || value === null) {
        throw new FlowError(
          'RECORD_CORRUPT',
          `"${text}" is no sequence of type ${formatType(type)}`,
        );
      }
      const out = new ByteWriter(32);
      encode(value, out);
      return out.copy();
    },
    readText: type.kind === 'bigint' ? readInt64Text : () => false,
  };
});

type Reader = { readonly bytes: Buffer; at: number; readonly end: number };

type PartCodec = {
  readonly write: (value: Value, out: ByteWriter) => void;
  readonly read: (reader: Reader) => Value;
};

/** `inside`: other parts follow, so the bytes must show where they end. */
function partCodec(type: DataType, inside: boolean): PartCodec {
  switch (type.kind) {
    case 'boolean':
      return {
        write: (value, out) => out.byte(value === true ? 1 : 0),
        read: (reader) => readByte(reader) === 1,
      };
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'date':
    case 'interval_year_month':
      return { write: (value, out) => writeNumber(value as number, out), read: readNumber };
    case 'bigint':
    case 'timestamp':
    case 'timestamp_ntz':
    case 'time':
    case 'interval_day_time':
      return { write: (value, out) => writeInt64(value as bigint, out), read: readInt64 };
    case 'float':
    case 'double':
      return { write: (value, out) => writeDouble(value as number, out), read: readDouble };
    case 'decimal':
      return type.precision <= 18
        ? { write: (value, out) => writeInt64(value as bigint, out), read: readInt64 }
        : { write: (value, out) => writeInt128(value as bigint, out), read: readInt128 };
    case 'string':
      return inside ? terminatedText : plainText;
    case 'binary':
      return inside ? terminatedBinary : plainBinary;
    case 'array':
      return arrayCodec(partCodec(type.element, true));
    case 'struct':
      return structCodec(type.fields.map((field) => partCodec(field.type, true)));
    default:
      // Only VOID is left among the orderable types: it has no value but NULL.
      return { write: () => undefined, read: () => null };
  }
}

function readByte(reader: Reader): number {
  const byte = reader.bytes[reader.at] as number;
  reader.at += 1;
  return byte;
}

function writeNumber(value: number, out: ByteWriter): void {
  out.reserve(8);
  const { buffer, length } = out;
  buffer.writeUInt32BE((Math.floor(value / 0x1_0000_0000) ^ 0x8000_0000) >>> 0, length);
  buffer.writeUInt32BE(value >>> 0, length + 4);
  out.length += 8;
}

function readNumber(reader: Reader): number {
  return Number(readInt64(reader));
}

const signBit = 1n << 63n;

function writeInt64(value: bigint, out: ByteWriter): void {
  out.bigInt64(value);
  const { buffer, length } = out;
  buffer[length - 8] = (buffer[length - 8] as number) ^ 0x80;
}

function writeInt64Text(out: ByteWriter, bytes: Buffer, start: number): void {
  const high = (bytes.readUInt32BE(start) ^ 0x8000_0000) >>> 0;
  writeInt64Digits(out, high, bytes.readUInt32BE(start + 4));
}

/** Only as `writeInt64Text` writes it: anything else is left to whoever can tell what it is. */
function readInt64Text(out: ByteWriter, bytes: Buffer, start: number, end: number): boolean {
  const first = bytes[start] === 0x2d ? start + 1 : start;
  if (first >= end || (bytes[first] === 0x30 && end - start > 1)) return false;
  for (let at = first; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte < 0x30 || byte > 0x39) return false;
  }
  if (!readInt64Digits(bytes, start, end, int64)) return false;
  writeInt64Sequence(out, int64.high, int64.low);
  return true;
}

const int64: Int64 = { high: 0, low: 0 };

/** As the codec writes a BIGINT, from its two halves. */
export function writeInt64Sequence(out: ByteWriter, high: number, low: number): void {
  out.reserve(8);
  const { view, length } = out;
  view.setInt32(length, high ^ 0x8000_0000);
  view.setUint32(length + 4, low);
  out.length = length + 8;
}

function readInt64(reader: Reader): bigint {
  const value = reader.bytes.readBigUInt64BE(reader.at);
  reader.at += 8;
  return BigInt.asIntN(64, value ^ signBit);
}

function writeInt128(value: bigint, out: ByteWriter): void {
  writeInt64(value >> 64n, out);
  out.bigInt64(BigInt.asIntN(64, value));
}

function readInt128(reader: Reader): bigint {
  const high = readInt64(reader);
  const low = reader.bytes.readBigUInt64BE(reader.at);
  reader.at += 8;
  return (high << 64n) | low;
}

function writeDouble(value: number, out: ByteWriter): void {
  out.reserve(8);
  const { buffer, length } = out;
  // Adding 0 turns -0 into 0. NaN's bits are set by hand: engines may write others.
  if (Number.isNaN(value)) buffer.writeUInt32BE(0x7ff8_0000, length);
  else buffer.writeDoubleBE(value + 0, length);
  if (Number.isNaN(value)) buffer.writeUInt32BE(0, length + 4);
  // A set sign bit turns the order of the rest around, and stands below a clear one.
  if ((buffer[length] as number) >= 0x80) {
    for (let at = length; at < length + 8; at += 1) buffer[at] = ~(buffer[at] as number);
  } else {
    buffer[length] = (buffer[length] as number) | 0x80;
  }
  out.length += 8;
}

const scratch = Buffer.alloc(8);

function readDouble(reader: Reader): number {
  const isPositive = (reader.bytes[reader.at] as number) >= 0x80;
  for (let index = 0; index < 8; index += 1) {
    const byte = readByte(reader);
    scratch[index] = isPositive ? byte : ~byte;
  }
  if (isPositive) scratch[0] = (scratch[0] as number) & 0x7f;
  return scratch.readDoubleBE(0);
}

const plainText: PartCodec = {
  write: (value, out) => out.utf8(value as string),
  read: (reader) => reader.bytes.toString('utf8', reader.at, reader.end),
};

const plainBinary: PartCodec = {
  write: (value, out) => out.bytes(value as Uint8Array),
  read: (reader) => Buffer.from(reader.bytes.subarray(reader.at, reader.end)),
};

const terminatedText: PartCodec = {
  write: (value, out) => writeTerminated(Buffer.from(value as string, 'utf8'), out),
  read: (reader) => readTerminated(reader).toString('utf8'),
};

const terminatedBinary: PartCodec = {
  write: (value, out) => writeTerminated(value as Uint8Array, out),
  read: readTerminated,
};

/** A zero byte becomes 00 FF, so the end, 00 00, is below everything that may follow in a longer text. */
function writeTerminated(bytes: Uint8Array, out: ByteWriter): void {
  for (const byte of bytes) {
    out.byte(byte);
    if (byte === 0) out.byte(0xff);
  }
  out.byte(0);
  out.byte(0);
}

function readTerminated(reader: Reader): Buffer {
  const bytes: number[] = [];
  for (;;) {
    const byte = readByte(reader);
    if (byte === 0 && readByte(reader) === 0) return Buffer.from(bytes);
    bytes.push(byte);
  }
}

/** Before each element: 1 for NULL, 2 for a value; 0 ends the array, below whatever a longer one has. */
function arrayCodec(element: PartCodec): PartCodec {
  return {
    write: (value, out) => {
      for (const item of value as readonly Value[]) {
        out.byte(item === null ? 1 : 2);
        if (item !== null) element.write(item, out);
      }
      out.byte(0);
    },
    read: (reader) => {
      const items: Value[] = [];
      for (;;) {
        const mark = readByte(reader);
        if (mark === 0) return items;
        items.push(mark === 1 ? null : element.read(reader));
      }
    },
  };
}

/** Before each field: 0 for NULL, 1 for a value. */
function structCodec(fields: readonly PartCodec[]): PartCodec {
  return {
    write: (value, out) => {
      for (const [index, field] of fields.entries()) {
        const part = (value as readonly Value[])[index] as Value;
        out.byte(part === null ? 0 : 1);
        if (part !== null) field.write(part, out);
      }
    },
    read: (reader) => fields.map((field) => (readByte(reader) === 0 ? null : field.read(reader))),
  };
}
