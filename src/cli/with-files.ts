import { readFileSync, statSync } from 'node:fs';
import { FileLog } from '../adapters/files/file-log.ts';
import type { StartPipeline } from '../testing/pipeline/pipeline-runner.ts';

/** A simulated clock runs on while a file system answers later, so this one answers at once. */
const files = {
  stat: async (path: string) => statSync(path),
  readFile: async (path: string) => readFileSync(path),
};

/** Lets a pipeline that runs in memory read the files of its sources. Invariant: topics are those of the memory. */
export function withFiles(start: StartPipeline): StartPipeline {
  return (plan, log, state, options) => start(plan, new FileLog(log, files), state, options);
}
