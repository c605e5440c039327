import { crc32 } from 'node:zlib';
import type { StateMark } from '../../ports/state-store.ts';
import { deleted, type EntryColumns } from './entry-columns.ts';

/**
 * What is true after a batch. Every batch says all of it, so that the last valid one of the log is enough.
 */
export type BatchState = {
  /** Counts the batches of a log without a gap. */
  readonly number: number;
  readonly epoch: number;
  readonly mark: StateMark | undefined;
  /** Number of the oldest segment that is still needed. */
  readonly firstSegment: number;
  /** Checksum of the batch. The batch after it repeats it, so that no other can take its place. */
  readonly checksum: number;
};

/**
 * Layout of a batch, numbers little-endian. 2026-11-30: first version.
 *
 *  0 magic and version · 4 CRC-32 of all that follows · 8 length of the whole batch · 12 number of entries
 *  16 batch number, 24 epoch, 32 mark's offset (-1: no mark), as doubles · 40 first segment
 *  44 flags · 45 reserved · 46 length of the mark's text · 48 checksum of the batch before
 *  52 topic id; where levels are in the state, a zero, the offset of their topic in digits, a zero, its id · entries
 *
 * Entries lie as in `data/state-entries.ts`.
 */
const magic = 0x3142_4d54;
const headerBytes = 52;
const resetFlag = 1;

/** Bytes before the first entry. */
export function headBytes(mark: StateMark | undefined): number {
  return headerBytes + Buffer.byteLength(textOf(mark));
}

function textOf(mark: StateMark | undefined): string {
  if (mark === undefined) return '';
  const { topicId, levels } = mark;
  return levels === undefined ? topicId : `${topicId}\0${levels.offset}\0${levels.topicId}`;
}

function markOf(text: string, offset: number): StateMark {
  const [topicId = '', levelsOffset, levelsTopicId] = text.split('\0');
  if (levelsTopicId === undefined) return { topicId, offset };
  return { topicId, offset, levels: { topicId: levelsTopicId, offset: Number(levelsOffset) } };
}

/** A batch as it lies in memory before it is written. */
export type BatchParts = readonly [Buffer, ...(readonly Buffer[])];

export type BatchContents = {
  readonly before: BatchState;
  readonly entries: number;
  /** The entries of all earlier batches are gone. */
  readonly isReset: boolean;
};

/**
 * Fills in the head of a batch, which is the beginning of its first part; its entries are in place already, in this part
 * and those after it. Returns the state after the batch.
 */
export function sealBatch(
  [batch, ...others]: BatchParts,
  change: Partial<BatchState>,
  contents: BatchContents,
): BatchState {
  const { before } = contents;
  const state = { ...before, ...change, number: before.number + 1 };
  const { mark } = state;
  batch.writeUInt32LE(magic, 0);
  batch.writeUInt32LE(
    others.reduce((sum, part) => sum + part.length, batch.length),
    8,
  );
  batch.writeUInt32LE(contents.entries, 12);
  batch.writeDoubleLE(state.number, 16);
  batch.writeDoubleLE(state.epoch, 24);
  batch.writeDoubleLE(mark === undefined ? -1 : mark.offset, 32);
  batch.writeUInt32LE(state.firstSegment, 40);
  batch.writeUInt8(contents.isReset ? resetFlag : 0, 44);
  batch.writeUInt8(0, 45);
  batch.writeUInt16LE(batch.write(textOf(mark), headerBytes, 'utf8'), 46);
  batch.writeUInt32LE(before.checksum, 48);
  let checksum = crc32(batch.subarray(8));
  for (const part of others) checksum = crc32(part, checksum);
  batch.writeUInt32LE(checksum, 4);
  return { ...state, checksum };
}

/** Length of the batch at the beginning of these bytes, or 0 where none can be. */
export function batchLength(head: Buffer): number {
  if (head.length < headerBytes || head.readUInt32LE(0) !== magic) {
    return 0;
  }
  const length = head.readUInt32LE(8);
  return length < headerBytes ? 0 : length;
}

/**
 * The state that a batch tells, or undefined when it is not whole, or not the one that follows on a state. On
 * the state of no batch any may follow: the beginning of a log is removed in the course of time.
 */
export function openBatch(batch: Buffer, before: BatchState): BatchState | undefined {
  const checksum = batch.readUInt32LE(4);
  if (batchLength(batch) !== batch.length || crc32(batch.subarray(8)) !== checksum) {
    return undefined;
  }
  const number = batch.readDoubleLE(16);
  const follows = number === before.number + 1 && batch.readUInt32LE(48) === before.checksum;
  if (before.number > 0 && !follows) {
    return undefined;
  }
  const offset = batch.readDoubleLE(32);
  const text = batch.toString('utf8', headerBytes, entriesStart(batch));
  return {
    number,
    epoch: batch.readDoubleLE(24),
    mark: offset < 0 ? undefined : markOf(text, offset),
    firstSegment: batch.readUInt32LE(40),
    checksum,
  };
}

export function isResetBatch(batch: Buffer): boolean {
  return (batch.readUInt8(44) & resetFlag) !== 0;
}

/** Position of the first entry of a batch; its first `headerBytes` bytes are enough. */
export function entriesStart(batch: Buffer): number {
  return headerBytes + batch.readUInt16LE(46);
}

/**
 * Adds the entries between two positions to the columns, as many as are whole, and returns the position after
 * the last of them.
 */
export function readEntries(
  columns: EntryColumns,
  start: number,
  end: number,
  countMax: number,
): number {
  const { bytes } = columns;
  let entryStart = start;
  for (let count = 0; count < countMax; count++) {
    const lengths = takeGroups(bytes, entryStart, end);
    if (lengths < 0) break;
    const keyLength = groupsValue;
    const keyStart = takeGroups(bytes, lengths, end);
    if (keyStart < 0) break;
    const valueStart = keyStart + keyLength;
    const valueLength = groupsValue - 1;
    const entryEnd = valueStart + Math.max(valueLength, 0);
    if (entryEnd > end) break;
    columns.add(keyStart, keyLength, valueStart, valueLength < 0 ? deleted : valueLength);
    entryStart = entryEnd;
  }
  return entryStart;
}

/** The number that `takeGroups` read last; a second result without an object for it. */
let groupsValue = 0;

/** Reads a number in 7-bit groups, and returns the position after it, or -1 where it is cut off. */
function takeGroups(bytes: Buffer, start: number, end: number): number {
  let position = start;
  let scale = 1;
  groupsValue = 0;
  while (position < end) {
    const byte = bytes[position++] ?? 0;
    groupsValue += (byte & 0x7f) * scale;
    if (byte < 0x80) {
      return position;
    }
    scale *= 0x80;
  }
  return -1;
}
