/**
 * Writes one request body in Kafka's wire form. In flexible versions strings, bytes and arrays have
 * compact lengths and every structure ends in a tag section; the writer knows which form it is in, so
 * that a codec is written once for both.
 * Invariant: bytes given to `records` or `raw` by reference are never copied nor changed; they stand in
 * the result of `finish` as buffers of their own, in order.
 */
export class RequestWriter {
  readonly flexible: boolean;
  readonly #done: Buffer[] = [];
  #chunk: Buffer;
  #position = 0;
  /** Where the part of the chunk that is not yet in `#done` begins. */
  #start = 0;

  constructor(flexible: boolean, capacity = 512) {
    this.flexible = flexible;
    this.#chunk = Buffer.allocUnsafe(capacity);
  }

  int8(value: number): void {
    this.#reserve(1);
    this.#position = this.#chunk.writeInt8(value, this.#position);
  }

  int16(value: number): void {
    this.#reserve(2);
    this.#position = this.#chunk.writeInt16BE(value, this.#position);
  }

  int32(value: number): void {
    this.#reserve(4);
    this.#position = this.#chunk.writeInt32BE(value, this.#position);
  }

  int64(value: number | bigint): void {
    this.#reserve(8);
    this.#position = this.#chunk.writeBigInt64BE(BigInt(value), this.#position);
  }

  boolean(value: boolean): void {
    this.int8(value ? 1 : 0);
  }

  unsignedVarint(value: number): void {
    this.#reserve(5);
    let rest = value;
    while (rest > 127) {
      this.#chunk[this.#position] = (rest & 127) | 128;
      this.#position += 1;
      rest >>>= 7;
    }
    this.#chunk[this.#position] = rest;
    this.#position += 1;
  }

  /** A topic id in Kafka's printed form: 16 bytes as unpadded base64url. */
  uuid(text: string): void {
    this.raw(Buffer.from(text, 'base64url'));
  }

  string(text: string): void {
    const length = Buffer.byteLength(text);
    this.#length16(length);
    this.#reserve(length);
    this.#position += this.#chunk.write(text, this.#position);
  }

  nullableString(text: string | null): void {
    if (text === null) this.#length16(-1);
    else this.string(text);
  }

  bytes(value: Uint8Array): void {
    this.#length32(value.length);
    this.raw(value);
  }

  nullableBytes(value: Uint8Array | null): void {
    if (value === null) this.#length32(-1);
    else this.bytes(value);
  }

  array<Item>(items: readonly Item[], write: (item: Item) => void): void {
    this.#length32(items.length);
    for (const item of items) write(item);
  }

  nullableArray<Item>(items: readonly Item[] | null, write: (item: Item) => void): void {
    if (items === null) this.#length32(-1);
    else this.array(items, write);
  }

  int32Array(values: readonly number[]): void {
    this.array(values, (value) => this.int32(value));
  }

  stringArray(values: readonly string[]): void {
    this.array(values, (value) => this.string(value));
  }

  /** Ends a structure: an empty tag section, or nothing where the version has none. */
  tags(): void {
    if (this.flexible) this.unsignedVarint(0);
  }

  /** Length and bytes of a record set; the bytes are taken by reference. */
  records(batch: Buffer): void {
    this.#length32(batch.length);
    this.#cut();
    this.#done.push(batch);
  }

  /** Bytes as they are, copied. */
  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#chunk.set(value, this.#position);
    this.#position += value.length;
  }

  finish(): Buffer[] {
    this.#cut();
    return this.#done;
  }

  /** A length as int16, or compact; -1: null. */
  #length16(length: number): void {
    if (this.flexible) this.unsignedVarint(length + 1);
    else this.int16(length);
  }

  #length32(length: number): void {
    if (this.flexible) this.unsignedVarint(length + 1);
    else this.int32(length);
  }

  #cut(): void {
    if (this.#position > this.#start) {
      this.#done.push(this.#chunk.subarray(this.#start, this.#position));
      this.#start = this.#position;
    }
  }

  #reserve(size: number): void {
    if (this.#position + size <= this.#chunk.length) return;
    const pending = this.#position - this.#start;
    const grown = Buffer.allocUnsafe(Math.max(this.#chunk.length * 2, pending + size));
    this.#chunk.copy(grown, 0, this.#start, this.#position);
    this.#chunk = grown;
    this.#start = 0;
    this.#position = pending;
  }
}
