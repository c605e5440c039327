import { requestCodec } from './request-codec.ts';
import {
  type PartitionResult,
  readPartitionResults,
  type TopicPartition,
  writePartitionsByTopic,
} from './topic-partitions.ts';

export type AddPartitionsToTxnRequest = {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly partitions: readonly TopicPartition[];
};

export type AddPartitionsToTxnResponse = { readonly partitions: readonly PartitionResult[] };

/** Makes partitions part of the open transaction; needed only where Produce is older than version 12. */
export const addPartitionsToTxn = requestCodec<
  AddPartitionsToTxnRequest,
  AddPartitionsToTxnResponse
>({
  name: 'AddPartitionsToTxn',
  apiKey: 24,
  // Versions above 3 are spoken between brokers.
  minVersion: 3,
  maxVersion: 3,
  flexibleFrom: 3,
  write(writer, request) {
    writer.string(request.transactionalId);
    writer.int64(request.producerId);
    writer.int16(request.producerEpoch);
    writePartitionsByTopic(writer, request.partitions);
  },
  read(reader) {
    reader.int32();
    return { partitions: readPartitionResults(reader) };
  },
});
