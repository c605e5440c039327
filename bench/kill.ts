import type { OutgoingRecord } from '../src/ports/log.ts';
import { checkOutput } from './check-output.ts';
import { PaymentGenerator } from './generate.ts';
import type { BenchOptions } from './options.ts';
import type { BenchResult } from './result.ts';
import { BenchService, round } from './service.ts';
import { untilCommitted } from './until-committed.ts';
import { type BenchWorld, passThrough } from './world.ts';
import { writeSource } from './write-source.ts';

/**
 * How long it takes until a service that was killed is back, its state lost with it: its group still counts it in, its
 * transaction may be open, and its state is rebuilt from the output topic. `readySeconds` count from the start of the new process
 * until it has its partitions; `firstCommitSeconds` until a record is committed that was written while nobody ran.
 */
export async function kill(
  world: BenchWorld,
  options: BenchOptions,
  tell: (text: string) => void,
): Promise<BenchResult> {
  const { records, seed, output, partitions } = options;
  const generator = new PaymentGenerator({ work: 'w1-a', records, keys: options.keys, seed });
  tell(`writing ${records} records`);
  await writeSource(world.log, world.source, partitions, generator);
  const file = world.pipelineFile(passThrough);
  tell('making the table');
  const killed = new BenchService(file, world.environment());
  try {
    await killed.assigned();
    await untilCommitted(world, partitions);
  } finally {
    await killed.stop('SIGKILL');
  }
  await world.wipeState();
  await appendLate(world, generator);
  tell('starting after the kill, with the state wiped');
  const service = new BenchService(file, world.environment());
  try {
    const readySeconds = await service.assigned();
    const { cpuSeconds, rssMb } = service;
    await untilCommitted(world, partitions, 5);
    const firstCommitSeconds = service.age;
    const { differences, keys } = await checkOutput(world.log, world.target, output, generator);
    return {
      keys,
      readySeconds: round(readySeconds, 2),
      readyCpuSeconds: round(cpuSeconds, 2),
      firstCommitSeconds: round(firstCommitSeconds, 2),
      rssMb: Math.round(rssMb),
      differences,
    };
  } finally {
    await service.stop();
  }
}

/** One more record, of a key that stands higher already: it changes nothing but the checkpoint. */
async function appendLate({ log, source }: BenchWorld, generator: PaymentGenerator): Promise<void> {
  const [first] = generator.expected();
  if (first === undefined) throw new Error('there is no key');
  const [paymentId, { sequence }] = first;
  const value = Buffer.from(
    `{"payment_id":${paymentId},"seq":${sequence - 1n},"amount":1.00,"currency":"EUR","status":"LATE","updated_at":"2026-11-30T01:14:00.000Z","note":"late"}`,
  );
  const nothing = Buffer.alloc(0);
  const record: OutgoingRecord = {
    key: nothing,
    keyStart: 0,
    keyEnd: -1,
    value,
    valueStart: 0,
    valueEnd: value.length,
    headers: nothing,
    headersStart: 0,
    headersEnd: 0,
    timestampMs: Date.now(),
  };
  const producer = await log.openProducer(undefined);
  producer.append(source, 0, record);
  await producer.commit([]);
  await producer.close();
}
