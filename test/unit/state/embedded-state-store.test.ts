import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStateStore } from '../../../src/adapters/embedded/embedded-state-store.ts';
import { describeStateStore } from '../../support/state-store-contract.ts';

for (const [name, sizes] of [
  ['embedded', {}],
  [
    'embedded, with tiny segments and no cache',
    { segmentBytesMin: 200, segmentBytesMax: 1_000, cacheBytes: 0 },
  ],
] as const) {
  describeStateStore(
    name,
    () => {
      const directory = mkdtempSync(join(tmpdir(), 'tidemark-state-'));
      return Promise.resolve({
        open: () => openEmbeddedStateStore({ directory, ...sizes }),
        survivesClose: true,
        stop: () => Promise.resolve(rmSync(directory, { recursive: true })),
      });
    },
    { hasFaults: false, survivesClose: true },
  );
}
