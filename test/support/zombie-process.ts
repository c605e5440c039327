import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import { FlowError } from '../../src/base/errors.ts';
import { textRecord } from './log-worker.ts';

/**
 * A process of its own, so that a test may stop it: joins a group, writes a record in a transaction, says so, and
 * commits as soon as it is told to. Then it says how that went, and goes on as a member should.
 */
const [brokers = '', source = '', target = '', group = '', transactionalId = '', version = ''] =
  process.argv.slice(2);

async function main(): Promise<void> {
  const log = await openKafkaLog({
    brokers: brokers.split(','),
    clientId: 'zombie',
    transactionsV2: version === 'v2',
  });
  const member = log.joinGroup({
    group,
    topics: [source],
    instanceId: undefined,
    sessionTimeoutMs: 6_000,
    rebalanceTimeoutMs: 20_000,
  });
  const { identity } = await member.rejoin();
  const producer = await log.openProducer(transactionalId);
  producer.append(target, 0, textRecord('zombie', 'zombie'));
  await producer.drain(0);
  const told = new Promise<void>((resolve) => process.stdin.once('data', () => resolve()));
  process.stdout.write('ready\n');
  await told;
  const offsets = [{ topic: source, partition: 0, offset: 7, metadata: '' }];
  try {
    await producer.commit([{ member: identity, offsets }]);
    process.stdout.write('committed\n');
  } catch (error) {
    process.stdout.write(`${error instanceof FlowError ? error.code : String(error)}\n`);
  }
  await producer.abort();
  const again = await member.rejoin();
  producer.append(target, 0, textRecord('member', 'member'));
  await producer.commit([{ member: again.identity, offsets }]);
  await member.leave();
  await log.close();
  process.stdout.write('done\n');
  process.stdin.destroy();
}

await main();
