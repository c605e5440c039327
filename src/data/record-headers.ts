import { ByteWriter } from './byte-writer.ts';

/**
 * The header section of a log record, in the log's own wire form: a zigzag varint count, then for each
 * header a varint-length key (UTF-8) and a varint-length value (-1: null). An empty span means no headers.
 */
export class HeaderWriter {
  readonly writer: ByteWriter = new ByteWriter(256);
  #valueStart = 0;

  /** Starts a section of exactly `count` headers. */
  begin(count: number): void {
    this.writer.reset();
    writeVarint(this.writer, count);
  }

  /** Adds one header; the value is the span [start, end) of `value`. */
  add(name: string, value: Uint8Array, start = 0, end = value.length): void {
    writeVarint(this.writer, name.length);
    this.writer.ascii(name);
    writeVarint(this.writer, end - start);
    this.writer.bytes(value, start, end);
  }

  /** Begins a header whose name was prepared with `headerName`: its value is written to `writer`, then `close` is called. */
  open(name: Buffer): void {
    this.writer.bytes(name);
    this.writer.byte(0);
    this.#valueStart = this.writer.length;
  }

  /** Puts the length before the value of the header that `open` began: nearly always one byte. */
  close(): void {
    const { writer } = this;
    const start = this.#valueStart;
    const length = writer.length - start;
    if (length < 64) {
      writer.buffer[start - 1] = length * 2;
      return;
    }
    const value = Buffer.from(writer.buffer.subarray(start, writer.length));
    writer.length = start - 1;
    writeVarint(writer, length);
    writer.bytes(value);
  }

  /** Adds one header that was prepared with `wholeHeader`. */
  addWhole(header: Buffer): void {
    this.writer.bytes(header);
  }

  addText(name: string, value: string): void {
    this.add(name, Buffer.from(value, 'utf8'));
  }
}

/** A header's name as it lies in a section, for headers that are written once a record. */
export function headerName(name: string): Buffer {
  const writer = new ByteWriter(64);
  writeVarint(writer, Buffer.byteLength(name));
  writer.utf8(name);
  return writer.copy();
}

/** A header that is the same in all records. */
export function wholeHeader(name: string, value: Buffer): Buffer {
  const length = new ByteWriter(8);
  writeVarint(length, value.length);
  return Buffer.concat([headerName(name), length.copy(), value]);
}

export type RecordHeader = { readonly key: string; readonly value: Buffer | null };

/** Reads a whole header section; values are views of `bytes`. */
export function readHeaders(bytes: Buffer, start: number, end: number): RecordHeader[] {
  if (start >= end) return [];
  const reader = { bytes, position: start };
  const count = readVarint(reader);
  const headers: RecordHeader[] = [];
  for (let index = 0; index < count; index += 1) {
    const keyLength = readVarint(reader);
    const key = bytes.toString('utf8', reader.position, reader.position + keyLength);
    reader.position += keyLength;
    const valueLength = readVarint(reader);
    const value =
      valueLength < 0 ? null : bytes.subarray(reader.position, reader.position + valueLength);
    reader.position += Math.max(valueLength, 0);
    headers.push({ key, value });
  }
  return headers;
}

/** A section of `count` headers that `write` adds, followed by those of another section as they are. */
export function appendHeaders(
  writer: HeaderWriter,
  count: number,
  section: { readonly bytes: Buffer; readonly start: number; readonly end: number },
  write: () => void,
): void {
  const { bytes, start, end } = section;
  const reader = { bytes, position: start };
  const others = start >= end ? 0 : readVarint(reader);
  writer.begin(count + others);
  write();
  if (others > 0) writer.writer.bytes(bytes, reader.position, end);
}

/** The section without its first `count` headers, as a section of its own. */
export function headersAfter(bytes: Buffer, start: number, end: number, count: number): Buffer {
  if (start >= end) return Buffer.alloc(0);
  const reader = { bytes, position: start };
  const rest = Math.max(0, readVarint(reader) - count);
  if (rest === 0) return Buffer.alloc(0);
  for (let index = 0; index < count; index += 1) {
    for (let part = 0; part < 2; part += 1) {
      const length = readVarint(reader);
      reader.position += Math.max(length, 0);
    }
  }
  const out = new ByteWriter(end - reader.position + 5);
  writeVarint(out, rest);
  out.bytes(bytes, reader.position, end);
  return out.copy();
}

function writeVarint(writer: ByteWriter, value: number): void {
  // Zigzag: the sign goes to the lowest bit, so that small negative numbers stay short.
  let rest = value < 0 ? -value * 2 - 1 : value * 2;
  while (rest > 127) {
    writer.byte((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  writer.byte(rest);
}

function readVarint(reader: { readonly bytes: Buffer; position: number }): number {
  let value = 0;
  let scale = 1;
  for (;;) {
    const byte = reader.bytes[reader.position] ?? 0;
    reader.position += 1;
    value += (byte & 127) * scale;
    if (byte < 128) break;
    scale *= 128;
  }
  return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
}
