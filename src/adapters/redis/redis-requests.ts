import { createHash } from 'node:crypto';
import { Command } from 'ioredis';
import { copyBytes, longCopyBytes, viewOf } from '../../data/byte-copy.ts';
import type { StateEntries } from '../../data/state-entries.ts';
import type { StateKey, StateWrite } from '../../ports/state-store.ts';
import { epochField, markField, redisScripts } from './redis-scripts.ts';

/**
 * A command whose request is one buffer that is ready to be sent. The client takes a microsecond and more per
 * argument to make one; a batch of a thousand keys has two thousand arguments.
 */
class EncodedCommand extends Command {
  readonly #request: Buffer;

  /** The first arguments are for the client's routing: it looks for the key among them. */
  constructor(name: string, firstArguments: string[], request: Buffer) {
    super(name, firstArguments);
    this.#request = request;
  }

  override toWritable(): Buffer {
    return this.#request;
  }
}

const writeSha = createHash('sha1').update(redisScripts.write).digest('hex');

export type WritePiece = {
  readonly hash: string;
  readonly epoch: number;
  readonly from: string;
  readonly to: string;
  readonly attempt: string;
  readonly index: number;
  readonly isLast: boolean;
  /** Positions in the write: from start, before end. */
  readonly start: number;
  readonly end: number;
};

/** One piece of a write for the write script: by its digest, or by its text where the server does not know it. */
export function writeRequest(piece: WritePiece, { entries }: StateWrite, byText: boolean): Command {
  const { start, end } = piece;
  const { deletes, bytes } = sizeOf(piece, entries);
  const sets = end - start - deletes;
  const name = byText ? 'EVAL' : 'EVALSHA';
  const script = byText ? redisScripts.write : writeSha;
  const head = [name, script, '1', piece.hash, String(piece.epoch), piece.from, piece.to];
  head.push(piece.attempt, String(piece.index), piece.isLast ? '1' : '0', String(sets));
  const request = new RequestWriter(head, 2 * sets + deletes, bytes);
  for (let index = start; index < end; index++) {
    if (!entries.isGone(index)) request.entry(entries, index);
  }
  for (let index = start; deletes > 0 && index < end; index++) {
    if (entries.isGone(index)) request.field(entries.key(index));
  }
  return new EncodedCommand(name, [script, '1', piece.hash], request.finish());
}

function sizeOf(piece: WritePiece, entries: StateEntries): { deletes: number; bytes: number } {
  let deletes = 0;
  let bytes = 0;
  for (let index = piece.start; index < piece.end; index++) {
    if (entries.isGone(index)) deletes++;
    bytes += argumentBytes(entries.keyLength(index) + 1);
    bytes += argumentBytes(Math.max(entries.valueLength(index), 0));
  }
  return { deletes, bytes };
}

/** The mark, the epoch, and the values of some keys, in one command and so of one moment. */
export function readRequest(
  hash: string,
  keys: readonly StateKey[],
  start: number,
  end: number,
): Command {
  let bytes = 0;
  for (let index = start; index < end; index++) {
    bytes += argumentBytes((keys[index]?.length ?? 0) + 1);
  }
  const head = ['HMGET', hash, markField, epochField];
  const request = new RequestWriter(head, end - start, bytes);
  for (let index = start; index < end; index++) {
    request.field(keys[index] ?? '');
  }
  return new EncodedCommand('HMGET', [hash], request.finish());
}

/** A short command; its reply comes in buffers. */
export function plainRequest(name: string, ...values: string[]): Command {
  return new Command(name, values);
}

/** The key of a field, or undefined for a field of ours. */
export function keyOfField(field: Buffer): StateKey | undefined {
  if (field[0] !== 0) {
    return field.toString('latin1');
  }
  return field[1] === 0 ? field.toString('latin1', 1) : undefined;
}

/** Bytes that an argument takes at most: marks, ends, and up to ten digits of length. */
function argumentBytes(length: number): number {
  return length + 15;
}

/** Writes a request of known size. Texts are latin1: one byte a character. */
class RequestWriter {
  readonly #buffer: Buffer;
  readonly #view: DataView;
  #position: number;

  constructor(head: readonly string[], moreArguments: number, moreBytes: number) {
    const count = `*${head.length + moreArguments}\r\n`;
    const headBytes = head.reduce((sum, text) => sum + argumentBytes(text.length), count.length);
    this.#buffer = Buffer.allocUnsafe(headBytes + moreBytes);
    this.#view = viewOf(this.#buffer);
    this.#position = this.#buffer.write(count, 'latin1');
    for (const text of head) {
      this.#open(text.length);
      this.#text(text);
      this.#close();
    }
  }

  field(key: StateKey): void {
    const escaped = key.charCodeAt(0) === 0;
    this.#open(key.length + (escaped ? 1 : 0));
    if (escaped) {
      this.#buffer[this.#position++] = 0;
    }
    this.#text(key);
    this.#close();
  }

  /** Key and value, as they lie. */
  entry(entries: StateEntries, index: number): void {
    const bytes = entries.bytesOf(index);
    const view = entries.viewOf(index);
    const keyStart = entries.keyStart(index);
    const keyLength = entries.keyLength(index);
    const escaped = bytes[keyStart] === 0 && keyLength > 0;
    this.#open(keyLength + (escaped ? 1 : 0));
    if (escaped) {
      this.#buffer[this.#position++] = 0;
    }
    this.#span(bytes, view, keyStart, keyStart + keyLength);
    this.#close();
    const valueStart = keyStart + keyLength;
    const valueLength = entries.valueLength(index);
    this.#open(valueLength);
    this.#span(bytes, view, valueStart, valueStart + valueLength);
    this.#close();
  }

  #span(bytes: Buffer, view: DataView, start: number, end: number): void {
    if (end - start < longCopyBytes) copyBytes(view, start, end, this.#view, this.#position);
    else this.#buffer.set(bytes.subarray(start, end), this.#position);
    this.#position += end - start;
  }

  finish(): Buffer {
    return this.#buffer.subarray(0, this.#position);
  }

  #text(text: string): void {
    if (text.length > 32) {
      this.#position += this.#buffer.write(text, this.#position, 'latin1');
      return;
    }
    for (let index = 0; index < text.length; index++) {
      this.#buffer[this.#position++] = text.charCodeAt(index);
    }
  }

  #open(length: number): void {
    this.#buffer[this.#position++] = 36;
    let divisor = 1;
    while (length >= divisor * 10) divisor *= 10;
    for (let rest = length; divisor >= 1; divisor /= 10) {
      const digit = Math.floor(rest / divisor);
      this.#buffer[this.#position++] = 48 + digit;
      rest -= digit * divisor;
    }
    this.#close();
  }

  #close(): void {
    this.#buffer[this.#position++] = 13;
    this.#buffer[this.#position++] = 10;
  }
}
