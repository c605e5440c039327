import { requestCodec } from './request-codec.ts';
import {
  type PartitionResult,
  readPartitionResults,
  type TopicPartition,
  writeByTopic,
} from './topic-partitions.ts';

export type OffsetCommitRequest = {
  readonly group: string;
  readonly generation: number;
  readonly memberId: string;
  readonly instanceId: string | null;
  readonly offsets: readonly (TopicPartition & {
    readonly offset: number;
    readonly metadata: string | null;
  })[];
};

export type OffsetCommitResponse = { readonly partitions: readonly PartitionResult[] };

/** Commits offsets outside of a transaction. */
export const offsetCommit = requestCodec<OffsetCommitRequest, OffsetCommitResponse>({
  name: 'OffsetCommit',
  apiKey: 8,
  minVersion: 7,
  maxVersion: 9,
  flexibleFrom: 8,
  write(writer, request) {
    writer.string(request.group);
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
