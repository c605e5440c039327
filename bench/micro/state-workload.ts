import type { StateKey, StateSession, StateStore } from '../../src/ports/state-store.ts';
import { packedEntries } from '../../test/support/packed-entries.ts';

const keyCount = 1_000_000;
const batchKeys = 1_000;
const measuredBatches = 300;
const entryBytes = 120;

/** Keys as the key encoding makes them: a tag and eight bytes, spread like hashes. */
function keysFrom(batch: number, step: number): StateKey[] {
  const keys: StateKey[] = [];
  const bytes = Buffer.alloc(13);
  for (let index = 0; index < batchKeys; index++) {
    const number = (batch * batchKeys + index) * step;
    bytes[0] = 3;
    bytes.writeUInt32BE(Math.imul(number % keyCount, 0x9e37_79b1) >>> 0, 1);
    bytes.writeDoubleBE(number % keyCount, 5);
    keys.push(bytes.toString('latin1'));
  }
  return keys;
}

/** Prints what a key costs, in the CPU time of this process and in time that passes. */
async function measure(what: string, keys: number, run: () => Promise<void>): Promise<void> {
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  await run();
  const { user, system } = process.cpuUsage(cpu);
  const wall = Number(process.hrtime.bigint() - start);
  const perKey = `${(((user + system) * 1_000) / keys).toFixed(0)} ns CPU a key`;
  console.log(`${what.padEnd(34)} ${perKey.padStart(18)}, ${(wall / keys).toFixed(0)} ns passed`);
}

async function writeBatches(
  session: StateSession,
  first: number,
  batches: number,
  step: number,
): Promise<void> {
  for (let batch = first; batch < first + batches; batch++) {
    const keys = keysFrom(batch, step);
    const block = Buffer.alloc(batchKeys * entryBytes, batch);
    const entries = keys.map((_, at) => block.subarray(at * entryBytes, (at + 1) * entryBytes));
    await session.write({
      entries: packedEntries(keys, entries),
      mark: { topicId: 'bench', offset: batch },
    });
  }
}

/** The work of a table task: batches of keys that are read, then written, over a million keys. */
export async function measureStateStore(
  open: () => Promise<StateStore>,
  afterFill: (session: StateSession) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const task = { pipeline: 'bench', flow: 'state', generation: 0, partition: 0 };
  let store = await open();
  // The epoch grows from run to run, since a server keeps it.
  const epoch = Date.now();
  let session = await store.open(task, epoch);
  await session.clear();
  await measure('making keys and entries (included)', keyCount, async () => {
    for (let batch = 0; batch < keyCount / batchKeys; batch++) {
      const keys = keysFrom(batch, 1);
      const block = Buffer.alloc(batchKeys * entryBytes, batch);
      keys.map((_, at) => block.subarray(at * entryBytes, (at + 1) * entryBytes));
    }
    await Promise.resolve();
  });
  await measure('write, all keys new', keyCount, () =>
    writeBatches(session, 0, keyCount / batchKeys, 1),
  );
  await afterFill(session);
  for (const [what, step] of [
    ['in order', 1],
    ['scattered', 7_919],
  ] as const) {
    await measure(`read, ${what}`, measuredBatches * batchKeys, async () => {
      for (let batch = 0; batch < measuredBatches; batch++) {
        await session.read(keysFrom(batch, step));
      }
    });
    await measure(`write, ${what}`, 5 * measuredBatches * batchKeys, () =>
      writeBatches(session, 10_000, 5 * measuredBatches, step),
    );
  }
  await store.close();
  await measure('open, and read one key', keyCount, async () => {
    store = await open();
    session = await store.open(task, epoch + 1);
    await session.read(['none']);
  });
  await session.clear();
  await store.close();
}
