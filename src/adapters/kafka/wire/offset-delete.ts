import { requestCodec } from './request-codec.ts';
import {
  type PartitionResult,
  readPartitionResults,
  type TopicPartition,
  writeByTopic,
} from './topic-partitions.ts';

export type OffsetDeleteRequest = {
  readonly group: string;
  readonly partitions: readonly TopicPartition[];
};

export type OffsetDeleteResponse = {
  readonly errorCode: number;
  readonly partitions: readonly PartitionResult[];
};

/** Deletes committed offsets of a group that does not read these topics now. */
export const offsetDelete = requestCodec<OffsetDeleteRequest, OffsetDeleteResponse>({
  name: 'OffsetDelete',
  apiKey: 47,
  minVersion: 0,
  maxVersion: 0,
  flexibleFrom: Number.POSITIVE_INFINITY,
  write(writer, request) {
    writer.string(request.group);
    writeByTopic(writer, request.partitions, (item) => writer.int32(item.partition));
  },
  read(reader) {
    const errorCode = reader.int16();
    reader.int32();
    return { errorCode, partitions: readPartitionResults(reader) };
  },
});
