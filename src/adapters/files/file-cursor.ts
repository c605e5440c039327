import type { RecordCursor } from '../../ports/log.ts';
import type { FileVersion } from './file-versions.ts';

/** The lines of a file as records without key and headers, of the time of the file. Invariant: the offset is the line's place among the records. */
export class FileCursor implements RecordCursor {
  readonly #version: FileVersion;
  #at: number;

  constructor(version: FileVersion, from: number) {
    this.#version = version;
    this.#at = from - 1;
  }

  next(): boolean {
    this.#at += 1;
    return this.#at < this.#version.lines.length;
  }

  get offset(): number {
    return this.#at;
  }
  get timestampMs(): number {
    return this.#version.modifiedMs;
  }
  get bytes(): Buffer {
    return this.#version.bytes;
  }
  get keyStart(): number {
    return 0;
  }
  get keyEnd(): number {
    return -1;
  }
  get valueStart(): number {
    return this.#version.lines[this.#at]?.start ?? 0;
  }
  get valueEnd(): number {
    return this.#version.lines[this.#at]?.end ?? 0;
  }
  get headersStart(): number {
    return 0;
  }
  get headersEnd(): number {
    return 0;
  }
}
