import { requestCodec } from './request-codec.ts';
import { readByTopic, type TopicPartition, writeByTopic } from './topic-partitions.ts';

export type ProduceRequest = {
  readonly transactionalId: string | null;
  /** -1: all in-sync replicas. */
  readonly acks: number;
  readonly timeoutMs: number;
  /** One record batch for each partition. */
  readonly partitions: readonly (TopicPartition & { readonly batch: Buffer })[];
};

export type ProducedPartition = TopicPartition & {
  readonly errorCode: number;
  readonly baseOffset: number;
  readonly logStartOffset: number;
  readonly errorMessage: string | null;
};

export type ProduceResponse = {
  readonly partitions: readonly ProducedPartition[];
  readonly throttleMs: number;
};

/** Appends batches. From version 12 on it also adds the partitions to the transaction. */
export const produce = requestCodec<ProduceRequest, ProduceResponse>({
  name: 'Produce',
  apiKey: 0,
  minVersion: 9,
  maxVersion: 12,
  flexibleFrom: 9,
  write(writer, request) {
    writer.nullableString(request.transactionalId);
    writer.int16(request.acks);
    writer.int32(request.timeoutMs);
    writeByTopic(writer, request.partitions, (item) => {
      writer.int32(item.partition);
      writer.records(item.batch);
    });
  },
  read(reader) {
    const partitions = readByTopic(reader, (topic): ProducedPartition => {
      const partition = reader.int32();
      const errorCode = reader.int16();
      const baseOffset = reader.int64();
      reader.int64();
      const logStartOffset = reader.int64();
      reader.array(() => {
        reader.int32();
        reader.nullableString();
        reader.tags();
      });
      const errorMessage = reader.nullableString();
      return { topic, partition, errorCode, baseOffset, logStartOffset, errorMessage };
    });
    return { partitions, throttleMs: reader.int32() };
  },
});
