import { copyBytes, longCopyBytes, viewOf } from './byte-copy.ts';
import { putByteText } from './byte-text.ts';

/** The value length of an entry that says that its key is gone. */
export const goneLength = -1;

const pageBytesMin = 1 << 10;
const pageBytesMax = 1 << 20;
/** Numbers of an entry in the columns: its page, where its key begins, the lengths of key and value. */
const fields = 4;
/** Entries that there is room for at first. */
const roomMin = 16;
const nothing = Buffer.alloc(0);
/** Pages and columns that came back; what a burst took beyond them is given up. */
const sparePagesMax = 16;
const spareEntriesMax = 1 << 17;
const spare: Buffer[] = [];
const noColumns = new Int32Array(0);
let spareColumns: Int32Array<ArrayBuffer> = noColumns;
const noView = viewOf(nothing);

type Page = { readonly bytes: Buffer; readonly view: DataView; used: number };

/**
 * Keys with their new entries on the way to a state store, packed: a Buffer and a text for each of a hundred thousand keys
 * of a commit outlive the collections of the young generation, and cost more than the merge of their rows.
 *
 * They lie one behind the other in pages: length of the key, length of the value and one (0: the key is gone), both in
 * 7-bit groups with the lowest first; key; value. The embedded store's log has the same form, so that it takes whole pages.
 *
 * Invariants: an entry lies in one page; what was added is never changed.
 */
export class StateEntries {
  count = 0;
  readonly #pages: Page[] = [];
  #page: Page = { bytes: nothing, view: noView, used: 0 };
  #capacity = 0;
  #columns: Int32Array<ArrayBuffer>;
  #room: number;

  constructor() {
    this.#columns = spareColumns.length > 0 ? spareColumns : new Int32Array(fields * roomMin);
    this.#room = this.#columns.length / fields;
    spareColumns = noColumns;
  }

  /** `undefined` means that the key is gone. */
  static of(pairs: Iterable<readonly [string, Buffer | undefined]>): StateEntries {
    const entries = new StateEntries();
    for (const [key, value] of pairs) entries.addText(key, value);
    return entries;
  }

  /** Bytes that the entries take as they lie, one behind the other. */
  get byteLength(): number {
    return this.#pages.reduce((sum, page) => sum + page.used, 0);
  }

  /** Key and value from one buffer. */
  add(
    view: DataView,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
  ): void {
    const keyLength = keyEnd - keyStart;
    const valueLength = valueEnd - valueStart;
    const at = this.#open(keyLength, valueLength);
    const target = this.#page.view;
    if (keyEnd === valueStart) {
      copy(view, keyStart, valueEnd, target, at);
    } else {
      copy(view, keyStart, keyEnd, target, at);
      copy(view, valueStart, valueEnd, target, at + keyLength);
    }
  }

  addText(key: string, value: Buffer | undefined): void {
    const at = this.#open(key.length, value?.length ?? goneLength);
    putByteText(this.#page.bytes, at, key);
    if (value !== undefined) this.#page.bytes.set(value, at + key.length);
  }

  /** Where an entry lies. */
  bytesOf(index: number): Buffer {
    return this.#pageOf(index).bytes;
  }

  viewOf(index: number): DataView {
    return this.#pageOf(index).view;
  }

  keyStart(index: number): number {
    return this.#columns[index * fields + 1] as number;
  }

  keyLength(index: number): number {
    return this.#columns[index * fields + 2] as number;
  }

  valueStart(index: number): number {
    return this.keyStart(index) + this.keyLength(index);
  }

  /** `goneLength` where the key is gone. */
  valueLength(index: number): number {
    return this.#columns[index * fields + 3] as number;
  }

  isGone(index: number): boolean {
    return this.valueLength(index) === goneLength;
  }

  /** The key's bytes, one character each. */
  key(index: number): string {
    const start = this.keyStart(index);
    return this.bytesOf(index).toString('latin1', start, start + this.keyLength(index));
  }

  /** A view; undefined: the key is gone. */
  value(index: number): Buffer | undefined {
    if (this.isGone(index)) return undefined;
    const start = this.valueStart(index);
    return this.bytesOf(index).subarray(start, start + this.valueLength(index));
  }

  /** All of them as they lie, one page after the other. */
  get pages(): readonly Buffer[] {
    return this.#pages.map(({ bytes, used }) => bytes.subarray(0, used));
  }

  /** The number of the first entry that is not in the page of this one. */
  pageEnd(index: number): number {
    const page = this.#columns[index * fields] as number;
    let end = index + 1;
    while (end < this.count && this.#columns[end * fields] === page) end += 1;
    return end;
  }

  /**
   * Its memory is used again for later entries: nothing may read these ones any more. What is not given back is
   * collected like anything else; but what a commit holds has grown old by then, and takes collections of the whole heap.
   */
  release(): void {
    for (const { bytes } of this.#pages.splice(0)) {
      if (bytes.length === pageBytesMax && spare.length < sparePagesMax) spare.push(bytes);
    }
    if (this.#room <= spareEntriesMax && this.#room * fields > spareColumns.length) {
      spareColumns = this.#columns;
    }
    this.#columns = new Int32Array(0);
    this.#room = 0;
    this.#capacity = 0;
    this.count = 0;
  }

  #pageOf(index: number): Page {
    return this.#pages[this.#columns[index * fields] as number] as Page;
  }

  /** Writes the lengths of a new entry; gives where its key belongs in the page. */
  #open(keyLength: number, valueLength: number): number {
    const size = entryLength(keyLength, valueLength);
    if (this.#page.used + size > this.#capacity) this.#turnPage(size);
    const page = this.#page;
    const { bytes } = page;
    let at = page.used;
    if (keyLength < 0x80 && valueLength < 0x7f) {
      bytes[at] = keyLength;
      bytes[at + 1] = valueLength + 1;
      at += 2;
    } else {
      at = putEntryLengths(bytes, at, keyLength, valueLength);
    }
    page.used += size;
    if (this.count === this.#room) this.#grow();
    const columns = this.#columns;
    const column = this.count * fields;
    columns[column] = this.#pages.length - 1;
    columns[column + 1] = at;
    columns[column + 2] = keyLength;
    columns[column + 3] = valueLength;
    this.count += 1;
    return at;
  }

  #grow(): void {
    this.#room = Math.max(64, 2 * this.#room);
    const columns = new Int32Array(this.#room * fields);
    columns.set(this.#columns);
    this.#columns = columns;
  }

  #turnPage(size: number): void {
    const usual = Math.min(Math.max(2 * this.#capacity, pageBytesMin), pageBytesMax);
    const bytes =
      (size <= pageBytesMax ? spare.pop() : undefined) ??
      Buffer.allocUnsafeSlow(Math.max(usual, size));
    this.#page = { bytes, view: viewOf(bytes), used: 0 };
    this.#capacity = bytes.length;
    this.#pages.push(this.#page);
  }
}

/** Bytes of an entry as it lies. */
export function entryLength(keyLength: number, valueLength: number): number {
  return (
    groups(keyLength) + groups(valueLength + 1) + keyLength + (valueLength < 0 ? 0 : valueLength)
  );
}

/** Writes the two lengths before an entry's key, and returns the position after them. */
export function putEntryLengths(
  bytes: Buffer,
  start: number,
  keyLength: number,
  valueLength: number,
): number {
  return putGroups(bytes, putGroups(bytes, start, keyLength), valueLength + 1);
}

function groups(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes += 1;
  return bytes;
}

function putGroups(bytes: Buffer, start: number, value: number): number {
  let position = start;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
    bytes[position] = (rest % 0x80) | 0x80;
    position += 1;
  }
  bytes[position] = rest;
  return position + 1;
}

function copy(source: DataView, start: number, end: number, target: DataView, at: number): void {
  if (end - start < 4 * longCopyBytes) {
    copyBytes(source, start, end, target, at);
    return;
  }
  const part = new Uint8Array(source.buffer, source.byteOffset + start, end - start);
  new Uint8Array(target.buffer, target.byteOffset + at, end - start).set(part);
}
