import {
  close,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  unlinkSync,
  writeSync,
  writevSync,
} from 'node:fs';
import { join } from 'node:path';
import { FlowError } from '../../base/errors.ts';

const windowBits = 20;
const windowBytes = 1 << windowBits;

/**
 * The newest parts of the logs of a store, in memory: what was written last is what is read next. Invariant:
 * never more than the bound; the oldest part goes first.
 */
export class TailCache {
  readonly #windowsMax: number;
  readonly #windows: { readonly segment: SegmentFile; readonly index: number }[] = [];

  constructor(bytesMax: number) {
    this.#windowsMax = Math.floor(bytesMax / windowBytes);
  }

  /**
   * Memory for a window of a segment, that of the oldest one where it is due to go: memory anew for each would be given
   * back by collections of the whole heap only. Undefined when there is to be no window.
   */
  admit(segment: SegmentFile, index: number): Buffer | undefined {
    if (this.#windowsMax === 0) return undefined;
    let memory: Buffer | undefined;
    if (this.#windows.length === this.#windowsMax) {
      const oldest = this.#windows.shift();
      memory = oldest?.segment.dropWindow(oldest.index);
    }
    this.#windows.push({ segment, index });
    return memory ?? Buffer.allocUnsafeSlow(windowBytes);
  }

  /** Forgets the windows of a segment that is gone. */
  forget(segment: SegmentFile): void {
    const kept = this.#windows.filter((window) => window.segment !== segment);
    this.#windows.splice(0, this.#windows.length, ...kept);
  }
}

/**
 * One file of a log. Invariant: bytes below `size` never change. Reads and writes are synchronous: they go to
 * the page cache of the system, and a way through the thread pool would cost more than they take.
 */
export class SegmentFile {
  readonly number: number;
  /** Bytes of entries that the index leads to. */
  liveBytes = 0;
  readonly #path: string;
  readonly #cache: TailCache;
  readonly #file: number;
  #size: number;
  #isClosed = false;
  readonly #windows: (Buffer | undefined)[] = [];
  /** From which position on a window holds the bytes of the file. */
  readonly #windowStarts: number[] = [];

  /** Opens a segment, or creates it; one that is there is kept as it is. */
  constructor(directory: string, number: number, cache: TailCache) {
    this.number = number;
    this.#path = join(directory, segmentName(number));
    this.#cache = cache;
    try {
      this.#file = openSync(this.#path, openFlags);
      this.#size = fstatSync(this.#file).size;
    } catch (error) {
      throw fileError(error, this.#path);
    }
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Adds bytes at the end, given in parts; returns where they begin. What a failed write left behind is removed or
   * overwritten.
   */
  append(parts: readonly Buffer[]): number {
    const start = this.#size;
    let end = start;
    try {
      const written = start + writevSync(this.#file, parts, start);
      for (const part of parts) {
        // Usually nothing is left: the call takes all of it.
        for (let at = Math.max(written, end); at < end + part.length; ) {
          at += writeSync(this.#file, part, at - end, end + part.length - at, at);
        }
        end += part.length;
      }
    } catch (error) {
      const failure = fileError(error, this.#path);
      try {
        this.truncate(start);
      } catch {
        // A part of a batch is told from a batch by its checksum, too.
      }
      throw failure;
    }
    this.#size = end;
    let partStart = start;
    for (const part of parts) {
      this.#keep(part, partStart);
      partStart += part.length;
    }
    return start;
  }

  /** Reads some bytes that must be there. */
  read(position: number, length: number, target: Buffer, targetStart: number): void {
    const index = position >>> windowBits;
    const window = this.#windows[index];
    const start = position - index * windowBytes;
    if (
      window !== undefined &&
      start + length <= windowBytes &&
      position >= (this.#windowStarts[index] ?? 0)
    ) {
      copyShort(window, start, length, target, targetStart);
      return;
    }
    this.#readFile(position, length, target, targetStart);
  }

  /** Drops everything behind a position. */
  truncate(size: number): void {
    try {
      ftruncateSync(this.#file, size);
    } catch (error) {
      throw fileError(error, this.#path);
    }
    this.#size = size;
  }

  /** Gives its memory, which is the caller's now. */
  dropWindow(index: number): Buffer | undefined {
    const window = this.#windows[index];
    this.#windows[index] = undefined;
    return window;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#forget();
    closeSync(this.#file);
  }

  /** Deletes the file and closes the segment, which may be closed already. */
  remove(): void {
    try {
      unlinkSync(this.#path);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) {
        throw fileError(error, this.#path);
      }
    }
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#forget();
    // In the background: what gives a big file's space back is closing it, and that takes milliseconds.
    close(this.#file, () => undefined);
  }

  #readFile(position: number, length: number, target: Buffer, targetStart: number): void {
    try {
      for (let done = 0; done < length; ) {
        const bytes = readSync(
          this.#file,
          target,
          targetStart + done,
          length - done,
          position + done,
        );
        if (bytes === 0) {
          throw new FlowError('TASK_CORRUPTED', `state file "${this.#path}" was cut short`);
        }
        done += bytes;
      }
    } catch (error) {
      throw fileError(error, this.#path);
    }
  }

  #keep(bytes: Buffer, start: number): void {
    const end = start + bytes.length;
    for (let position = start; position < end; ) {
      const index = Math.floor(position / windowBytes);
      const stop = Math.min(end, (index + 1) * windowBytes);
      let window = this.#windows[index];
      if (window === undefined) {
        window = this.#cache.admit(this, index);
        this.#windows[index] = window;
        this.#windowStarts[index] = position;
      }
      window?.set(bytes.subarray(position - start, stop - start), position - index * windowBytes);
      position = stop;
    }
  }

  #forget(): void {
    this.#cache.forget(this);
    this.#windows.length = 0;
  }
}

// Not 'a+': then every write would go to the end of the file, also one that overwrites what a failed one left.
const openFlags = constants.O_RDWR | constants.O_CREAT;

function segmentName(number: number): string {
  return `${String(number).padStart(10, '0')}.log`;
}

/** The numbers of the segments among some file names, in order. */
export function segmentNumbers(names: readonly string[]): number[] {
  return names
    .filter((name) => /^\d{10}\.log$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .sort((left, right) => left - right);
}

/** What no waiting heals: the path is not a directory that this user may write, or can't become one. */
const unwritable = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR']);
const impossible = new Set([...unwritable, 'ENOENT', 'EEXIST', 'ELOOP', 'ENAMETOOLONG', 'EINVAL']);

/** An error of the file system as ours. */
export function fileError(error: unknown, path: string): FlowError {
  if (error instanceof FlowError) {
    return error;
  }
  const code = codeOf(error);
  if (unwritable.has(code)) return unusable(error, path);
  return new FlowError('STATE_UNAVAILABLE', `state file "${path}" cannot be used`, {
    cause: error,
    detail: textOf(error),
    ...(code === 'ENOSPC' ? { hint: 'Make room on the disk.' } : {}),
  });
}

/** The same at the start, where a directory that can't be created is a mistake in the configuration. */
export function unusableDirectory(error: unknown, path: string): FlowError {
  return !(error instanceof FlowError) && impossible.has(codeOf(error))
    ? unusable(error, path)
    : fileError(error, path);
}

function unusable(cause: unknown, path: string): FlowError {
  return new FlowError('CONFIG_INVALID', `state directory "${path}" cannot be written`, {
    cause,
    detail: textOf(cause),
    hint: 'Choose a directory that this user may write: state.directory.',
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A copy that does not pay for a call where there are only a few bytes. */
function copyShort(
  source: Buffer,
  start: number,
  length: number,
  target: Buffer,
  targetStart: number,
): void {
  if (length > 64) {
    source.copy(target, targetStart, start, start + length);
    return;
  }
  for (let index = 0; index < length; index++) {
    target[targetStart + index] = source[start + index] ?? 0;
  }
}
