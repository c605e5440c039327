import { expect, test } from 'vitest';
import { MemoryStateStore } from '../../../src/adapters/memory/memory-state-store.ts';
import { packedEntries } from '../../support/packed-entries.ts';
import { at, describeStateStore, task } from '../../support/state-store-contract.ts';

describeStateStore(
  'memory',
  () => {
    const store = new MemoryStateStore();
    return Promise.resolve({
      open: () => Promise.resolve(store),
      faults: {
        flush: () => Promise.resolve(store.flush()),
        image: (of) => {
          const image = store.image(of);
          return Promise.resolve(() => Promise.resolve(store.restore(of, image)));
        },
      },
      survivesClose: false,
      stop: () => Promise.resolve(),
    });
  },
  { hasFaults: true, survivesClose: false },
);

test('an entry is copied, so that a buffer may be used again after the write', async () => {
  const session = await new MemoryStateStore().open(task, 1);
  const shared = Buffer.from('before');
  await session.write({ entries: packedEntries(['k'], [shared]), mark: at(1) });
  shared.fill('x');
  expect((await session.read(['k'])).entries).toEqual([Buffer.from('before')]);
});
