import { requestCodec } from './request-codec.ts';
import { readByTopic, type TopicPartition, writeByTopic } from './topic-partitions.ts';

export type DeleteRecordsRequest = {
  /** Records below the offset go; -1: all up to the high watermark. */
  readonly partitions: readonly (TopicPartition & { readonly offset: number })[];
  readonly timeoutMs: number;
};

export type DeleteRecordsResponse = {
  readonly partitions: readonly (TopicPartition & {
    readonly logStartOffset: number;
    readonly errorCode: number;
  })[];
};

/** Moves the start of logs up. */
export const deleteRecords = requestCodec<DeleteRecordsRequest, DeleteRecordsResponse>({
  name: 'DeleteRecords',
  apiKey: 21,
  minVersion: 1,
  maxVersion: 2,
  flexibleFrom: 2,
  write(writer, request) {
    writeByTopic(writer, request.partitions, (item) => {
      writer.int32(item.partition);
      writer.int64(item.offset);
    });
    writer.int32(request.timeoutMs);
  },
  read(reader) {
    reader.int32();
    const partitions = readByTopic(reader, (topic) => ({
      topic,
      partition: reader.int32(),
      logStartOffset: reader.int64(),
      errorCode: reader.int16(),
    }));
    return { partitions };
  },
});
