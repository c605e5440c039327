import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStateStore } from '../../src/adapters/embedded/embedded-state-store.ts';
import { measureStateStore } from './state-workload.ts';

const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
try {
  await measureStateStore(
    () => openEmbeddedStateStore({ directory }),
    () => {
      const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
      const mega = [rss, heapUsed, arrayBuffers].map((size) => `${(size / 2 ** 20).toFixed(0)} MB`);
      console.log(`resident ${mega[0]}, of it heap ${mega[1]}, buffers ${mega[2]}`);
      return Promise.resolve();
    },
  );
} finally {
  rmSync(directory, { recursive: true });
}
