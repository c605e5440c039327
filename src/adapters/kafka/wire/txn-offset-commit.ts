import { requestCodec } from './request-codec.ts';
import {
  type PartitionResult,
  readPartitionResults,
  type TopicPartition,
  writeByTopic,
} from './topic-partitions.ts';

export type TxnOffsetCommitRequest = {
  readonly transactionalId: string;
  readonly group: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  /** The generation, or the member epoch; -1 with an empty member id switches the check off. */
  readonly generation: number;
  readonly memberId: string;
  readonly instanceId: string | null;
  readonly offsets: readonly (TopicPartition & {
    readonly offset: number;
    readonly metadata: string | null;
  })[];
};

export type TxnOffsetCommitResponse = { readonly partitions: readonly PartitionResult[] };

/** Commits offsets in the open transaction; refused for a stale member. From version 5 on it also adds the group to the transaction. */
export const txnOffsetCommit = requestCodec<TxnOffsetCommitRequest, TxnOffsetCommitResponse>({
  name: 'TxnOffsetCommit',
  apiKey: 28,
  minVersion: 3,
  maxVersion: 5,
  flexibleFrom: 3,
  write(writer, request) {
    writer.string(request.transactionalId);
    writer.string(request.group);
    writer.int64(request.producerId);
    writer.int16(request.producerEpoch);
    writer.int32(request.generation);
    writer.string(request.memberId);
    writer.nullableString(request.instanceId);
    writeByTopic(writer, request.offsets, (item) => {
      writer.int32(item.partition);
      writer.int64(item.offset);
      writer.int32(-1);
      writer.nullableString(item.metadata);
    });
  },
  read(reader) {
    reader.int32();
    return { partitions: readPartitionResults(reader) };
  },
});
