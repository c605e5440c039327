import type { Channel, KafkaCluster } from './cluster.ts';
import { brokerError } from './kafka-errors.ts';
import { initProducerId } from './wire/init-producer-id.ts';

export type ProducerId = { readonly producerId: bigint; readonly producerEpoch: number };

/**
 * Gets a producer id. With a transactional id the coordinator first ends the transaction that is open under it, which is
 * waited for: when this resolves, readers get past it. `current` is what a living producer has; it is refused
 * when another one has taken over. Without it this one takes over.
 */
export async function openProducerId(
  cluster: KafkaCluster,
  channel: Channel,
  options: {
    readonly transactionalId: string | undefined;
    readonly transactionTimeoutMs: number;
    readonly current: ProducerId | undefined;
  },
): Promise<ProducerId> {
  const { transactionalId } = options;
  const request = {
    transactionalId: transactionalId ?? null,
    transactionTimeoutMs: options.transactionTimeoutMs,
    producerId: options.current?.producerId ?? -1n,
    producerEpoch: options.current?.producerEpoch ?? -1,
  };
  if (transactionalId === undefined) {
    return await cluster.retry(cluster.settings.retryMs, async () => {
      const answer = await channel.requestAny(initProducerId, request);
      if (answer.errorCode !== 0) throw brokerError(answer.errorCode, 'producer');
      return answer;
    });
  }
  const answer = await cluster.requestCoordinator(
    { channel: channel, kind: 'transaction', key: transactionalId },
    initProducerId,
    request,
    { errorOf: ({ errorCode }) => errorCode },
  );
  if (answer.errorCode !== 0) {
    throw brokerError(answer.errorCode, `transactional id "${transactionalId}"`);
  }
  return answer;
}
