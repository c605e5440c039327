import { requestCodec } from './request-codec.ts';

export type CreatePartitionsRequest = {
  /** `count` is the number of partitions afterwards. */
  readonly topics: readonly { readonly name: string; readonly count: number }[];
  readonly timeoutMs: number;
  readonly validateOnly: boolean;
};

export type CreatePartitionsResponse = {
  readonly topics: readonly {
    readonly name: string;
    readonly errorCode: number;
    readonly errorMessage: string | null;
  }[];
};

/** Adds partitions to topics. */
export const createPartitions = requestCodec<CreatePartitionsRequest, CreatePartitionsResponse>({
  name: 'CreatePartitions',
  apiKey: 37,
  minVersion: 1,
  maxVersion: 3,
  flexibleFrom: 2,
  write(writer, request) {
    writer.array(request.topics, (topic) => {
      writer.string(topic.name);
      writer.int32(topic.count);
      writer.nullableArray(null, () => undefined);
      writer.tags();
    });
    writer.int32(request.timeoutMs);
    writer.boolean(request.validateOnly);
  },
  read(reader) {
    reader.int32();
    const topics = reader.array(() => {
      const topic = {
        name: reader.string(),
        errorCode: reader.int16(),
        errorMessage: reader.nullableString(),
      };
      reader.tags();
      return topic;
    });
    return { topics };
  },
});
