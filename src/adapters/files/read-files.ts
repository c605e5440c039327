import { readFile, stat } from 'node:fs/promises';

/** What is asked of a file system. Whoever plays with time gives one that answers at once. */
export type ReadFiles = {
  readonly stat: (
    path: string,
  ) => Promise<{ readonly mtimeMs: number; readonly size: number; readonly ino: number }>;
  readonly readFile: (path: string) => Promise<Buffer>;
};

export const systemFiles: ReadFiles = { stat, readFile };
