/** The value length of an entry that says that its key was deleted. */
export const deleted = 0xffff_ffff;

/**
 * Some entries as columns of numbers over one buffer: where each key and value lies, and the key's hash. No
 * entry has an object of its own, and one instance is filled again and again. Invariant: all positions are
 * offsets into `bytes`.
 */
export class EntryColumns {
  bytes: Buffer = Buffer.alloc(0);
  count = 0;
  hashes = new Uint32Array(0);
  keyStarts = new Uint32Array(0);
  keyLengths = new Uint32Array(0);
  valueStarts = new Uint32Array(0);
  valueLengths = new Uint32Array(0);

  /** Starts anew, over another buffer. */
  reset(bytes: Buffer, countMax: number): void {
    this.bytes = bytes;
    this.count = 0;
    if (this.hashes.length < countMax) {
      this.#grow(countMax);
    }
  }

  /** Adds an entry that lies in the buffer already. */
  add(keyStart: number, keyLength: number, valueStart: number, valueLength: number): void {
    if (this.count === this.hashes.length) {
      this.#grow(this.count * 2 + 64);
    }
    const index = this.count++;
    this.hashes[index] = hashOf(this.bytes, keyStart, keyStart + keyLength);
    this.keyStarts[index] = keyStart;
    this.keyLengths[index] = keyLength;
    this.valueStarts[index] = valueStart;
    this.valueLengths[index] = valueLength;
  }

  #grow(capacity: number): void {
    this.hashes = grown(this.hashes, capacity);
    this.keyStarts = grown(this.keyStarts, capacity);
    this.keyLengths = grown(this.keyLengths, capacity);
    this.valueStarts = grown(this.valueStarts, capacity);
    this.valueLengths = grown(this.valueLengths, capacity);
  }
}

function grown(column: Uint32Array<ArrayBuffer>, capacity: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(capacity);
  larger.set(column);
  return larger;
}

/** FNV-1a, then a mix that spreads it over all bits: the index takes the table from the upper ones. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c_9dc5;
  for (let index = start; index < end; index++) {
    hash = Math.imul(hash ^ (bytes[index] ?? 0), 0x0100_0193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
