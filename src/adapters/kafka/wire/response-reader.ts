import { FlowError } from '../../../base/errors.ts';

/** The topic id that stands for "unknown": 16 zero bytes. */
export const zeroUuid = 'AAAAAAAAAAAAAAAAAAAAAA';

/**
 * Reads one response body. Every read is checked against the end of the bytes, and every length against
 * what is left.
 * Invariant: whatever the bytes are, a read either moves forward inside of them or throws FlowError
 * RECORD_CORRUPT; no count that the bytes cannot hold is ever looped over.
 */
export class ResponseReader {
  readonly bytes: Buffer;
  readonly flexible: boolean;
  position: number;

  constructor(bytes: Buffer, flexible: boolean, position = 0) {
    this.bytes = bytes;
    this.flexible = flexible;
    this.position = position;
  }

  get remaining(): number {
    return this.bytes.length - this.position;
  }

  int8(): number {
    return this.bytes.readInt8(this.#take(1));
  }

  int16(): number {
    return this.bytes.readInt16BE(this.#take(2));
  }

  int32(): number {
    return this.bytes.readInt32BE(this.#take(4));
  }

  /** Exact from -2^53 to 2^53, which offsets and timestamps never pass. */
  int64(): number {
    const at = this.#take(8);
    return this.bytes.readInt32BE(at) * 0x1_0000_0000 + this.bytes.readUInt32BE(at + 4);
  }

  bigInt64(): bigint {
    return this.bytes.readBigInt64BE(this.#take(8));
  }

  boolean(): boolean {
    return this.int8() !== 0;
  }

  unsignedVarint(): number {
    let value = 0;
    for (let shift = 0; shift <= 28; shift += 7) {
      const byte = this.bytes[this.#take(1)] ?? 0;
      value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
    throw corrupt('a length in it has more than five bytes');
  }

  /** Kafka's printed form of a topic id: unpadded base64url. */
  uuid(): string {
    const at = this.#take(16);
    return this.bytes.toString('base64url', at, at + 16);
  }

  string(): string {
    return this.nullableString() ?? '';
  }

  nullableString(): string | null {
    const length = this.flexible ? this.unsignedVarint() - 1 : this.int16();
    if (length < 0) return null;
    const at = this.#take(length);
    return this.bytes.toString('utf8', at, at + length);
  }

  /** A view, not a copy. */
  slice(): Buffer {
    return this.nullableSlice() ?? this.bytes.subarray(this.position, this.position);
  }

  nullableSlice(): Buffer | null {
    const length = this.#length32();
    if (length < 0) return null;
    const at = this.#take(length);
    return this.bytes.subarray(at, at + length);
  }

  array<Item>(read: () => Item): Item[] {
    return this.nullableArray(read) ?? [];
  }

  nullableArray<Item>(read: () => Item): Item[] | null {
    const count = this.#length32();
    if (count < 0) return null;
    // No element takes less than one byte: a larger count is damage, and must not be looped over.
    if (count > this.remaining) throw corrupt(`it announces ${count} elements`);
    const items: Item[] = [];
    for (let index = 0; index < count; index += 1) items.push(read());
    return items;
  }

  int32Array(): number[] {
    return this.array(() => this.int32());
  }

  stringArray(): string[] {
    return this.array(() => this.string());
  }

  /** Skips the tag section that ends a structure; `read` is called with each known tag and may read its bytes. */
  tags(read?: (tag: number) => void): void {
    if (!this.flexible) return;
    const count = this.unsignedVarint();
    if (count > this.remaining) throw corrupt(`it announces ${count} tags`);
    for (let index = 0; index < count; index += 1) {
      const tag = this.unsignedVarint();
      const size = this.unsignedVarint();
      const end = this.#take(size) + size;
      if (read !== undefined) {
        this.position = end - size;
        read(tag);
      }
      this.position = end;
    }
  }

  #length32(): number {
    return this.flexible ? this.unsignedVarint() - 1 : this.int32();
  }

  /** Moves past `size` bytes and returns where they begin. */
  #take(size: number): number {
    const at = this.position;
    if (size > this.bytes.length - at) {
      throw corrupt(`it needs ${size} bytes at ${at} but has ${this.bytes.length} in all`);
    }
    this.position = at + size;
    return at;
  }
}

function corrupt(what: string): FlowError {
  return new FlowError('RECORD_CORRUPT', 'reply of the broker cannot be read', {
    detail: `The reply is cut short or damaged: ${what}.`,
  });
}
