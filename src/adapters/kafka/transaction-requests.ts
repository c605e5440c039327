import { assert } from '../../base/assert.ts';
import { FlowError } from '../../base/errors.ts';
import type { OffsetCommit } from '../../ports/log.ts';
import { type Channel, Final, type KafkaCluster } from './cluster.ts';
import { actionOf, brokerError } from './kafka-errors.ts';
import type { ProducerId } from './producer-id.ts';
import { addOffsetsToTxn } from './wire/add-offsets-to-txn.ts';
import { addPartitionsToTxn } from './wire/add-partitions-to-txn.ts';
import { type EndTxnResponse, endTxn } from './wire/end-txn.ts';
import { offsetCommit } from './wire/offset-commit.ts';
import type { PartitionResult, TopicPartition } from './wire/topic-partitions.ts';
import { txnOffsetCommit } from './wire/txn-offset-commit.ts';

/** A producer's way to the coordinators. */
export type Route = { readonly cluster: KafkaCluster; readonly channel: Channel };

export type Transaction = {
  readonly transactionalId: string;
  readonly id: ProducerId;
  /** KIP-890: what is written to joins by itself, and every end brings a new epoch. */
  readonly isV2: boolean;
};

/** Makes partitions part of the transaction; before V2 they have to be, before they are written to. */
export async function announcePartitions(
  { cluster, channel }: Route,
  { transactionalId, id }: Transaction,
  partitions: readonly TopicPartition[],
): Promise<void> {
  const answer = await cluster.requestCoordinator(
    { channel, kind: 'transaction', key: transactionalId },
    addPartitionsToTxn,
    { transactionalId, ...id, partitions },
    { errorOf: (response) => firstError(response.partitions)?.errorCode ?? 0 },
  );
  const refused = firstError(answer.partitions);
  if (refused !== undefined) throw brokerError(refused.errorCode, nameOf(refused));
}

/** Commits a member's offsets, in the transaction if there is one. A stale member is refused by the broker. */
export async function commitOffsets(
  route: Route,
  transaction: Transaction | undefined,
  commit: OffsetCommit,
): Promise<void> {
  const { group, memberId, generation, instanceId } = commit.member;
  // Without them the broker takes any commit, also that of a member that was thrown out long ago.
  assert(memberId !== '' && generation >= 0, 'offsets are committed by a member of a generation');
  const request = {
    group,
    generation,
    memberId,
    instanceId: instanceId ?? null,
    offsets: commit.offsets,
  };
  const by = { channel: route.channel, kind: 'group', key: group } as const;
  const errorOf = (response: { readonly partitions: readonly PartitionResult[] }): number =>
    firstError(response.partitions)?.errorCode ?? 0;
  let results: readonly PartitionResult[];
  if (transaction === undefined) {
    const answer = await route.cluster.requestCoordinator(by, offsetCommit, request, { errorOf });
    results = answer.partitions;
  } else {
    const { transactionalId, id, isV2 } = transaction;
    if (!isV2) await announceGroup(route, transaction, group);
    const answer = await route.cluster.requestCoordinator(
      by,
      txnOffsetCommit,
      { ...request, transactionalId, ...id },
      { errorOf, versionMax: isV2 ? 5 : 4 },
    );
    results = answer.partitions;
  }
  const refused = firstError(results);
  if (refused !== undefined) {
    throw brokerError(refused.errorCode, `group "${group}", ${nameOf(refused)}`);
  }
}

async function announceGroup(
  { cluster, channel }: Route,
  { transactionalId, id }: Transaction,
  group: string,
): Promise<void> {
  const { errorCode } = await cluster.requestCoordinator(
    { channel, kind: 'transaction', key: transactionalId },
    addOffsetsToTxn,
    { transactionalId, ...id, group },
    { errorOf: (response) => response.errorCode },
  );
  if (errorCode !== 0) throw brokerError(errorCode, `producer "${transactionalId}"`);
}

export type EndOutcome =
  /** `next`: what the following transaction has to use, where the broker gave it. */
  | { readonly isKnown: true; readonly next: ProducerId | undefined }
  | { readonly isKnown: false; readonly error: FlowError };

/**
 * Ends the transaction; throws when it was surely not ended. An answer that got lost is asked for again with V2, where the
 * epoch tells a repetition from the next transaction. Before V2 a repetition that arrives late could end that one, so the
 * outcome stays unknown.
 */
export async function endTransaction(
  { cluster, channel }: Route,
  { transactionalId, id, isV2 }: Transaction,
  committed: boolean,
): Promise<EndOutcome> {
  const where = `producer "${transactionalId}"`;
  const { retryMs, requestTimeoutMs } = cluster.settings;
  let isUnclear = false;

  const send = async (isLast: boolean): Promise<EndTxnResponse | Unclear> => {
    let isSent = false;
    try {
      const nodeId = await cluster.coordinator('transaction', transactionalId);
      const connection = await channel.connection(nodeId);
      isSent = true;
      return await connection.request(
        endTxn,
        { transactionalId, ...id, committed },
        { timeoutMs: requestTimeoutMs, versionMax: isV2 ? 5 : 4 },
      );
    } catch (error) {
      cluster.forgetCoordinator('transaction', transactionalId);
      isUnclear ||= isSent;
      if (isUnclear && (!isV2 || isLast)) return new Unclear(error);
      throw error;
    }
  };

  const answer = await cluster.retry(retryMs, async (isLast) => {
    const reply = await send(isLast);
    if (reply instanceof Unclear || reply.errorCode === 0) return reply;
    const failure = brokerError(reply.errorCode, where);
    const action = actionOf(reply.errorCode);
    if (action === 'coordinator') cluster.forgetCoordinator('transaction', transactionalId);
    if (action !== 'fail' && !isLast) throw failure;
    if (isUnclear) return new Unclear(failure);
    throw new Final(failure);
  });
  if (!(answer instanceof Unclear)) return { isKnown: true, next: answer.next };
  return {
    isKnown: false,
    error: new FlowError('TRANSACTION_ABORTED', `${where}: the outcome is unknown`, {
      detail: `It is not known whether the transaction was ${committed ? 'committed' : 'aborted'}.`,
      hint: 'Open the producer again and read the committed offsets.',
      cause: answer.cause,
    }),
  };
}

/** A request was sent, and nothing tells what became of it. */
class Unclear {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/** An error that needs more than patience counts before one that does not. */
function firstError(partitions: readonly PartitionResult[]): PartitionResult | undefined {
  const failed = partitions.filter(({ errorCode }) => errorCode !== 0);
  return failed.find(({ errorCode }) => actionOf(errorCode) === 'fail') ?? failed[0];
}

function nameOf(item: TopicPartition): string {
  return `topic "${item.topic}" partition ${item.partition}`;
}
