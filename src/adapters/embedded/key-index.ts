import { assert } from '../../base/assert.ts';
import type { StateKey } from '../../ports/state-store.ts';
import type { EntryColumns } from './entry-columns.ts';

const tableCount = 256;
const slotsMin = 8;
/** Entries of a block: segment, position and length of the value, position of the key. */
const blockEntries = 1 << 16;
const entryFields = 4;
const chunkBits = 20;
const chunkBytes = 1 << chunkBits;
const chunkMask = chunkBytes - 1;
const chunksMax = 1 << (32 - chunkBits);
/** Marks an entry that is not in use; its second field then leads to the next one. */
const free = 0xffff_ffff;
const none = -1;
/** Keys that are probed at once: few enough that what was touched is still in the processor's cache. */
const probeKeys = 512;

/**
 * Where the value of each key lies: a hash table of plain numbers and key bytes outside of the garbage-collected
 * heap, about 50 bytes a key and the key. Invariant: two keys share an entry only if all their bytes are equal;
 * the hash alone never decides.
 *
 * It is 256 tables by the upper bits of the hash, so that growing one stalls nobody: at ten million keys a
 * table has forty thousand. Entries and keys lie in blocks that are never moved.
 */
export class KeyIndex {
  readonly #tables: Uint32Array[] = [];
  readonly #counts = new Uint32Array(tableCount);
  readonly #blocks: Uint32Array[] = [];
  #used = 0;
  #freed = none;
  #chunks: Buffer[] = [];
  #chunkPosition = chunkBytes;
  #keyBytes = 0;
  #deadKeyBytes = 0;
  #size = 0;
  #touched = 0;
  /** Where `#openKey` left off. */
  #keyStart = 0;
  #keyLength = 0;

  constructor() {
    for (let table = 0; table < tableCount; table++) {
      this.#tables.push(new Uint32Array(2 * slotsMin));
    }
  }

  get size(): number {
    return this.#size;
  }

  /** Entries are numbered from 0 to below this; some of the numbers may be unused. */
  get entryLimit(): number {
    return this.#used;
  }

  /** Bytes of memory that it holds. */
  get byteLength(): number {
    const tables = this.#tables.reduce((sum, table) => sum + table.byteLength, 0);
    const chunks = this.#chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    return tables + chunks + this.#blocks.length * blockEntries * entryFields * 4;
  }

  /**
   * Calls back for each entry of the columns, in order, after the memory that its look-up needs was asked for
   * together with that of its neighbours: the waits for it overlap, which is most of the time of a look-up.
   */
  probe(columns: EntryColumns, visit: (index: number) => void): void {
    for (let start = 0; start < columns.count; start += probeKeys) {
      const end = Math.min(start + probeKeys, columns.count);
      this.#touch(columns, start, end);
      for (let index = start; index < end; index++) {
        visit(index);
      }
    }
  }

  /** The number of a key's entry, or -1. */
  find(columns: EntryColumns, index: number): number {
    const hash = columns.hashes[index] ?? 0;
    const table = this.#tables[hash >>> 24] as Uint32Array;
    const mask = table.length - 1;
    for (let slot = (hash << 1) & mask; ; slot = (slot + 2) & mask) {
      const entry = (table[slot + 1] as number) - 1;
      if (entry === none) {
        return none;
      }
      if (table[slot] === hash && this.#hasKey(entry, columns, index)) {
        return entry;
      }
    }
  }

  /** Adds an entry for a key that has none. */
  insert(columns: EntryColumns, index: number): number {
    const hash = columns.hashes[index] ?? 0;
    const start = columns.keyStarts[index] ?? 0;
    const entry = this.#takeEntry();
    this.#setField(
      entry,
      3,
      this.#storeKey(columns.bytes, start, start + (columns.keyLengths[index] ?? 0)),
    );
    this.#addSlot(hash, entry);
    this.#size++;
    return entry;
  }

  remove(columns: EntryColumns, index: number, entry: number): void {
    this.#removeSlot(columns.hashes[index] ?? 0, entry);
    this.#deadKeyBytes += storedBytes(columns.keyLengths[index] ?? 0);
    this.#setField(entry, 0, free);
    this.#setField(entry, 1, this.#freed + 1);
    this.#freed = entry;
    this.#size--;
    if (this.#deadKeyBytes > chunkBytes && this.#deadKeyBytes * 2 > this.#keyBytes) {
      this.#packKeys();
    }
  }

  isUsed(entry: number): boolean {
    return this.segmentOf(entry) !== free;
  }

  segmentOf(entry: number): number {
    return this.#field(entry, 0);
  }

  positionOf(entry: number): number {
    return this.#field(entry, 1);
  }

  lengthOf(entry: number): number {
    return this.#field(entry, 2);
  }

  place(entry: number, segment: number, position: number, length: number): void {
    const block = this.#blocks[entry >>> 16] as Uint32Array;
    const at = (entry & (blockEntries - 1)) * entryFields;
    block[at] = segment;
    block[at + 1] = position;
    block[at + 2] = length;
  }

  keyOf(entry: number): StateKey {
    const chunk = this.#openKey(this.#field(entry, 3));
    return chunk.toString('latin1', this.#keyStart, this.#keyStart + this.#keyLength);
  }

  #touch(columns: EntryColumns, start: number, end: number): void {
    const entries = probed;
    let touched = 0;
    for (let index = start; index < end; index++) {
      const hash = columns.hashes[index] ?? 0;
      const table = this.#tables[hash >>> 24] as Uint32Array;
      entries[index - start] = table[((hash << 1) & (table.length - 1)) + 1] as number;
    }
    for (let index = 0; index < end - start; index++) {
      const entry = (entries[index] as number) - 1;
      entries[index] = entry === none ? 0 : this.#field(entry, 3);
    }
    for (let index = 0; index < end - start; index++) {
      const key = entries[index] as number;
      touched ^= this.#chunks[key >>> chunkBits]?.[key & chunkMask] ?? 0;
    }
    // Kept, or the loops could be left out as without effect.
    this.#touched ^= touched;
  }

  #hasKey(entry: number, columns: EntryColumns, index: number): boolean {
    const length = columns.keyLengths[index] ?? 0;
    const chunk = this.#openKey(this.#field(entry, 3));
    if (this.#keyLength !== length) {
      return false;
    }
    const { bytes } = columns;
    const start = columns.keyStarts[index] ?? 0;
    const stored = this.#keyStart;
    for (let at = 0; at < length; at++) {
      if (bytes[start + at] !== chunk[stored + at]) {
        return false;
      }
    }
    return true;
  }

  /** Finds a stored key: its chunk is returned, its place is left in two fields. */
  #openKey(key: number): Buffer {
    const chunk = this.#chunks[key >>> chunkBits] as Buffer;
    let position = key & chunkMask;
    let byte = chunk[position++] as number;
    let length = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = chunk[position++] as number;
      length |= (byte & 0x7f) << shift;
    }
    this.#keyLength = length;
    this.#keyStart = position;
    return chunk;
  }

  #storeKey(bytes: Buffer, start: number, end: number): number {
    const need = storedBytes(end - start);
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || this.#chunkPosition + need > chunk.length) {
      assert(this.#chunks.length < chunksMax, 'the keys of one task take more than 4 GB');
      chunk = Buffer.allocUnsafeSlow(Math.max(chunkBytes, need));
      this.#chunks.push(chunk);
      this.#chunkPosition = 0;
    }
    const key = (this.#chunks.length - 1) * chunkBytes + this.#chunkPosition;
    let position = this.#chunkPosition;
    let rest = end - start;
    for (; rest >= 0x80; rest >>>= 7) chunk[position++] = (rest & 0x7f) | 0x80;
    chunk[position++] = rest;
    if (end - start > 48) {
      bytes.copy(chunk, position, start, end);
    } else {
      for (let at = start; at < end; at++) chunk[position++] = bytes[at] as number;
    }
    // After a chunk for one giant key the next key gets a new chunk: positions within one end at a megabyte.
    this.#chunkPosition = need > chunkBytes ? chunk.length : this.#chunkPosition + need;
    this.#keyBytes += need;
    return key;
  }

  /** Copies the keys that are still in use together, once most of the space belongs to deleted ones. */
  #packKeys(): void {
    const before = this.#chunks;
    this.#chunks = [];
    this.#chunkPosition = chunkBytes;
    this.#keyBytes = 0;
    this.#deadKeyBytes = 0;
    for (let entry = 0; entry < this.#used; entry++) {
      if (this.isUsed(entry)) {
        const after = this.#chunks;
        this.#chunks = before;
        const chunk = this.#openKey(this.#field(entry, 3));
        this.#chunks = after;
        const start = this.#keyStart;
        this.#setField(entry, 3, this.#storeKey(chunk, start, start + this.#keyLength));
      }
    }
  }

  #takeEntry(): number {
    if (this.#freed !== none) {
      const entry = this.#freed;
      this.#freed = this.#field(entry, 1) - 1;
      return entry;
    }
    if (this.#used === this.#blocks.length * blockEntries) {
      this.#blocks.push(new Uint32Array(blockEntries * entryFields));
    }
    return this.#used++;
  }

  #addSlot(hash: number, entry: number): void {
    const number = hash >>> 24;
    const count = (this.#counts[number] ?? 0) + 1;
    this.#counts[number] = count;
    let table = this.#tables[number] as Uint32Array;
    // At most 7 of 10 slots are taken; a table's length is two numbers a slot.
    if (count * 20 > table.length * 7) {
      table = doubled(table);
      this.#tables[number] = table;
    }
    putSlot(table, hash, entry + 1);
  }

  #removeSlot(hash: number, entry: number): void {
    const number = hash >>> 24;
    const table = this.#tables[number] as Uint32Array;
    const mask = table.length - 1;
    let hole = (hash << 1) & mask;
    while (table[hole + 1] !== entry + 1) hole = (hole + 2) & mask;
    // What stands behind moves up, unless it would get in front of its own first slot: no grave is left.
    for (let slot = (hole + 2) & mask; table[slot + 1] !== 0; slot = (slot + 2) & mask) {
      const home = ((table[slot] as number) << 1) & mask;
      if (((slot - home) & mask) >= ((slot - hole) & mask)) {
        table[hole] = table[slot] as number;
        table[hole + 1] = table[slot + 1] as number;
        hole = slot;
      }
    }
    table[hole + 1] = 0;
    this.#counts[number] = (this.#counts[number] ?? 0) - 1;
  }

  #field(entry: number, field: number): number {
    const block = this.#blocks[entry >>> 16] as Uint32Array;
    return block[(entry & (blockEntries - 1)) * entryFields + field] as number;
  }

  #setField(entry: number, field: number, value: number): void {
    const block = this.#blocks[entry >>> 16] as Uint32Array;
    block[(entry & (blockEntries - 1)) * entryFields + field] = value;
  }
}

const probed = new Uint32Array(probeKeys);

function storedBytes(keyLength: number): number {
  let bytes = keyLength + 1;
  for (let rest = keyLength; rest >= 0x80; rest >>>= 7) bytes++;
  return bytes;
}

function putSlot(table: Uint32Array, hash: number, value: number): void {
  const mask = table.length - 1;
  let slot = (hash << 1) & mask;
  while (table[slot + 1] !== 0) slot = (slot + 2) & mask;
  table[slot] = hash;
  table[slot + 1] = value;
}

function doubled(table: Uint32Array): Uint32Array {
  const larger = new Uint32Array(table.length * 2);
  for (let slot = 0; slot < table.length; slot += 2) {
    if (table[slot + 1] !== 0) {
      putSlot(larger, table[slot] as number, table[slot + 1] as number);
    }
  }
  return larger;
}
