import { requestCodec } from './request-codec.ts';
import { zeroUuid } from './response-reader.ts';

export type MetadataRequest = {
  /** null: all topics. */
  readonly topics: readonly string[] | null;
  readonly allowAutoTopicCreation: boolean;
};

export type MetadataBroker = {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
  readonly rack: string | null;
};

export type MetadataPartition = {
  readonly errorCode: number;
  readonly partition: number;
  /** -1: no leader now. */
  readonly leaderId: number;
  readonly leaderEpoch: number;
  readonly replicas: readonly number[];
  readonly inSyncReplicas: readonly number[];
};

export type MetadataTopic = {
  readonly errorCode: number;
  readonly name: string;
  /** All zero below version 10. */
  readonly topicId: string;
  readonly isInternal: boolean;
  readonly partitions: readonly MetadataPartition[];
};

export type MetadataResponse = {
  readonly brokers: readonly MetadataBroker[];
  readonly clusterId: string | null;
  readonly controllerId: number;
  readonly topics: readonly MetadataTopic[];
};

/** Brokers, topics, topic ids and partition leaders. */
export const metadata = requestCodec<MetadataRequest, MetadataResponse>({
  name: 'Metadata',
  apiKey: 3,
  minVersion: 9,
  maxVersion: 12,
  flexibleFrom: 9,
  write(writer, request, version) {
    writer.nullableArray(request.topics, (name) => {
      if (version >= 10) writer.uuid(zeroUuid);
      writer.string(name);
      writer.tags();
    });
    writer.boolean(request.allowAutoTopicCreation);
    if (version <= 10) writer.boolean(false);
    writer.boolean(false);
  },
  read(reader, version) {
    reader.int32();
    const brokers = reader.array((): MetadataBroker => {
      const broker = {
        nodeId: reader.int32(),
        host: reader.string(),
        port: reader.int32(),
        rack: reader.nullableString(),
      };
      reader.tags();
      return broker;
    });
    const clusterId = reader.nullableString();
    const controllerId = reader.int32();
    const topics = reader.array((): MetadataTopic => {
      const topic = {
        errorCode: reader.int16(),
        name: reader.string(),
        topicId: version >= 10 ? reader.uuid() : zeroUuid,
        isInternal: reader.boolean(),
        partitions: reader.array((): MetadataPartition => {
          const partition = {
            errorCode: reader.int16(),
            partition: reader.int32(),
            leaderId: reader.int32(),
            leaderEpoch: reader.int32(),
            replicas: reader.int32Array(),
            inSyncReplicas: reader.int32Array(),
          };
          reader.int32Array();
          reader.tags();
          return partition;
        }),
      };
      reader.int32();
      reader.tags();
      return topic;
    });
    if (version <= 10) reader.int32();
    return { brokers, clusterId, controllerId, topics };
  },
});
