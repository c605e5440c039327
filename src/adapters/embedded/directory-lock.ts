import {
  closeSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { FlowError } from '../../base/errors.ts';
import { fileError } from './segment-file.ts';

type Owner = { readonly pid: number; readonly host: string; readonly started: string };

const renewalMs = 5_000;
/** A lock of another host, whose processes cannot be seen from here, is void when it was not renewed for this long. */
const silenceMsMax = 20_000;

/** Directories that this process holds: its own process id in a lock file proves nothing. */
const held = new Set<string>();

/**
 * Keeps a second process out of a directory. Invariant: of the processes of one host one at most holds the
 * lock. A lock that a killed process left behind is taken over: there is no process of that number, or it
 * started at another time.
 */
export class DirectoryLock {
  readonly #path: string;
  readonly #renewal: NodeJS.Timeout;

  private constructor(path: string) {
    this.#path = path;
    held.add(path);
    this.#renewal = setInterval(() => this.#renew(), renewalMs);
    this.#renewal.unref();
  }

  static take(directory: string): DirectoryLock {
    const path = join(directory, 'lock');
    for (let attempt = 0; attempt < 3; attempt++) {
      if (create(path)) {
        return new DirectoryLock(path);
      }
      removeDead(path);
    }
    throw inUse(path, 'several processes that start at once');
  }

  release(): void {
    clearInterval(this.#renewal);
    held.delete(this.#path);
    try {
      unlinkSync(this.#path);
    } catch {
      // It is void anyway once this process has ended.
    }
  }

  #renew(): void {
    try {
      const now = new Date();
      utimesSync(this.#path, now, now);
    } catch {
      // On this host the lock holds without it.
    }
  }
}

/** Creates the lock file; false when there is one. */
function create(path: string): boolean {
  try {
    const file = openSync(path, 'wx');
    try {
      const owner: Owner = {
        pid: process.pid,
        host: hostname(),
        started: startOf(process.pid) ?? '',
      };
      writeSync(file, JSON.stringify(owner));
    } finally {
      closeSync(file);
    }
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') {
      return false;
    }
    throw fileError(error, path);
  }
}

/** Removes a lock whose owner is gone; rejects when it is not. */
function removeDead(path: string): void {
  let text: string;
  let ageMs: number;
  try {
    text = readFileSync(path, 'utf8');
    ageMs = Date.now() - statSync(path).mtimeMs;
  } catch {
    return;
  }
  const owner = parseOwner(text);
  if (owner === undefined) {
    // Its owner may be between creating and filling it.
    if (ageMs < renewalMs) throw inUse(path, 'another process that is starting');
  } else if (owner.host === hostname()) {
    if (held.has(path) || isAlive(owner)) {
      throw inUse(path, `process ${owner.pid} of this host`);
    }
  } else if (ageMs < silenceMsMax) {
    throw inUse(path, `process ${owner.pid} of host "${owner.host}"`);
  }
  bury(path, text);
}

/** Takes a void lock away, but not a new one that somebody else put in its place since it was read. */
function bury(path: string, text: string): void {
  const grave = `${path}.${process.pid}`;
  try {
    renameSync(path, grave);
  } catch {
    // Somebody else was quicker; the next attempt shows who.
    return;
  }
  try {
    if (readFileSync(grave, 'utf8') !== text) linkSync(grave, path);
  } finally {
    unlinkSync(grave);
  }
}

function parseOwner(text: string): Owner | undefined {
  try {
    const owner = JSON.parse(text) as Partial<Owner>;
    const { pid, host, started } = owner;
    if (typeof pid !== 'number' || typeof host !== 'string') return undefined;
    return { pid, host, started: started ?? '' };
  } catch {
    return undefined;
  }
}

function isAlive(owner: Owner): boolean {
  // Our own number, but not held by us: it was an earlier process's, as in a container that starts again.
  if (owner.pid === process.pid) {
    return false;
  }
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  const started = startOf(owner.pid);
  return started === undefined || owner.started === '' || started === owner.started;
}

/** When a process started, in the system's own count; undefined where the system does not tell. */
function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may hold anything; the start is the twentieth field after it.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

function inUse(path: string, holder: string): FlowError {
  const directory = dirname(path);
  return new FlowError('STATE_UNAVAILABLE', `state directory "${directory}" is held by ${holder}`, {
    detail: `Its lock file is ${path}.`,
    hint: 'End that process, or give each its own state.directory.',
  });
}
