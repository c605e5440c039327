import { readFileSync } from 'node:fs';
import { usageError } from './command.ts';

/** The text of a file that somebody named. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    throw usageError(`file "${path}" cannot be read (${code})`);
  }
}
