import { copyBytes, viewOf } from '../../data/byte-copy.ts';

/** What a key costs beside its bytes: its record, and its share of the slots. */
export const keyOverheadBytes = 88;

/** Numbers of a record, 64 bytes: one line of the processor's cache. */
const recordFields = 16;
/** Records lie in blocks that are never moved, but for the first one: it begins small, since many a table has few keys. */
const blockBits = 10;
const firstBlockRecords = 32;
const blockMask = (1 << blockBits) - 1;
const slotsMin = 64;
/** A position in the arena is a chunk's number and an offset of 20 bits. */
const chunkBits = 20;
const chunkBytesMin = 1 << 12;
const chunkBytesMax = 1 << chunkBits;
const chunkMask = chunkBytesMax - 1;
/** Room of a value is a multiple of this, so that one that grows by a digit stays where it is. */
const roomUnit = 16;

// Fields of a record.
const hashField = 0;
const keyField = 1;
const keyLengthField = 2;
const valueField = 3;
const valueLengthField = 4;
const valueRoomField = 5;
/** The fields from here on are the user's. */
export const userField = 6;
export const userFields = recordFields - userField;

/**
 * Keys with a value and some numbers each, in memory that the garbage collector never looks into: an index with open
 * addressing over the hash of the key's bytes, records of whole numbers, and an arena for keys and values. A Map of
 * texts and objects costs several times the time (a text for each row, cache misses, collections) and the memory.
 *
 * Invariants: two keys share an entry only if all their bytes are equal; an entry keeps its number; nothing is removed
 * but all at once. The bytes of a value stay as they are until it is set again.
 */
export class KeyTable {
  /** Slots in pairs: hash, number of the entry + 1. */
  #slots = new Int32Array(2 * slotsMin);
  readonly #blocks: Int32Array[] = [];
  readonly #chunks: Buffer[] = [];
  /** Of the chunks. */
  readonly #views: DataView[] = [];
  #chunk = -1;
  #chunkUsed = 0;
  #size = 0;
  #arenaBytes = 0;

  get size(): number {
    return this.#size;
  }

  /** Bytes that its keys cost, about; what values that grew have left behind included. */
  get byteLength(): number {
    return this.#arenaBytes + this.#size * keyOverheadBytes;
  }

  /**
   * Asks for the memory that `find` will need, step by step for many keys: the waits for it overlap, which is most of
   * the time of a look-up among many keys.
   */
  prefetch(hashes: readonly number[], count: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let start = 0; start < count; start += prefetchKeys) {
      const size = Math.min(prefetchKeys, count - start);
      for (let index = 0; index < size; index += 1) {
        prefetched[index] = slots[(((hashes[start + index] as number) << 1) & mask) + 1] as number;
      }
      for (let index = 0; index < size; index += 1) {
        const entry = (prefetched[index] as number) - 1;
        prefetched[index] = entry < 0 ? -1 : this.#field(entry, keyField);
      }
      let touched = 0;
      for (let index = 0; index < size; index += 1) {
        const position = prefetched[index] as number;
        if (position === -1) continue;
        touched ^= this.#chunks[position >>> chunkBits]?.[position & chunkMask] ?? 0;
      }
      this.#prefetched ^= touched;
    }
  }

  /** Kept, or the loops could be left out as without effect. */
  #prefetched = 0;

  /** The number of a key's entry, or -1. */
  find(hash: number, bytes: DataView, start: number, end: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = (hash << 1) & mask; ; slot = (slot + 2) & mask) {
      const entry = (slots[slot + 1] as number) - 1;
      if (entry < 0) return -1;
      if (slots[slot] === hash && this.#hasKey(entry, bytes, start, end)) return entry;
    }
  }

  /** Adds an entry for a key that has none; it has no value, and all its numbers are 0. */
  insert(hash: number, bytes: DataView, start: number, end: number): number {
    const entry = this.#size;
    if (entry >>> blockBits === this.#blocks.length) {
      const records = entry === 0 ? firstBlockRecords : 1 << blockBits;
      this.#blocks.push(new Int32Array(recordFields * records));
    } else if (entry * recordFields === this.#blocks[0]?.length && this.#blocks.length === 1) {
      this.#growFirstBlock(this.#blocks[0]);
    }
    this.#size += 1;
    const position = this.#take(end - start);
    copyBytes(bytes, start, end, this.#viewAt(position), position & chunkMask);
    const block = this.#blocks[entry >>> blockBits] as Int32Array;
    const at = (entry & blockMask) * recordFields;
    block.fill(0, at, at + recordFields);
    block[at + hashField] = hash;
    block[at + keyField] = position;
    block[at + keyLengthField] = end - start;
    this.#addSlot(hash, entry);
    return entry;
  }

  #growFirstBlock(block: Int32Array): void {
    const grown = new Int32Array(Math.min(4 * block.length, recordFields << blockBits));
    grown.set(block);
    this.#blocks[0] = grown;
  }

  /** The block that holds an entry's numbers, until the next `insert`; they begin at `recordStart`. */
  recordBlock(entry: number): Int32Array {
    return this.#blocks[entry >>> blockBits] as Int32Array;
  }

  recordStart(entry: number): number {
    return (entry & blockMask) * recordFields;
  }

  hashOf(entry: number): number {
    return this.#field(entry, hashField);
  }

  keyBytes(entry: number): Buffer {
    return this.#chunks[this.#field(entry, keyField) >>> chunkBits] as Buffer;
  }

  keyStart(entry: number): number {
    return this.#field(entry, keyField) & chunkMask;
  }

  keyLength(entry: number): number {
    return this.#field(entry, keyLengthField);
  }

  keyText(entry: number): string {
    const start = this.keyStart(entry);
    return this.keyBytes(entry).toString('latin1', start, start + this.keyLength(entry));
  }

  valueBytes(entry: number): Buffer {
    return this.#chunks[this.#field(entry, valueField) >>> chunkBits] as Buffer;
  }

  valueView(entry: number): DataView {
    return this.#viewAt(this.#field(entry, valueField));
  }

  valueStart(entry: number): number {
    return this.#field(entry, valueField) & chunkMask;
  }

  valueLength(entry: number): number {
    return this.#field(entry, valueLengthField);
  }

  /** Copies [start, end) in as the entry's value: over the one before where it has the room. */
  setValue(entry: number, bytes: DataView, start: number, end: number): void {
    const block = this.recordBlock(entry);
    const at = this.recordStart(entry);
    const length = end - start;
    if (length > (block[at + valueRoomField] as number)) {
      const room = Math.ceil(length / roomUnit) * roomUnit;
      block[at + valueField] = this.#take(room);
      block[at + valueRoomField] = room;
    }
    const position = block[at + valueField] as number;
    copyBytes(bytes, start, end, this.#viewAt(position), position & chunkMask);
    block[at + valueLengthField] = length;
  }

  /** Forgets everything, and keeps its memory for what comes. */
  clear(): void {
    this.#slots.fill(0);
    this.#size = 0;
    this.#arenaBytes = 0;
    // Those for giant values are not kept.
    for (let index = this.#chunks.length - 1; index >= 0; index -= 1) {
      if ((this.#chunks[index] as Buffer).length <= chunkBytesMax) continue;
      this.#chunks.splice(index, 1);
      this.#views.splice(index, 1);
    }
    this.#chunk = this.#chunks.length > 0 ? 0 : -1;
    this.#chunkUsed = 0;
  }

  #hasKey(entry: number, bytes: DataView, start: number, end: number): boolean {
    const length = end - start;
    const block = this.#blocks[entry >>> blockBits] as Int32Array;
    const at = (entry & blockMask) * recordFields;
    if (block[at + keyLengthField] !== length) return false;
    const position = block[at + keyField] as number;
    const chunk = this.#viewAt(position);
    const stored = position & chunkMask;
    if (length < 4) {
      for (let index = 0; index < length; index += 1) {
        if (chunk.getUint8(stored + index) !== bytes.getUint8(start + index)) return false;
      }
      return true;
    }
    // By words from the end: keys differ there more often than in their beginning. The last one may overlap the one before.
    for (let index = length - 4; index > 0; index -= 4) {
      if (chunk.getInt32(stored + index) !== bytes.getInt32(start + index)) return false;
    }
    return chunk.getInt32(stored) === bytes.getInt32(start);
  }

  #viewAt(position: number): DataView {
    return this.#views[position >>> chunkBits] as DataView;
  }

  #take(length: number): number {
    const chunk = this.#chunks[this.#chunk];
    if (chunk === undefined || this.#chunkUsed + length > chunk.length) this.#nextChunk(length);
    const position = (this.#chunk << chunkBits) | this.#chunkUsed;
    this.#chunkUsed += length;
    this.#arenaBytes += length;
    return position;
  }

  #nextChunk(length: number): void {
    this.#chunkUsed = 0;
    this.#chunk += 1;
    const kept = this.#chunks[this.#chunk];
    if (kept !== undefined && kept.length >= length) return;
    const before = this.#chunks[this.#chunk - 1]?.length ?? 0;
    const usual = Math.min(Math.max(2 * before, chunkBytesMin), chunkBytesMax);
    const chunk = Buffer.allocUnsafeSlow(Math.max(usual, length));
    this.#chunks.splice(this.#chunk, 0, chunk);
    this.#views.splice(this.#chunk, 0, viewOf(chunk));
  }

  #addSlot(hash: number, entry: number): void {
    // At most 7 of 10 slots are taken; the length is two numbers a slot.
    if (this.#size * 20 > this.#slots.length * 7) this.#grow();
    putSlot(this.#slots, hash, entry + 1);
  }

  #grow(): void {
    const before = this.#slots;
    const after = new Int32Array(before.length * 2);
    for (let slot = 0; slot < before.length; slot += 2) {
      const entry = before[slot + 1] as number;
      if (entry !== 0) putSlot(after, before[slot] as number, entry);
    }
    this.#slots = after;
  }

  #field(entry: number, field: number): number {
    const block = this.#blocks[entry >>> blockBits] as Int32Array;
    return block[(entry & blockMask) * recordFields + field] as number;
  }
}

/** A key's `murmur2`, mixed once more: keys of one partition have the remainder of Kafka's own hash in common. */
export function mixedHash(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  return mixed ^ (mixed >>> 13);
}

/** So few that what was asked for is still in the processor's cache when it is needed. */
const prefetchKeys = 512;
const prefetched = new Int32Array(prefetchKeys);

function putSlot(slots: Int32Array, hash: number, value: number): void {
  const mask = slots.length - 1;
  let slot = (hash << 1) & mask;
  while (slots[slot + 1] !== 0) slot = (slot + 2) & mask;
  slots[slot] = hash;
  slots[slot + 1] = value;
}
