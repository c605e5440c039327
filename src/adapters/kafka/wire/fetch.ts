import { requestCodec } from './request-codec.ts';
import { zeroUuid } from './response-reader.ts';
import { readByTopic, writeByTopic } from './topic-partitions.ts';

export type Isolation = 'read_uncommitted' | 'read_committed';

export type FetchPartition = {
  readonly topic: string;
  /** Used from version 13 on, in place of the name. */
  readonly topicId: string;
  readonly partition: number;
  readonly offset: number;
  /** -1: not checked. */
  readonly leaderEpoch: number;
  readonly maxBytes: number;
};

export type FetchRequest = {
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly isolation: Isolation;
  readonly partitions: readonly FetchPartition[];
};

export type AbortedTransaction = { readonly producerId: bigint; readonly firstOffset: number };

export type FetchedPartition = {
  /** Empty from version 13 on. */
  readonly topic: string;
  /** All zero below version 13. */
  readonly topicId: string;
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: number;
  /** -1 where the broker does not tell, as beside an error. */
  readonly lastStableOffset: number;
  readonly logStartOffset: number;
  /** null when the read was uncommitted. In no particular order. */
  readonly abortedTransactions: readonly AbortedTransaction[] | null;
  /** -1: go on with the leader. */
  readonly preferredReadReplica: number;
  /** A view of the reply. */
  readonly records: Buffer;
};

export type FetchResponse = {
  readonly throttleMs: number;
  readonly errorCode: number;
  readonly partitions: readonly FetchedPartition[];
};

/** Reads record sets. No fetch session is opened: each request names all of its partitions. */
export const fetch = requestCodec<FetchRequest, FetchResponse>({
  name: 'Fetch',
  apiKey: 1,
  minVersion: 11,
  maxVersion: 16,
  flexibleFrom: 12,
  write(writer, request, version) {
    // From version 15 on the replica id is a tag that a consumer leaves out.
    if (version <= 14) writer.int32(-1);
    writer.int32(request.maxWaitMs);
    writer.int32(request.minBytes);
    writer.int32(request.maxBytes);
    writer.int8(request.isolation === 'read_committed' ? 1 : 0);
    writer.int32(0);
    writer.int32(-1);
    writeByTopic(
      writer,
      request.partitions,
      (item) => {
        writer.int32(item.partition);
        writer.int32(item.leaderEpoch);
        writer.int64(item.offset);
        if (version >= 12) writer.int32(-1);
        writer.int64(-1);
        writer.int32(item.maxBytes);
      },
      (first) => {
        if (version >= 13) writer.uuid(first.topicId);
        else writer.string(first.topic);
      },
    );
    writer.array([], () => undefined);
    writer.string('');
  },
  read(reader, version) {
    const throttleMs = reader.int32();
    const errorCode = reader.int16();
    reader.int32();
    const partitions = readByTopic(
      reader,
      (topic): FetchedPartition => ({
        topic: version >= 13 ? '' : topic,
        topicId: version >= 13 ? topic : zeroUuid,
        partition: reader.int32(),
        errorCode: reader.int16(),
        highWatermark: reader.int64(),
        lastStableOffset: reader.int64(),
        logStartOffset: reader.int64(),
        abortedTransactions: reader.nullableArray((): AbortedTransaction => {
          const aborted = { producerId: reader.bigInt64(), firstOffset: reader.int64() };
          reader.tags();
          return aborted;
        }),
        preferredReadReplica: reader.int32(),
        records: reader.slice(),
      }),
      () => (version >= 13 ? reader.uuid() : reader.string()),
    );
    return { throttleMs, errorCode, partitions };
  },
});
