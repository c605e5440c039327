import { readFileSync } from 'node:fs';

/** Where version 2 and version 1 of control groups keep the limit of the group that the process is in. */
const limitFiles = ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'];

/** Version 1 says "no limit" with a number of nearly 2^63. */
const unlimitedFrom = 2 ** 60;

/** The memory limit of the container in bytes; 0: there is none, or the system does not tell. */
export function memoryLimitBytes(files: readonly string[] = limitFiles): number {
  for (const file of files) {
    let text: string;
    try {
      text = readFileSync(file, 'utf8').trim();
    } catch {
      continue;
    }
    const bytes = Number(text);
    return Number.isSafeInteger(bytes) && bytes > 0 && bytes < unlimitedFrom ? bytes : 0;
  }
  return 0;
}
