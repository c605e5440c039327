import { openEmbeddedStateStore } from '../../src/adapters/embedded/embedded-state-store.ts';
import { batchOf, clearEvery, writtenTask } from './written-batches.ts';

/**
 * A process that writes numbered batches until it is killed. Arguments: directory, epoch, first batch.
 * It says "ready" once it writes.
 */
const [directory = '', epoch = '', first = ''] = process.argv.slice(2);
const store = await openEmbeddedStateStore({
  directory,
  segmentBytesMin: 100_000,
  segmentBytesMax: 400_000,
});
const session = await store.open(writtenTask, Number(epoch));
process.stdout.write('ready\n');
for (let number = Number(first); ; number++) {
  if (number % clearEvery === 0) await session.clear();
  await session.write(batchOf(number));
}
