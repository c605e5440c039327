import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a directory with those above it. Invariant: it ends. Node's own `recursive` goes round and round for ever where a
 * file system answers ENOENT in a directory that is there, as /proc does.
 */
export function makeDirectory(path: string): void {
  if (isCreated(path, true)) return;
  makeDirectory(dirname(path));
  isCreated(path, false);
}

/** False: what is above it is not there, and may be created. */
function isCreated(path: string, canMakeParent: boolean): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' && canMakeParent && !isDirectory(dirname(path))) return false;
    if (isDirectory(path)) return true;
    throw error;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
