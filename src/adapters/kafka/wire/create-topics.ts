import { requestCodec } from './request-codec.ts';
import { zeroUuid } from './response-reader.ts';

export type CreateTopicsRequest = {
  readonly topics: readonly {
    readonly name: string;
    readonly partitions: number;
    /** -1: the broker's default. */
    readonly replicationFactor: number;
    readonly configs: readonly { readonly name: string; readonly value: string | null }[];
  }[];
  readonly timeoutMs: number;
  readonly validateOnly: boolean;
};

export type CreateTopicsResponse = {
  readonly topics: readonly {
    readonly name: string;
    /** All zero below version 7. */
    readonly topicId: string;
    readonly errorCode: number;
    readonly errorMessage: string | null;
    readonly partitions: number;
    readonly replicationFactor: number;
  }[];
};

/** Creates topics. */
export const createTopics = requestCodec<CreateTopicsRequest, CreateTopicsResponse>({
  name: 'CreateTopics',
  apiKey: 19,
  minVersion: 5,
  maxVersion: 7,
  flexibleFrom: 5,
  write(writer, request) {
    writer.array(request.topics, (topic) => {
      writer.string(topic.name);
      writer.int32(topic.partitions);
      writer.int16(topic.replicationFactor);
      writer.array([], () => undefined);
      writer.array(topic.configs, (config) => {
        writer.string(config.name);
        writer.nullableString(config.value);
        writer.tags();
      });
      writer.tags();
    });
    writer.int32(request.timeoutMs);
    writer.boolean(request.validateOnly);
  },
  read(reader, version) {
    reader.int32();
    const topics = reader.array(() => {
      const topic = {
        name: reader.string(),
        topicId: version >= 7 ? reader.uuid() : zeroUuid,
        errorCode: reader.int16(),
        errorMessage: reader.nullableString(),
        partitions: reader.int32(),
        replicationFactor: reader.int16(),
      };
      reader.nullableArray(() => {
        reader.string();
        reader.nullableString();
        reader.boolean();
        reader.int8();
        reader.boolean();
        reader.tags();
      });
      reader.tags();
      return topic;
    });
    return { topics };
  },
});
