import { assert } from '../../../base/assert.ts';
import { requestCodec } from './request-codec.ts';
import type { RequestWriter } from './request-writer.ts';
import type { ResponseReader } from './response-reader.ts';
import { readByTopic, type TopicPartition, writePartitionsByTopic } from './topic-partitions.ts';

export type OffsetFetchGroup = {
  readonly group: string;
  /** null: all partitions that have an offset. */
  readonly partitions: readonly TopicPartition[] | null;
};

export type OffsetFetchRequest = {
  /** Exactly one below version 8. */
  readonly groups: readonly OffsetFetchGroup[];
  /** Answers UNSTABLE_OFFSET_COMMIT while a transaction holds offsets of the group. */
  readonly requireStable: boolean;
};

export type FetchedOffset = TopicPartition & {
  /** -1: none. */
  readonly offset: number;
  readonly leaderEpoch: number;
  readonly metadata: string | null;
  readonly errorCode: number;
};

export type OffsetFetchResponse = {
  readonly groups: readonly {
    /** Empty below version 8: the one group that was asked for. */
    readonly group: string;
    readonly errorCode: number;
    readonly partitions: readonly FetchedOffset[];
  }[];
};

/** Committed offsets of groups. */
export const offsetFetch = requestCodec<OffsetFetchRequest, OffsetFetchResponse>({
  name: 'OffsetFetch',
  apiKey: 9,
  minVersion: 7,
  maxVersion: 8,
  flexibleFrom: 6,
  write(writer, request, version) {
    if (version >= 8) {
      writer.array(request.groups, (item) => {
        writeGroup(writer, item);
        writer.tags();
      });
    } else {
      const [only] = request.groups;
      assert(only !== undefined && request.groups.length === 1, 'one group is asked for at a time');
      writeGroup(writer, only);
    }
    writer.boolean(request.requireStable);
  },
  read(reader, version) {
    reader.int32();
    if (version >= 8) {
      const groups = reader.array(() => {
        const group = reader.string();
        const partitions = readOffsets(reader);
        const errorCode = reader.int16();
        reader.tags();
        return { group, errorCode, partitions };
      });
      return { groups };
    }
    const partitions = readOffsets(reader);
    return { groups: [{ group: '', errorCode: reader.int16(), partitions }] };
  },
});

function writeGroup(writer: RequestWriter, item: OffsetFetchGroup): void {
  writer.string(item.group);
  if (item.partitions === null) writer.nullableArray(null, () => undefined);
  else writePartitionsByTopic(writer, item.partitions);
}

function readOffsets(reader: ResponseReader): FetchedOffset[] {
  return readByTopic(reader, (topic) => ({
    topic,
    partition: reader.int32(),
    offset: reader.int64(),
    leaderEpoch: reader.int32(),
    metadata: reader.nullableString(),
    errorCode: reader.int16(),
  }));
}
