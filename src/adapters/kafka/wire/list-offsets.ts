import type { Isolation } from './fetch.ts';
import { requestCodec } from './request-codec.ts';
import { readByTopic, type TopicPartition, writeByTopic } from './topic-partitions.ts';

/** Timestamps with a meaning of their own. Under read_committed, latest is the last stable offset. */
export const LATEST_OFFSET = -1;
export const EARLIEST_OFFSET = -2;

export type ListOffsetsRequest = {
  readonly isolation: Isolation;
  readonly partitions: readonly (TopicPartition & {
    /** -1: not checked. */
    readonly leaderEpoch: number;
    readonly timestamp: number;
  })[];
};

export type ListedOffset = TopicPartition & {
  readonly errorCode: number;
  readonly timestamp: number;
  /** -1: no record is as late as the timestamp. */
  readonly offset: number;
  readonly leaderEpoch: number;
};

export type ListOffsetsResponse = { readonly partitions: readonly ListedOffset[] };

/** Offsets by timestamp, and the ends of the log. */
export const listOffsets = requestCodec<ListOffsetsRequest, ListOffsetsResponse>({
  name: 'ListOffsets',
  apiKey: 2,
  minVersion: 4,
  maxVersion: 7,
  flexibleFrom: 6,
  write(writer, request) {
    writer.int32(-1);
    writer.int8(request.isolation === 'read_committed' ? 1 : 0);
    writeByTopic(writer, request.partitions, (item) => {
      writer.int32(item.partition);
      writer.int32(item.leaderEpoch);
      writer.int64(item.timestamp);
    });
  },
  read(reader) {
    reader.int32();
    const partitions = readByTopic(
      reader,
      (topic): ListedOffset => ({
        topic,
        partition: reader.int32(),
        errorCode: reader.int16(),
        timestamp: reader.int64(),
        offset: reader.int64(),
        leaderEpoch: reader.int32(),
      }),
    );
    return { partitions };
  },
});
