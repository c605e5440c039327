import type { WorkerProgress } from '../../runtime/worker/worker-progress.ts';
import { keyOverheadBytes } from '../../task/key/key-table.ts';

/** What a key costs at the least by the cache's own account. */
const keyBytesMin = keyOverheadBytes;

export type MemoryCheck = {
  readonly instance: string;
  readonly progress: WorkerProgress;
  readonly cacheBytesMax: number;
  /** Most keys that one transaction touches. */
  readonly transactionKeysMax: number;
};

/**
 * Returns each task that holds more keys than its cache may: two generations of the cache, each with the keys of
 * the transaction that went over its bound.
 */
export function checkMemory(check: MemoryCheck): string[] {
  const { instance, progress, cacheBytesMax, transactionKeysMax } = check;
  const bound = 2 * (Math.ceil(cacheBytesMax / keyBytesMin) + transactionKeysMax);
  const faults: string[] = [];
  for (const { flow, partitions } of progress.flows) {
    for (const { topic, partition, keysHeld } of partitions) {
      if (keysHeld <= bound) continue;
      faults.push(`${instance} holds ${keysHeld} keys of ${flow}, ${topic}/${partition}`);
    }
  }
  return faults;
}
