import { createHash } from 'node:crypto';
import { FlowError } from '../../base/errors.ts';
import { fileOf } from '../../data/file-topic.ts';
import { csvLines } from './csv-lines.ts';
import { type ReadFiles, systemFiles } from './read-files.ts';

/** One content of a file, cut into records. */
export type FileVersion = {
  /** Of the content: equal bytes, equal id. */
  readonly id: string;
  readonly modifiedMs: number;
  readonly bytes: Buffer;
  readonly lines: readonly { readonly start: number; readonly end: number }[];
};

type Held = { readonly mark: string; readonly version: FileVersion };

/** What the files hold, each read anew only when it was written since. Invariant: a version never changes. */
export class FileVersions {
  readonly #files: ReadFiles;
  readonly #held = new Map<string, Held>();

  constructor(files: ReadFiles = systemFiles) {
    this.#files = files;
  }

  /** The content of now; undefined: there is no such file. */
  async current(topic: string): Promise<FileVersion | undefined> {
    const file = fileOf(topic);
    if (file === undefined) return undefined;
    try {
      const { mtimeMs, size, ino } = await this.#files.stat(file.path);
      const mark = `${mtimeMs}/${size}/${ino}`;
      const held = this.#held.get(topic);
      if (held?.mark === mark) return held.version;
      const version = versionOf(await this.#files.readFile(file.path), mtimeMs, file.format);
      this.#held.set(topic, { mark, version });
      return version;
    } catch (error) {
      if (isMissing(error)) return undefined;
      const reason = error instanceof Error ? error.message : String(error);
      throw new FlowError('FILE_UNREADABLE', `file "${file.path}" cannot be read`, {
        detail: `${reason}.`,
      });
    }
  }

  /** What was described last, or the content of now. */
  async known(topic: string): Promise<FileVersion> {
    const version = this.#held.get(topic)?.version ?? (await this.current(topic));
    if (version === undefined) throw new FlowError('TASK_MIGRATED', `${topic} is gone`);
    return version;
  }

  last(topic: string): FileVersion {
    const held = this.#held.get(topic);
    if (held === undefined) throw new FlowError('TASK_MIGRATED', `${topic} was not looked at`);
    return held.version;
  }
}

function versionOf(content: Buffer, modifiedMs: number, format: string): FileVersion {
  const id = createHash('sha256').update(content).digest('hex').slice(0, 32);
  const bytes = format === 'csv' ? csvLines(content) : content;
  return { id, modifiedMs: Math.floor(modifiedMs), bytes, lines: linesOf(bytes) };
}

/** Lines without what ends them; empty ones are no records. */
function linesOf(bytes: Buffer): FileVersion['lines'] {
  const lines: { start: number; end: number }[] = [];
  let start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (start < bytes.length) {
    const found = bytes.indexOf(0x0a, start);
    const next = found < 0 ? bytes.length : found;
    const end = next > start && bytes[next - 1] === 0x0d ? next - 1 : next;
    if (bytes.toString('latin1', start, end).trim() !== '') lines.push({ start, end });
    start = next + 1;
  }
  return lines;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
