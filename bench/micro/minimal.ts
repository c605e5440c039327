/**
 * What the least loop over the bytes of w1-b would cost, the yardstick of `stages.ts`: decompress, walk, find key and sequence,
 * look up, keep where the newest record lies; at each commit one record a key that changed, copied whole with headers of fixed
 * length, compressed. No layouts, ties, types, faults, provenance or state entries: none of it is right, it is a lower bound.
 * Run: node --import tsx bench/micro/minimal.ts [records]
 */
import { crc32c } from '@node-rs/crc32';
import { lz4Compress, lz4Decompress } from '../../src/adapters/kafka/wire/lz4-frame.ts';
import { PaymentGenerator } from '../generate.ts';
import { printStages, stage } from './stage.ts';

const records = Number(process.argv[2] ?? 1_000_000);
const commitRecords = 250_000;
const batchBytes = 900_000;
/** Timestamp, sequence, source and offset of a record of the output. */
const headersBytes = 90;
const keyMark = Buffer.from('"payment_id":');
const sequenceMark = Buffer.from('"seq":');

/** Length of a value and the value, one record behind the other, in LZ4 frames of about half a megabyte each. */
function sourceFrames(): Buffer[] {
  const generator = new PaymentGenerator({ work: 'w1-b', records, seed: 1 });
  const frames: Buffer[] = [];
  const open = Buffer.alloc(batchBytes + 1000);
  let end = 0;
  for (;;) {
    const chunk = generator.next();
    if (chunk === undefined || end > batchBytes) {
      frames.push(Buffer.concat(lz4Compress(open.subarray(0, end))));
      end = 0;
      if (chunk === undefined) return frames;
    }
    for (let index = 0; index < chunk.count; index += 1) {
      const start = chunk.valueStarts[index] ?? 0;
      const valueEnd = chunk.valueEnds[index] ?? 0;
      if (end + valueEnd - start + 4 > batchBytes) {
        frames.push(Buffer.concat(lz4Compress(open.subarray(0, end))));
        end = 0;
      }
      end = open.writeUInt32LE(valueEnd - start, end);
      end += chunk.bytes.copy(open, end, start, valueEnd);
    }
  }
}

const slots = 1 << 21;
const keys = new Float64Array(slots);
const highs = new Float64Array(slots);
const lows = new Float64Array(slots);
/** Where the newest record of a slot lies in `pool`, and whether it changed since the commit. */
const places = new Int32Array(slots);
const lengths = new Int32Array(slots);
const changed = new Uint8Array(slots);
const dirty = new Int32Array(commitRecords * 2);
let dirtyCount = 0;
const pool = Buffer.alloc(96 * 1024 * 1024);
let poolEnd = 0;
const batch = Buffer.alloc(batchBytes + 2000);
const headers = Buffer.alloc(headersBytes, 7);
let written = 0;

function matches(bytes: Buffer, at: number, mark: Buffer): boolean {
  for (let index = 0; index < mark.length; index += 1) {
    if (bytes[at + index] !== mark[index]) return false;
  }
  return true;
}

/** Digits from `at` on: those beyond the last nine, and the last nine, so that a sequence stays exact. */
let high = 0;
let low = 0;
function digits(bytes: Buffer, at: number): number {
  let end = at;
  while (((bytes[end] ?? 0) ^ 0x30) < 10) end += 1;
  const border = Math.max(at, end - 9);
  high = 0;
  low = 0;
  for (let index = at; index < border; index += 1) high = high * 10 + ((bytes[index] ?? 0) ^ 0x30);
  for (let index = border; index < end; index += 1) low = low * 10 + ((bytes[index] ?? 0) ^ 0x30);
  return end;
}

function slotOf(key: number): number {
  let slot = Math.imul(key, 0x9e3779b1) >>> 11;
  for (;;) {
    const found = keys[slot] as number;
    if (found === key) return slot;
    if (found === 0) {
      keys[slot] = key;
      return slot;
    }
    slot = (slot + 1) & (slots - 1);
  }
}

/** The key; its sequence, which comes behind it, is left in `high` and `low`. */
function keyAndSequence(bytes: Buffer, start: number, end: number): number {
  let key = 0;
  for (let at = start; at < end; at += 1) {
    if (bytes[at] !== 0x22) continue;
    if (matches(bytes, at, keyMark)) {
      at = digits(bytes, at + keyMark.length);
      key = high * 1e9 + low;
    } else if (matches(bytes, at, sequenceMark)) {
      digits(bytes, at + sequenceMark.length);
      return key;
    }
  }
  throw new RangeError('a record without a sequence');
}

function merge(plain: Buffer): void {
  const base = poolEnd;
  poolEnd += plain.copy(pool, poolEnd);
  for (let at = 0; at < plain.length; ) {
    const length = plain.readUInt32LE(at);
    const start = at + 4;
    at = start + length;
    const key = keyAndSequence(plain, start, at);
    const slot = slotOf(key);
    const before = highs[slot] as number;
    if (high < before || (high === before && low < (lows[slot] as number))) continue;
    highs[slot] = high;
    lows[slot] = low;
    places[slot] = base + start;
    lengths[slot] = length;
    if (changed[slot] === 1) continue;
    changed[slot] = 1;
    dirty[dirtyCount] = slot;
    dirtyCount += 1;
  }
}

function emit(): void {
  let end = 0;
  const seal = (): void => {
    stage('compress and checksum (in emit)', () => {
      for (const part of lz4Compress(batch.subarray(0, end))) crc32c(part);
    });
    end = 0;
  };
  for (let index = 0; index < dirtyCount; index += 1) {
    const slot = dirty[index] as number;
    const place = places[slot] as number;
    changed[slot] = 0;
    end = batch.writeDoubleLE(keys[slot] as number, end);
    end += headers.copy(batch, end);
    end += pool.copy(batch, end, place, place + (lengths[slot] as number));
    written += 1;
    if (end > batchBytes) seal();
  }
  seal();
  dirtyCount = 0;
  poolEnd = 0;
}

const frames = sourceFrames();
const perFrame = records / frames.length;
let since = 0;
for (const frame of frames) {
  const plain = stage('decompress', () => lz4Decompress(frame, 4 * batchBytes));
  if (plain === undefined) throw new RangeError('a frame is too long');
  stage('copy, walk, scan, look up, merge', () => merge(plain));
  since += perFrame;
  if (since < commitRecords) continue;
  since = 0;
  stage('emit', emit);
}
stage('emit', emit);

printStages(records, written);
