import { copyBytes, longCopyBytes, viewOf } from './byte-copy.ts';

const nothing = Buffer.alloc(0);
const noView = viewOf(nothing);

/**
 * A growable byte buffer that is written from front to back and used again after `reset`.
 * Invariant: bytes below `length` never change until `reset`; `buffer` may be replaced when it
 * grows, so take slices only after the last write.
 */
export class ByteWriter {
  buffer: Buffer;
  /** Of the buffer. */
  view: DataView;
  /** The buffer's length, which the engine takes several times as long to tell of a buffer as of a number. */
  capacity: number;
  length = 0;
  readonly #firstCapacity: number;

  /** The memory is taken with the first write: many a writer never writes anything. */
  constructor(firstCapacity = 1024) {
    this.buffer = nothing;
    this.view = noView;
    this.capacity = 0;
    this.#firstCapacity = firstCapacity;
  }

  /** Goes on in another buffer, from its front. */
  use(buffer: Buffer): void {
    this.buffer = buffer;
    this.view = viewOf(buffer);
    this.capacity = buffer.length;
    this.length = 0;
  }

  reset(): void {
    this.length = 0;
  }

  /** Makes room for `size` more bytes. */
  reserve(size: number): void {
    const needed = this.length + size;
    if (needed <= this.capacity) return;
    const isFirst = this.capacity === 0;
    const grown = isFirst
      ? Buffer.allocUnsafe(Math.max(needed, this.#firstCapacity))
      : Buffer.allocUnsafeSlow(Math.max(needed, this.capacity * 2));
    if (!isFirst) this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
    this.view = viewOf(grown);
    this.capacity = grown.length;
  }

  byte(value: number): void {
    this.reserve(1);
    this.buffer[this.length] = value;
    this.length += 1;
  }

  uint32(value: number): void {
    this.reserve(4);
    this.view.setUint32(this.length, value);
    this.length += 4;
  }

  /** A whole number from 0 to 2^53 - 1 in eight bytes, most significant first. */
  uint53(value: number): void {
    this.reserve(8);
    this.view.setUint32(this.length, Math.floor(value / 0x1_0000_0000));
    this.view.setUint32(this.length + 4, value);
    this.length += 8;
  }

  bigInt64(value: bigint): void {
    this.reserve(8);
    this.buffer.writeBigInt64BE(value, this.length);
    this.length += 8;
  }

  /** ASCII text only: one byte a character. */
  ascii(text: string): void {
    this.reserve(text.length);
    this.length += this.buffer.write(text, this.length, 'latin1');
  }

  utf8(text: string): void {
    this.reserve(text.length * 3);
    this.length += this.buffer.write(text, this.length, 'utf8');
  }

  bytes(source: Uint8Array, start = 0, end = source.length): void {
    const size = end - start;
    this.reserve(size);
    if (size < 40) {
      // A loop beats the native copy for short spans: no call across the engine's border.
      const { buffer } = this;
      for (let from = start, to = this.length; from < end; from += 1, to += 1) {
        buffer[to] = source[from] as number;
      }
    } else {
      this.buffer.set(new Uint8Array(source.buffer, source.byteOffset + start, size), this.length);
    }
    this.length += size;
  }

  /** As `bytes`, where the view of the source is at hand: for what is copied once a record. */
  span(source: Buffer, view: DataView, start: number, end: number): void {
    const size = end - start;
    this.reserve(size);
    if (size < longCopyBytes) {
      copyBytes(view, start, end, this.view, this.length);
    } else {
      const part = new Uint8Array(source.buffer, source.byteOffset + start, size);
      this.buffer.set(part, this.length);
    }
    this.length += size;
  }

  /** A copy of what was written. */
  copy(): Buffer {
    return Buffer.from(this.buffer.subarray(0, this.length));
  }
}
