import { createHash } from 'node:crypto';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DirectoryLock } from '../adapters/embedded/directory-lock.ts';
import { makeDirectory } from '../adapters/embedded/make-directory.ts';
import { FlowError } from '../base/errors.ts';
import { instanceOf } from '../compose.ts';
import type { Config } from '../config/options.ts';

export type TakenName = {
  readonly name: string;
  /** Another process of this host has the name that would have been the first choice. */
  readonly isSecond: boolean;
  release(): void;
};

/** More processes of one pipeline on one host are sure to have names of their own. */
const processesMax = 64;

/**
 * What a process goes by within its pipeline. Invariant: of the processes of one host and user that nobody named no two have one
 * name, since two of one name throw each other out; a process that has ended in whatever way leaves its name to the
 * next, so that a service that was killed finds its own again.
 */
export function takeInstanceName(config: Config, once: boolean, parent = tmpdir()): TakenName {
  const first = instanceOf(config, once);
  const given = config['instance.name'];
  if (given !== undefined && given !== hostname()) return untaken(first);
  const folder = join(parent, `tidemark-${process.getuid?.() ?? 'all'}`, pipelineHash(config));
  for (let number = 1; number <= processesMax; number += 1) {
    const name = number === 1 ? first : `${first}-${number}`;
    const lock = tryLock(join(folder, name));
    if (lock === 'none') return untaken(first);
    if (lock !== 'taken') return { name, isSecond: number > 1, release: () => lock.release() };
  }
  return untaken(first);
}

function untaken(name: string): TakenName {
  return { name, isSecond: false, release: () => undefined };
}

/** `none`: locks cannot be kept there. */
function tryLock(directory: string): DirectoryLock | 'taken' | 'none' {
  try {
    makeDirectory(directory);
  } catch {
    return 'none';
  }
  try {
    return DirectoryLock.take(directory);
  } catch (error) {
    // A lock that somebody has is no failure of the file system.
    return error instanceof FlowError && error.cause === undefined ? 'taken' : 'none';
  }
}

function pipelineHash(config: Config): string {
  const brokers = [...config['kafka.brokers']].sort();
  const text = JSON.stringify([config['pipeline.name'], brokers]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
